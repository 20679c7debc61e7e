// The table that `dcgmi dmon` prints.
// Field names: dcgm_fields.cpp of NVIDIA's DCGM (short names). A row is "GPU 0" or "GPU-I 3" (a MIG instance), then
// values; rows of one sample follow one another. The tool prints no times; its default period is one second.
#include <map>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/logs/counter_table.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr CounterColumn kDcgmColumns[] = {
    {"gract", "graphics_active", "", 1},
    {"smact", "sm_active", "", 1},
    {"smocc", "sm_occupancy", "", 1},
    {"tenso", "tensor_active", "", 1},
    {"drama", "dram_active", "", 1},
    {"fp64a", "fp64_active", "", 1},
    {"fp32a", "fp32_active", "", 1},
    {"fp16a", "fp16_active", "", 1},
    {"intac", "integer_active", "", 1},
    {"pcitx", "pcie_tx", "B/s", 1},
    {"pcirx", "pcie_rx", "B/s", 1},
    {"nvltx", "nvlink_tx", "B/s", 1},
    {"nvlrx", "nvlink_rx", "B/s", 1},
    {"power", "power", "W", 1},
    {"pmlmt", "power_limit", "W", 1},
    {"pmdef", "power_limit_default", "W", 1},
    {"gputl", "gpu_utilization", "", 0.01},
    {"mcutl", "memory_utilization", "", 0.01},
    {"tmptr", "temperature", "degC", 1},
    {"mmtmp", "memory_temperature", "degC", 1},
    {"smclk", "sm_clock", "Hz", 1e6},
    {"smmax", "sm_clock_max", "Hz", 1e6},
    {"mmclk", "memory_clock", "Hz", 1e6},
    {"fbusd", "memory_used", "B", kMiB},
    {"fbusg", "memory_used", "B", kMiB},
    {"fbtotl", "memory_total", "B", kMiB},
    {"fbttl", "memory_total", "B", kMiB},
    {"dvccte", "throttle_reasons", "", 1},
    {"dvcct", "throttle_reasons", "", 1},
    {"dvcctr", "throttle_reasons", "", 1},
    {"pvtime", "power_violation_time", "s", 1e-9},
    {"pviol", "power_violation_time", "s", 1e-9},
    {"thvio", "thermal_violation_time", "s", 1e-9},
    {"tviol", "thermal_violation_time", "s", 1e-9},
    {"totec", "energy", "J", 1e-3},
    {"totecn", "energy", "J", 1e-3},
    {"xider", "xid", "", 1},
    {"esvtl", "ecc_corrected", "", 1},
    {"edvtl", "ecc_uncorrected", "", 1},
    {"rppen", "retired_pages_pending", "", 1},
    {"rrp", "remapped_rows_pending", "", 1},
    {"rrf", "remapped_rows_failure", "", 1},
    {"rpctr", "pcie_replays", "", 1},
    {"pcilg", "pcie_link_generation", "", 1},
    {"pcilw", "pcie_link_width", "", 1},
    {"pcimg", "pcie_link_generation_max", "", 1},
    {"pcimw", "pcie_link_width_max", "", 1},
};

bool is_dcgm_header(std::string_view line) {
  const auto words = words_of(line.substr(0, 512));
  return !words.empty() && (words[0] == "#Entity" || (words[0] == "#" && words.size() > 1 && words[1] == "Entity"));
}

Sniff sniff_dcgm_dmon(std::string_view head) { return sniff_counter_table(head, is_dcgm_header); }

class DcgmTable {
 public:
  explicit DcgmTable(ProfileSession& session) : session_(session), table_(kDcgmColumns, session) {}

  void add(std::string_view line) {
    auto words = words_of(line);
    if (words.empty()) return;
    if (is_dcgm_header(line)) {
      std::vector<std::string> headers;
      for (std::size_t i = words[0] == "#" ? 2 : 1; i < words.size(); ++i) headers.push_back(ascii_lower(words[i]));
      table_.set_columns(headers);
      return;
    }
    if (words[0] == "ID" || words[0].starts_with('#')) return;
    row(words, line);
  }

  [[nodiscard]] bool finish() {
    table_.finish();
    if (table_.empty()) return false;
    count_issue(session_.quality, "no_clock_times",
                "the table of dcgmi dmon has no times: one second from row to row was assumed");
    return true;
  }

 private:
  void row(std::vector<std::string_view>& words, std::string_view line) {
    // "GPU 0", "GPU-I 3", and "GPU0" in some versions
    std::size_t values = 2;
    std::string_view number = words.size() > 1 ? words[1] : std::string_view();
    if (words[0].size() > 3 && words[0].starts_with("GPU") && parse_integer(words[0].substr(3))) {
      number = words[0].substr(3);
      values = 1;
    }
    const auto gpu = parse_integer(number);
    if (!words[0].starts_with("GPU") || !gpu || *gpu < 0 || *gpu >= kMostGpus || words.size() < values) {
      count_issue(session_.quality, "other_row", "rows of things that are no GPU: left out", line);
      return;
    }
    if (words[0] == "GPU-I") {
      count_issue(session_.quality, "other_row", "rows of MIG instances: left out", line);
      return;
    }
    const int device = static_cast<int>(*gpu);
    const std::int64_t time = rows_[device]++ * kSecondNs;
    if (!table_.add(device, time, std::span(words).subspan(values))) {
      count_issue(session_.quality, "short_row", "rows that end early: left out", line);
    }
  }

  ProfileSession& session_;
  CounterTable table_;
  std::map<int, std::int64_t> rows_;
};

Status read_dcgm_dmon(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  DcgmTable table(session);
  WM_TRY(for_each_line(source, session.quality, [&table](std::string_view line) { table.add(line); }));
  if (table.finish()) return {};
  return data_error("the table of dcgmi dmon has no row of a GPU", "let it run for a few seconds");
}

}  // namespace

extern const TraceReader kDcgmDmonReader = {"dcgm_dmon", "table of dcgmi dmon", sniff_dcgm_dmon, read_dcgm_dmon};

}  // namespace warpmark::profile
