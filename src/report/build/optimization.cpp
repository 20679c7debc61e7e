#include "report/build/optimization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "report/draw/format.h"
#include "report/draw/table.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

std::string factor_text(const std::optional<SpeedUp>& speedup) {
  if (!speedup) return "";
  return fmt::format("{:.3g}x [{:.3g}, {:.3g}]", speedup->ratio, speedup->low, speedup->high);
}

Tone outcome_tone(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kept: return Tone::good;
    case TrialOutcome::rejected:
    case TrialOutcome::failed: return Tone::bad;
    case TrialOutcome::undecided: return Tone::warning;
    case TrialOutcome::no_gain:
    case TrialOutcome::replaced:
    case TrialOutcome::slower: return Tone::quiet;
  }
  return Tone::plain;
}

bool in_plan(const Optimization& optimization, const OptimizationStep& step) {
  return std::ranges::any_of(optimization.plan, [&](const auto& setting) {
    return setting.first == step.knob && setting.second == step.value;
  });
}

/// A commit has no value but a subject.
std::string label_of(const OptimizationStep& step) {
  return step.value.empty() ? step.knob + " " + step.title : step.knob + "=" + step.value;
}
bool is_history(const Optimization& optimization) {
  return !optimization.steps.empty() && optimization.steps.front().value.empty();
}

/// Of fresh processes where they measured it, else of blocks of steps in one process.
const std::optional<SpeedUp>& own_speedup(const OptimizationStep& step) {
  return step.measured ? step.measured : step.found ? step.found : step.in_process;
}

/// The settings of the plan, in the order of their cumulative times.
Table plan_table(const Optimization& optimization) {
  Table table{{{is_history(optimization) ? "commit" : "setting"},
               {"speedup", Align::right},
               {"so far", Align::right},
               {"time", Align::right, 1},
               {"memory", Align::right, 2},
               {"kernels", Align::left, 3}},
              {}};
  std::vector<const OptimizationStep*> steps;
  for (const auto& step : optimization.steps) {
    if (in_plan(optimization, step)) steps.push_back(&step);
  }
  if (!is_history(optimization)) {
    std::ranges::stable_sort(steps, {}, [](const OptimizationStep* step) {
      return step->cumulative ? step->cumulative->ratio : std::numeric_limits<double>::infinity();
    });
  }
  for (const auto* step : steps) {
    const bool known = step->cumulative && step->cumulative->ratio > 0 && optimization.baseline.seconds_per_step > 0;
    table.rows.push_back(
        {{label_of(*step)},
         {factor_text(own_speedup(*step))},
         {step->cumulative ? fmt::format("{:.3g}x", step->cumulative->ratio) : ""},
         {known ? format_seconds(optimization.baseline.seconds_per_step / step->cumulative->ratio) : "", Tone::quiet},
         {step->memory_bytes ? format_bytes(*step->memory_bytes) : "", Tone::quiet},
         {step->kernels, Tone::quiet}});
  }
  return table;
}

/// What was tried: the settings of the plan, or those that were left out.
Table tried_table(const Optimization& optimization, bool planned) {
  const bool history = is_history(optimization);
  Table table{{{history ? "commit" : "setting"},
               {"what", Align::left, 4},
               {"outcome"},
               {"predicted", Align::right, 2},
               {"speedup", Align::right, 1},
               {"so far", Align::right, 3},
               {"why"}},
              {}};
  for (const auto& step : optimization.steps) {
    if (in_plan(optimization, step) != planned) continue;
    const auto& predicted = step.predicted;
    table.rows.push_back(
        {{label_of(step)},
         {history ? "" : step.title, Tone::quiet},
         {words_of(step.outcome), outcome_tone(step.outcome)},
         {predicted ? fmt::format("{:.2f}x-{:.2f}x", predicted->low, predicted->high) : "", Tone::quiet},
         {factor_text(own_speedup(step))},
         {factor_text(step.cumulative), Tone::quiet},
         {step.reason, Tone::quiet}});
  }
  return without_empty_columns(std::move(table));
}

/// One sentence per kind of comparison: the largest difference of those that were made while the plan grew.
void add_answers(const Optimization& optimization, Section& section) {
  std::map<std::string, const AnswerCheck*> widest;
  for (const auto& step : optimization.steps) {
    if (!in_plan(optimization, step) || step.answers.text.empty()) continue;
    auto& known = widest[step.answers.kind];
    if (known == nullptr || step.answers.difference > known->difference) known = &step.answers;
  }
  for (const auto& [kind, check] : widest) {
    section.blocks.push_back(
        Paragraph{(kind == "none" ? "Answers: " : "Same answers: ") + check->text + ".", Tone::quiet});
  }
}

/// What the techniques that were tried gained in other programs: one row a bottleneck.
Section priors_section(const Optimization& optimization) {
  Table table{{{"technique"},
               {"answers", Align::left, 2},
               {"median", Align::right},
               {"half of them", Align::right},
               {"guides say", Align::right, 1},
               {"programs", Align::right, 3}},
              {}};
  std::map<std::string, std::pair<std::string, TechniquePrior>> rows;
  for (const auto& step : optimization.steps) {
    if (!step.prior) continue;
    auto& [names, prior] = rows[step.prior->bottleneck];
    prior = *step.prior;
    if ((", " + names + ",").find(", " + step.knob + ",") != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + step.knob;
  }
  Section section{.heading = "What they gained elsewhere", .blocks = {}, .detail = true};
  if (rows.empty()) return section;
  std::string source;
  for (const auto& [bottleneck, row] : rows) {
    const auto& [names, prior] = row;
    source = prior.source;
    table.rows.push_back(
        {{names},
         {bottleneck, Tone::quiet},
         {fmt::format("{:.2g}x", prior.median)},
         {fmt::format("{:.2g}x-{:.2g}x", prior.low, prior.high)},
         {prior.guide_low && prior.guide_high ? fmt::format("{:.3g}x-{:.3g}x", *prior.guide_low, *prior.guide_high)
                                              : "",
          Tone::quiet},
         {std::to_string(prior.programs), Tone::quiet}});
  }
  section.blocks.push_back(table);
  section.blocks.push_back(Paragraph{
      "Gains of fixing that bottleneck manually in programs made to have it, so upper bounds (" + source + ").",
      Tone::quiet});
  return section;
}

Table state_table(const Optimization& optimization) {
  Table table{{{""}, {"original", Align::right}, {"optimized", Align::right}}, {}};
  const auto row = [&](const std::string& name, const std::string& before, const std::string& after) {
    table.rows.push_back({{name, Tone::quiet}, {before}, {after}});
  };
  const auto& a = optimization.baseline;
  const auto* b = optimization.optimized ? &*optimization.optimized : nullptr;
  const auto training = [&](auto&& text) {
    return [&optimization, text](const OptimizationState& s) {
      const auto cost = training_cost(optimization, s);
      return cost ? text(*cost) : std::string();
    };
  };
  const auto of = [](const OptimizationState* state, auto&& text) {
    return state != nullptr ? text(*state) : std::string();
  };
  const auto step = [](const OptimizationState& s) { return format_seconds(s.seconds_per_step); };
  row(optimization.unit == "run" ? "time of the run" : "time per step", step(a), of(b, step));
  if (a.samples_per_s) {
    const auto rate = [](const OptimizationState& s) {
      return s.samples_per_s ? format_significant(*s.samples_per_s, 4) + " /s" : std::string();
    };
    row("samples", rate(a), of(b, rate));
  }
  if (a.memory_bytes) {
    const auto memory = [](const OptimizationState& s) { return s.memory_bytes ? format_bytes(*s.memory_bytes) : ""; };
    row("peak memory", memory(a), of(b, memory));
  }
  if (a.gpu_utilization) {
    const auto busy = [](const OptimizationState& s) {
      return s.gpu_utilization ? format_percent(*s.gpu_utilization) : "";
    };
    row("GPU busy", busy(a), of(b, busy));
  }
  if (a.joules_per_step) {
    const auto energy = [](const OptimizationState& s) {
      return s.joules_per_step ? format_significant(*s.joules_per_step, 3) + " J" : std::string();
    };
    row("energy per step", energy(a), of(b, energy));
  }
  if (optimization.train_steps && training_cost(optimization, a)) {
    const auto days = training([](const TrainingCost& cost) { return fmt::format("{:.3g} days", cost.days); });
    row("whole training", days(a), of(b, days));
    const auto money =
        training([](const TrainingCost& cost) { return cost.cost ? fmt::format("{:.4g}", *cost.cost) : ""; });
    if (optimization.price_per_hour) row("its cost", money(a), of(b, money));
  }
  if (optimization.unit != "run") {
    const auto start = [](const OptimizationState& s) { return format_seconds(s.start_s); };
    if (a.start_s > 0) row("startup and warm-up", start(a), of(b, start));
    for (std::size_t i = 0; i < a.phases.size(); ++i) {
      const auto share = [&](const OptimizationState& s) {
        return i < s.phases.size() ? format_percent(s.phases[i].second) : std::string();
      };
      const auto& phase = a.phases[i].first;
      row((phase == "data" ? "waiting for data" : phase) + ", share of step", share(a), of(b, share));
    }
  }
  return table;
}

std::string cost_text(const Optimization& optimization) {
  std::string text = fmt::format("Cost: {} run{} of the program in {}", optimization.runs,
                                 optimization.runs == 1 ? "" : "s", format_duration(optimization.spent_s));
  if (optimization.price_per_hour) {
    text += fmt::format(", {:.4g} per hour: {:.3g}", *optimization.price_per_hour,
                        *optimization.price_per_hour * optimization.spent_s / 3600);
  }
  if (optimization.optimized && optimization.measured_speedup && optimization.measured_speedup->ratio > 1) {
    const double share = 1 - 1 / optimization.measured_speedup->ratio;
    text +=
        fmt::format("; breaks even after {} of the original program", format_duration(optimization.spent_s / share));
  }
  return text + ".";
}

}  // namespace

Waterfall waterfall_of(const Optimization& optimization) {
  Waterfall waterfall{
      .title = optimization.unit == "run" ? "time of the run" : "time per step", .unit = "s", .bars = {}};
  const double original_s = optimization.baseline.seconds_per_step;
  double time_s = original_s;
  waterfall.bars.push_back({"original", 0, time_s, "", Tone::plain});
  const bool history = is_history(optimization);  // of which every commit is in what came after it
  std::vector<const OptimizationStep*> kept;
  for (const auto& step : optimization.steps) {
    if (step.cumulative && (history || step.outcome == TrialOutcome::kept)) kept.push_back(&step);
  }
  if (!history) {
    std::ranges::stable_sort(kept, {}, [](const OptimizationStep* step) { return step->cumulative->ratio; });
  }
  for (const auto* step : kept) {
    const double next_s = original_s / step->cumulative->ratio;
    waterfall.bars.push_back(
        {label_of(*step), time_s, next_s, fmt::format("{:.3g}x", time_s / next_s), outcome_tone(step->outcome)});
    time_s = next_s;
  }
  if (!history && optimization.optimized && !optimization.times_optimized_s.empty()) {
    waterfall.bars.push_back({"optimized", 0, optimization.optimized->seconds_per_step, "", Tone::plain});
  }
  return waterfall;
}

/// "Speedup 2.51x, memory saved 1.2 GiB".
std::string summary_of(const Optimization& optimization) {
  std::string text;
  if (optimization.measured_speedup) text = fmt::format("Speedup {:.3g}x", optimization.measured_speedup->ratio);
  const auto* b = optimization.optimized ? &*optimization.optimized : nullptr;
  if (!text.empty() && b != nullptr && b->memory_bytes && optimization.baseline.memory_bytes) {
    const double saved = *optimization.baseline.memory_bytes - *b->memory_bytes;
    if (saved != 0)
      text += fmt::format(", memory {} {}", saved >= 0 ? "saved" : "added", format_bytes(std::fabs(saved)));
  }
  return text;
}

/// Where evaluations take a share of the run that matters. Empty: they do not.
std::string evaluation_text(const Optimization& optimization) {
  constexpr double kMatters = 0.05;
  const double share = optimization.baseline.evaluation_share.value_or(0);
  if (share <= kMatters) return {};
  auto text =
      fmt::format("Evaluation takes {} of the original's time and is not part of a step.", format_percent(share));
  if (const auto& gain = optimization.measured_speedup; gain && gain->ratio > 0) {
    text +=
        fmt::format(" Whole-run speedup: {:.3g}x if evaluation is no faster.", 1 / (share + (1 - share) / gain->ratio));
  }
  return text;
}

Section result_section(const Optimization& optimization) {
  Section section{.heading = "Result"};
  if (const auto text = summary_of(optimization); !text.empty()) section.blocks.push_back(Paragraph{text});
  if (auto text = evaluation_text(optimization); !text.empty()) section.blocks.push_back(Paragraph{std::move(text)});
  if (const auto goal = judge_goal(optimization)) {
    section.blocks.push_back(Paragraph{fmt::format("Goal {}: {}.", goal->met ? "met" : "not met", goal->text),
                                       goal->met ? Tone::good : Tone::warning});
  }
  if (optimization.baseline.seconds_per_step > 0)
    section.blocks.push_back(without_empty_columns(state_table(optimization)));
  if (!optimization.plan.empty()) section.blocks.push_back(without_empty_columns(plan_table(optimization)));
  if (optimization.interaction && optimization.plan.size() > 1) {
    section.blocks.push_back(Paragraph{
        fmt::format("Together they gain {:.2f} times the product of their single speedups.", *optimization.interaction),
        Tone::quiet});
  }
  add_answers(optimization, section);
  if (optimization.runs > 0) section.blocks.push_back(Paragraph{cost_text(optimization), Tone::quiet});
  return section;
}

Report build_report(const Optimization& optimization) {
  Report report{.title = "Optimization of " + optimization.program, .subtitle = optimization.verdict, .sections = {}};
  report.sections.push_back(result_section(optimization));
  const auto waterfall = waterfall_of(optimization);
  if (waterfall.bars.size() > 2) report.sections.push_back({.heading = "Step by step", .blocks = {waterfall}});
  if (auto kept = tried_table(optimization, true); !kept.rows.empty()) {
    report.sections.push_back({.heading = "Why they were kept", .blocks = {std::move(kept)}, .detail = true});
  }
  if (auto left_out = tried_table(optimization, false); !left_out.rows.empty()) {
    report.sections.push_back(
        {.heading = is_history(optimization) ? "Commits without a proven speedup" : "Tried and left out",
         .blocks = {left_out}});
  }
  if (auto elsewhere = priors_section(optimization); !elsewhere.blocks.empty()) {
    report.sections.push_back(std::move(elsewhere));
  }
  if (!optimization.findings.empty()) report.sections.push_back(findings_section(optimization));
  if (!optimization.advice.empty()) report.sections.push_back(advice_section(optimization));
  Section log{.heading = "Decisions", .blocks = {}, .detail = true};
  for (const auto& decision : optimization.decisions) log.blocks.push_back(Paragraph{decision});
  if (!log.blocks.empty()) report.sections.push_back(std::move(log));
  return report;
}

Report build_calibration_report(const std::vector<CalibrationRow>& rows) {
  Report report{.title = "Predicted and measured gains", .subtitle = "", .sections = {}};
  Table table{{{"knob"},
               {"times", Align::right},
               {"predicted", Align::right},
               {"measured, median", Align::right},
               {"within", Align::right}},
              {}};
  std::map<std::string, std::vector<const CalibrationRow*>> by_knob;
  for (const auto& row : rows) by_knob[row.knob].push_back(&row);
  std::size_t within_all = 0;
  for (const auto& [knob, group] : by_knob) {
    std::vector<double> low, high, measured;
    std::size_t within = 0;
    for (const auto* row : group) {
      low.push_back(row->predicted_low);
      high.push_back(row->predicted_high);
      measured.push_back(row->measured);
      within += row->measured >= row->predicted_low && row->measured <= row->predicted_high ? 1 : 0;
    }
    within_all += within;
    table.rows.push_back({{knob},
                          {std::to_string(group.size())},
                          {fmt::format("{:.2f}x-{:.2f}x", stats::median(low), stats::median(high)), Tone::quiet},
                          {fmt::format("{:.3g}x", stats::median(measured))},
                          {fmt::format("{} of {}", within, group.size())}});
  }
  report.subtitle =
      rows.empty() ? "no optimization is stored here yet: warpmark optimize -- CMD makes one"
                   : fmt::format("{} of {} measured gains were within what was predicted", within_all, rows.size());
  if (!table.rows.empty()) report.sections.push_back({.heading = "By knob", .blocks = {table}});
  return report;
}

}  // namespace warpmark::report
