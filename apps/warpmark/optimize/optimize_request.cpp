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
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kBudget_s = 300;
constexpr std::int64_t kStartAhead = 4;
constexpr std::int64_t kLargestScript = 16 << 20, kLargestYamlKnobs = 256 << 10;

Result<double> time_option(const ParsedOptions& options, const char* name, double otherwise) {
  if (!options.has(name)) return otherwise;
  WM_ASSIGN(const double seconds, parse_duration_s(options.get(name)));
  if (!(seconds > 0)) return usage_error(std::string(name) + " must be above 0");
  return seconds;
}

Status read_numbers(const ParsedOptions& options, const TrainingRequest& training, optimize::OptimizeOptions& wanted) {
  WM_ASSIGN(wanted.effect, ratio_of(options, "--effect", 0.01));
  WM_ASSIGN(wanted.alpha, ratio_of(options, "--alpha", 0.05));
  WM_ASSIGN(wanted.loss_margin, ratio_of(options, "--loss-margin", 0.02));
  WM_ASSIGN(wanted.rounds, count_of(options, "--rounds", 12, 2, 1000));
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 1, 0, INT32_MAX));
  wanted.seed = static_cast<std::uint64_t>(seed);
  WM_ASSIGN(wanted.window_steps, count_of(options, "--steps", 0, 0, 1'000'000));
  wanted.amortize_steps = training.steps.value_or(0);
  wanted.in_process = !options.has("--separate");
  WM_ASSIGN(wanted.window_s, time_option(options, "--window", 0));
  WM_ASSIGN(wanted.deadline_s, time_option(options, "--timeout", 1800));
  // A start next to others takes longer than alone, and --train-steps counts it.
  const bool counts_start = training.steps.has_value();
  WM_ASSIGN(wanted.start_ahead, count_of(options, "--start-ahead", counts_start ? 1 : kStartAhead, 1, 64));
  if (wanted.start_ahead > 1 && counts_start) {
    return usage_error("--start-ahead does not go with --train-steps",
                       "a start next to others takes longer than alone");
  }
  WM_ASSIGN(wanted.budget_s, time_option(options, "--budget", kBudget_s));
  if (options.has("--budget-money")) {
    const auto price = training.price_per_hour;
    if (!price) return usage_error("--budget-money needs --price", "what an hour of the machine costs");
    WM_ASSIGN(const double money, parse_number(options.get("--budget-money")));
    if (!(money > 0) || !(*price > 0)) return usage_error("--budget-money and --price must be above 0");
    const double seconds = money / *price * 3600;
    wanted.budget_s = wanted.budget_s > 0 ? std::min(wanted.budget_s, seconds) : seconds;
  }
  return {};
}

/// "3x" and "3" are a speedup.
Status read_goal(const ParsedOptions& options, TrainingRequest& training) {
  auto& goal = training.goal;
  const auto read = [&](const char* name, std::optional<double>& value) -> Status {
    if (!options.has(name)) return {};
    std::string text = options.get(name);
    if (text.ends_with('x')) text.pop_back();
    WM_ASSIGN(const double number, parse_number(text));
    if (!(number > 0)) return usage_error(std::string(name) + " must be above 0");
    value = number;
    return {};
  };
  WM_TRY(read("--goal", goal.speedup));
  WM_TRY(read("--goal-days", goal.days));
  WM_TRY(read("--goal-cost", goal.cost));
  if ((goal.days || goal.cost) && !training.steps) {
    return usage_error("--goal-days and --goal-cost need --train-steps", "how many steps the whole training has");
  }
  if (goal.cost && !training.price_per_hour)
    return usage_error("--goal-cost needs --price", "of an hour of the machine");
  return {};
}

/// They are put on in copies of the folder, from where a relative path leads elsewhere. Where a plan came from another
/// machine its patches lie `beside` it.
Status find_patches(std::vector<optimize::UserKnob>& own, const fs::path& beside = {}) {
  for (auto& knob : own) {
    if (knob.place != optimize::UserKnobPlace::patch) continue;
    std::error_code missing;
    auto path = fs::absolute(knob.target);
    if (!beside.empty() && !fs::is_regular_file(path, missing)) path = beside / path.filename();
    if (!fs::is_regular_file(path, missing)) return usage_error("there is no patch " + knob.target);
    knob.target = path.string();
  }
  return {};
}

Status read_knobs(const ParsedOptions& options, optimize::OptimizeOptions& wanted) {
  auto& proposals = wanted.proposals;
  for (const auto& text : options.all("--try")) {
    WM_ASSIGN(auto setting, setting_of(text));
    proposals.asked.push_back(std::move(setting));
  }
  for (const char* name : {"--only", "--skip"}) {
    for (const auto& list : options.all(name)) {
      for (const auto& id : split(list, ',')) {
        (std::string_view(name) == "--only" ? proposals.only : proposals.skip).push_back(std::string(trim(id)));
      }
    }
  }
  if (options.has("--knobs")) {
    WM_ASSIGN(const auto text, read_file(options.get("--knobs"), kLargestYamlKnobs));
    WM_ASSIGN(proposals.own, optimize::parse_user_knobs(text, options.get("--knobs")));
  }
  for (const auto& text : options.all("--knob")) {
    WM_ASSIGN(auto knob, optimize::parse_user_knob(text));
    proposals.own.push_back(std::move(knob));
  }
  if (options.has("--try-patch")) {
    proposals.own.push_back(optimize::patch_knob("patch", options.get("--try-patch")));
  }
  if (options.has("--prove")) {
    WM_ASSIGN(auto plan, load_plan(options.get("--prove")));
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
  proposals.asked_only = options.has("--asked-only");
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

Status read_quality(Context& context, const ParsedOptions& options, const fs::path& folder,
                    optimize::QualityOptions& quality) {
  for (const auto& text : options.all("--accuracy-command")) {
    WM_ASSIGN(auto words, words_of(options, {text}));
    quality.checks.push_back(std::move(words));
  }
  WM_ASSIGN(quality.rounds, count_of(options, "--eval-rounds", 3, 2, 100));
  if (!options.has("--eval")) {
    for (const char* name : {"--eval-command", "--eval-answers", "--eval-ref", "--eval-lower"}) {
      if (options.has(name)) return usage_error(std::string(name) + " is for --eval METRIC=MARGIN");
    }
    return {};
  }
  if (options.has("--eval-command")) {
    WM_ASSIGN(quality.command, words_of(options, {options.get("--eval-command")}));
  }
  std::string text = options.get("--eval");
  quality.relative = text.ends_with('%');
  if (quality.relative) text.pop_back();
  WM_ASSIGN(const auto gate, eval_gate_of(text));
  quality.margin = quality.relative ? gate.second / 100 : gate.second;
  quality.lower = options.has("--eval-lower");
  if (!options.has("--eval-answers")) {
    quality.metric = gate.first;
    return options.has("--eval-ref") ? usage_error("--eval-ref is for --eval-answers") : Status();
  }
  if (quality.relative) return usage_error("the margin of answers is absolute", "such as --eval exact_match=0.01");
  quality.answers = options.get("--eval-answers");
  quality.judge_answers = [&context, metric = gate.first, margin = gate.second, reference = options.get("--eval-ref"),
                           folder](const std::string& base, const std::string& candidate) {
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

Result<TrainingRequest> training_of(const ParsedOptions& options) {
  TrainingRequest training;
  if (options.has("--train-steps")) {
    WM_ASSIGN(const auto steps, count_of(options, "--train-steps", 0, 1, INT64_MAX / 2));
    training.steps = static_cast<double>(steps);
  }
  if (options.has("--price")) {
    WM_ASSIGN(training.price_per_hour, parse_number(options.get("--price")));
  }
  WM_TRY(read_goal(options, training));
  return training;
}

Result<fs::path> hook_folder(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto beside, state_folder(context, options));
  std::string all;
  for (const auto& file : generated::kPythonHook) all += std::string(file.name) + "\n" + std::string(file.text);
  const auto folder = fs::absolute(beside.parent_path() / "optimize" / ("hook-" + sha256_hex(all).substr(0, 12)));
  WM_TRY(workers::write_hook(folder));
  return folder;
}

Result<OptimizeRequest> optimize_request_of(Context& context, const ParsedOptions& options) {
  OptimizeRequest request;
  WM_ASSIGN(request.training, training_of(options));
  WM_TRY(read_numbers(options, request.training, request.options));
  WM_TRY(read_knobs(options, request.options));
  WM_ASSIGN(request.format, format_of(options));
  const auto given = command_after_dashes(context.words);
  if (given.empty()) {
    return usage_error("there is no program to optimize", "warpmark optimize -- python train.py");
  }
  const std::vector<std::string> files(options.positionals().begin(), options.positionals().end() - std::ssize(given));
  if (!files.empty()) {
    if (options.has("--prove")) return usage_error("--prove searches nothing: it takes no analysis", "leave it out");
    WM_ASSIGN(request.options.findings, findings_in(files));
  }
  WM_ASSIGN(request.program.words, words_of(options, given));
  request.program.user_knobs = request.options.proposals.own;
  WM_ASSIGN(request.places.hook, hook_folder(context, options));
  const auto state = request.places.hook.parent_path();
  WM_TRY(read_quality(context, options, state, request.options.quality));
  const bool copied = options.has("--copy") || needs_copy(request.program.user_knobs);
  if (copied && !options.has("--start-ahead")) request.options.start_ahead = 1;
  if (copied && request.options.start_ahead > 1) {
    return usage_error("--start-ahead does not go with copies of the folder", "a copy is of one run at a time");
  }
  if (copied) request.places.original = fs::current_path();
  request.identity = identity_of_request(request) + (options.has("--prove") ? " prove" : "");
  const auto name = hash_of(request.identity);
  request.journal = state / (name + ".jsonl");
  request.places.scratch = state / (name + ".run");
  if (copied) request.program.directory = (state / (name + ".copy")).string();
  return request;
}

}  // namespace warpmark::apps
