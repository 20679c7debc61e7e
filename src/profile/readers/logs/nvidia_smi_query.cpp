// Reads what `nvidia-smi --query-gpu=... --format=csv -l 1` prints.
// A header names the columns, with units in brackets; values repeat the unit unless the format has "nounits".
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
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

constexpr double kMostWatts = 3000;  // of one GPU; the largest of 2026 take less

bool is_query_header(std::string_view line) {
  std::vector<SmiColumn> columns;
  return read_smi_header(line, columns);
}

Sniff sniff_nvidia_smi_query(std::string_view head) {
  const Sniff sniff = sniff_counter_table(head, is_query_header);
  if (sniff.score > 0) return sniff;
  std::string begin(head.substr(0, head.find('\n')));
  std::ranges::replace(begin, ';', ',');
  if (!is_query_header(begin)) return sniff;
  return {0,
          "a log of nvidia-smi with semicolons between the columns, as spreadsheets save it: save it with commas "
          "between the columns and decimal points"};
}

struct ClockTime {
  std::int64_t ns = 0;
  bool has_zone = true;
};

/// ".250" as nanoseconds, and what follows the digits.
std::int64_t fraction_ns(std::string_view& text) {
  if (!text.starts_with('.')) return 0;
  const auto end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  const auto ns = parse_shifted_decimal("0" + std::string(text.substr(0, end)), 9);
  text.remove_prefix(end);
  return ns.value_or(0);
}

/// "Z", "+08:00", "+0800" or "+08" as seconds; nothing for what is no zone.
std::optional<std::int64_t> zone_seconds(std::string_view text) {
  if (text == "Z" || text == "z" || text == "UTC") return 0;
  if (text.size() < 3 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto hours = parse_integer(text.substr(1, 2));
  const auto minutes = parse_integer(text.size() < 5 ? "0" : text.substr(text.size() - 2));
  if (!hours || !minutes) return std::nullopt;
  return (*hours * 3600 + *minutes * 60) * (text[0] == '-' ? -1 : 1);
}

/// Seconds, or milli-, micro- or nanoseconds since the Unix epoch, by their size.
std::optional<ClockTime> time_of_number(std::string_view text, double scale) {
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number > 9e18) return std::nullopt;
  const int decimals = *number < 1e11 ? (scale == 1 ? 9 : 6) : *number < 1e14 ? 6 : *number < 1e17 ? 3 : 0;
  const auto ns = parse_shifted_decimal(text, decimals);
  if (!ns) return std::nullopt;
  return ClockTime{*ns};
}

/// "2026/04/23 11:23:24.250" as nvidia-smi prints it, ISO 8601, or a number. Without a zone as if it were UTC.
std::optional<ClockTime> clock_time(std::string_view text, double scale) {
  const bool is_date = text.size() >= 19 && (text[4] == '/' || text[4] == '-') && text[7] == text[4] &&
                       (text[10] == ' ' || text[10] == 'T') && text[13] == ':' && text[16] == ':';
  if (!is_date) return time_of_number(text, scale);
  const auto number = [&text](std::size_t at, std::size_t size) { return parse_integer(text.substr(at, size)); };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2), hour = number(11, 2),
             minute = number(14, 2), second = number(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  std::string_view rest = text.substr(19);
  const std::int64_t fraction = fraction_ns(rest);
  const auto zone = zone_seconds(trim(rest));
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = (days * 24 + *hour) * 3600 + *minute * 60 + *second - zone.value_or(0);
  return ClockTime{seconds * kSecondNs + fraction, zone.has_value()};
}

class QueryTable {
 public:
  explicit QueryTable(ProfileSession& session) : session_(session), table_({}, session) {}

  void add(std::string_view line) {
    if (trim(line).empty()) return;
    if (read_smi_header(line, columns_)) return set_header();
    if (!columns_.empty()) row(line);
  }

  [[nodiscard]] Status finish() {
    table_.finish();
    if (table_.empty() && !unread_time_.empty()) {
      return data_error("no time in the table of GPU counters can be read: '" + unread_time_ + "'",
                        "write times as nvidia-smi does (2026/04/23 11:23:24.250), as ISO 8601 or as seconds");
    }
    if (table_.empty()) {
      return data_error("the table of GPU counters has no rows", "repeat the query: nvidia-smi --query-gpu=... -l 1");
    }
    if (time_column_ >= columns_.size()) {
      count_issue(
          session_.quality, "no_clock_times",
          "the table of GPU counters has no times: one second from row to row was assumed; add timestamp to the "
          "query");
    } else if (local_times_) {
      count_issue(session_.quality, "local_time", "times without a time zone: taken as UTC");
    }
    return {};
  }

 private:
  void set_header() {
    time_column_ = columns_.size();
    gpu_columns_.clear();
    std::set<std::string_view> ids;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      SmiColumn& column = columns_[i];
      if (column.role == ColumnRole::time && time_column_ == columns_.size()) time_column_ = i;
      if (column.role == ColumnRole::gpu) gpu_columns_.push_back(i);
      if (column.role == ColumnRole::counter && !ids.insert(column.id).second) column.role = ColumnRole::unused;
      if (column.role == ColumnRole::unknown) {
        count_issue(session_.quality, "unknown_column", "columns whose name is not known: left out", column.header);
      }
    }
    std::ranges::stable_sort(gpu_columns_, {}, [this](std::size_t i) { return columns_[i].rank; });
    all_reasons_in_one_ = ids.contains("throttle_reasons");
  }

  void row(std::string_view line) {
    const auto cells = smi_cells(line);
    const auto left_out = [&] { count_issue(session_.quality, "short_row", "rows that end early: left out", line); };
    if (cells.size() < columns_.size()) return left_out();
    const auto device = device_of(cells);
    if (!device) return left_out();
    std::int64_t time = rows_[*device]++ * kSecondNs;
    if (time_column_ < cells.size()) {
      const auto read = clock_time(cells[time_column_], columns_[time_column_].scale);
      if (!read) {
        unread_time_ = std::string(cells[time_column_].substr(0, 40));
        return count_issue(session_.quality, "no_time", "rows whose time cannot be read: left out", line);
      }
      time = read->ns;
      local_times_ |= !read->has_zone;
    }
    double reasons = 0;
    bool any_reason = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const SmiColumn& column = columns_[i];
      if (column.role == ColumnRole::counter) {
        const double value = smi_value(cells[i], column.scale);
        table_.add_value(column.id, column.unit, *device, time, value);
        if (value > kMostWatts && column.unit == std::string_view("W")) {
          count_issue(session_.quality, "odd_power", "power above 3 kW: the column may be in milliwatts",
                      column.header);
        }
      } else if (column.role == ColumnRole::throttle_reason) {
        any_reason = true;
        reasons += cells[i] == "Active" ? column.throttle_bit : 0;
      }
    }
    if (any_reason && !all_reasons_in_one_) table_.add_value("throttle_reasons", "", *device, time, reasons);
  }

  /// A number, from the first column that has one. GPUs without a number are counted as they appear.
  std::optional<int> device_of(const std::vector<std::string_view>& cells) {
    for (const std::size_t i : gpu_columns_) {
      const auto number = parse_integer(cells[i]);
      if (number && *number >= 0 && *number < kMostGpus) return static_cast<int>(*number);
    }
    if (gpu_columns_.empty()) return 0;
    if (std::ssize(devices_) >= kMostGpus) return std::nullopt;
    const std::string name(cells[gpu_columns_.back()]);  // an address tells more than a name
    return devices_.try_emplace(name, static_cast<int>(devices_.size())).first->second;
  }

  ProfileSession& session_;
  CounterTable table_;
  std::vector<SmiColumn> columns_;
  std::size_t time_column_ = 0;
  std::vector<std::size_t> gpu_columns_;  ///< best first
  bool all_reasons_in_one_ = false;
  bool local_times_ = false;
  std::string unread_time_;
  std::map<int, std::int64_t> rows_;
  std::map<std::string, int> devices_;
};

Status read_nvidia_smi_query(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  QueryTable table(session);
  WM_TRY(for_each_line(source, session.quality, [&table](std::string_view line) { table.add(line); }));
  return table.finish();
}

}  // namespace

extern const TraceReader kNvidiaSmiQueryReader = {"nvidia_smi_query", "table of nvidia-smi --query-gpu --format=csv",
                                                  sniff_nvidia_smi_query, read_nvidia_smi_query};

}  // namespace warpmark::profile
