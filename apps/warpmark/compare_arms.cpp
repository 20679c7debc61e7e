#include "warpmark/compare_arms.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "validate/command_experiment.h"
#include "warpmark/workload_command.h"

namespace warpmark::apps {
namespace {

using validate::CommandExperiment;
using validate::CommandSpec;

Result<std::string> git(std::vector<std::string> words) {
  words.insert(words.begin(), "git");
  WM_ASSIGN(const auto output, run_process(words, {.deadline_s = 300}));
  if (output.exit_code != 0) return usage_error("git " + words[1] + " failed: " + std::string(trim(output.err)));
  return std::string(trim(output.out));
}

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

std::string text_of(const measure::Config& config) {
  std::string text;
  for (const auto& [name, value] : config) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::string text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

/// What a repetition must have in common with an interrupted comparison.
std::string request_of(const CommandSpec& spec) {
  std::string text = text_of(spec.run);
  for (const auto& [name, value] : spec.environment) text += "\n" + name + "=" + value;
  for (const auto& metric : spec.metrics) {
    text += fmt::format("\n{} {} {} {} {}", metric.name, metric.unit, static_cast<int>(metric.source),
                        metric.expression, metric.file);
  }
  return text;
}

class ArmMaker {
 public:
  ArmMaker(const Context& context, const ParsedOptions& options, std::filesystem::path folder)
      : context_(context), options_(options), folder_(std::move(folder)) {}

  Result<Arms> make() {
    const auto commands = commands_after_dashes(context_.words);
    WM_ASSIGN(const auto config_a, config_of(options_.all("--a"), "--a"));
    WM_ASSIGN(const auto config_b, config_of(options_.all("--b"), "--b"));
    if (!commands.empty()) {
      if (!config_a.empty() || !config_b.empty()) return usage_error("give two commands or --a and --b, not both");
      WM_TRY(two_commands(commands));
    } else if (options_.has("--rev-a") || options_.has("--rev-b")) {
      WM_TRY(two_revisions(config_a, config_b));
    } else if (!options_.positionals().empty()) {
      WM_TRY(two_settings_of_a_workload(config_a, config_b));
    } else if (!config_a.empty() || !config_b.empty() || options_.has("--calibrate")) {
      WM_TRY(two_settings_of_the_project(config_a, config_b));
    } else {
      return usage_error("nothing to compare", "warpmark compare -- 'COMMAND A' -- 'COMMAND B'; more in --help");
    }
    return std::move(arms_);
  }

 private:
  [[nodiscard]] bool calibrating() const { return options_.has("--calibrate"); }

  /// Adds an experiment and names its arm. Where both arms are one command, `name` tells the settings.
  validate::Arm arm(CommandSpec spec, measure::Config config, std::string name, std::string directory = {}) {
    arms_.request += "arm " + name + "\n" + text_of(config) + "\n" + request_of(spec) + "\n";
    arms_.experiments.push_back(std::make_unique<CommandExperiment>(
        std::move(spec),
        validate::CommandOptions{.directory = std::move(directory), .interrupted = &context_.interrupted}));
    return {.experiment = arms_.experiments.back().get(), .config = std::move(config), .name = std::move(name)};
  }

  Result<CommandSpec> command(const std::vector<std::string>& given) const {
    if (options_.has("--shell")) return with_project_metrics({"/bin/sh", "-c", join(given, " ")});
    if (given.size() > 1) return with_project_metrics(given);
    WM_ASSIGN(auto words, validate::split_words(given.front()));
    return with_project_metrics(std::move(words));
  }

  /// A command given by hand is measured as --project says, else by its wall time.
  Result<CommandSpec> with_project_metrics(std::vector<std::string> words) const {
    if (!options_.has("--project")) {
      CommandSpec spec = validate::timed_command(std::move(words));
      WM_TRY(apply_timeout(spec));
      return spec;
    }
    WM_ASSIGN(CommandSpec spec, project());
    spec.run = std::move(words);
    return spec;
  }

  Status apply_timeout(CommandSpec& spec) const {
    if (!options_.has("--timeout")) return {};
    WM_ASSIGN(spec.timeout_s, parse_duration_s(options_.get("--timeout")));
    if (!(spec.timeout_s > 0)) return usage_error("--timeout must be above 0");
    return {};
  }

  Result<CommandSpec> project() const {
    WM_ASSIGN(CommandSpec spec, validate::load_command_spec(options_.get("--project", "warpmark.yaml")));
    WM_TRY(apply_timeout(spec));
    return spec;
  }

  Status two_commands(const std::vector<std::vector<std::string>>& commands) {
    const std::size_t needed = calibrating() ? 1 : 2;
    if (commands.size() != needed) {
      return usage_error(
          fmt::format("{} command{} given, {} needed", commands.size(), commands.size() == 1 ? " is" : "s are", needed),
          "warpmark compare -- 'COMMAND A' -- 'COMMAND B'");
    }
    WM_ASSIGN(auto a, command(commands.front()));
    WM_ASSIGN(auto b, command(commands.back()));
    const std::string name_a = text_of(a.run), name_b = text_of(b.run);
    arms_.a = arm(std::move(a), {}, name_a);
    arms_.b = arm(std::move(b), {}, name_b);
    return {};
  }

  Status two_settings_of_a_workload(const measure::Config& config_a, const measure::Config& config_b) {
    if (!calibrating() && config_a.empty() && config_b.empty()) {
      return usage_error("both arms would be the same", "say what differs with --a name=value and --b name=value");
    }
    WM_ASSIGN(auto a, workload_command(options_, config_a, folder_ / "a.json"));
    WM_ASSIGN(auto b, workload_command(options_, calibrating() ? config_a : config_b, folder_ / "b.json"));
    const std::string name = options_.positionals().front();
    arms_.a = arm(std::move(a), {}, trimmed(name + " " + text_of(config_a)));
    arms_.b = arm(std::move(b), {}, trimmed(name + " " + text_of(calibrating() ? config_a : config_b)));
    return {};
  }

  Status two_settings_of_the_project(const measure::Config& config_a, const measure::Config& config_b) {
    WM_ASSIGN(const auto spec, project());
    WM_TRY(validate::build(spec, "", &context_.interrupted));
    const auto& other = calibrating() ? config_a : config_b;
    arms_.a = arm(spec, config_a, config_a.empty() ? text_of(spec.run) : text_of(config_a));
    arms_.b = arm(spec, other, other.empty() ? text_of(spec.run) : text_of(other));
    return {};
  }

  Status two_revisions(const measure::Config& config_a, const measure::Config& config_b) {
    WM_ASSIGN(const auto spec, project());
    const std::string revisions[] = {options_.get("--rev-a", "HEAD"), options_.get("--rev-b", "HEAD")};
    const measure::Config* configs[] = {&config_a, &config_b};
    validate::Arm* arms[] = {&arms_.a, &arms_.b};
    for (int i = 0; i < 2; ++i) {
      WM_ASSIGN(auto tree, Worktree::create(revisions[i], folder_ / fmt::format("worktree-{}-{}", getpid(), i)));
      context_.err << fmt::format("building {} ({})\n", revisions[i], tree->commit().substr(0, 10));
      if (const auto built = validate::build(spec, tree->directory(), &context_.interrupted); !built.ok()) {
        return Error{built.error().kind, revisions[i] + " cannot be built: " + built.error().what, built.error().hint};
      }
      const std::string name =
          trimmed(fmt::format("{} @{} {}", revisions[i], tree->commit().substr(0, 10), text_of(*configs[i])));
      arms_.request += tree->commit() + "\n";
      *arms[i] = arm(spec, *configs[i], name, tree->directory());
      arms_.worktrees.push_back(std::move(tree));
    }
    return {};
  }

  static std::string trimmed(const std::string& text) { return std::string(trim(text)); }

  const Context& context_;
  const ParsedOptions& options_;
  std::filesystem::path folder_;
  Arms arms_;
};

}  // namespace

Result<std::unique_ptr<Worktree>> Worktree::create(const std::string& revision, const std::filesystem::path& folder) {
  auto commit = git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!commit.ok()) {
    return usage_error("there is no revision '" + revision + "' in this repository", "`git log` shows what there is");
  }
  WM_ASSIGN(auto prefix, git({"rev-parse", "--show-prefix"}));
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  WM_TRY(git({"worktree", "prune"}));
  WM_TRY(git({"worktree", "add", "--detach", "--force", folder.string(), *commit}));
  return std::unique_ptr<Worktree>(new Worktree(*commit, folder, prefix));
}

Worktree::~Worktree() {
  const auto removed = git({"worktree", "remove", "--force", root_.string()});
  if (!removed.ok()) {  // a build that still writes; what is left is pruned next time
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
}

std::string Worktree::directory() const { return (root_ / prefix_).string(); }

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

Result<Arms> make_arms(const Context& context, const ParsedOptions& options, const std::filesystem::path& folder) {
  return ArmMaker(context, options, folder).make();
}

}  // namespace warpmark::apps
