// What is shown of links, as a report and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "collectives/calls/operation.h"
#include "collectives/links.h"
#include "collectives/results/verdict.h"

namespace warpmark::collectives {
namespace {

std::string rate_text(double value) { return format_si(value, "B/s"); }

std::string with_interval(const LinkValue& value) {
  if (!value.interval || !(value.value > 0)) return rate_text(value.value);
  const double half = (value.interval->high - value.interval->low) / 2;
  return rate_text(value.value) + fmt::format(" ± {:.1f} %", 100 * half / value.value);
}

std::string gpu_name(std::size_t gpu) { return fmt::format("GPU {}", gpu); }

bool is_slow(const std::vector<SlowLink>& slow, const std::string& where) {
  return std::any_of(slow.begin(), slow.end(), [&](const auto& item) { return item.where == where; });
}

struct PairKind {
  const char* title;
  const char* name;  ///< in SlowLink::where
  LinkValue GpuPair::*value;
  std::string (*text)(double);
};
constexpr PairKind kPairKinds[] = {{"bandwidth, write", "write", &GpuPair::write, rate_text},
                                   {"bandwidth, read", "read", &GpuPair::read, rate_text},
                                   {"bandwidth, both ways", "both ways", &GpuPair::both, rate_text},
                                   {"latency", "latency", &GpuPair::latency, format_seconds}};

HeatMap pair_map(const Links& links, const std::vector<SlowLink>& slow, const PairKind& kind) {
  HeatMap map{kind.title, "from", "to", "slow", {}, {}, {}};
  for (std::size_t i = 0; i < links.gpus.size(); ++i) {
    map.rows.push_back(gpu_name(i));
    map.columns.push_back(gpu_name(i));
  }
  map.squares.assign(links.gpus.size(), std::vector<HeatMap::Square>(links.gpus.size(), {std::nullopt, "-", false}));
  for (const auto& pair : links.pairs) {
    const double value = (pair.*kind.value).value;
    map.squares[static_cast<std::size_t>(pair.from)][static_cast<std::size_t>(pair.to)] = {
        value, kind.text(value), is_slow(slow, where_of(pair, kind.name))};
  }
  return map;
}

HeatMap host_map(const Links& links, const std::vector<SlowLink>& slow) {
  HeatMap map{"bandwidth, host and GPU", "", "", "slow", {}, {"to GPU", "from GPU", "both ways"}, {}};
  for (const auto& host : links.hosts) {
    map.rows.push_back(fmt::format("GPU {}", host.gpu));
    const auto square = [&](const LinkValue& value, const std::string& where) {
      return HeatMap::Square{value.value, rate_text(value.value), is_slow(slow, where)};
    };
    const auto where = where_of(host);
    map.squares.push_back(
        {square(host.to_gpu, where.to_gpu), square(host.from_gpu, where.from_gpu), square(host.both, where.both)});
  }
  return map;
}

Section verdict_section(const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Section section{"Verdict", {}, false, false};
  if (slow.empty()) section.blocks.push_back(Paragraph{"No link is slow.", Tone::good});
  for (const auto& item : slow) {
    const auto text = [&](double value) { return item.unit == "s" ? format_seconds(value) : rate_text(value); };
    section.blocks.push_back(Paragraph{
        fmt::format("{}: {}, {} of {}", item.where, text(item.value), item.reason, text(item.expected)), Tone::bad});
  }
  for (const auto& text : degraded_links(facts)) section.blocks.push_back(Paragraph{text, Tone::warning});
  return section;
}

Section pairs_section(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Table table;
  table.columns = {{"pair"},
                   {"path"},
                   {"write", Align::right},
                   {"read", Align::right, 1},
                   {"both ways", Align::right},
                   {"expected", Align::right},
                   {"latency", Align::right}};
  for (const auto& pair : links.pairs) {
    const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
    const bool known = from < facts.paths.size() && to < facts.paths[from].size();
    const double expected = promised(pair, facts);
    table.rows.push_back({{fmt::format("{} -> {}", pair.from, pair.to)},
                          {known       ? facts.paths[from][to]
                           : pair.peer ? "peer"
                                       : "through the host"},
                          {with_interval(pair.write)},
                          {with_interval(pair.read)},
                          {with_interval(pair.both)},
                          {expected > 0 ? rate_text(expected) : "-"},
                          {format_seconds(pair.latency.value)}});
  }
  Section section{"GPU to GPU", {std::move(table)}, false, false};
  for (const auto& kind : kPairKinds) section.blocks.push_back(pair_map(links, slow, kind));
  return section;
}

std::string nvlink_text(const Attachment& gpu) {
  if (!gpu.nvlinks || *gpu.nvlinks == 0) return "-";
  const int generation = nvlink_generation(gpu.nvlink_version.value_or(0));
  return fmt::format("{} of {}{}", gpu.nvlinks_active.value_or(0), *gpu.nvlinks,
                     generation > 0 ? fmt::format(", NVLink {}", generation) : "");
}

std::string pcie_text(const std::optional<int>& generation, const std::optional<int>& width) {
  if (!generation && !width) return "-";
  return fmt::format("{} x{}", generation ? std::to_string(*generation) : "?", width ? std::to_string(*width) : "?");
}

Section topology_section(const LinkFacts& facts) {
  Table table;
  table.columns = {{"GPU"}, {"NVLinks"}, {"PCIe now"}, {"PCIe at most"}, {"NUMA node", Align::right}};
  for (std::size_t i = 0; i < facts.attached.size(); ++i) {
    const auto& gpu = facts.attached[i];
    table.rows.push_back({{std::to_string(i)},
                          {nvlink_text(gpu)},
                          {pcie_text(gpu.pcie_generation, gpu.pcie_width)},
                          {pcie_text(gpu.pcie_max_generation, gpu.pcie_max_width)},
                          {gpu.numa_node ? std::to_string(*gpu.numa_node) : "-"}});
  }
  return {"Topology", {std::move(table)}, false, false};
}

Section hosts_section(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Table table;
  table.columns = {{"GPU"},
                   {"to GPU", Align::right},
                   {"from GPU", Align::right},
                   {"both ways", Align::right},
                   {"expected", Align::right},
                   {"latency", Align::right}};
  for (const auto& host : links.hosts) {
    const double expected = promised(host, facts);
    table.rows.push_back({{std::to_string(host.gpu)},
                          {with_interval(host.to_gpu)},
                          {with_interval(host.from_gpu)},
                          {with_interval(host.both)},
                          {expected > 0 ? rate_text(expected) : "-"},
                          {format_seconds(host.latency.value)}});
  }
  Section section{"Host and GPU, pinned memory", {std::move(table)}, false, false};
  if (links.hosts.size() > 1) section.blocks.push_back(host_map(links, slow));
  return section;
}

Section names_section(const Links& links) {
  Table names{{{"GPU"}, {"name"}}, {}};
  for (const auto& gpu : links.gpus) {  // "0 NVIDIA H100 [0000:00:06.0]"
    const auto space = gpu.find(' ');
    names.rows.push_back({{gpu.substr(0, space)}, {space == gpu.npos ? "" : gpu.substr(space + 1)}});
  }
  return {"GPUs", {std::move(names)}, false, false};
}

constexpr Field kLinkValueFields[] = {
    field<&LinkValue::value>("value").within(kNonNegative),
    field<&LinkValue::interval>("interval").formed(kEndsForm),
};
constexpr RecordOf<LinkValue> kLinkValue{"value", "", kLinkValueFields};

constexpr const char* kExpected = "Of one direction; 0: not known.";

/// Of each link, with what its topology promises.
struct PromisedPair {
  GpuPair pair;
  double expected = 0;
};
constexpr Field kPromisedPairFields[] = {
    field<&PromisedPair::pair, &GpuPair::from>("from"),
    field<&PromisedPair::pair, &GpuPair::to>("to"),
    field<&PromisedPair::pair, &GpuPair::peer>("peer"),
    field<&PromisedPair::pair, &GpuPair::write>("write", "", kLinkValue),
    field<&PromisedPair::pair, &GpuPair::read>("read", "", kLinkValue),
    field<&PromisedPair::pair, &GpuPair::both>("both", "", kLinkValue),
    field<&PromisedPair::pair, &GpuPair::latency>("latency", "", kLinkValue),
    field<&PromisedPair::expected>("expected", kExpected).within(kNonNegative),
};
constexpr RecordOf<PromisedPair> kPromisedPair{"pair", "", kPromisedPairFields};

struct PromisedHost {
  HostLink host;
  double expected = 0;
};
constexpr Field kPromisedHostFields[] = {
    field<&PromisedHost::host, &HostLink::gpu>("gpu"),
    field<&PromisedHost::host, &HostLink::to_gpu>("to_gpu", "", kLinkValue),
    field<&PromisedHost::host, &HostLink::from_gpu>("from_gpu", "", kLinkValue),
    field<&PromisedHost::host, &HostLink::both>("both", "", kLinkValue),
    field<&PromisedHost::host, &HostLink::latency>("latency", "", kLinkValue),
    field<&PromisedHost::expected>("expected", kExpected).within(kNonNegative),
};
constexpr RecordOf<PromisedHost> kPromisedHost{"host", "", kPromisedHostFields};

constexpr Field kAttachmentFields[] = {
    field<&Attachment::pci_bus_id>("pci_bus_id").unless_empty(),
    field<&Attachment::nvlinks>("nvlinks", "That the GPU has.").within(kNonNegative),
    field<&Attachment::nvlinks_active>("nvlinks_active").within(kNonNegative),
    derived("nvlink_generation", "",
            [](const Attachment& gpu) { return nvlink_generation(gpu.nvlink_version.value_or(0)); })
        .within(kNonNegative)
        .when([](const Attachment& gpu) { return nvlink_generation(gpu.nvlink_version.value_or(0)) > 0; }),
    field<&Attachment::pcie_generation>("pcie_generation").within(kNonNegative),
    field<&Attachment::pcie_max_generation>("pcie_max_generation", "Of GPU and slot together.").within(kNonNegative),
    field<&Attachment::pcie_width>("pcie_width").within(kNonNegative),
    field<&Attachment::pcie_max_width>("pcie_max_width").within(kNonNegative),
    field<&Attachment::numa_node>("numa_node").within(kNonNegative),
};
constexpr RecordOf<Attachment> kAttachment{"attachment", "How a GPU hangs on the machine.", kAttachmentFields};

constexpr Field kSlowLinkFields[] = {
    field<&SlowLink::where>("where", "GPU 0 -> GPU 3, write"),
    field<&SlowLink::value>("value").within(kNonNegative),
    field<&SlowLink::expected>("expected").within(kNonNegative),
    field<&SlowLink::reason>("reason"),
    field<&SlowLink::unit>("unit", "s of a latency.").ruled(R"({"enum": ["B/s", "s"]})"),
};
constexpr RecordOf<SlowLink> kSlowLink{"slow_link", "", kSlowLinkFields};

template <typename Promised, typename Link>
std::vector<Promised> with_promises(const std::vector<Link>& links, const LinkFacts& facts) {
  std::vector<Promised> all;
  for (const auto& link : links) all.push_back({link, promised(link, facts)});
  return all;
}

constexpr Field kLinksResultFields[] = {
    derived(
        "gpus", "", [](const LinksResult& all) -> const auto& { return all.links.gpus; }),
    derived("pairs", "", kPromisedPair,
            [](const LinksResult& all) { return with_promises<PromisedPair>(all.links.pairs, all.facts); }),
    derived("hosts", "", kPromisedHost,
            [](const LinksResult& all) { return with_promises<PromisedHost>(all.links.hosts, all.facts); }),
    derived(
        "topology", "By GPU, as NVML reports it; keys without a value are left out.", kAttachment,
        [](const LinksResult& all) -> const auto& { return all.facts.attached; }),
    derived("degraded", "What works below what it can, a sentence each.",
            [](const LinksResult& all) { return degraded_links(all.facts); }),
    derived(
        "slow", "", kSlowLink, [](const LinksResult& all) -> const auto& { return all.slow; }),
};

}  // namespace

Report build_report(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Report report;
  report.title = fmt::format("Links of {} GPU{}", links.gpus.size(), links.gpus.size() == 1 ? "" : "s");
  report.sections.push_back(verdict_section(facts, slow));
  if (!links.pairs.empty()) report.sections.push_back(pairs_section(links, facts, slow));
  if (!facts.attached.empty()) report.sections.push_back(topology_section(facts));
  report.sections.push_back(hosts_section(links, facts, slow));
  report.sections.push_back(names_section(links));
  return report;
}

constexpr RecordOf<LinksResult> kLinksResult{
    "links", "Result of `warpmark links`. Bandwidths in B/s, latencies in s; the interval is that of the median, 95 %.",
    kLinksResultFields, "warpmark.links/1"};

Json to_json(const LinksResult& result) { return write(kLinksResult, result); }

}  // namespace warpmark::collectives
