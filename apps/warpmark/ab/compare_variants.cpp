#include "warpmark/ab/compare_variants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_spec.h"
#include "validate/commands/frameworks.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/sessions/result_files.h"
#include "workloads/catalog.h"

namespace warpmark::apps {
namespace {

/// Of the case that gave no result.
std::optional<Error> failure_in(const std::filesystem::path& results) {
  const auto session = read_one_session(results.string());
  if (!session.ok()) return std::nullopt;
  const auto failed = std::find_if(session->runs.begin(), session->runs.end(),
                                   [](const Run& run) { return run.outcome == Outcome::error; });
  if (failed == session->runs.end()) return std::nullopt;
  return Error{failed->fault.value_or(ErrorKind::data), failed->reason, failed->hint};
}

/// Of the first positional; `results` is where the process writes. Its metric is the workload's primary one. Takes
/// --device and --timeout from the options. Usage error for an unknown workload.
Result<validate::CommandSpec> workload_command(const ParsedOptions& options, const measure::Config& config,
                                               const std::filesystem::path& results) {
  const std::string name = options.positionals().front();
  if (find_in(workloads::catalog(), name) == nullptr) {
    const auto ids = ids_of(workloads::catalog());
    const auto meant = nearest(name, ids);
    return usage_error("there is no workload '" + name + "'",
                       meant.empty() ? "see: warpmark list workloads" : "did you mean '" + meant + "'?");
  }
  WM_ASSIGN(const auto self, own_executable());
  validate::CommandSpec spec;
  spec.run = {self.string(),
              "run",
              name,
              "--rounds",
              "1",
              "--no-store",
              "--no-ceilings",
              "--device",
              options.get("--device", "cpu"),
              "--json",
              results.string()};
  for (const auto& [key, value] : config) {
    spec.run.emplace_back("--set");
    spec.run.push_back(key + "=" + value);
  }
  std::error_code none;
  std::filesystem::remove(results, none);  // what an earlier comparison left says nothing of this one
  spec.why_failed = [results] { return failure_in(results); };
  if (options.has("--timeout")) {
    WM_ASSIGN(spec.timeout_s, parse_duration_s(options.get("--timeout")));
  }
  spec.metrics.push_back({.name = "time",
                          .unit = "s",
                          .source = validate::MetricSource::json,
                          .expression = "runs.0.metrics.0.median",
                          .file = results.string()});
  return spec;
}

using validate::CommandExperiment;
using validate::CommandSpec;

Result<measure::Config> config_of(const std::vector<std::string>& settings, const std::string& option) {
  measure::Config config;
  for (const auto& text : settings) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error(option + " " + text + " is not of the form name=value", "such as " + option + " dtype=f32");
    }
    config.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return config;
}

std::string settings_text(const measure::Config& config) {
  std::string text;
  for (const auto& [name, value] : config) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

class VariantMaker {
 public:
  VariantMaker(const Context& context, const ParsedOptions& options, std::filesystem::path folder)
      : context_(context), options_(options), folder_(std::move(folder)) {}

  Result<Variants> make() {
    const auto commands = commands_after_dashes(context_.words);
    WM_ASSIGN(const auto config_a, config_of(options_.all("--a"), "--a"));
    WM_ASSIGN(const auto config_b, config_of(options_.all("--b"), "--b"));
    if (options_.has("--rev-a") || options_.has("--rev-b")) {
      if (commands.size() > 1) {
        return usage_error("two revisions run one command", "warpmark compare --rev-a main --rev-b HEAD -- ./bench");
      }
      WM_ASSIGN(const auto spec, commands.empty() ? project_spec(options_) : given_command(options_, commands.front()));
      WM_TRY(two_revisions(spec, config_a, config_b));
    } else if (!commands.empty()) {
      if (!config_a.empty() || !config_b.empty()) return usage_error("give two commands or --a and --b, not both");
      WM_TRY(two_commands(commands));
    } else if (!options_.positionals().empty()) {
      WM_TRY(two_settings_of_a_workload(config_a, config_b));
    } else if (!config_a.empty() || !config_b.empty() || options_.has("--calibrate")) {
      WM_TRY(two_settings_of_the_project(config_a, config_b));
    } else {
      return usage_error("nothing to compare", "warpmark compare -- 'COMMAND A' -- 'COMMAND B'; more in --help");
    }
    return std::move(variants_);
  }

 private:
  [[nodiscard]] bool calibrating() const { return options_.has("--calibrate"); }

  /// Adds an experiment and names its variant. Where both variants are one command, `name` tells the settings.
  Result<validate::Variant> variant(CommandSpec spec, measure::Config config, std::string name,
                                    std::string directory = {}) {
    WM_TRY(add_gates(options_, spec));
    for (auto& version : validate::framework_versions(spec.run, directory)) {
      if (std::ranges::find(variants_.software, version) == variants_.software.end()) {
        variants_.software.push_back(std::move(version));
      }
    }
    variants_.accuracy = spec.accuracy;
    variants_.declared.clear();
    for (const auto& metric : spec.metrics) variants_.declared.push_back(metric.name);
    variants_.request += "variant " + name + "\n" + settings_text(config) + "\n" + identity_of(spec) + "\n";
    variants_.experiments.push_back(std::make_unique<CommandExperiment>(
        std::move(spec), validate::CommandOptions{.directory = std::move(directory),
                                                  .interrupted = &context_.interrupted,
                                                  .watch_environment = true,
                                                  .processor_time = true,
                                                  .check_accuracy = true}));
    return validate::Variant{
        .experiment = variants_.experiments.back().get(), .config = std::move(config), .name = std::move(name)};
  }

  Status two_commands(const std::vector<std::vector<std::string>>& commands) {
    const std::size_t needed = calibrating() ? 1 : 2;
    if (commands.size() != needed) {
      return usage_error(
          fmt::format("{} command{} given, {} needed", commands.size(), commands.size() == 1 ? " is" : "s are", needed),
          "warpmark compare -- 'COMMAND A' -- 'COMMAND B'");
    }
    WM_ASSIGN(auto a, given_command(options_, commands.front()));
    WM_ASSIGN(auto b, given_command(options_, commands.back()));
    const std::string name_a = command_line(a.run), name_b = command_line(b.run);
    WM_ASSIGN(variants_.a, variant(std::move(a), {}, name_a));
    WM_ASSIGN(variants_.b, variant(std::move(b), {}, name_b));
    return {};
  }

  Status two_settings_of_a_workload(const measure::Config& config_a, const measure::Config& config_b) {
    if (!calibrating() && config_a.empty() && config_b.empty()) {
      return usage_error("both variants would be the same", "say what differs with --a name=value and --b name=value");
    }
    WM_ASSIGN(auto a, workload_command(options_, config_a, folder_ / "a.json"));
    WM_ASSIGN(auto b, workload_command(options_, calibrating() ? config_a : config_b, folder_ / "b.json"));
    const std::string name = options_.positionals().front();
    WM_ASSIGN(variants_.a, variant(std::move(a), {}, trimmed(name + " " + settings_text(config_a))));
    WM_ASSIGN(variants_.b,
              variant(std::move(b), {}, trimmed(name + " " + settings_text(calibrating() ? config_a : config_b))));
    return {};
  }

  Status two_settings_of_the_project(const measure::Config& config_a, const measure::Config& config_b) {
    WM_ASSIGN(const auto spec, project_spec(options_));
    WM_TRY(validate::build(spec, "", &context_.interrupted));
    const auto& other = calibrating() ? config_a : config_b;
    WM_ASSIGN(variants_.a,
              variant(spec, config_a, config_a.empty() ? command_line(spec.run) : settings_text(config_a)));
    WM_ASSIGN(variants_.b, variant(spec, other, other.empty() ? command_line(spec.run) : settings_text(other)));
    return {};
  }

  Status two_revisions(const CommandSpec& spec, const measure::Config& config_a, const measure::Config& config_b) {
    const std::string revisions[] = {options_.get("--rev-a", "HEAD"), options_.get("--rev-b", "HEAD")};
    const measure::Config* configs[] = {&config_a, &config_b};
    validate::Variant* variants[] = {&variants_.a, &variants_.b};
    remove_abandoned_worktrees(folder_);
    for (int i = 0; i < 2; ++i) {
      WM_ASSIGN(auto tree, Worktree::create(revisions[i], folder_ / fmt::format("worktree-{}-{}", getpid(), i)));
      if (!spec.build.empty()) {
        context_.err << fmt::format("building {} ({})\n", revisions[i], tree->commit().substr(0, 10));
      }
      if (const auto built = validate::build(spec, tree->directory(), &context_.interrupted); !built.ok()) {
        return Error{built.error().kind, revisions[i] + " cannot be built: " + built.error().what, built.error().hint};
      }
      const std::string name =
          trimmed(fmt::format("{} @{} {}", revisions[i], tree->commit().substr(0, 10), settings_text(*configs[i])));
      variants_.request += tree->commit() + "\n";
      WM_ASSIGN(*variants[i], variant(spec, *configs[i], name, tree->directory()));
      variants_.worktrees.push_back(std::move(tree));
    }
    return {};
  }

  static std::string trimmed(const std::string& text) { return std::string(trim(text)); }

  const Context& context_;
  const ParsedOptions& options_;
  std::filesystem::path folder_;
  Variants variants_;
};

}  // namespace

Result<Variants> make_variants(const Context& context, const ParsedOptions& options,
                               const std::filesystem::path& folder) {
  return VariantMaker(context, options, folder).make();
}

}  // namespace warpmark::apps
