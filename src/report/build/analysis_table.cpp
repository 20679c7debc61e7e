#include "report/build/analysis_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "report/draw/format.h"
#include "report/results/build_plots.h"

namespace warpmark::report {
namespace {

/// Names of kernels run to hundreds of characters; what tells them apart stands at the front.
constexpr std::size_t kLongestName = 60;

/// A size as it is read: "64 MiB" told exactly is the same as "64.0 MiB" of one that was rounded.
std::string as_read(double bytes, int digits) {
  const std::string text = format_bytes(bytes, digits);
  return fmt::format("{}{}", std::strtod(text.c_str(), nullptr), text.substr(text.rfind(' ')));
}

/// As many digits as tell apart rows that only their sizes differ in: one bucket of gradients may be larger than the
/// next by a bias.
int byte_digits_of(const AnalysisTable& table, std::size_t column, std::size_t rows) {
  constexpr int kFewest = 3, kMost = 6;
  if (table.columns[column].unit != "B") return kFewest;
  const auto distinguishes = [&](int digits) {
    std::map<std::string, double> sizes;
    for (std::size_t r = 0; r < rows; ++r) {
      std::string key;
      for (const auto& value : table.rows[r]) {
        if (const auto* text = std::get_if<std::string>(&value)) key += *text + '\n';
      }
      const auto* bytes = std::get_if<double>(&table.rows[r][column]);
      if (bytes == nullptr) continue;
      const auto [known, added] = sizes.emplace(key + as_read(*bytes, digits), *bytes);
      if (!added && known->second != *bytes) return false;
    }
    return true;
  };
  int digits = kFewest;
  while (digits < kMost && !distinguishes(digits)) ++digits;
  return digits;
}

std::string_view without_void(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

/// How many characters two texts begin with alike.
std::size_t alike(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Bytes [from, from + size) of a text, without parts of UTF-8 characters.
std::string piece(std::string_view text, std::size_t from, std::size_t size) {
  const auto inside = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t end = std::min(text.size(), from + size);
  while (inside(from)) ++from;
  while (end > from && inside(end)) --end;
  return std::string(text.substr(from, end - from));
}

/// A long name with its front and the place, `from` on, where another one begins to differ.
std::string name_around(std::string_view name, std::size_t from) {
  constexpr std::size_t kFront = 24, kBefore = 8, kDots = 3;
  const std::size_t room = kLongestName - kFront - 2 * kDots;
  const std::size_t last = name.size() - std::min(name.size(), room + kDots);
  const std::size_t begin = std::min(from - std::min(from, kBefore), last);
  const bool whole_end = begin + room + kDots >= name.size();
  return piece(name, 0, kFront) + "..." + piece(name, begin, whole_end ? room + kDots : room) +
         (whole_end ? "" : "...");
}

/// Names as they fit into a line, and different where they differ: instances of one template begin alike.
std::map<std::string, std::string> short_names(const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string_view>> by_short;
  for (const std::string& name : names) by_short[short_name(name)].push_back(name);
  std::map<std::string, std::string> result;
  for (auto& [text, of] : by_short) {
    std::ranges::sort(of, {}, without_void);  // the nearest to a name stand beside it
    for (std::size_t i = 0; i < of.size(); ++i) {
      const std::string_view name = without_void(of[i]);
      const std::size_t before = i > 0 ? alike(without_void(of[i - 1]), name) : 0;
      const std::size_t after = i + 1 < of.size() ? alike(name, without_void(of[i + 1])) : 0;
      const std::string around =
          of[i].size() <= kLongestName ? std::string(of[i]) : name_around(name, std::max(before, after));
      result[std::string(of[i])] = of.size() == 1 ? text : around;
    }
  }
  return result;
}

std::set<std::string> texts_of(const AnalysisTable& table, std::size_t rows) {
  std::set<std::string> texts;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const TableValue& value : table.rows[r]) {
      if (const auto* text = std::get_if<std::string>(&value)) texts.insert(*text);
    }
  }
  return texts;
}

Section rows_section(const AnalysisTable& table, std::size_t rows, bool whole_names) {
  Section section{table.title, {}, true};
  if (!table.note.empty()) section.blocks.push_back(Paragraph{table.note, Tone::quiet});
  if (table.rows.empty()) return section;
  Table shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool is_text = std::holds_alternative<std::string>(table.rows.front()[c]);
    // Where there is no room, the last columns go first.
    const int optional = c < 3 ? 0 : static_cast<int>(c);
    shown.columns.push_back({table.columns[c].title, is_text ? Align::left : Align::right, optional});
  }
  std::vector<int> digits;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    digits.push_back(byte_digits_of(table, c, std::min(rows, table.rows.size())));
  std::map<std::string, std::string> names;
  if (!whole_names) names = short_names(texts_of(table, std::min(rows, table.rows.size())));
  for (std::size_t r = 0; r < std::min(rows, table.rows.size()); ++r) {
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const auto* text = std::get_if<std::string>(&table.rows[r][c]);
      cells.push_back({text != nullptr ? whole_names ? *text : names.at(*text)
                                       : format_value(table.rows[r][c], table.columns[c].unit, digits[c])});
    }
    shown.rows.push_back(std::move(cells));
  }
  section.blocks.push_back(std::move(shown));
  if (table.rows.size() > rows) {
    const auto more = format_plural(table.rows.size() - rows, "row more", "rows more");
    section.blocks.push_back(Paragraph{"... " + more + "; all are in the JSON.", Tone::quiet});
  }
  return section;
}

Section memory_section(const AnalysisTable& table) {
  Plot plot{table.title, {"time (s)", "s"}, {"memory (B)", "B"}, {{"allocated", {}}, {"reserved", {}}}};
  for (const auto& row : table.rows) {
    const double time = std::get<double>(row[0]);
    for (std::size_t series = 0; series < 2; ++series) {
      if (const auto* bytes = std::get_if<double>(&row[series + 1]))
        plot.series[series].points.emplace_back(time, *bytes);
    }
  }
  std::erase_if(plot.series, [](const Series& series) { return series.points.empty(); });
  Section section{table.title, {Paragraph{table.note, Tone::quiet}, plot}};
  section.detail = true;
  return section;
}

/// Below the table: the kernels as points, the peaks as lines.
void add_roofline_plot(const AnalysisTable& table, Section& section) {
  Plot plot{table.title, {"FLOP/B of device memory", "", true}, {"achieved (FLOP/s)", "FLOP/s", true}, {}};
  std::vector<NamedLimit> peaks, bandwidths;
  std::vector<Series> points;
  double least = HUGE_VAL, most = 0;
  for (const auto& row : table.rows) {
    const std::string &name = std::get<std::string>(row[0]), &what = std::get<std::string>(row[1]);
    if (what == kMemoryPeak) {
      bandwidths.emplace_back(name, std::get<double>(row[5]));
    } else if (what == kComputePeak) {
      peaks.emplace_back(name, std::get<double>(row[3]));
    } else {
      const double intensity = std::get<double>(row[2]);
      least = std::min(least, intensity);
      most = std::max(most, intensity);
      points.push_back({short_name(name), {{intensity, std::get<double>(row[3])}}, false});
    }
  }
  if (points.empty()) return;
  double ridge = most;
  for (const auto& [memory, bandwidth] : bandwidths) {
    for (const auto& [unit, peak] : peaks) ridge = std::max(ridge, peak / bandwidth);
  }
  plot.series = roofline_limits(peaks, bandwidths, least / 2, ridge * 4);
  plot.series.insert(plot.series.end(), points.begin(), points.end());
  section.blocks.emplace_back(std::move(plot));
}

constexpr std::string_view kPartsTable = "diff_breakdown";

/// "idle_data_loading" is "GPU idle: data loading".
std::string words_of_part(const std::string& id) {
  if (id == kRecordingPart) return "GPU idle: profiler overhead";
  const std::string name = part_name(id);
  return id.starts_with("idle_") ? "GPU idle: " + name : id.starts_with("exposed_") ? "exposed " + name : name;
}

/// "Largest change: gemm, 21.33 ms more per step." Of the cost of recording nothing is said.
std::string largest_change(const ProfileDifference& difference) {
  const auto parts = std::ranges::find(difference.tables, kPartsTable, &AnalysisTable::id);
  if (parts == difference.tables.end()) return {};
  for (const auto& row : parts->rows) {
    const auto& id = std::get<std::string>(row[0]);
    const double change_s = std::get<double>(row[4]);
    if (id == kRecordingPart) continue;
    if (change_s == 0) return {};
    return fmt::format(" Largest change: {}, {} {} per step.", words_of_part(id), format_seconds(std::abs(change_s)),
                       change_s > 0 ? "more" : "less");
  }
  return {};
}

Paragraph difference_headline(const ProfileDifference& difference) {
  if (!difference.step) return {"No step to compare: a profile has no timeline with steps.", Tone::warning};
  const StepDifference& step = *difference.step;
  const std::string times =
      fmt::format("{} per step before, {} after.", format_seconds(step.before_s), format_seconds(step.after_s));
  const bool slower = step.ratio > 1;
  std::string known;
  if (step.interval) {
    const double low = slower ? step.interval->low : 1 / step.interval->high;
    const double high = slower ? step.interval->high : 1 / step.interval->low;
    known = fmt::format("{:.3g} % CI {}-{}", 100 * step.interval->confidence, format_times(low), format_times(high));
    if (low <= 1 && step.ratio != 1) {
      return {fmt::format("No difference shown: {} {} ({}): ", format_times(slower ? step.ratio : 1 / step.ratio),
                          slower ? "slower" : "faster", known) +
                  times,
              Tone::plain};
    }
  } else {
    known = step.steps_before == 1 && step.steps_after == 1
                ? "no interval: one step each"
                : fmt::format("no interval: {} and {} steps, at least 3 of each are needed", step.steps_before,
                              step.steps_after);
  }
  const std::string times_of = format_times(slower ? step.ratio : 1 / step.ratio);
  const bool same = step.ratio == 1 || times_of == format_times(1);  // as it is shown
  const std::string change =
      same ? "The step takes the same time" : fmt::format("The step is {} {}", times_of, slower ? "slower" : "faster");
  return {fmt::format("{} ({}): {}{}", change, known, times, largest_change(difference)),
          step.interval && !same ? slower ? Tone::bad : Tone::good : Tone::plain};
}

}  // namespace

std::string short_name(std::string_view name) {
  name = without_void(name);
  if (name.size() <= kLongestName) return std::string(name);
  std::string text(name);  // the kind of an elementwise kernel of PyTorch is its second argument
  for (const std::string_view repeated : {"at::native::", "(anonymous namespace)::"}) {
    for (auto at = text.find(repeated); at != std::string::npos; at = text.find(repeated, at))
      text.erase(at, repeated.size());
  }
  return text.size() <= kLongestName ? text : piece(text, 0, kLongestName - 3) + "...";
}

std::string format_value(const TableValue& value, const std::string& unit, int byte_digits) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value); whole != nullptr && unit.empty()) {
    return format_count(*whole);
  }
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (unit == "s") return format_seconds(number);
  if (unit == "B") return format_bytes(number, byte_digits);
  if (unit == "ratio") return format_percent(number);
  return unit.empty() ? format_significant(number, 3) : format_si(number, unit);
}

Section table_section(const AnalysisTable& table, std::size_t rows, bool whole_names) {
  if (table.id == kMemoryCurveTable) return memory_section(table);
  Section section = rows_section(table, rows, whole_names);
  if (table.id == kKernelRooflineTable) add_roofline_plot(table, section);
  return section;
}

std::string part_name(std::string name, bool of_one_process) {
  if (of_one_process && name == "idle_waiting_for_rank") return "waiting for another GPU";
  for (const std::string_view prefix : {"idle_", "exposed_"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

Report build_diff_report(const ProfileDifference& difference, std::size_t table_rows) {
  Report report{"What changed between two profiles", "", {}};
  report.sections.push_back({"", {difference_headline(difference)}});
  for (AnalysisTable table : difference.tables) {
    for (auto& row : table.rows) {
      if (table.id == kPartsTable) row[0] = words_of_part(std::get<std::string>(row[0]));
    }
    report.sections.push_back(table_section(table, table_rows));
    report.sections.back().detail = false;
  }
  return report;
}

}  // namespace warpmark::report
