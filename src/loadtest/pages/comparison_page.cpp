#include "loadtest/pages/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "report/draw/format.h"

namespace warpmark::loadtest {
namespace {

using serving::ComparedNumber;
using serving::LoadComparison;
using serving::LoadComparisonRow;
using serving::LoadDifference;

std::string value_text(double value, const std::string& unit) {
  if (unit == "s") return format_seconds(value);
  if (unit == "B") return report::format_bytes(value);
  return format_significant(value, 4) + (unit == "1" ? "" : " " + unit);
}

struct Mark {
  const char* verdict;
  const char* mark;
  const char* meaning;
};
constexpr Mark kMarks[] = {{"inconclusive", "?", "not significant"},
                           {"same", "=", "less than 2 % apart"},
                           {"unreliable", "!", "no verdict, as a client was unreliable"}};

Cell difference_cell(const LoadDifference& variant, const std::string& unit) {
  if (!variant.value) return {"-"};
  std::string text = value_text(*variant.value, unit);
  if (variant.ratio) text += " (" + report::format_change(*variant.ratio) + ")";
  if (variant.few_requests) text += " *";
  for (const auto& [verdict, mark, meaning] : kMarks) {
    if (variant.verdict == verdict) text += std::string(" ") + mark;
  }
  const Tone tone = variant.verdict == "better" ? Tone::good : variant.verdict == "worse" ? Tone::bad : Tone::plain;
  return {text, tone};
}

/// Names without the folders that all of them stand in, which leave no room for the numbers.
std::vector<std::string> without_common_folders(std::vector<std::string> names) {
  for (;;) {
    const auto folder = names.front().substr(0, names.front().find('/') + 1);
    const bool is_common = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.size() > folder.size() && name.starts_with(folder);
    });
    if (folder.empty() || !is_common) return names;
    for (auto& name : names) name.erase(0, folder.size());
  }
}

bool is_speed(const ComparedNumber& number) {
  return number.unit == "s" || number.unit == "requests/s" || number.unit == "tokens/s";
}

/// How telling a number is of a server's speed: lower is more.
int rank_of(const ComparedNumber& number) {
  constexpr std::pair<const char*, const char*> kOrder[] = {{"request_throughput", "mean"},
                                                            {"output_throughput", "mean"},
                                                            {"ttft", "p50"},
                                                            {"tpot", "p50"},
                                                            {"e2e", "p50"},
                                                            {"ttft", "p95"},
                                                            {"tpot", "p95"},
                                                            {"e2e", "p95"}};
  int rank = 0;
  for (const auto& [metric, statistic] : kOrder) {
    if (number.metric == metric && number.statistic == statistic) return rank;
    ++rank;
  }
  return is_speed(number) ? rank : rank + 1;
}

/// The most telling number of a variant that has this verdict, at the heaviest load that has any; null if none.
const LoadComparisonRow* leading_row(const LoadComparison& comparison, std::size_t variant, std::string_view verdict) {
  const LoadComparisonRow* best = nullptr;
  for (const auto& row : comparison.rows) {  // the loads stand in the order in which they were measured
    if (row.variants[variant].verdict != verdict) continue;
    const bool other_load = best != nullptr && (row.level != best->level || row.scenario != best->scenario);
    if (best == nullptr || other_load || rank_of(row.number) < rank_of(best->number)) best = &row;
  }
  return best;
}

/// "1.30x slower: TTFT p50 26.20 ms instead of 20.10 ms (D(50,20), 8 users)".
std::string difference_text(const LoadComparisonRow& row, std::size_t variant, bool better) {
  const LoadDifference& other = row.variants[variant];
  const double times = std::exp(std::abs(std::log(*other.ratio)));
  const char* word = is_speed(row.number) ? (better ? "faster" : "slower") : better ? "better" : "worse";
  return fmt::format("{}x {}: {} {} instead of {} ({}, {})", format_significant(times, 3), word,
                     number_name(row.number), value_text(*other.value, row.number.unit),
                     value_text(*row.variants.front().value, row.number.unit), row.scenario, row.level);
}

std::map<std::string, int> verdicts_of(const LoadComparison& comparison, std::size_t variant) {
  std::map<std::string, int> counts;
  for (const auto& row : comparison.rows) {
    if (!row.variants[variant].verdict.empty()) ++counts[row.variants[variant].verdict];
  }
  return counts;
}

Paragraph headline_of(const LoadComparison& comparison, const std::vector<std::string>& names, std::size_t variant) {
  auto counts = verdicts_of(comparison, variant);
  const auto *worse = leading_row(comparison, variant, "worse"), *better = leading_row(comparison, variant, "better");
  const std::string& name = names[variant];
  if (worse == nullptr && better == nullptr) {
    if (const auto* row = leading_row(comparison, variant, "unreliable"); row != nullptr) {
      const LoadDifference& other = row->variants[variant];
      return {fmt::format("No verdict on {}, as a client was unreliable: {} {} instead of {} of {} ({}, {}).", name,
                          number_name(row->number), value_text(*other.value, row->number.unit),
                          value_text(*row->variants.front().value, row->number.unit), names.front(), row->scenario,
                          row->level),
              Tone::warning};
    }
    return {fmt::format(
        "{} is not shown to be faster or slower than {}: {} of {} numbers are the same, {} are not "
        "significant.",
        name, names.front(), counts["same"], counts["same"] + counts["inconclusive"], counts["inconclusive"])};
  }
  std::string text = name + " is ";
  if (worse != nullptr) text += difference_text(*worse, variant, false);
  if (worse != nullptr && better != nullptr) text += ", and ";
  if (better != nullptr) text += difference_text(*better, variant, true);
  text += ". " + fmt::format("Compared with {}: {} numbers worse, {} better, {} the same, {} not significant",
                             names.front(), counts["worse"], counts["better"], counts["same"], counts["inconclusive"]);
  if (counts["unreliable"] > 0) text += fmt::format(", {} not judged", counts["unreliable"]);
  return {text + ".", worse != nullptr ? Tone::bad : Tone::good};
}

/// Which client was late, and the command that measures it again.
void add_unreliable(const LoadComparison& comparison, const std::vector<std::string>& commands, Section& section) {
  if (comparison.unreliable.empty()) return;
  section.blocks.push_back(Paragraph{"The client was late when it measured " + join(comparison.unreliable, " and ") +
                                         ": these loads get no verdict. Measure again on a quiet machine:",
                                     Tone::warning});
  for (std::size_t i = 0; i < comparison.names.size() && i < commands.size(); ++i) {
    if (commands[i].empty() || std::ranges::count(comparison.unreliable, comparison.names[i]) == 0) continue;
    section.blocks.push_back(Paragraph{commands[i], Tone::quiet, true});
  }
}

/// Of the marks that the page has.
std::string legend_of(const LoadComparison& comparison) {
  std::vector<std::string> parts;
  const auto any = [&](auto holds) {
    return std::ranges::any_of(comparison.rows,
                               [&](const auto& row) { return std::ranges::any_of(row.variants, holds); });
  };
  for (const auto& [verdict, mark, meaning] : kMarks) {
    const std::string_view wanted = verdict;
    if (any([&](const auto& one) { return one.verdict == wanted; })) parts.push_back(std::string(mark) + " " + meaning);
  }
  if (any([](const auto& one) { return one.few_requests; })) parts.emplace_back("* too few requests to compare");
  return join(parts, "; ") + (parts.empty() ? "" : ". ");
}

}  // namespace

std::string number_name(const ComparedNumber& number) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"ttft", "TTFT"}, {"tpot", "TPOT"}, {"e2e", "end to end"}};
  std::string name = number.metric;
  for (const auto& [id, shown] : kNames) {
    if (name == id || name.starts_with(std::string(id) + "_")) name = std::string(shown) + name.substr(id.size());
  }
  std::ranges::replace(name, '_', ' ');
  return name + (number.statistic == "mean" ? "" : " " + number.statistic);
}

Report comparison_page_of(const LoadComparison& comparison, const std::vector<std::string>& commands) {
  const auto names = without_common_folders(comparison.names);
  Report page{.title = "Load comparison", .subtitle = "", .sections = {}};
  Section first{"", {}};
  for (std::size_t i = 1; i < names.size(); ++i) first.blocks.push_back(headline_of(comparison, names, i));
  add_unreliable(comparison, commands, first);
  for (const auto& note : comparison.notes) first.blocks.push_back(Paragraph{note + ".", Tone::warning});
  page.sections.push_back(std::move(first));
  std::string heading;
  for (const auto& row : comparison.rows) {
    const std::string here = row.scenario + ", " + row.level;
    if (here != heading) {
      heading = here;
      Table table{{{"number"}}, {}};
      for (const auto& name : names) table.columns.push_back({name, Align::right});
      page.sections.push_back({here, {table}});
    }
    std::vector<Cell> cells{{number_name(row.number)}};
    for (const auto& variant : row.variants) cells.push_back(difference_cell(variant, row.number.unit));
    std::get<Table>(page.sections.back().blocks.front()).rows.push_back(std::move(cells));
  }
  page.sections.push_back(
      {"How it was compared",
       {Paragraph{
           "Changes are relative to " + names.front() + ". " + legend_of(comparison) +
               "If all servers were equal, the chance of any verdict in these tables would be 5 %. Loads that "
               "were measured at different times can differ more than this shows; `warpmark compare` alternates.",
           Tone::quiet}}});
  return page;
}

}  // namespace warpmark::loadtest
