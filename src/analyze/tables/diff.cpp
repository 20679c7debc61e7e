// What changed between two profiles, per step of their critical ranks: by kernel, by operator, and by part of the
// breakdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyze/tables/tables.h"
#include "stats/distributions.h"

namespace warpmark::analyze {

namespace {

struct Use {
  double calls = 0;
  double seconds = 0;
  double error = 0;  ///< standard error of `seconds`, of the variation between steps
};

/// Collects the time of each step, as works come by start.
class StepSums {
 public:
  void add(std::size_t step, double seconds) {
    if (step != step_) flush();
    step_ = step;
    in_step_ += seconds;
    ++calls_;
  }
  [[nodiscard]] Use use(double steps) {
    flush();
    const double mean = sum_ / steps;
    const double variance = std::max(0.0, squares_ / steps - mean * mean);
    return {calls_ / steps, mean, std::sqrt(variance / std::max(1.0, steps - 1))};
  }

 private:
  void flush() {
    sum_ += in_step_;
    squares_ += in_step_ * in_step_;
    in_step_ = 0;
  }
  std::size_t step_ = 0;
  double in_step_ = 0, sum_ = 0, squares_ = 0, calls_ = 0;
};

std::map<std::string, Use> uses_of(const Evidence& evidence, bool operators) {
  std::map<std::string, Use> uses;
  if (!evidence.has_timeline()) return uses;
  const RankEvidence& rank = evidence.rank();
  std::map<NameId, StepSums> sums;
  std::size_t step = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work) || (operators && work.op == kNoEvent)) continue;
    while (work.start >= rank.steps.analyzed[step].end_ns) ++step;
    const NameId name = rank.timeline->events.name[operators ? work.op : work.event];
    sums[name].add(step, static_cast<double>(work.end - work.start) * 1e-9);
  }
  for (auto& [name, sum] : sums) uses[std::string(rank.timeline->names.at(name))] = sum.use(rank.step_count());
  return uses;
}

constexpr const char* kNote =
    "Per step; the largest change of time first. Slower and faster: by more than twice the standard error of the "
    "variation between steps; else it is within noise. Appeared and vanished: in one of the two only.";

constexpr double kTick_s = 1e-9;  // times of events are whole nanoseconds: what is less comes from the mean

struct Heading {
  const char* id;
  const char* title;
  const char* note = kNote;
  std::string counted = "Launches";
};

AnalysisTable compare(const Heading& heading, const std::map<std::string, Use>& before,
                      const std::map<std::string, Use>& after, bool few_steps, std::size_t rows) {
  AnalysisTable table{heading.id,
                      heading.title,
                      heading.note,
                      {{"name", "Name", ""},
                       {"change", "Change", ""},
                       {"time_before", "Before", "s"},
                       {"time_after", "After", "s"},
                       {"difference", "Difference", "s"},
                       {"calls_before", heading.counted + " before", ""},
                       {"calls_after", heading.counted + " after", ""}},
                      {}};
  struct Row {
    std::string name;
    Use before, after;
  };
  std::map<std::string, Row> joined;
  for (const auto& [name, use] : before) joined[name].before = use;
  for (const auto& [name, use] : after) joined[name].after = use;
  std::vector<Row> list;
  for (auto& [name, row] : joined) row.name = name, list.push_back(std::move(row));
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    return std::abs(a.after.seconds - a.before.seconds) > std::abs(b.after.seconds - b.before.seconds);
  });
  for (const Row& row : list) {
    if (table.rows.size() == rows) break;
    const double exact = row.after.seconds - row.before.seconds;
    const double difference = std::abs(exact) < kTick_s ? 0 : exact;
    const double noise = 2 * std::sqrt(row.before.error * row.before.error + row.after.error * row.after.error);
    const char* change = row.before.calls == 0                        ? "appeared"
                         : row.after.calls == 0                       ? "vanished"
                         : difference == 0                            ? "same"
                         : few_steps || std::abs(difference) <= noise ? "within noise"
                         : difference > 0                             ? "slower"
                                                                      : "faster";
    table.rows.push_back({row.name, std::string(change), row.before.seconds, row.after.seconds, difference,
                          row.before.calls, row.after.calls});
  }
  if (table.rows.empty()) table.note = "Neither profile has any.";
  return table;
}

Use step_use(const RankEvidence& rank) {
  StepSums sums;
  for (std::size_t i = 0; i < rank.steps.analyzed.size(); ++i) {
    const StepSpan& span = rank.steps.analyzed[i];
    sums.add(i, static_cast<double>(span.end_ns - span.start_ns) * 1e-9);
  }
  return sums.use(rank.step_count());
}

/// The whole step, so that the parts have something to be measured against.
std::map<std::string, Use> step_of(const Evidence& evidence) {
  if (!evidence.has_timeline()) return {};
  Use use = step_use(evidence.rank());
  use.calls = evidence.rank().step_count();
  return {{"step", use}};
}

/// Fewer tell no variation.
bool has_few_steps(const Evidence& evidence) {
  return evidence.has_timeline() && evidence.rank().steps.analyzed.size() < kFewest;
}

std::map<std::string, Use> parts_of(const Evidence& evidence) {
  std::map<std::string, Use> uses;
  if (!evidence.has_timeline()) return uses;
  const RankEvidence& rank = evidence.rank();
  const double error = step_use(rank).error;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (rank.breakdown.ns[i] == 0) continue;
    const auto part = static_cast<Part>(i);
    uses[part_id(part)] = {static_cast<double>(rank.breakdown.pieces[i]) / rank.step_count(), rank.part_ns(part) * 1e-9,
                           error};  // of the step: that of a part is not larger
  }
  return uses;
}

std::set<std::string> gpus_of(const Evidence& evidence) {
  std::set<std::string> names;
  for (const Timeline& timeline : evidence.session->ranks) {
    for (const GpuInfo& gpu : timeline.gpus) names.insert(gpu.name);
  }
  return names;
}

double relative_variance(const Use& use) { return use.error * use.error / (use.seconds * use.seconds); }

}  // namespace

std::optional<StepDifference> step_difference(const Evidence& before, const Evidence& after) {
  if (!before.has_timeline() || !after.has_timeline()) return std::nullopt;
  const Use a = step_use(before.rank()), b = step_use(after.rank());
  if (a.seconds <= 0 || b.seconds <= 0) return std::nullopt;
  StepDifference step{.before_s = a.seconds,
                      .after_s = b.seconds,
                      .steps_before = std::ssize(before.rank().steps.analyzed),
                      .steps_after = std::ssize(after.rank().steps.analyzed),
                      .ratio = b.seconds / a.seconds,
                      .interval = std::nullopt};
  if (has_few_steps(before) || has_few_steps(after)) return step;
  constexpr double kConfidence = 0.95;
  const double degrees = static_cast<double>(std::min(step.steps_before, step.steps_after) - 1);
  // Of the logarithm of the ratio, by the delta method.
  const double far = stats::t_quantile_of_tail((1 - kConfidence) / 2, degrees) *
                     std::sqrt(relative_variance(a) + relative_variance(b));
  step.interval = warpmark::Interval{step.ratio * std::exp(-far), step.ratio * std::exp(far), kConfidence};
  return step;
}

std::vector<AnalysisTable> diff_tables(const Evidence& before, const Evidence& after, std::size_t rows) {
  const bool measured = !before.session->kernels.empty() || !after.session->kernels.empty();
  if (measured && !before.has_timeline() && !after.has_timeline()) return {kernel_card_diff(before, after, rows)};
  const bool few_steps = has_few_steps(before) || has_few_steps(after);
  std::vector<AnalysisTable> tables{
      compare({.id = "diff_step",
               .title = "The step, before and after",
               .note = "Mean of the analyzed steps of the rank that the others wait for.",
               .counted = "Steps"},
              step_of(before), step_of(after), few_steps, rows),
      compare({.id = "diff_breakdown", .title = "Breakdown, before and after", .counted = "Count"}, parts_of(before),
              parts_of(after), few_steps, rows),
      compare({.id = "diff_operators", .title = "Operators by the GPU time they launch, before and after"},
              uses_of(before, true), uses_of(after, true), few_steps, rows),
      compare({.id = "diff_kernels", .title = "Kernels, before and after"}, uses_of(before, false),
              uses_of(after, false), few_steps, rows),
  };
  if (measured) tables.push_back(kernel_card_diff(before, after, rows));
  const std::set<std::string> first = gpus_of(before), second = gpus_of(after);
  if (!first.empty() && !second.empty() && first != second) {
    tables[0].note +=
        fmt::format(" Caution: the GPUs differ: {} before, {} after.", fmt::join(first, ", "), fmt::join(second, ", "));
  }
  return tables;
}

}  // namespace warpmark::analyze
