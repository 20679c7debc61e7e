#include "warpmark/eval/eval_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "accuracy/significance/comparison.h"
#include "base/text.h"
#include "base/units.h"
#include "evaluate/run_task.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"

namespace warpmark::apps {
namespace {

using evaluate::GateAnswer;
using evaluate::GateResult;

bool names_task(const std::string& text) {
  const std::string name = text.substr(0, text.rfind('='));
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

/// The gate's text; empty without one. compare's --accuracy is it where it names a task.
std::string gate_text(const ParsedOptions& options) {
  if (options.has("--eval")) return options.get("--eval");
  const auto all = options.all("--accuracy");
  const auto task = std::find_if(all.begin(), all.end(), is_eval_task);
  return task == all.end() ? "" : *task;
}

struct Gate {
  std::string name;  ///< metrics, or the file of a task
  evaluate::GateOptions options;
};

Result<Gate> gate_of(const std::string& text) {
  WM_ASSIGN(auto named, eval_gate_of(text));
  Gate gate{.name = std::move(named.first), .options = {}};
  gate.options.margin = named.second;
  return gate;
}

/// Of a metric: two files of answers.
struct AnswersGate {
  accuracy::MetricSet metrics;
  EvalInputs inputs;
};

Result<AnswersGate> answers_gate(Context& context, const std::string& metrics, const std::string& reference,
                                 const std::vector<std::string>& files) {
  EvalRequest inner;
  if (!reference.empty()) inner.references = {reference};
  AnswersGate gate;
  WM_ASSIGN(gate.metrics, eval_metrics(context, inner.settings, metrics));
  WM_ASSIGN(gate.inputs, eval_inputs(context, inner, files));
  return gate;
}

Result<AnswersGate> answers_gate(Context& context, const ParsedOptions& options, const std::string& metrics) {
  const auto files = split(options.get("--eval-answers"), ',');
  if (files.size() != 2) return usage_error("--eval needs --eval-answers BASE,NEW", "two files of answers");
  return answers_gate(context, metrics, options.get("--eval-ref"), files);
}

/// Of a task: two models that are asked, or answers of one from before.
struct AskedGate {
  evaluate::LoadedTask task;
  evaluate::GateSide base, changed;
};

Result<AskedGate> asked_gate(const ParsedOptions& options, const std::string& file) {
  const auto models = options.all("--eval-model");
  if (models.size() != 2) {
    return usage_error("a task needs --eval-model twice: the base, then what is new",
                       "http://HOST/v1#MODEL, a command that answers, or answers.jsonl of an earlier eval run");
  }
  AskedGate gate;
  WM_ASSIGN(gate.task, evaluate::load_task(file));
  WM_ASSIGN(gate.base, evaluate::gate_side(models[0], "base"));
  WM_ASSIGN(gate.changed, evaluate::gate_side(models[1], "new"));
  return gate;
}

Result<GateResult> judged(Context& context, const ParsedOptions& options, Gate& gate) {
  if (!names_task(gate.name)) {
    WM_ASSIGN(const auto answers, answers_gate(context, options, gate.name));
    return evaluate::judge_gate(answers.inputs.examples, answers.metrics.metrics, gate.options);
  }
  WM_ASSIGN(const auto asked, asked_gate(options, gate.name));
  gate.options.folder = asked.task.task.name + "-gate.run";
  gate.options.runner.interrupted = &context.interrupted;
  StepBar bar(context);
  auto result = evaluate::task_gate(asked.task, asked.base, asked.changed, gate.options,
                                    [&](const auto& progress) { show_run_progress(bar, progress); });
  bar.clear();
  return result;
}

}  // namespace

Result<std::pair<std::string, double>> eval_gate_of(const std::string& text) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return usage_error("--eval " + text + " is not of the form METRIC=MARGIN or TASK.yaml=MARGIN",
                       "such as --eval exact_match=0.01");
  }
  WM_ASSIGN(const double margin, parse_number(text.substr(equals + 1)));
  if (!(margin >= 0)) return usage_error("the margin of --eval must not be negative");
  return std::pair(text.substr(0, equals), margin);
}

Result<std::vector<accuracy::SystemComparison>> compare_answers(Context& context, const std::string& metric,
                                                                double margin, const std::string& reference,
                                                                const std::vector<std::string>& files) {
  WM_ASSIGN(const auto gate, answers_gate(context, metric, reference, files));
  accuracy::CompareSystemsOptions settings;
  settings.margin = margin;
  return accuracy::compare_systems(gate.inputs.examples, gate.metrics.metrics, settings);
}

bool is_eval_task(const std::string& gate) { return gate.find('=') != std::string::npos && names_task(gate); }

Status check_eval_gate(Context& context, const ParsedOptions& options) {
  const std::string text = gate_text(options);
  if (text.empty()) {
    if (options.has("--eval-answers") || options.has("--eval-ref") || options.has("--eval-model")) {
      return usage_error("--eval-answers, --eval-ref and --eval-model are for --eval");
    }
    return {};
  }
  WM_ASSIGN(const auto gate, gate_of(text));
  if (names_task(gate.name)) {
    const auto asked = asked_gate(options, gate.name);
    return asked.ok() ? Status() : Status(asked.error());
  }
  const auto answers = answers_gate(context, options, gate.name);
  return answers.ok() ? Status() : Status(answers.error());
}

Result<int> with_eval_gate(Context& context, const ParsedOptions& options, int code) {
  const std::string text = gate_text(options);
  if (text.empty()) return code;
  WM_ASSIGN(auto gate, gate_of(text));
  const auto result = judged(context, options, gate);
  if (!result.ok()) {
    if (context.interrupted) return kInterrupted;
    return result.error();
  }
  for (const auto& one : result->comparisons) {
    context.err << fmt::format("accuracy: {} {:.4f}, was {:.4f} ({:+.4f}, {:+.4f} to {:+.4f}; allowed is {:g}): {}\n",
                               one.metric, one.second_value, one.first_value, one.difference, one.interval.low,
                               one.interval.high, gate.options.margin, name_of(one.verdict));
  }
  for (const auto& problem : result->problems) context.err << "  counts as wrong: " << problem << '\n';
  if (result->answer == GateAnswer::rejected && code != kEnvironment) {
    return exit_because(context, kAccuracyRejected, "the answers are less accurate than allowed");
  }
  if (result->answer != GateAnswer::undecided || code != kSuccess) return code;
  return exit_because(context, kInconclusive, "whether the answers are as accurate is undecided");
}

}  // namespace warpmark::apps
