#include "optimize/apply/quality_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "validate/judge/gates.h"

namespace warpmark::optimize {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '@' || c == '/';
}

std::optional<double> number_at(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == ':' || text.front() == '=' || text.front() == '"')) {
    text.remove_prefix(1);
  }
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// No seed made a difference of its own: there is no noise to judge by.
bool same_differences(const std::vector<double>& before, const std::vector<double>& after) {
  for (std::size_t i = 1; i < before.size(); ++i) {
    if (after[i] - before[i] != after[0] - before[0]) return false;
  }
  return true;
}

void judge_without_noise(AccuracyVerdict& judged) {
  const double loss = judged.better == Better::lower ? judged.difference : -judged.difference;
  const double allowed = judged.relative ? judged.margin * std::fabs(judged.median_a) : judged.margin;
  judged.outcome = loss <= 0 || loss < allowed ? AccuracyOutcome::accepted : AccuracyOutcome::rejected;
  judged.reason = "the same with every seed";
}

constexpr std::size_t kShown = 60;  // characters of a kernel's name, whose end is types

/// The parts that hold for this value: those that name no value, and "VALUE=PART".
std::vector<std::string> parts_of(std::string_view words, std::string_view value) {
  std::vector<std::string> parts;
  for (const auto& word : split(words, ' ')) {
    const auto equals = word.find('=');
    if (word.empty() || (equals != std::string::npos && word.substr(0, equals) != value)) continue;
    parts.push_back(ascii_lower(std::string_view(word).substr(equals == std::string::npos ? 0 : equals + 1)));
  }
  return parts;
}

}  // namespace

Result<double> printed_number(std::string_view text, std::string_view name) {
  std::optional<double> last;
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    const auto after = text.substr(at + name.size());
    if (!after.empty() && is_word(after.front())) continue;
    if (const auto value = number_at(after)) last = value;
  }
  if (!last) {
    return data_error(fmt::format("nothing that was printed says '{}' and a number", name),
                      "print a line such as: " + std::string(name) + ": 0.76");
  }
  if (!std::isfinite(*last)) return data_error(fmt::format("{} is no finite number", name));
  return *last;
}

QualityGate::QualityGate(ProgramRuns& runs, const RunOptions& run, QualityOptions options)
    : runs_(runs), run_(run), options_(std::move(options)) {
  run_.plan.stop = false;
  run_.plan.window_steps = 0;
  run_.plan.window_s = 0;
  PostCommands after{.commands = {}, .file = options_.answers};
  if (!options_.command.empty()) after.commands.push_back(options_.command);
  for (const auto& check : options_.checks) after.commands.push_back(check);
  run_.post_commands = std::move(after);
}

RunOptions QualityGate::run_of(std::int64_t round) const {
  auto run = run_;
  run.plan.seed = static_cast<std::int64_t>(options_.seed) + round;
  return run;
}

Result<const ProgramRun*> QualityGate::original(std::int64_t round) {
  if (const auto known = originals_.find(round); known != originals_.end()) return &known->second;
  WM_ASSIGN(auto run, runs_.run({}, run_of(round)));
  // Of a run to its end nothing but that is asked for: a program of few steps has no window.
  if (run.exit_codes.size() != run_.post_commands->commands.size()) {
    return data_error("the program " + (run.failure.empty() ? "did not come to its end" : run.failure),
                      "--eval runs the whole program: give it what ends in reasonable time");
  }
  for (std::size_t i = 0; i < run.exit_codes.size(); ++i) {
    if (run.exit_codes[i] == 0) continue;
    return data_error(fmt::format("`{}` ends with exit code {} on the original",
                                  command_line(run_.post_commands->commands[i]), run.exit_codes[i]),
                      "it must find the original right");
  }
  return &originals_.emplace(round, std::move(run)).first->second;
}

Result<QualityVerdict> QualityGate::judge(const Settings& settings) {
  const validate::AccuracyGate gate{
      .metric = options_.metric, .margin = options_.margin, .relative = options_.relative};
  Metric metric{.id = options_.metric, .unit = "", .better = options_.lower ? Better::lower : Better::higher};
  std::vector<double> before, after;
  QualityVerdict verdict;
  const std::int64_t rounds = options_.metric.empty() ? 1 : options_.rounds;
  for (std::int64_t round = 0; round < rounds; ++round) {
    WM_ASSIGN(const ProgramRun* base, original(round));
    WM_ASSIGN(const auto run, runs_.run(settings, run_of(round)));
    if (run.exit_codes.size() != run_.post_commands->commands.size()) {
      return QualityVerdict{AccuracyOutcome::rejected, "a whole run of the program " + run.failure};
    }
    for (std::size_t i = 0; i < run.exit_codes.size(); ++i) {
      if (run.exit_codes[i] == 0) continue;
      return QualityVerdict{
          AccuracyOutcome::rejected,
          fmt::format("`{}` ends with exit code {}", command_line(run_.post_commands->commands[i]), run.exit_codes[i])};
    }
    if (!options_.answers.empty()) {
      WM_ASSIGN(verdict, options_.judge_answers(base->file, run.file));
      if (verdict.outcome != AccuracyOutcome::accepted) return verdict;
    }
    if (options_.metric.empty()) continue;
    WM_ASSIGN(const double was, printed_number(base->said, options_.metric));
    const auto is = printed_number(run.said, options_.metric);
    if (!is.ok()) return QualityVerdict{AccuracyOutcome::rejected, is.error().what};
    before.push_back(was);
    after.push_back(*is);
  }
  if (options_.metric.empty()) {
    if (verdict.text.empty()) verdict.text = "the command finds its outputs right";
    return verdict;
  }
  auto judged = validate::judge_accuracy(gate, metric, before, after,
                                         {.alpha = options_.alpha, .paired = true, .sequential = false});
  if (same_differences(before, after)) judge_without_noise(judged);
  return QualityVerdict{
      judged.outcome,
      fmt::format("{} {:.4g}, was {:.4g} over {} whole runs each; allowed is a loss of {:.4g}{}{}", options_.metric,
                  judged.median_b, judged.median_a, judged.n, judged.relative ? judged.margin * 100 : judged.margin,
                  judged.relative ? " %" : "", judged.reason.empty() ? "" : ": " + judged.reason)};
}

std::optional<std::string> kernels_seen(const Setting& setting, std::span<const std::string> kernels) {
  const Knob* knob = find_in(knobs(), setting.knob);
  if (knob == nullptr || kernels.empty()) return std::nullopt;
  const auto parts = parts_of(knob->kernels, setting.value);
  if (parts.empty()) return std::nullopt;
  std::size_t count = 0;
  std::string_view first;
  for (const auto& kernel : kernels) {
    const auto name = ascii_lower(std::string_view(kernel));
    if (std::ranges::none_of(parts, [&](const auto& part) { return name.find(part) != std::string::npos; })) continue;
    if (count++ == 0) first = kernel;
  }
  if (count == 0) return fmt::format("in none of {} kernels", kernels.size());
  return fmt::format("in {} of {} kernels, as {}{}", count, kernels.size(), first.substr(0, kShown),
                     first.size() > kShown ? "..." : "");
}

}  // namespace warpmark::optimize
