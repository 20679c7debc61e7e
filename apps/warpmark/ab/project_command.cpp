#include "warpmark/ab/project_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "model/stages.h"
#include "stats/random.h"
#include "store/location.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_spec.h"
#include "warpmark/eval/eval_gate.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

Status apply_timeout(const ParsedOptions& options, validate::CommandSpec& spec) {
  if (!options.has("--timeout")) return {};
  WM_ASSIGN(spec.timeout_s, parse_duration_s(options.get("--timeout")));
  if (!(spec.timeout_s > 0)) return usage_error("--timeout must be above 0");
  return {};
}

}  // namespace

std::vector<std::vector<std::string>> commands_after_dashes(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> commands;
  for (const auto& word : words) {
    if (word == "--") {
      commands.emplace_back();
    } else if (!commands.empty()) {
      commands.back().push_back(word);
    }
  }
  std::erase_if(commands, [](const auto& command) { return command.empty(); });
  return commands;
}

Result<std::vector<std::string>> words_of(const ParsedOptions& options, const std::vector<std::string>& given) {
  if (options.has("--shell")) return std::vector<std::string>{"/bin/sh", "-c", join(given, " ")};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(given.front(), ignored)) return given;
  if (given.size() > 1) {
    WM_TRY(validate::check_words(given));
    return given;
  }
  return validate::split_words(given.front());
}

std::vector<std::string> command_after_dashes(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  return dashes == words.end() ? std::vector<std::string>() : std::vector<std::string>(dashes + 1, words.end());
}

Result<validate::CommandSpec> project_spec(const ParsedOptions& options) {
  const std::string file = options.get("--project", "warpmark.yaml");
  std::error_code ignored;
  if (!options.has("--project") && !std::filesystem::exists(file, ignored)) {
    return usage_error("there is no " + file + " in this folder: how is the program built and run?",
                       "give the command: ... -- ./bench, or write these lines into " + file +
                           ":\n    schema: warpmark.project/1\n    build: make -j2\n    run: ./bench");
  }
  WM_ASSIGN(auto spec, validate::load_command_spec(file));
  WM_TRY(apply_timeout(options, spec));
  return spec;
}

Result<validate::CommandSpec> given_command(const ParsedOptions& options, const std::vector<std::string>& words) {
  WM_ASSIGN(auto command, words_of(options, words));
  if (options.has("--project")) {
    WM_ASSIGN(auto spec, project_spec(options));
    spec.run = std::move(command);
    // Stages are ranges of the project's own words, whose times the metrics of these names take.
    spec.stages.clear();
    spec.stage_notes.clear();
    std::erase_if(spec.metrics, [](const auto& metric) { return metric.name.starts_with(kStagePrefix); });
    return spec;
  }
  auto spec = validate::timed_command(std::move(command));
  WM_TRY(apply_timeout(options, spec));
  return spec;
}

Status add_gates(const ParsedOptions& options, validate::CommandSpec& spec) {
  for (const auto& text : options.all("--accuracy")) {
    if (is_eval_task(text)) continue;  // judged by its own gate
    const auto equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error("--accuracy " + text + " is not of the form METRIC=MARGIN", "such as --accuracy top1=1%");
    }
    WM_ASSIGN(auto gate, validate::metric_gate(text.substr(0, equals), text.substr(equals + 1), spec));
    spec.accuracy.push_back(std::move(gate));
  }
  for (const auto& text : options.all("--accuracy-command")) {
    validate::AccuracyGate gate;
    WM_ASSIGN(gate.command, words_of(options, {text}));
    spec.accuracy.push_back(std::move(gate));
  }
  const bool any = std::any_of(spec.metrics.begin(), spec.metrics.end(), [&](const auto& metric) {
    return std::none_of(spec.accuracy.begin(), spec.accuracy.end(),
                        [&](const auto& gate) { return gate.metric == metric.name; });
  });
  return any ? Status() : usage_error("every metric has an accuracy gate: none is left to compare");
}

std::string identity_of(const validate::CommandSpec& spec) {
  std::string text = command_line(spec.run);
  for (const auto& [name, value] : spec.environment) text += "\n" + name + "=" + value;
  for (const auto& metric : spec.metrics) {
    text += fmt::format("\n{} {} {} {} {}", metric.name, metric.unit, static_cast<int>(metric.source),
                        metric.expression, metric.file);
  }
  for (const auto& gate : spec.accuracy) {
    text += fmt::format("\ngate {} {} {} {}", gate.metric, command_line(gate.command), gate.margin, gate.relative);
  }
  return text;
}

std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = stats::random_bits(hash ^ static_cast<unsigned char>(c), 0);
  return fmt::format("{:016x}", hash);
}

Result<std::filesystem::path> state_folder(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto location, store_location(context, options));
  WM_ASSIGN(const auto folder, store::sibling_folder(location, context.environment));
  return folder / "compare";
}

}  // namespace warpmark::apps
