#include "warpmark/eval/eval_gate.h"

#include <fmt/format.h>

#include <ostream>

#include "accuracy/significance/comparison.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/eval/eval_inputs.h"

namespace warpmark::apps {
namespace {

struct GateInputs {
  EvalMetrics metrics;
  EvalInputs inputs;
  double margin = 0;
};

Result<GateInputs> gate_inputs(Context& context, const ParsedOptions& options) {
  const std::string gate = options.get("--eval");
  const auto equals = gate.rfind('=');
  if (equals == std::string::npos) {
    return usage_error("--eval " + gate + " is not of the form METRIC=MARGIN", "such as --eval exact_match=0.01");
  }
  const auto files = split(options.get("--eval-answers"), ',');
  if (files.size() != 2) return usage_error("--eval needs --eval-answers BASE,NEW", "two files of answers");
  GateInputs result;
  WM_ASSIGN(result.margin, parse_number(gate.substr(equals + 1)));
  if (!(result.margin >= 0)) return usage_error("the margin of --eval must not be negative");
  ParsedOptions inner;
  if (options.has("--eval-ref")) inner.add("--ref", options.get("--eval-ref"));
  WM_ASSIGN(result.metrics, eval_metrics(context, inner, gate.substr(0, equals)));
  WM_ASSIGN(result.inputs, eval_inputs(context, inner, files));
  return result;
}

}  // namespace

Status check_eval_gate(Context& context, const ParsedOptions& options) {
  if (!options.has("--eval")) {
    if (!options.has("--eval-answers") && !options.has("--eval-ref")) return {};
    return usage_error("--eval-answers and --eval-ref are for --eval METRIC=MARGIN");
  }
  const auto inputs = gate_inputs(context, options);
  return inputs.ok() ? Status() : Status(inputs.error());
}

Result<int> with_eval_gate(Context& context, const ParsedOptions& options, int code) {
  if (!options.has("--eval")) return code;
  WM_ASSIGN(const auto gate, gate_inputs(context, options));
  accuracy::CompareSystemsOptions settings;
  settings.margin = gate.margin;
  WM_ASSIGN(const auto comparisons, accuracy::compare_systems(gate.inputs.examples, gate.metrics.metrics, settings));
  bool worse = false, undecided = false;
  for (const auto& one : comparisons) {
    worse = worse || one.verdict == accuracy::SystemVerdict::worse;
    undecided = undecided || one.verdict == accuracy::SystemVerdict::undecided;
    context.err << fmt::format("accuracy: {} {:.4f}, was {:.4f} ({:+.4f}, {:+.4f} to {:+.4f}; allowed is {:g}): {}\n",
                               one.metric, one.second_value, one.first_value, one.difference, one.interval.low,
                               one.interval.high, gate.margin, name_of(one.verdict));
  }
  if (worse && code != kEnvironment) return kAccuracyRejected;
  return undecided && code == kSuccess ? kInconclusive : code;
}

}  // namespace warpmark::apps
