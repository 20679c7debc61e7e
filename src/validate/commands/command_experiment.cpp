#include "validate/commands/command_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/read_fields.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "model/stages.h"
#include "stats/summary.h"
#include "validate/commands/line_pattern.h"

namespace warpmark::validate {
namespace {

constexpr std::int64_t kLargestFile = 64 << 20;
constexpr std::size_t kLongestCommand = 2 << 20;  // a quarter of the usual stack: "Argument list too long", execve(2)
// Beyond these a value is a mistake, and ratios or squares of two would not be numbers any more.
constexpr double kLargestValue = 1e100, kSmallestValue = 1e-100;

/// The last lines of an output, for an error message.
std::string ending_of(const std::string& text) {
  constexpr std::size_t kMost = 400;
  const auto trimmed = std::string(trim(text));
  return trimmed.size() <= kMost ? trimmed : "..." + trimmed.substr(trimmed.size() - kMost);
}

/// Names the limit that a command ran into.
Error with_limit(Error error, const char* limit) {
  if (error.hint.empty() && error.code == ErrorCode::deadline) error.hint = limit;
  return error;
}

std::string last_line_of(const std::string& text) {
  const auto trimmed = std::string(trim(text));
  const auto newline = trimmed.rfind('\n');
  return ending_of(newline == std::string::npos ? trimmed : trimmed.substr(newline + 1));
}

Status succeeded(const std::vector<std::string>& words, const ProcessOutput& output) {
  if (output.exit_code == 0) return {};
  const auto said = ending_of(output.err.empty() ? output.out : output.err);
  return data_error(fmt::format("{} ended with exit code {}", command_line(words), output.exit_code),
                    said.empty() ? "run it by itself to see why: it printed nothing" : "it said: " + said);
}

/// The value that stands for a list.
double value_of(const MetricSpec& metric, std::vector<double> samples) {
  if (metric.percentile <= 0) return stats::median(samples);
  std::sort(samples.begin(), samples.end());
  return stats::quantile_of_sorted(samples, metric.percentile);
}

Result<double> number_in(const MetricSpec& metric, const std::string& text, const std::string& where) {
  const auto value = parse_number(trim(text));
  if (value.ok()) return value;
  return data_error(fmt::format("metric '{}' in {} is '{}', which is no number", metric.name, where, text));
}

Result<double> by_regex(const MetricSpec& metric, const std::string& text, const std::string& where) {
  WM_ASSIGN(const auto pattern, LinePattern::compile(metric.expression));
  std::vector<std::string> found;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto value = pattern.find(line)) found.push_back(std::move(*value));
  }
  if (found.empty()) {
    const auto said = ending_of(text);
    return data_error(
        fmt::format("metric '{}' is not in {}: no line matches {}", metric.name, where, metric.expression),
        said.empty() ? "it is empty" : "it ends with: " + said);
  }
  if (metric.percentile <= 0) return number_in(metric, found.back(), where);
  std::vector<double> samples;
  for (const auto& item : found) {
    WM_ASSIGN(const double value, number_in(metric, item, where));
    samples.push_back(value);
  }
  return value_of(metric, std::move(samples));
}

std::string pointer_of(const std::string& path) {
  if (path.starts_with("/")) return path;
  std::string pointer;
  for (const auto& part : split(path, '.')) pointer += "/" + part;
  return pointer;
}

Result<double> by_json(const MetricSpec& metric, const std::string& text, const std::string& where) {
  WM_ASSIGN(const auto document, parse_json(text, where));
  const Json* found = nullptr;
  try {
    const Json::json_pointer pointer(pointer_of(metric.expression));
    if (document.contains(pointer)) found = &document.at(pointer);
  } catch (const Json::exception& problem) {
    return data_error(fmt::format("metric '{}': the path '{}' cannot be followed: {}", metric.name, metric.expression,
                                  without_library_names(problem.what())));
  }
  if (found == nullptr) {
    return data_error(fmt::format("metric '{}' is not in {}: nothing at '{}'", metric.name, where, metric.expression));
  }
  if (found->is_number()) return found->get<double>();
  std::vector<double> samples;
  if (found->is_array()) {
    for (const auto& item : *found) {
      if (item.is_number()) samples.push_back(item.get<double>());
    }
  }
  if (samples.empty() || samples.size() != found->size()) {
    return data_error(fmt::format("metric '{}' in {}: '{}' is neither a number nor a list of numbers", metric.name,
                                  where, metric.expression));
  }
  return value_of(metric, std::move(samples));
}

std::size_t places_of(const std::string& word, const std::string& place) {
  std::size_t places = 0;
  for (auto at = word.find(place); at != std::string::npos; at = word.find(place, at + place.size())) ++places;
  return places;
}

std::optional<std::string> filled(const std::string& word, const std::string& name, const std::string& value) {
  const std::string place = "{" + name + "}";
  std::string result;
  std::size_t begin = 0, at = 0;
  bool any = false;
  while ((at = word.find(place, begin)) != std::string::npos) {
    result.append(word, begin, at - begin).append(value);
    begin = at + place.size();
    any = true;
  }
  if (!any) return std::nullopt;
  return result + word.substr(begin);
}

/// The first "{name}" in a word.
std::optional<std::string> open_place(std::string_view word) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  for (auto begin = word.find('{'); begin != std::string_view::npos; begin = word.find('{', begin + 1)) {
    const auto end = word.find_first_not_of(std::string(kLetters) + "0123456789", begin + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const bool named = end > begin + 1 && kLetters.find(word[begin + 1]) != std::string_view::npos;
    if (named && word[end] == '}') return std::string(word.substr(begin, end + 1 - begin));
  }
  return std::nullopt;
}

/// Of a metric that somebody declared: without a value there is nothing to decide by.
Result<double> gpu_figure(const MetricSpec& metric, const std::vector<Metric>& figures) {
  for (const auto& figure : figures) {
    if (figure.id == metric.name) return figure.samples.front();
  }
  return data_error("metric '" + metric.name + "' could not be measured: the command was not seen on a GPU",
                    "it needs an NVIDIA driver here, and a command that runs a second or longer on a GPU");
}

/// CPU time is told beside wall time, where nobody asked for it.
bool wants_processor_time(const CommandSpec& spec) {
  const auto has = [&](MetricSource source) {
    return std::any_of(spec.metrics.begin(), spec.metrics.end(),
                       [&](const auto& metric) { return metric.source == source; });
  };
  return has(MetricSource::wall_time) && !has(MetricSource::cpu_time);
}

std::filesystem::file_time_type written_at(const std::string& directory, const std::string& file) {
  std::error_code missing;
  const auto time = std::filesystem::last_write_time(std::filesystem::path(directory) / file, missing);
  return missing ? std::filesystem::file_time_type::min() : time;
}

/// "items: '{n}'" of stages, by the configuration.
Status fill_items(const measure::Config& config, CommandSpec& spec) {
  for (auto& [note, text] : spec.stage_notes) {
    if (!note.starts_with(kStageItems)) continue;
    for (const auto& [name, value] : config) {
      if (auto replaced = filled(text, name, value)) text = std::move(*replaced);
    }
    const auto items = parse_number(text);
    if (items.ok() && *items > 0) continue;
    const auto place = open_place(text);
    return place ? usage_error("nothing fills " + *place + " in items",
                               "--set " + place->substr(1, place->size() - 2) + "=100")
                 : usage_error("items cannot be '" + text + "'", "items is a number above 0");
  }
  return {};
}

Error of_stage(const std::string& name, Error error) {
  error.what = "stage '" + name + "': " + error.what;
  return error;
}

}  // namespace

Result<CommandSpec> configured(const CommandSpec& spec, const measure::Config& config) {
  CommandSpec result = spec;
  std::size_t bytes = 0;
  for (const auto& word : result.run) bytes += word.size();
  for (const auto& [name, value] : config) {
    if (name.starts_with("env.") && name.size() > 4) {
      const std::string variable = name.substr(4);
      std::erase_if(result.environment, [&](const auto& item) { return item.first == variable; });
      result.environment.emplace_back(variable, value);
      continue;
    }
    bool any = false;
    for (auto& word : result.run) {
      bytes += places_of(word, "{" + name + "}") * value.size();
      if (bytes > kLongestCommand) {
        return usage_error(
            fmt::format("with '{}' filled in the command is longer than {} bytes", name, kLongestCommand),
            "Linux starts no program with more");
      }
      if (auto replaced = filled(word, name, value)) {
        word = std::move(*replaced);
        any = true;
      }
    }
    if (!any) {
      return usage_error(fmt::format("the command has no place for '{}={}'", name, value),
                         "write {" + name + "} into it, or set a variable with env." + name);
    }
  }
  WM_TRY(fill_items(config, result));
  const bool shell = spec.run.size() == 3 && spec.run[0] == "/bin/sh" && spec.run[1] == "-c";
  for (const auto& word : spec.run) {
    const auto place = open_place(word);
    if (shell || !place) continue;
    const auto name = place->substr(1, place->size() - 2);
    const bool set = std::any_of(config.begin(), config.end(), [&](const auto& item) { return item.first == name; });
    if (!set && !config.empty()) return usage_error("nothing fills " + *place + " in the command");
  }
  return result;
}

Result<double> read_metric(const MetricSpec& metric, const ProcessOutput& output, const std::string& directory) {
  switch (metric.source) {
    case MetricSource::wall_time: return output.wall_s;
    case MetricSource::cpu_time: return output.cpu_s;
    case MetricSource::peak_memory: return static_cast<double>(output.peak_memory_bytes);
    case MetricSource::gpu: return data_error("metric '" + metric.name + "' is measured next to the command");
    case MetricSource::regex:
    case MetricSource::json: break;
  }
  std::string where = "the output", text = output.out;
  if (!metric.file.empty()) {
    where = metric.file;
    WM_ASSIGN(text, read_file(std::filesystem::path(directory) / metric.file, kLargestFile));
  }
  WM_ASSIGN(const double value,
            metric.source == MetricSource::regex ? by_regex(metric, text, where) : by_json(metric, text, where));
  const double size = std::fabs(value);
  if (!(size <= kLargestValue) || (size > 0 && size < kSmallestValue)) {
    return data_error(fmt::format("metric '{}' in {} is {:g}, which is no measurement", metric.name, where, value),
                      fmt::format("values are 0 or between {:g} and {:g}", kSmallestValue, kLargestValue));
  }
  return value;
}

Status build(const CommandSpec& spec, const std::string& directory, const std::atomic<bool>* interrupted) {
  if (spec.build.empty()) return {};
  const auto output = run_process(spec.build, {.deadline_s = spec.build_timeout_s,
                                               .directory = directory,
                                               .environment = spec.environment,
                                               .own_group = true,
                                               .interrupted = interrupted});
  if (!output.ok()) return with_limit(output.error(), "a longer build_timeout in the project file allows it more");
  return succeeded(spec.build, *output);
}

CommandExperiment::CommandExperiment(CommandSpec spec, CommandOptions options, measure::GpuProbe gpus)
    : spec_(std::move(spec)), options_(std::move(options)) {
  if (options_.watch_environment) watch_ = std::make_unique<EnvironmentWatch>();
  if (options_.gpu_figures) gpus_ = std::make_unique<measure::GpuWatch>(std::move(gpus));
}

Result<Run> CommandExperiment::run(const measure::Config& config) {
  WM_ASSIGN(const CommandSpec spec, configured(spec_, config));
  Run run;
  run.workload = "command";
  run.params.set("command", command_line(spec.run));
  for (const auto& [name, value] : config) run.params.set(name, value);
  run.device = "host";
  run.rounds = 1;
  run.started = format_utc(wall_clock_s());
  return measured(spec, std::move(run));
}

Result<ProcessOutput> CommandExperiment::execute(const CommandSpec& spec, std::vector<double>& stages_s) const {
  const auto run = [&](std::vector<std::string> words, double deadline_s) {
    return run_process(words, {.deadline_s = deadline_s,
                               .directory = options_.directory,
                               .like_terminal = true,
                               .environment = spec.environment,
                               .own_group = true,
                               .interrupted = options_.interrupted});
  };
  if (spec.stages.empty()) return run(spec.run, spec.timeout_s);
  ProcessOutput all;
  for (const auto& stage : spec.stages) {
    const auto at = [&](std::size_t word) { return spec.run.begin() + static_cast<std::ptrdiff_t>(word); };
    const std::vector<std::string> words(at(stage.begin), at(stage.end));
    auto output = run(words, std::max(0.001, spec.timeout_s - all.wall_s));
    if (!output.ok()) {
      return of_stage(stage.name, output.error());
    }
    if (const auto status = succeeded(words, *output); !status.ok()) {
      return of_stage(stage.name, status.error());
    }
    stages_s.push_back(output->wall_s);
    all.out += output->out;
    all.err += output->err;
    all.wall_s += output->wall_s;
    all.cpu_s += output->cpu_s;
    all.peak_memory_bytes = std::max(all.peak_memory_bytes, output->peak_memory_bytes);
  }
  return all;
}

Result<Run> CommandExperiment::measured(const CommandSpec& spec, Run run) {
  std::vector<std::filesystem::file_time_type> written;
  for (const auto& metric : spec.metrics) written.push_back(written_at(options_.directory, metric.file));
  if (watch_) watch_->before();
  if (gpus_) gpus_->begin();
  std::vector<double> stages_s;
  const auto ended = execute(spec, stages_s);
  const auto on_gpus = gpus_ ? measure::metrics_of(gpus_->end(ended.ok() ? ended->wall_s : 0)) : std::vector<Metric>();
  if (!ended.ok()) return with_limit(ended.error(), "a longer timeout (in the file, or --timeout) allows it more");
  const ProcessOutput& output = *ended;
  if (watch_) run.environment = watch_->after(output.wall_s, output.cpu_s);
  if (output.exit_code != 0 && spec.why_failed) {
    if (auto why = spec.why_failed()) return std::move(*why);
  }
  WM_TRY(succeeded(spec.run, output));
  for (std::size_t i = 0; i < spec.metrics.size(); ++i) {
    const auto& source = spec.metrics[i];
    // What an earlier run left must not pass for the result of this one.
    if (!source.file.empty() && written_at(options_.directory, source.file) == written[i]) {
      return data_error(fmt::format("metric '{}': the command did not write {}", source.name, source.file));
    }
    WM_ASSIGN(const double value, source.source == MetricSource::gpu ? gpu_figure(source, on_gpus)
                                                                     : read_metric(source, output, options_.directory));
    run.metrics.push_back(stats::sampled_metric(source.name, source.unit, source.better, {value}));
  }
  for (const auto& metric : on_gpus) {
    if (metric_of(run, metric.id) == nullptr) run.metrics.push_back(metric);
  }
  if (options_.processor_time && wants_processor_time(spec)) {
    run.metrics.push_back(stats::sampled_metric(std::string(kProcessorTime), "s", Better::lower, {output.cpu_s}));
  }
  for (std::size_t i = 0; i < stages_s.size(); ++i) {
    run.metrics.push_back(
        stats::sampled_metric(std::string(kStagePrefix) + spec.stages[i].name, "s", Better::lower, {stages_s[i]}));
  }
  run.notes = spec.stage_notes;
  if (options_.check_accuracy) WM_TRY(check_outputs(spec, run));
  run.outcome = Outcome::passed;
  run.repro = command_line(spec.run);
  return run;
}

/// Asks the gates' commands whether the outputs are right: 1 or 0 among the metrics, with what was said as a note.
Status CommandExperiment::check_outputs(const CommandSpec& spec, Run& run) const {
  for (std::size_t i = 0; i < spec.accuracy.size(); ++i) {
    const auto& gate = spec.accuracy[i];
    if (gate.command.empty()) continue;
    WM_ASSIGN(const auto checked, run_process(gate.command, {.deadline_s = spec.timeout_s,
                                                             .directory = options_.directory,
                                                             .environment = spec.environment,
                                                             .own_group = true,
                                                             .interrupted = options_.interrupted}));
    // What a shell or exec says of a command that is not there is no verdict on the outputs.
    if (checked.exit_code == 126 || checked.exit_code == 127) return succeeded(gate.command, checked);
    run.metrics.push_back(
        stats::sampled_metric(check_metric(i), "", Better::higher, {checked.exit_code == 0 ? 1.0 : 0.0}));
    if (checked.exit_code != 0)
      run.notes.emplace_back(check_metric(i), last_line_of(checked.err.empty() ? checked.out : checked.err));
  }
  return {};
}

}  // namespace warpmark::validate
