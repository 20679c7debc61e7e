#include "warpmark/optimize/optimize_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "device/machine.h"
#include "generated/python_hook.h"
#include "optimize/findings.h"
#include "validate/commands/command_experiment.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/eval/eval_gate.h"
#include "warpmark/optimize/optimize_findings.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestScript = 16 << 20, kLargestYamlKnobs = 256 << 10;

Status complete_numbers(OptimizeRequest& request) {
  auto& wanted = request.options;
  const auto& training = request.training;
  wanted.amortize_steps = static_cast<double>(training.steps.value_or(0));
  // A start next to others takes longer than alone, and --train-steps counts it.
  wanted.start_ahead = request.start_ahead.value_or(training.steps ? 1 : wanted.start_ahead);
  if (wanted.start_ahead > 1 && training.steps) {
    return usage_error("--start-ahead does not go with --train-steps",
                       "a start next to others takes longer than alone");
  }
  if (!request.budget_money) return {};
  const auto price = training.price_per_hour;
  if (!price) return usage_error("--budget-money needs --price", "what an hour of the machine costs");
  if (!(*price > 0)) return usage_error("--budget-money and --price must be above 0");
  wanted.budget_s = std::min(wanted.budget_s, *request.budget_money / *price * 3600);
  return {};
}

/// They are put on in copies of the folder, from where a relative path leads elsewhere. Where a plan came from another
/// machine its patches lie `beside` it.
Status find_patches(std::vector<optimize::UserKnob>& own, const fs::path& auxiliary = {}) {
  for (auto& knob : own) {
    if (knob.place != optimize::UserKnobPlace::patch) continue;
    std::error_code missing;
    auto path = fs::absolute(knob.target);
    if (!auxiliary.empty() && !fs::is_regular_file(path, missing)) path = auxiliary / path.filename();
    if (!fs::is_regular_file(path, missing)) return usage_error("there is no patch " + knob.target);
    knob.target = path.string();
  }
  return {};
}

Status complete_knobs(OptimizeRequest& request) {
  auto& proposals = request.options.proposals;
  if (!request.knobs.empty()) {
    WM_ASSIGN(const auto text, read_file(request.knobs, kLargestYamlKnobs));
    WM_ASSIGN(auto own, optimize::parse_user_knobs(text, request.knobs));
    proposals.own.insert(proposals.own.begin(), own.begin(), own.end());
  }
  if (!request.patch.empty()) proposals.own.push_back(optimize::patch_knob("patch", request.patch));
  if (!request.proven.empty()) {
    WM_ASSIGN(auto plan, load_plan(request.proven));
    for (auto& knob : plan.user_knobs) {
      const auto same = std::find_if(proposals.own.begin(), proposals.own.end(),
                                     [&](const auto& own) { return own.name == knob.name; });
      if (same == proposals.own.end()) {
        proposals.own.push_back(std::move(knob));
      } else if (same->place != knob.place || fs::absolute(same->target) != fs::absolute(knob.target)) {
        return usage_error("the plan and the command line have another knob " + knob.name + " each", "leave one out");
      }
    }
  }
  WM_TRY(find_patches(proposals.own));
  if (proposals.asked_only && proposals.asked.empty() && proposals.own.empty()) {
    return usage_error("--asked-only without a knob", "name one with --try, --knob, --knobs or --try-patch");
  }
  return optimize::check_names(proposals);
}

/// The answers that a whole run left, against the original's, as `eval compare` does it.
Result<optimize::QualityVerdict> judge_answer_files(Context& context, const std::string& metric, double margin,
                                                    const std::string& reference, const fs::path& folder,
                                                    const std::string& base, const std::string& candidate) {
  if (candidate.empty()) return optimize::QualityVerdict{AccuracyOutcome::rejected, "it left no answers"};
  const auto first = folder / "answers-original.jsonl", second = folder / "answers-candidate.jsonl";
  WM_TRY(write_file(first, base));
  WM_TRY(write_file(second, candidate));
  const auto compared = compare_answers(context, metric, margin, reference, {first.string(), second.string()});
  std::error_code ignored;
  fs::remove(first, ignored);
  fs::remove(second, ignored);
  if (!compared.ok()) return compared.error();
  optimize::QualityVerdict verdict;
  for (const auto& one : *compared) {
    const bool worse = one.verdict == accuracy::SystemVerdict::worse;
    const bool undecided = one.verdict == accuracy::SystemVerdict::undecided;
    if (worse) verdict.outcome = AccuracyOutcome::rejected;
    if (undecided && !worse) verdict.outcome = AccuracyOutcome::inconclusive;
    verdict.text = fmt::format("{} {:.4f}, was {:.4f} ({:+.4f}, {:+.4f} to {:+.4f}; allowed is a loss of {:g}): {}",
                               one.metric, one.second_value, one.first_value, one.difference, one.interval.low,
                               one.interval.high, margin, name_of(one.verdict));
  }
  return verdict;
}

Status complete_quality(Context& context, const ParsedOptions& options, const fs::path& folder,
                        const QualityRequest& asked, optimize::QualityOptions& quality) {
  for (const auto& text : asked.checks) {
    WM_ASSIGN(auto words, words_of(options, {text}));
    quality.checks.push_back(std::move(words));
  }
  if (asked.gate.empty()) {
    for (const char* name : {"--eval-command", "--eval-answers", "--eval-ref", "--eval-lower"}) {
      if (options.has(name)) return usage_error(std::string(name) + " is for --eval METRIC=MARGIN");
    }
    return {};
  }
  if (!asked.command.empty()) {
    WM_ASSIGN(quality.command, words_of(options, {asked.command}));
  }
  std::string text = asked.gate;
  quality.relative = text.ends_with('%');
  if (quality.relative) text.pop_back();
  WM_ASSIGN(const auto gate, eval_gate_of(text));
  quality.margin = quality.relative ? gate.second / 100 : gate.second;
  if (asked.answers.empty()) {
    quality.metric = gate.first;
    return !asked.reference.empty() ? usage_error("--eval-ref is for --eval-answers") : Status();
  }
  if (quality.relative) return usage_error("the margin of answers is absolute", "such as --eval exact_match=0.01");
  quality.answers = asked.answers;
  quality.judge_answers = [&context, metric = gate.first, margin = gate.second, reference = asked.reference, folder](
                              const std::string& base, const std::string& candidate) {
    return judge_answer_files(context, metric, margin, reference, folder, base, candidate);
  };
  return {};
}

bool needs_copy(const std::vector<optimize::UserKnob>& own) {
  return std::any_of(own.begin(), own.end(), [](const auto& knob) {
    return knob.place == optimize::UserKnobPlace::file || knob.place == optimize::UserKnobPlace::patch;
  });
}

/// Files that the command names, by their content: another script is another program.
std::string scripts_of(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) {
    std::error_code missing;
    if (!fs::is_regular_file(word, missing)) continue;
    const auto bytes = read_file(word, kLargestScript);
    if (bytes.ok()) text += " " + sha256_hex(*bytes).substr(0, 16);
  }
  return text;
}

std::string identity_of_request(const OptimizeRequest& request) {
  const auto& wanted = request.options;
  std::string text = fmt::format(
      "{}{} in {} effect {} alpha {} rounds {} seed {} margin {} window {} {} train {} machine {} hook {}",
      command_line(request.program.words), scripts_of(request.program.words), fs::current_path().string(),
      wanted.effect, wanted.alpha, wanted.rounds, wanted.seed, wanted.loss_margin, wanted.window_s, wanted.window_steps,
      wanted.amortize_steps, device::machine_facts().fingerprint, request.places.hook.filename().string());
  for (const auto& setting : wanted.proposals.asked) text += " try " + setting.knob + "=" + setting.value;
  for (const auto& id : wanted.proposals.only) text += " only " + id;
  for (const auto& id : wanted.proposals.skip) text += " skip " + id;
  for (const auto& knob : wanted.proposals.own) {
    text += fmt::format(" own {} {} {} {}", knob.name, knob.target, knob.pattern, join(knob.values, ","));
    if (knob.place == optimize::UserKnobPlace::patch) text += scripts_of({knob.target});
  }
  for (const auto& gain : optimize::gains_of(wanted.findings)) {
    text += fmt::format(" found {} {} {} {}", gain.rule, gain.advice, gain.low, gain.high);
  }
  const auto& quality = wanted.quality;
  text += fmt::format(" eval {} {} {} {} {} {} {}", quality.metric, quality.margin, quality.lower, quality.answers,
                      quality.rounds, quality.checks.size(), command_line(quality.command));
  return text + (wanted.proposals.asked_only ? " asked only" : "") + (wanted.in_process ? "" : " separate") +
         (request.places.original.empty() ? "" : " copy");
}

}  // namespace

Result<optimize::Plan> load_plan(const std::string& path) {
  WM_ASSIGN(const auto text, read_file(path, kLargestYamlKnobs));
  WM_ASSIGN(auto plan, optimize::parse_plan(text, path));
  WM_TRY(find_patches(plan.user_knobs, fs::absolute(path).parent_path()));
  return plan;
}

Result<optimize::Setting> setting_of(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error("--try " + text + " is not of the form KNOB=VALUE", "such as --try loader.workers=4");
  }
  return optimize::Setting{text.substr(0, equals), text.substr(equals + 1)};
}

Result<double> parse_speedup(const std::string& text) {
  return parse_number(text.ends_with('x') ? std::string_view(text).substr(0, text.size() - 1) : text);
}

Status check_training(const TrainingRequest& training) {
  if ((training.goal.days || training.goal.cost) && !training.steps) {
    return usage_error("--goal-days and --goal-cost need --train-steps", "how many steps the whole training has");
  }
  if (training.goal.cost && !training.price_per_hour) {
    return usage_error("--goal-cost needs --price", "of an hour of the machine");
  }
  return {};
}

Result<fs::path> hook_folder(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto auxiliary, state_folder(context, options));
  std::string all;
  for (const auto& file : generated::kPythonHook) all += std::string(file.name) + "\n" + std::string(file.text);
  const auto folder = fs::absolute(auxiliary.parent_path() / "optimize" / ("hook-" + sha256_hex(all).substr(0, 12)));
  WM_TRY(workers::write_hook(folder));
  return folder;
}

Status complete_request(Context& context, const ParsedOptions& options, OptimizeRequest& request) {
  WM_TRY(check_training(request.training));
  WM_TRY(complete_numbers(request));
  WM_TRY(complete_knobs(request));
  const auto given = command_after_dashes(context.words);
  if (given.empty()) {
    return usage_error("there is no program to optimize", "warpmark optimize -- python train.py");
  }
  const std::vector<std::string> files(options.positionals().begin(), options.positionals().end() - std::ssize(given));
  if (!files.empty()) {
    if (!request.proven.empty()) return usage_error("--prove searches nothing: it takes no analysis", "leave it out");
    WM_ASSIGN(request.options.findings, findings_in(files));
  }
  WM_ASSIGN(request.program.words, words_of(options, given));
  request.program.user_knobs = request.options.proposals.own;
  WM_ASSIGN(request.places.hook, hook_folder(context, options));
  const auto state = request.places.hook.parent_path();
  WM_TRY(complete_quality(context, options, state, request.quality, request.options.quality));
  const bool copied = request.copies || needs_copy(request.program.user_knobs);
  if (copied && !request.start_ahead) request.options.start_ahead = 1;
  if (copied && request.options.start_ahead > 1) {
    return usage_error("--start-ahead does not go with copies of the folder", "a copy is of one run at a time");
  }
  if (copied) request.places.original = fs::current_path();
  request.identity = identity_of_request(request) + (request.proven.empty() ? "" : " prove");
  const auto name = hash_of(request.identity);
  request.journal = state / (name + ".jsonl");
  request.places.scratch = state / (name + ".run");
  if (copied) request.program.directory = (state / (name + ".copy")).string();
  return {};
}

}  // namespace warpmark::apps
