// What nvidia-smi prints for people, once or again and again (-l, watch, a loop): the table with a box for each GPU,
// and the XML of -q -x (nvsmi_device_v12.dtd). Both have one value of a kind on a line, so that neither needs a
// document that is whole.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/logs/counter_table.h"
#include "profile/readers/logs/nvidia_smi_columns.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

struct Element {
  std::string_view section;  ///< the end of its name; empty: any
  std::string_view tag;
  const char* id;
  const char* unit;
};
// Of all kinds of memory together.
constexpr const char *kEccCorrected = "ecc_corrected", *kEccUncorrected = "ecc_uncorrected";
constexpr Element kElements[] = {{"fb_memory_usage", "used", "memory_used", "B"},
                                 {"fb_memory_usage", "total", "memory_total", "B"},
                                 {"utilization", "gpu_util", "gpu_utilization", ""},
                                 {"utilization", "memory_util", "memory_utilization", ""},
                                 {"temperature", "gpu_temp", "temperature", "degC"},
                                 {"temperature", "memory_temp", "memory_temperature", "degC"},
                                 {"power_readings", "power_draw", "power", "W"},
                                 {"power_readings", "instant_power_draw", "power", "W"},
                                 {"power_readings", "power_limit", "power_limit", "W"},
                                 {"power_readings", "current_power_limit", "power_limit", "W"},
                                 {"power_readings", "default_power_limit", "power_limit_default", "W"},
                                 {"clocks", "sm_clock", "sm_clock", "Hz"},
                                 {"clocks", "mem_clock", "memory_clock", "Hz"},
                                 {"max_clocks", "sm_clock", "sm_clock_max", "Hz"},
                                 {"", "current_link_gen", "pcie_link_generation", ""},
                                 {"", "max_link_gen", "pcie_link_generation_max", ""},
                                 {"", "current_link_width", "pcie_link_width", ""},
                                 {"", "max_link_width", "pcie_link_width_max", ""},
                                 {"", "replay_counter", "pcie_replays", ""},
                                 {"", "pending_retirement", "retired_pages_pending", ""},
                                 {"", "remapped_row_pending", "remapped_rows_pending", ""},
                                 {"", "remapped_row_failure", "remapped_rows_failure", ""},
                                 {"volatile", "sram_correctable", kEccCorrected, ""},
                                 {"volatile", "dram_correctable", kEccCorrected, ""},
                                 {"volatile", "sram_uncorrectable", kEccUncorrected, ""},
                                 {"volatile", "sram_uncorrectable_parity", kEccUncorrected, ""},
                                 {"volatile", "sram_uncorrectable_secded", kEccUncorrected, ""},
                                 {"volatile", "dram_uncorrectable", kEccUncorrected, ""}};

/// "Sun May  8 21:12:22 2022", wherever it stands in the line, as if it were UTC.
std::optional<std::int64_t> time_in(const std::vector<std::string_view>& words) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i + 3 < words.size(); ++i) {
    const auto* const month = std::ranges::find(kMonths, words[i]);
    const std::string_view clock = words[i + 2];
    if (month == kMonths.end() || clock.size() != 8 || clock[2] != ':' || clock[5] != ':') continue;
    const auto day = parse_integer(words[i + 1]), year = parse_integer(words[i + 3]);
    const auto hour = parse_integer(clock.substr(0, 2)), minute = parse_integer(clock.substr(3, 2)),
               second = parse_integer(clock.substr(6, 2));
    if (!day || !year || !hour || !minute || !second || *year < 1970 || *year > 2200) continue;
    const std::chrono::year_month_day date{
        std::chrono::year(static_cast<int>(*year)),
        std::chrono::month(static_cast<unsigned>(month - kMonths.begin() + 1)),
        std::chrono::day(static_cast<unsigned>(std::clamp<std::int64_t>(*day, 0, 99)))};
    if (!date.ok()) continue;
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + *hour) * 3600 + *minute * 60 + *second) * kSecondNs;
  }
  return std::nullopt;
}

class SmiReport {
 public:
  explicit SmiReport(ProfileSession& session) : session_(session), table_({}, session) {}

  void add(std::string_view line) {
    const std::string_view text = trim(line);
    if (text.starts_with('<')) return element(text);
    if (text.starts_with('|')) return box(text);
    if (const auto time = time_in(words_of(text))) time_ = time;
  }

  [[nodiscard]] Status finish() {
    end_gpu();
    table_.finish();
    if (table_.empty()) {
      return data_error(
          "the output of nvidia-smi has no GPU with values",
          "log them with: nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total,"
          "power.draw,temperature.gpu --format=csv -l 1");
    }
    if (!time_) {
      count_issue(session_.quality, "no_clock_times",
                  "the output of nvidia-smi has no times: one second from one to the next was assumed");
    } else {
      count_issue(session_.quality, "local_time", "times without a time zone: taken as UTC");
    }
    return {};
  }

 private:
  struct Value {
    const char* id;
    const char* unit;
    double value;
  };

  /// "|   0  Tesla V100-PCIE...  On   | 00000000:2F:00.0 Off | ... |", then
  /// "| N/A   69C    P0   162W / 250W |  15757MiB / 32510MiB |     97%      Default |". Processes have one cell.
  void box(std::string_view line) {
    std::vector<std::string_view> cells;
    for (line.remove_prefix(1); line.find('|') != std::string_view::npos; line.remove_prefix(line.find('|') + 1))
      cells.push_back(line.substr(0, line.find('|')));
    if (cells.size() != 3) return;
    const auto first = words_of(cells[0]), second = words_of(cells[1]), third = words_of(cells[2]);
    if (first.empty() || second.empty() || third.empty()) return;
    if (second[0].find(':') != std::string_view::npos) {
      const auto index = parse_integer(first[0]);
      device_.reset();
      if (index && *index >= 0 && *index < kMostGpus) device_ = static_cast<int>(*index);
      if (device_ && is_digit(third[0][0])) keep("ecc_uncorrected", "", third[0]);
      return;
    }
    if (!device_ || second.size() != 3 || second[1] != "/") return;
    const auto ends = [](char letter) {
      return [letter](std::string_view word) { return word.ends_with(letter) && is_digit(word[0]); };
    };
    const auto temperature = std::ranges::find_if(first, ends('C'));
    if (temperature != first.end()) keep("temperature", "degC", *temperature);
    const auto power = std::ranges::find_if(first, ends('W'));
    if (power != first.end()) keep("power", "W", *power);
    if (power != first.end() && std::ranges::count_if(first, ends('W')) > 1) keep("power_limit", "W", first.back());
    keep("memory_used", "B", second[0]);
    keep("memory_total", "B", second[2]);
    if (ends('%')(third[0])) keep("gpu_utilization", "", third[0]);
    end_gpu();
  }

  /// "<gpu_util>97 %</gpu_util>", "<utilization>", "</utilization>" or '<gpu id="00000000:4D:00.0">'.
  void element(std::string_view line) {
    const auto close = line.find('>');
    if (close == std::string_view::npos) return;
    const std::string_view tag = line.substr(1, close - 1);
    const auto end = line.find("</", close);
    if (tag.starts_with("gpu id=")) {
      end_gpu();
      return begin_gpu(tag);
    }
    if (tag == "/gpu" || tag.starts_with("?xml")) return end_gpu();
    if (end == std::string_view::npos) {
      if (!tag.starts_with('/')) section_ = tag;
      return;
    }
    const std::string_view value = trim(line.substr(close + 1, end - close - 1));
    if (tag == "timestamp") {
      if (const auto time = time_in(words_of(value))) time_ = time;
    }
    if (!device_) return;
    const auto reason = tag.find("_reason_");
    if (reason != std::string_view::npos) {
      const SmiColumn column = smi_column("." + std::string(tag.substr(reason + 8)));
      if (column.role != ColumnRole::throttle_reason) return;
      reasons_ = reasons_.value_or(0) + (value == "Active" ? column.throttle_bit : 0);
    }
    for (const Element& one : kElements) {
      const bool is_section =
          one.section.empty() || section_ == one.section || section_ == "gpu_" + std::string(one.section);
      if (is_section && tag == one.tag) keep(one.id, one.unit, value);
    }
  }

  /// GPUs are counted as they appear: the XML has no index.
  void begin_gpu(std::string_view tag) {
    device_.reset();
    section_.clear();
    const std::string id(tag.substr(0, 64));
    if (std::ssize(devices_) < kMostGpus || devices_.contains(id))
      device_ = devices_.try_emplace(id, static_cast<int>(devices_.size())).first->second;
  }

  void keep(const char* id, const char* unit, std::string_view text) {
    const double value = smi_value(text, 1);
    const auto known = std::ranges::find_if(values_, [id](const Value& one) { return std::string_view(one.id) == id; });
    const bool adds = id == kEccCorrected || id == kEccUncorrected;
    if (known == values_.end()) return values_.push_back({id, unit, value});
    if (adds && !std::isnan(value)) known->value = value + (std::isnan(known->value) ? 0 : known->value);
  }

  void end_gpu() {
    if (device_ && !values_.empty()) {
      const std::int64_t time = time_.value_or(rows_[*device_]++ * kSecondNs);
      for (const Value& one : values_) table_.add_value(one.id, one.unit, *device_, time, one.value);
      if (reasons_) table_.add_value("throttle_reasons", "", *device_, time, *reasons_);
    }
    device_.reset();
    reasons_.reset();
    values_.clear();
  }

  ProfileSession& session_;
  CounterTable table_;
  std::optional<std::int64_t> time_;  ///< the last that was printed
  std::optional<int> device_;         ///< whose values are being read
  std::string section_;               ///< of the XML
  std::vector<Value> values_;
  std::optional<double> reasons_;
  std::map<int, std::int64_t> rows_;
  std::map<std::string, int> devices_;
};

/// Logs of programs may hold such a table, too: this is its output if it stands at the begin, and no other reader's.
Sniff sniff_nvidia_smi_report(std::string_view head) {
  constexpr int kFirstLines = 8;
  for (int lines = 0; lines < kFirstLines; ++lines) {
    const std::string_view line = trim(head.substr(0, head.find('\n')));
    if (line.starts_with("| NVIDIA-SMI ") || line.starts_with("<nvidia_smi_log>")) return {30, ""};
    if (head.find('\n') == std::string_view::npos) break;
    head.remove_prefix(head.find('\n') + 1);
  }
  return {};
}

Status read_nvidia_smi_report(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  SmiReport report(session);
  WM_TRY(for_each_line(source, session.quality, [&report](std::string_view line) { report.add(line); }));
  return report.finish();
}

}  // namespace

extern const TraceReader kNvidiaSmiReportReader = {"nvidia_smi_report", "output of nvidia-smi or nvidia-smi -q -x",
                                                   sniff_nvidia_smi_report, read_nvidia_smi_report};

}  // namespace warpmark::profile
