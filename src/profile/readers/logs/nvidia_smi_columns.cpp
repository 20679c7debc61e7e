// Names: `nvidia-smi --help-query-gpu`. Headers are compared as sets of words, so that separators, order, "gpu" and
// common abbreviations do not matter.
#include "profile/readers/logs/nvidia_smi_columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/text.h"
#include "profile/readers/text/decimal.h"

namespace warpmark::profile {
namespace {

constexpr double kKiB = 1024, kGiB = kMiB * 1024;

struct Known {
  std::string_view words;  ///< sorted
  ColumnRole role;
  const char* id = "";
  const char* unit = "";
  double scale = 1;
  int rank = 0;
};

constexpr auto kCounter = ColumnRole::counter;
constexpr Known kKnown[] = {
    {"utilization", kCounter, "gpu_utilization", "", 0.01},
    {"usage", kCounter, "gpu_utilization", "", 0.01},
    {"sm utilization", kCounter, "gpu_utilization", "", 0.01},
    {"memory utilization", kCounter, "memory_utilization", "", 0.01},
    {"memory used", kCounter, "memory_used", "B", kMiB},
    {"memory total", kCounter, "memory_total", "B", kMiB},
    {"power", kCounter, "power", "W", 1},
    {"limit power", kCounter, "power_limit", "W", 1},
    {"default limit power", kCounter, "power_limit_default", "W", 1},
    {"temperature", kCounter, "temperature", "degC", 1},
    {"memory temperature", kCounter, "memory_temperature", "degC", 1},
    {"clocks sm", kCounter, "sm_clock", "Hz", 1e6},
    {"clocks memory", kCounter, "memory_clock", "Hz", 1e6},
    {"clocks max sm", kCounter, "sm_clock_max", "Hz", 1e6},
    {"active clocks reasons throttle", kCounter, "throttle_reasons", "", 1},
    {"active clocks event reasons", kCounter, "throttle_reasons", "", 1},
    {"gen link pcie", kCounter, "pcie_link_generation", "", 1},
    {"link pcie width", kCounter, "pcie_link_width", "", 1},
    {"gen link max pcie", kCounter, "pcie_link_generation_max", "", 1},
    {"link max pcie width", kCounter, "pcie_link_width_max", "", 1},
    {"corrected ecc errors total volatile", kCounter, "ecc_corrected", "", 1},
    {"ecc errors total uncorrected volatile", kCounter, "ecc_uncorrected", "", 1},
    {"pages pending retired", kCounter, "retired_pages_pending", "", 1},
    {"pending remapped rows", kCounter, "remapped_rows_pending", "", 1},
    {"failure remapped rows", kCounter, "remapped_rows_failure", "", 1},
    {"timestamp", ColumnRole::time},
    {"datetime", ColumnRole::time},
    {"date time", ColumnRole::time},
    {"time", ColumnRole::time},
    {"elapsed time", ColumnRole::time},
    {"elapsed", ColumnRole::time},
    // Scripts that log every GPU by itself with -i have the index of the loop in "gpu" next to an index of 0.
    {"gpu", ColumnRole::gpu, "", "", 1, 0},
    {"index", ColumnRole::gpu, "", "", 1, 1},
    {"id", ColumnRole::gpu, "", "", 1, 2},
    {"device", ColumnRole::gpu, "", "", 1, 3},
    {"device id", ColumnRole::gpu, "", "", 1, 3},
    {"device index", ColumnRole::gpu, "", "", 1, 3},
    {"uuid", ColumnRole::gpu, "", "", 1, 4},
    {"bus id pci", ColumnRole::gpu, "", "", 1, 5},
    {"bus id", ColumnRole::gpu, "", "", 1, 5},
};

/// Of columns that nvidia-smi can print and nothing reads.
constexpr std::array kUnusedWords = {"name",  "free",     "fan",    "pstate",  "driver",      "serial",    "count",
                                     "vbios", "mode",     "ecc",    "encoder", "decoder",     "jpeg",      "ofa",
                                     "video", "graphics", "tlimit", "max",     "min",         "reserved",  "pci",
                                     "pcie",  "compute",  "gom",    "inforom", "persistence", "supported", "idle"};

struct Reason {
  std::string_view ending;
  double bit;
};
constexpr Reason kReasons[] = {
    {".applications_clocks_setting", 0x2}, {".sw_power_cap", 0x4},         {".hw_slowdown", 0x8},
    {".sw_thermal_slowdown", 0x20},        {".hw_thermal_slowdown", 0x40}, {".hw_power_brake_slowdown", 0x80}};

struct Unit {
  std::string_view text;
  double scale;
};
/// Scripts write nvidia-smi's MiB as MB, too.
constexpr Unit kUnits[] = {{"%", 0.01},
                           {"pct", 0.01},
                           {"percent", 0.01},
                           {"b", 1},
                           {"byte", 1},
                           {"bytes", 1},
                           {"kib", kKiB},
                           {"kb", kKiB},
                           {"mib", kMiB},
                           {"mb", kMiB},
                           {"gib", kGiB},
                           {"gb", kGiB},
                           {"w", 1},
                           {"watt", 1},
                           {"watts", 1},
                           {"mw", 1e-3},
                           {"kw", 1e3},
                           {"c", 1},
                           {"\xC2\xB0"
                            "c",
                            1},
                           {"degc", 1},
                           {"celsius", 1},
                           {"hz", 1},
                           {"mhz", 1e6},
                           {"ghz", 1e9},
                           {"s", 1},
                           {"sec", 1},
                           {"seconds", 1},
                           {"ms", 1e-3}};

const Unit* unit_of(std::string_view text) {
  const std::string lower = ascii_lower(trim(text));
  const auto* const found = std::ranges::find(kUnits, lower, &Unit::text);
  return found == std::end(kUnits) ? nullptr : found;
}

std::string_view usual_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords = {{{"util", "utilization"},
                                                                                    {"load", "utilization"},
                                                                                    {"mem", "memory"},
                                                                                    {"vram", "memory"},
                                                                                    {"temp", "temperature"},
                                                                                    {"clock", "clocks"},
                                                                                    {"clk", "clocks"},
                                                                                    {"freq", "clocks"},
                                                                                    {"frequency", "clocks"}}};
  const auto* const found = std::ranges::find(kWords, word, &std::pair<std::string_view, std::string_view>::first);
  return found == kWords.end() ? word : found->second;
}

/// Of a name without its unit; a unit that is the last word is taken out.
std::set<std::string> unit_words_of(std::string_view name, std::string_view& unit) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const auto end = std::min(name.find_first_of("._ -/"), name.size());
    if (end > 0) parts.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (unit.empty() && parts.size() > 1 && unit_of(parts.back()) != nullptr) {
    unit = parts.back();
    parts.pop_back();
  }
  std::set<std::string> words;
  for (const std::string_view part : parts) words.emplace(usual_word(ascii_lower(part)));
  for (const char* filler : {"draw", "average", "instant", "enforced", "current"}) words.erase(filler);
  if (words.size() > 1) words.erase("gpu");
  return words;
}

}  // namespace

double smi_unit_scale(std::string_view unit, double otherwise) {
  const Unit* const known = unit_of(unit);
  return known == nullptr ? otherwise : known->scale;
}

double smi_value(std::string_view cell, double scale) {
  if (cell.starts_with("0x")) {
    double bits = 0;
    for (const char c : ascii_lower(cell.substr(2))) bits = bits * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    return std::min(bits, 1e15);
  }
  if (cell == "Yes" || cell == "No") return cell == "Yes" ? 1 : 0;
  const auto end = std::min(cell.find_first_not_of("0123456789.+-"), cell.size());
  const auto number = parse_number(cell.substr(0, end));
  return number ? *number * smi_unit_scale(cell.substr(end), scale) : std::numeric_limits<double>::quiet_NaN();
}

SmiColumn smi_column(std::string_view header) {
  SmiColumn column{.header = std::string(trim(header))};
  const std::string lower = ascii_lower(column.header);
  for (const Reason& reason : kReasons) {
    if (!lower.ends_with(reason.ending)) continue;
    column.role = ColumnRole::throttle_reason;
    column.throttle_bit = reason.bit;
    return column;
  }
  const auto bracket = std::min({lower.find_first_of("[(%"), lower.size()});
  std::string_view unit;
  if (bracket < lower.size()) {
    unit = std::string_view(lower).substr(bracket);
    if (unit[0] != '%') unit = unit.substr(1, std::min(unit.find_first_of("])"), unit.size()) - 1);
  }
  std::set<std::string> words = unit_words_of(std::string_view(lower).substr(0, bracket), unit);
  const double scale = smi_unit_scale(unit, 0);
  if (words == std::set<std::string>{"gpu"} && scale == 0.01) words = {"utilization"};
  if (words == std::set<std::string>{"memory", "usage"} && scale >= 1) words = {"memory", "used"};
  const std::string joined = join(std::vector<std::string>(words.begin(), words.end()), " ");
  if (const auto* const known = std::ranges::find(kKnown, joined, &Known::words); known != std::end(kKnown)) {
    column.role = known->role;
    column.rank = known->rank;
    column.id = known->id;
    column.unit = known->unit;
    column.scale = scale != 0 ? scale : known->scale;
  } else if (std::ranges::any_of(kUnusedWords, [&](const char* word) { return words.contains(word); })) {
    column.role = ColumnRole::unused;
  }
  return column;
}

std::vector<std::string_view> smi_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// nvidia-smi's own names have dots; others count only next to a time or a GPU, and if more than one word is known.
bool read_smi_header(std::string_view line, std::vector<SmiColumn>& columns) {
  line = line.substr(0, std::min<std::size_t>(line.find('\n'), 4096));
  if (line.find(',') == std::string_view::npos || is_digit(trim(line).substr(0, 1).front())) return false;
  std::vector<SmiColumn> read;
  for (const std::string_view cell : smi_cells(line)) read.push_back(smi_column(cell));
  bool is_smi = false, has_place = false, has_process = false;
  std::size_t counters = 0;
  for (const SmiColumn& column : read) {
    const bool counts = column.role == ColumnRole::counter || column.role == ColumnRole::throttle_reason;
    counters += counts ? 1 : 0;
    is_smi |= counts && column.header.find('.') != std::string::npos;
    has_place |= column.role == ColumnRole::time || column.role == ColumnRole::gpu;
    has_process |= column.header == "pid";  // --query-compute-apps
  }
  const bool of_gpu = counters > 1 || ascii_lower(line).find("gpu") != std::string::npos;
  if (has_process || counters == 0 || !(is_smi || (has_place && of_gpu))) return false;
  columns = std::move(read);
  return true;
}

}  // namespace warpmark::profile
