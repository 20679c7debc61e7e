// Errors that the driver counts, and a link that is slower than it can be. NVIDIA, "XID Errors" and "GPU Memory Error
// Management": memory with an uncorrected error is repaired at the next reset of the GPU; until then results are not to
// be trusted. nvidia-smi manual: pcie.link.gen.max and pcie.link.width.max are those of this GPU in this machine; what
// is current may be lower while the GPU is not in use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"
#include "base/text.h"

namespace warpmark::analyze {

namespace {

struct Kind {
  const char* id;
  const char* what;
  double severity;  ///< 0: evidence alone
  bool counted = true;
};
constexpr Kind kKinds[] = {
    {"ecc_uncorrected", "uncorrected ECC errors", 1},
    {"remapped_rows_failure", "memory that could not be repaired", 1, false},
    {"retired_pages_pending", "memory that waits for a reset to be repaired", kWarning, false},
    {"remapped_rows_pending", "memory that waits for a reset to be repaired", kWarning, false},
    {"pcie_replays", "PCIe replays", 0},
    {"ecc_corrected", "corrected ECC errors", 0},
};

struct Xid {
  int number;
  const char* what;
};
/// Of the hardware or the driver; others are mostly the program's own faults.
constexpr Xid kXids[] = {{48, " (double-bit ECC error)"},
                         {63, " (memory retired or remapped)"},
                         {64, " (memory could not be retired or remapped)"},
                         {74, " (NVLink error)"},
                         {79, " (the GPU has fallen off the bus)"},
                         {94, " (contained ECC error)"},
                         {95, " (uncontained ECC error)"}};

struct Health {
  int device = -1;
  double severity = 0;
  std::vector<std::string> titles{};
  std::vector<Fact> facts{};
  std::size_t errors = 0;  ///< of the titles; the others are of the link
  void add(const char* id, const std::string& text, double value, double severe) {
    facts.push_back({fmt::format("GPU {}: {}", device, text), id, value, ""});
    severity = std::max(severity, severe);
    if (severe > 0 && std::ranges::find(titles, text) == titles.end()) titles.push_back(text);
  }
};

/// Since the driver was loaded.
void add_errors(const Evidence& evidence, Health& health) {
  const auto count_of = [&](const char* id) { return highest_of(evidence, id, health.device).value_or(0); };
  for (const Kind& kind : kKinds) {
    if (const double count = count_of(kind.id); count > 0)
      health.add(kind.id, kind.counted ? fmt::format("{:.0f} {}", count, kind.what) : kind.what, count, kind.severity);
  }
  const double xid = count_of("xid");
  const auto* const known = std::ranges::find(kXids, static_cast<int>(xid), &Xid::number);
  const bool named = known != std::end(kXids);
  if (xid > 0) health.add("xid", fmt::format("XID {:.0f}{}", xid, named ? known->what : ""), xid, named ? 1 : kWarning);
  health.errors = health.titles.size();
}

/// What the link reached in samples with work, and what it can have.
struct Reached {
  double now = 0, most = 0;
  [[nodiscard]] bool is_less() const { return now > 0 && now < most; }
};

Reached reached(const Evidence& evidence, const std::string& id, int device) {
  const CounterSeries* now = series_of(evidence, id, device);
  const auto used = now == nullptr ? std::nullopt : in_use(evidence, *now);
  if (!used || used->busy.value_or(0) < kMatters) return {};
  return {highest_of(*now).value_or(0), highest_of(evidence, id + "_max", device).value_or(0)};
}

/// Without a timeline as severe as the missing share of the rate, else as the copies that lose it.
void add_link(const Evidence& evidence, Health& health) {
  const Reached lanes = reached(evidence, "pcie_link_width", health.device);
  const Reached generation = reached(evidence, "pcie_link_generation", health.device);
  const double missing = 1 - (lanes.is_less() ? lanes.now / lanes.most : 1) *
                                 (generation.is_less() ? std::exp2(generation.now - generation.most) : 1);
  const double severity = evidence.has_timeline() ? severity_of(exposed_copies(evidence) * missing, 1) : missing;
  if (lanes.is_less())
    health.add("pcie_link_width", fmt::format("{:.0f} of {:.0f} PCIe lanes", lanes.now, lanes.most), lanes.now,
               severity);
  if (generation.is_less())
    health.add("pcie_link_generation", fmt::format("PCIe generation {:.0f} of {:.0f}", generation.now, generation.most),
               generation.now, severity);
}

std::vector<Finding> apply_gpu_health(const Evidence& evidence) {
  Health worst;
  std::vector<Fact> facts;
  for (const int device : sampled_devices(evidence)) {
    Health health{.device = device};
    add_errors(evidence, health);
    add_link(evidence, health);
    facts.insert(facts.end(), health.facts.begin(), health.facts.end());
    if (health.severity > worst.severity) worst = std::move(health);
  }
  if (worst.severity <= 0) return {};
  Finding finding =
      make_finding(kGpuHealthRule, 0, 1, fmt::format("GPU {}: {}", worst.device, join(worst.titles, ", ")));
  finding.severity = worst.severity;
  finding.evidence = std::move(facts);
  if (worst.errors > 0) {
    finding.recommendations = {
        {AdviceKind::command, "See when the errors happened, and in which program.", "sudo dmesg | grep -i xid"},
        {AdviceKind::command,
         "Move the work to another GPU, reset this one so that its memory is repaired, and test it: dcgmi diag -r 3.",
         fmt::format("nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER  # then: nvidia-smi --gpu-reset -i {}",
                     worst.device)}};
  }
  if (worst.titles.size() > worst.errors) {
    finding.recommendations.push_back({AdviceKind::command,
                                       "Check the slot, its riser or cable, and what the BIOS allows it.",
                                       "sudo lspci -vv | grep -e NVIDIA -e LnkCap: -e LnkSta:"});
  }
  finding.gain = {.method = "what errors and a slower link cost was not recorded", .unknown = true};
  return {finding};
}

}  // namespace

constinit const Rule kGpuHealthRule = {"gpu_health", "environment",
                                       "Do the GPU, its memory and its link work as they should?", Need::counters,
                                       apply_gpu_health};

}  // namespace warpmark::analyze
