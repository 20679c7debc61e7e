#include "optimize/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace warpmark::optimize {
namespace {

/// The line of the program that most of the lost time was placed on: the first evidence, where stacks were recorded.
std::string line_of(const Finding& finding) {
  for (const auto& fact : finding.evidence) {
    if (fact.id == "source_line") return fact.text;
  }
  return {};
}

bool answers(std::string_view token, const FoundGain& gain) {
  const auto colon = token.find(':');
  const auto name = token.substr(0, colon);
  if (gain.rule != name) return false;
  return colon == std::string_view::npos ? gain.advice.empty() : gain.advice == token.substr(colon + 1);
}

bool answers_rule(const Knob& knob, std::string_view rule) {
  const auto tokens = split(knob.answers, ' ');
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const std::string& token) { return token.substr(0, token.find(':')) == rule; });
}

constexpr double kWorthSaying = 0.10;  // of a step

/// Lines of a file that read values in about every step, as one advice; what that costs is the replay's to say.
void reads_in_the_loop(const ProgramFacts& facts, std::vector<OptimizationAdvice>& advice) {
  const auto steps = static_cast<double>(facts.report.steps.size());
  if (steps < 2 || !facts.on_gpu()) return;
  struct Lines {
    std::string first;
    std::vector<std::string> more;  ///< their numbers
    double per_step = 0;
  };
  std::map<std::pair<std::string, std::string>, Lines> reads;  // by file and call
  for (const auto& read : facts.report.reads) {
    const double each = static_cast<double>(read.count) / steps;
    if (each < 0.5) continue;
    const auto colon = read.where.rfind(':');
    Lines& lines = reads[{read.where.substr(0, colon), read.call}];
    lines.per_step += each;
    if (lines.first.empty()) {
      lines.first = read.where;
    } else {
      lines.more.push_back(read.where.substr(colon + 1));
    }
  }
  for (const auto& [key, lines] : reads) {
    OptimizationAdvice one{
        .where = lines.first,
        .text =
            fmt::format(".{}() reads a value {:.3g} times per step{} and waits for the GPU: keep the "
                        "tensor, and read every some steps.",
                        key.second, lines.per_step,
                        lines.more.empty() ? ""
                                           : (lines.more.size() == 1 ? " (here and in line " : " (here and in lines ") +
                                                 join(lines.more, ", ") + ")"),
        .code = "if step % 50 == 0: print(loss.item())",
        .predicted = {}};
    for (const auto& gain : facts.found) {
      if (gain.rule == "cpu_gpu_sync" && gain.advice.empty()) {
        one.predicted = Prediction{gain.low, gain.high, "replay of the recorded steps without waiting"};
      }
    }
    advice.push_back(std::move(one));
  }
}

/// Gradients below 6e-8 are lost in f16: a scaler stands around backward and the optimizer, where nothing is put from
/// outside. Where the GPU has bf16, that is tried; f16 is for older ones, and for networks of which bf16 changed the
/// answers.
void half_with_scaler(const ProgramFacts& facts, std::span<const OptimizationStep> tried,
                      std::vector<OptimizationAdvice>& advice) {
  const auto& report = facts.report;
  if (!facts.on_gpu() || !facts.trains() || report.modules.empty() || report.gpus.empty()) return;
  const auto& module = report.modules.front();
  if (module.autocast || module.dtype != "torch.float32") return;
  if (report.gpus.front().major < 7) return;  // no tensor cores
  const bool has_bf16 = report.gpus.front().major >= 8;
  const bool changes = std::ranges::any_of(tried, [](const OptimizationStep& step) {
    return step.knob == "precision.autocast" && step.outcome == TrialOutcome::rejected;
  });
  if (has_bf16 && !changes) return;
  advice.push_back({.where = module.where,
                    .text = has_bf16 ? "bf16 changes the answers. f16 has three bits of mantissa more, and needs a "
                                       "gradient scaler."
                                     : "This GPU multiplies fast in f16, not in bf16: autocast with a gradient scaler.",
                    .code = "scaler = torch.amp.GradScaler('cuda')  # scaler.scale(loss).backward(); "
                            "scaler.step(optimizer); scaler.update()",
                    .predicted = {}});
}

bool found_rule(const ProgramFacts& facts, std::string_view rule) {
  return std::ranges::any_of(facts.found, [&](const FoundGain& gain) { return gain.rule == rule; });
}

/// Exchanging less, which changes the training: for a person to decide.
void exchange_less(const ProgramFacts& facts, std::vector<OptimizationAdvice>& advice) {
  if (facts.report.world < 2 || !facts.trains() || !found_rule(facts, "multi_gpu_comm")) return;
  advice.push_back({.where = {},
                    .text =
                        "Gradient accumulation exchanges gradients once per several batches. The batch of an update "
                        "grows with it, so it is not applied automatically: adapt the learning rate.",
                    .code = "with model.no_sync(): loss.backward()  # in all batches of an update but the last",
                    .predicted = {}});
  advice.push_back({.where = {},
                    .text =
                        "PowerSGD compresses the exchanged gradients to a low rank (Vogels et al. 2019). It changes "
                        "the training, so it is not applied automatically: judge it with --try-patch and --eval.",
                    .code = "model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4), "
                            "powerSGD_hook.powerSGD_hook)",
                    .predicted = {}});
}

/// Linear layers of a program that only infers: other numbers than any setting here may give.
void eight_bit_weights(const ProgramFacts& facts, std::vector<OptimizationAdvice>& advice) {
  const auto& modules = facts.report.modules;
  if (facts.trains() || modules.empty() || modules.front().linears == 0) return;
  advice.push_back({.where = modules.front().where,
                    .text =
                        "Weights of linear layers can be quantized to int8 after training. Answers change, so it is "
                        "not applied automatically: judge it with --try-patch and --eval.",
                    .code = facts.on_gpu() ? "torchao.quantization.quantize_(model, Int8WeightOnlyConfig())"
                                           : "model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, "
                                             "dtype=torch.qint8)",
                    .predicted = {}});
}

void unproven(const ProgramFacts& facts, std::span<const OptimizationStep> tried,
              std::vector<OptimizationAdvice>& advice) {
  const auto& report = facts.report;
  const auto& phases = facts.phases;
  if (!report.loaders.empty() && report.loaders.front().iterable && phases.data > kWorthSaying) {
    advice.push_back({.where = report.loaders.front().where,
                      .text = "The data come from an IterableDataset, which each worker would read whole: give every "
                              "worker its part, then add workers.",
                      .code = "info = torch.utils.data.get_worker_info(); items = items[info.id::info.num_workers]",
                      .predicted = Prediction{1, 1 / (1 - phases.data), "steps wait for data"}});
  }
  reads_in_the_loop(facts, advice);
  half_with_scaler(facts, tried, advice);
  exchange_less(facts, advice);
  eight_bit_weights(facts, advice);
  if (phases.rest > 2 * kWorthSaying && facts.trains() && report.reads.empty()) {
    advice.push_back({.where = {},
                      .text = fmt::format("{:.0f} % of a step is outside of data, forward, backward and optimizer: "
                                          "reading values (.item(), print of a loss) waits for the GPU, and so do "
                                          "copies. Do it every some steps.",
                                          phases.rest * 100),
                      .code = "if step % 50 == 0: print(loss.item())",
                      .predicted = Prediction{1, 1 / (1 - phases.rest), "share of a step"}});
  }
  if (facts.on_gpu() && !report.loaders.empty() && report.loaders.front().pin_memory) {
    advice.push_back({.where = report.loaders.front().where,
                      .text = "Batches are page-locked: copies need not wait, as long as the program does not "
                              "overwrite a batch.",
                      .code = "x = x.to(device, non_blocking=True)",
                      .predicted = {}});
  }
}

/// A larger batch makes fewer steps of an epoch: what learning rate goes with it is a rule of thumb, and named as such.
OptimizationAdvice learning_rate(const ProgramFacts& facts, const Setting& batch) {
  const auto& optimizers = facts.report.optimizers;
  const std::string name = optimizers.empty() ? "" : optimizers.front().name;
  const bool adaptive = name.find("Adam") != std::string::npos || name.find("LAMB") != std::string::npos;
  return {
      .where = optimizers.empty() ? "" : optimizers.front().where,
      .text = fmt::format("The batch is {} now. Nothing changed the learning rate: the usual rule for {} is {}, "
                          "with a longer warm-up; judge the metric of the whole training.",
                          batch.value, name.empty() ? "the optimizer" : name,
                          adaptive ? "the square root of the factor" : "the factor of the batch (Goyal et al. 2017)"),
      .code = adaptive ? "lr = lr * (new_batch / old_batch) ** 0.5" : "lr = lr * new_batch / old_batch",
      .predicted = {}};
}

/// Something of another size than the program's, and not what its name says by chance.
bool is_batch(const Setting& setting) { return setting.knob.find("batch") != std::string::npos; }

}  // namespace

std::vector<OptimizationFinding> findings_of(const std::vector<Finding>& found) {
  std::vector<OptimizationFinding> findings;
  for (const auto& finding : found) {
    OptimizationFinding row{.rule = finding.rule,
                            .title = finding.title,
                            .severity = finding.severity,
                            .low = finding.gain.low,
                            .high = finding.gain.high,
                            .where = line_of(finding)};
    if (!finding.recommendations.empty()) {
      row.text = finding.recommendations.front().text;
      row.code = finding.recommendations.front().snippet;
      row.advice = finding.recommendations.front().id;
    }
    findings.push_back(std::move(row));
  }
  return findings;
}

std::vector<FoundGain> gains_of(const std::vector<Finding>& findings) {
  std::vector<FoundGain> gains;
  for (const auto& finding : findings) {
    if (finding.gain.high > 1) gains.push_back({finding.rule, "", finding.gain.low, finding.gain.high});
    for (const auto& advice : finding.recommendations) {
      if (advice.gain && !advice.id.empty()) {
        gains.push_back({finding.rule, advice.id, advice.gain->low, advice.gain->high});
      }
    }
  }
  return gains;
}

std::string found_text(const std::vector<OptimizationFinding>& findings) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> texts;
  for (const auto& one : findings) {
    if (texts.size() == kNamed) break;
    texts.push_back(one.is_gain_known() ? fmt::format("{} ({:.2f}x-{:.2f}x without it)", one.rule, one.low, one.high)
                                        : one.rule + " (gain not known)");
  }
  return join(texts, ", ");
}

std::vector<OptimizationAdvice> advice_of_findings(const std::vector<OptimizationFinding>& findings,
                                                   const Settings& kept) {
  std::vector<OptimizationAdvice> advice;
  for (const auto& finding : findings) {
    const bool answered = std::any_of(kept.begin(), kept.end(), [&](const Setting& setting) {
      const Knob* knob = find_in(knobs(), setting.knob);
      return knob != nullptr && answers_rule(*knob, finding.rule);
    });
    if (answered || finding.text.empty()) continue;
    advice.push_back(
        {.where = finding.where, .text = finding.title + ". " + finding.text, .code = finding.code, .predicted = {}});
    if (finding.is_gain_known()) {
      advice.back().predicted = Prediction{finding.low, finding.high, "replay of the recorded steps without it"};
    }
  }
  return advice;
}

std::optional<Prediction> replayed_gain(std::string_view answered, const std::vector<FoundGain>& found) {
  std::optional<Prediction> best;
  for (const auto& token : split(answered, ' ')) {
    for (const auto& gain : found) {
      if (!answers(token, gain) || (best && gain.high <= best->high)) continue;
      best = Prediction{
          std::max(1.0, gain.low), std::max(1.0, gain.high),
          "replay of the recorded steps without " + gain.rule + (gain.advice.empty() ? "" : " (" + gain.advice + ")")};
    }
  }
  return best;
}

std::vector<OptimizationAdvice> advice_for(const ProgramFacts& facts, const Settings& kept,
                                           std::span<const OptimizationStep> tried) {
  std::vector<OptimizationAdvice> advice;
  for (const auto& setting : kept) {
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob != nullptr) advice.push_back(advice_of(*knob, facts, setting.value));
    if (knob == nullptr && facts.trains() && is_batch(setting)) advice.push_back(learning_rate(facts, setting));
  }
  unproven(facts, tried, advice);
  return advice;
}

}  // namespace warpmark::optimize
