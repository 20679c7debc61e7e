// Columns: `nvidia-smi --help-query-gpu`. A header names them, with units in brackets; values repeat the unit unless
// the format has "nounits".
#include "profile/readers/logs/nvidia_smi_query.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "profile/readers/logs/counter_table.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kMostGpus = 1024;

constexpr CounterColumn kColumns[] = {
    {"utilization.gpu", "gpu_utilization", "", 0.01},
    {"utilization.memory", "memory_utilization", "", 0.01},
    {"memory.used", "memory_used", "B", kMiB},
    {"memory.total", "memory_total", "B", kMiB},
    {"power.draw", "power", "W", 1},
    {"power.draw.average", "power", "W", 1},
    {"power.draw.instant", "power", "W", 1},
    {"power.limit", "power_limit", "W", 1},
    {"enforced.power.limit", "power_limit", "W", 1},
    {"power.default_limit", "power_limit_default", "W", 1},
    {"temperature.gpu", "temperature", "degC", 1},
    {"temperature.memory", "memory_temperature", "degC", 1},
    {"clocks.sm", "sm_clock", "Hz", 1e6},
    {"clocks.current.sm", "sm_clock", "Hz", 1e6},
    {"clocks.mem", "memory_clock", "Hz", 1e6},
    {"clocks.current.memory", "memory_clock", "Hz", 1e6},
    {"clocks.max.sm", "sm_clock_max", "Hz", 1e6},
    {"clocks_throttle_reasons.active", "throttle_reasons", "", 1},
    {"clocks_event_reasons.active", "throttle_reasons", "", 1},
    {"pcie.link.gen.current", "pcie_link_generation", "", 1},
    {"pcie.link.width.current", "pcie_link_width", "", 1},
};

/// Reasons that have columns of their own, as NVML's bits (nvml.h, nvmlClocksEventReason*).
struct ReasonColumn {
  std::string_view ending;
  double bit;
};
constexpr ReasonColumn kReasons[] = {{".sw_power_cap", 0x4},
                                     {".hw_slowdown", 0x8},
                                     {".sw_thermal_slowdown", 0x20},
                                     {".hw_thermal_slowdown", 0x40},
                                     {".hw_power_brake_slowdown", 0x80}};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// "utilization.gpu [%]" is "utilization.gpu".
std::string column_name(std::string_view cell) { return ascii_lower(trim(cell.substr(0, cell.find('[')))); }

bool is_known(const std::string& name) {
  return std::ranges::any_of(kColumns, [&name](const CounterColumn& column) { return column.header == name; }) ||
         std::ranges::any_of(kReasons, [&name](const ReasonColumn& one) { return name.ends_with(one.ending); });
}

bool is_header(std::string_view line) {
  line = line.substr(0, std::min<std::size_t>(line.find('\n'), 4096));
  std::size_t known = 0;
  const auto cells = cells_of(line);
  for (const std::string_view cell : cells) known += is_known(column_name(cell)) ? 1U : 0U;
  return cells.size() > 1 && known > 0;
}

Sniff sniff(std::string_view head) { return sniff_counter_table(head, is_header); }

/// "2026/04/23 11:23:24.250" as if it were UTC.
std::optional<std::int64_t> epoch_ns(std::string_view text) {
  if (text.size() < 19 || text[4] != '/' || text[7] != '/' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto number = [&text](std::size_t at, std::size_t size) { return parse_integer(text.substr(at, size)); };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2), hour = number(11, 2),
             minute = number(14, 2), second = number(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  const auto ms = text.size() >= 23 && text[19] == '.' ? number(20, 3).value_or(0) : 0;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 3600 + *minute * 60 + *second) * kSecondNs + ms * 1'000'000;
}

class QueryTable {
 public:
  explicit QueryTable(ProfileSession& session) : session_(session), table_(kColumns, session) {}

  void add(std::string_view line) {
    if (trim(line).empty()) return;
    if (is_header(line)) return set_header(line);
    if (!names_.empty()) row(line);
  }

  [[nodiscard]] bool finish() {
    table_.finish();
    if (table_.empty()) return false;
    if (time_column_ < names_.size()) {
      count_issue(session_.quality, "local_time", "the times of nvidia-smi have no time zone: taken as UTC");
    } else {
      count_issue(session_.quality, "no_clock_times",
                  "the table of nvidia-smi has no times: one second from row to row was assumed; add timestamp to the "
                  "query");
    }
    return true;
  }

 private:
  void set_header(std::string_view line) {
    names_.clear();
    for (const std::string_view cell : cells_of(line)) names_.push_back(column_name(cell));
    const auto place = [this](std::initializer_list<std::string_view> any) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (std::ranges::find(any, names_[i]) != any.end()) return i;
      }
      return names_.size();
    };
    time_column_ = place({"timestamp"});
    gpu_column_ = place({"index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"});
    table_.set_columns(names_);
  }

  void row(std::string_view line) {
    const auto cells = cells_of(line);
    const auto left_out = [&] { count_issue(session_.quality, "short_row", "rows that end early: left out", line); };
    if (cells.size() < names_.size()) return left_out();
    const auto device = device_of(gpu_column_ < cells.size() ? cells[gpu_column_] : "0");
    if (!device) return left_out();
    std::int64_t time = rows_[*device]++ * kSecondNs;
    if (time_column_ < cells.size()) {
      const auto read = epoch_ns(cells[time_column_]);
      if (!read) return left_out();
      time = *read;
    }
    std::vector<std::string> plain;
    for (const std::string_view cell : cells) plain.push_back(plain_value(cell));
    const std::vector<std::string_view> values(plain.begin(), plain.end());
    if (!table_.add(*device, time, values)) return left_out();
    add_reasons(*device, time, cells);
  }

  /// GPUs without a number are counted in the order in which they appear.
  std::optional<int> device_of(std::string_view cell) {
    const auto number = parse_integer(cell);
    if (number && *number >= 0 && *number < static_cast<std::int64_t>(kMostGpus)) return static_cast<int>(*number);
    if (devices_.size() >= kMostGpus) return std::nullopt;
    return devices_.try_emplace(std::string(cell), static_cast<int>(devices_.size())).first->second;
  }

  /// "97 %" is "97", "0x0000000000000004" is "4"; "[N/A]" stays what is no number.
  static std::string plain_value(std::string_view cell) {
    if (cell.starts_with("0x")) {
      double bits = 0;
      for (const char c : ascii_lower(cell.substr(2))) bits = bits * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
      return std::to_string(static_cast<std::int64_t>(std::min(bits, 1e15)));
    }
    return std::string(cell.substr(0, cell.find(' ')));
  }

  void add_reasons(int device, std::int64_t time, const std::vector<std::string_view>& cells) {
    double bits = 0;
    bool any = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (const ReasonColumn& reason : kReasons) {
        if (!names_[i].ends_with(reason.ending)) continue;
        any = true;
        bits += cells[i] == "Active" ? reason.bit : 0;
      }
    }
    const bool all_in_one =
        std::ranges::any_of(names_, [](const std::string& name) { return name.ends_with("reasons.active"); });
    if (any && !all_in_one) table_.add_value("throttle_reasons", "", device, time, bits);
  }

  ProfileSession& session_;
  CounterTable table_;
  std::vector<std::string> names_;
  std::size_t time_column_ = 0, gpu_column_ = 0;
  std::map<int, std::int64_t> rows_;
  std::map<std::string, int> devices_;
};

Status read(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  QueryTable table(session);
  WM_TRY(for_each_line(source, session.quality, [&table](std::string_view line) { table.add(line); }));
  if (table.finish()) return {};
  return data_error("the table of nvidia-smi has no rows", "repeat the query: nvidia-smi --query-gpu=... -l 1");
}

}  // namespace

const TraceReader kNvidiaSmiQueryReader = {"nvidia_smi_query", "table of nvidia-smi --query-gpu --format=csv", sniff,
                                           read};

}  // namespace warpmark::profile
