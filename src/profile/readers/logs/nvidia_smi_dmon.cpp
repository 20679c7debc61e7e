// The table that `nvidia-smi dmon` prints, with or without -o DT and --format csv.
// Columns: `nvidia-smi dmon -h`. The header repeats every 20 rows or so; a second line has the units.
#include <algorithm>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/logs/counter_table.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr CounterColumn kDmonColumns[] = {
    {"pwr", "power", "W", 1},
    {"gtemp", "temperature", "degC", 1},
    {"temp", "temperature", "degC", 1},
    {"mtemp", "memory_temperature", "degC", 1},
    {"sm", "gpu_utilization", "", 0.01},
    {"mem", "memory_utilization", "", 0.01},
    {"enc", "encoder_utilization", "", 0.01},
    {"dec", "decoder_utilization", "", 0.01},
    {"jpg", "jpeg_utilization", "", 0.01},
    {"ofa", "optical_flow_utilization", "", 0.01},
    {"mclk", "memory_clock", "Hz", 1e6},
    {"pclk", "sm_clock", "Hz", 1e6},
    {"pviol", "power_violation", "", 0.01},
    {"tviol", "thermal_violation", "", 1},
    {"fb", "memory_used", "B", kMiB},
    {"bar1", "bar1_used", "B", kMiB},
    {"sbecc", "ecc_corrected", "", 1},
    {"dbecc", "ecc_uncorrected", "", 1},
    {"pci", "pcie_replays", "", 1},
    {"rxpci", "pcie_rx", "B/s", 1e6},
    {"txpci", "pcie_tx", "B/s", 1e6},
};

/// Of processes (pmon), and of the memory that confidential computing protects.
constexpr std::string_view kUnused[] = {"pid", "type", "command", "ccpm"};

/// Words of a line in which blanks and commas separate.
std::vector<std::string_view> cells(std::string_view line, std::string& storage) {
  storage = std::string(line);
  std::replace(storage.begin(), storage.end(), ',', ' ');
  std::replace(storage.begin(), storage.end(), '#', ' ');
  return words_of(storage);
}

bool is_dmon_header(std::string_view line) {
  std::string storage;
  const auto words = cells(ascii_lower(line.substr(0, 512)), storage);
  const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  return line.starts_with('#') && has("gpu") && words.size() > 1 &&
         std::any_of(std::begin(kDmonColumns), std::end(kDmonColumns),
                     [&](const auto& column) { return has(column.header); });
}

Sniff sniff_nvidia_smi_dmon(std::string_view head) { return sniff_counter_table(head, is_dmon_header); }

/// "20260305" and "12:00:01" as if they were UTC: the tool prints local time and no zone.
std::optional<std::int64_t> epoch_ns(std::string_view date, std::string_view time) {
  const auto day = parse_integer(date);
  if (!day || *day < 19700101 || *day > 99991231 || time.size() != 8 || time[2] != ':' || time[5] != ':')
    return std::nullopt;
  const std::chrono::year_month_day civil{std::chrono::year(static_cast<int>(*day / 10000)),
                                          std::chrono::month(static_cast<unsigned>(*day / 100 % 100)),
                                          std::chrono::day(static_cast<unsigned>(*day % 100))};
  const auto hour = parse_integer(time.substr(0, 2)), minute = parse_integer(time.substr(3, 2)),
             second = parse_integer(time.substr(6, 2));
  if (!civil.ok() || *day > 22000101 || !hour || !minute || !second) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(civil).time_since_epoch().count();
  return (days * 86400 + *hour * 3600 + *minute * 60 + *second) * kSecondNs;
}

class DmonTable {
 public:
  explicit DmonTable(ProfileSession& session) : session_(session), table_(kDmonColumns, session) {}

  void add(std::string_view line) {
    std::string storage;
    const auto words = cells(line, storage);
    if (words.empty()) return;
    if (is_dmon_header(line)) return set_header(words);
    if (line.starts_with('#') || !has_header_) return;  // units
    row(words, line);
  }

  [[nodiscard]] bool finish() {
    table_.finish();
    if (table_.empty()) return false;
    if (!has_time_) {
      count_issue(session_.quality, "no_clock_times",
                  "the table of nvidia-smi dmon has no times: one second from row to row was assumed; use -o DT");
    } else {
      count_issue(session_.quality, "local_time", "the times of nvidia-smi dmon have no time zone: taken as UTC");
    }
    return true;
  }

 private:
  void set_header(const std::vector<std::string_view>& words) {
    std::vector<std::string> headers;
    std::size_t before = 0;
    bool seen_gpu = false;
    for (const std::string_view word : words) {
      const std::string name = ascii_lower(word);
      if (seen_gpu) headers.push_back(name);
      if (name == "gpu" && !seen_gpu) seen_gpu = true;
      if (!seen_gpu) ++before;
    }
    columns_before_ = before;
    const auto pid = std::ranges::find(headers, "pid");
    of_processes_ = pid != headers.end();
    has_time_ = before == 2;
    has_header_ = true;
    table_.set_columns(headers, kUnused);
  }

  void row(const std::vector<std::string_view>& words, std::string_view line) {
    const auto short_row = [&] { count_issue(session_.quality, "short_row", "rows that end early: left out", line); };
    if (words.size() <= columns_before_) return short_row();
    const auto gpu = parse_integer(words[columns_before_]);
    if (!gpu || *gpu < 0 || *gpu >= kMostGpus) return short_row();
    const int device = static_cast<int>(*gpu);
    const std::string process =
        of_processes_ && words.size() > columns_before_ + 1 ? std::string(words[columns_before_ + 1]) : "";
    std::int64_t time = rows_[{device, process}]++ * kSecondNs;
    if (has_time_) {
      const auto read = epoch_ns(words[0], words[1]);
      if (!read) return short_row();
      time = *read;
    }
    if (of_processes_ && table_.add_to(device, time, std::span(words).subspan(columns_before_ + 1))) return;
    if (!table_.add(device, time, std::span(words).subspan(columns_before_ + 1))) return short_row();
    add_reasons(device, time);
  }

  /// The violations as NVML's bits of reasons for low clocks, which is what other recordings have.
  void add_reasons(int device, std::int64_t time) {
    constexpr double kSoftwarePowerCap = 0x4, kSoftwareThermal = 0x20;
    const auto power = table_.last("power_violation", device), thermal = table_.last("thermal_violation", device);
    const double bits =
        (power.value_or(0) > 0 ? kSoftwarePowerCap : 0) + (thermal.value_or(0) > 0 ? kSoftwareThermal : 0);
    if (power || thermal) table_.add_value("throttle_reasons", "", device, time, bits);
  }

  ProfileSession& session_;
  CounterTable table_;
  std::map<std::pair<int, std::string>, std::int64_t> rows_;  ///< of a GPU; of pmon, of a process on it
  bool of_processes_ = false;                                 ///< nvidia-smi pmon: a row for each process
  std::size_t columns_before_ = 0;
  bool has_header_ = false;
  bool has_time_ = false;
};

Status read_nvidia_smi_dmon(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  DmonTable table(session);
  WM_TRY(for_each_line(source, session.quality, [&table](std::string_view line) { table.add(line); }));
  if (table.finish()) return {};
  return data_error("the table of nvidia-smi dmon has no values", "let it run for a few seconds");
}

}  // namespace

extern const TraceReader kNvidiaSmiDmonReader = {"nvidia_smi_dmon", "table of nvidia-smi dmon or pmon",
                                                 sniff_nvidia_smi_dmon, read_nvidia_smi_dmon};

}  // namespace warpmark::profile
