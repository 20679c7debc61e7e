// What a user's command is and how it tells its metrics: the file warpmark.yaml, or a command line alone.
//
//   schema: warpmark.project/1
//   build: make -j2                 # run once per revision
//   run: ./bench --size {size}      # {name}: filled in from the configuration
//   timeout: 60s
//   env: {OMP_NUM_THREADS: 2}
//   reference: v1.0                 # `run` and `check` measure this revision beside it
//   items: 10000                    # that a run processes, for items a second
//   sla: 6h                         # a run's limit; stages may have their own
//   stages:                         # a command each, one after another, instead of run; or times that `run` tells
//     - {name: prepare, run: ./prepare, items: 50000, sla: 30m}
//     - {name: train, regex: 'trained in ([0-9.]+) s'}
//   sizes: {n: [10, 100, 1000]}     # measured each, where --set and --sweep do not say n: the cost by the item
//   metrics:
//     - {name: throughput, unit: img/s, better: higher, regex: 'throughput: ([0-9.]+)'}
//     - {name: latency, unit: s, json: result.latency, file: out.json}
//     - {name: p99, unit: s, better: lower, json: latencies, percentile: 99}
//     - {name: time}                # built in: time, cpu_time, peak_memory, and of GPUs (model/auxiliary.h):
//     gpu_peak_memory ...
//     - {name: top1, better: higher, regex: 'top-1: ([0-9.]+)'}
//   accuracy:                       # gates of `compare`: what is faster but worse is rejected
//     - {metric: top1, margin: 1%}  # by how much B may be worse: a share of A, or an absolute number
//     - {command: warpmark allclose ref.npz out.npz}  # after each run; exit status 0 is right
//
// Commands are lists of words, or one text that is split at blanks with quotes as in a shell. No shell is involved, so
// nothing in them is expanded or executed, unless the file says `shell: true`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/metric.h"
#include "validate/judge/gates.h"

namespace warpmark::validate {

inline constexpr const char* kProjectSchema = "warpmark.project/1";

enum class MetricSource {
  wall_time,    ///< seconds from start to end
  cpu_time,     ///< seconds of user and system time
  peak_memory,  ///< bytes, of the largest process
  gpu,          ///< the figure of model/auxiliary.h that the metric is named after
  regex,        ///< first group (or whole match) of the last line that matches
  json,         ///< number at a path in a JSON document; of an array of numbers the median
};

struct MetricSpec {
  std::string name;
  std::string unit;
  Better better = Better::lower;
  MetricSource source = MetricSource::wall_time;
  std::string
      expression;    ///< the regular expression (line_pattern.h), or the path: "results.0.time" or "/results/0/time"
  std::string file;  ///< read this instead of standard output; relative to the directory of the run
  /// Of a list of numbers (a JSON array, or every line that matches): 0.99 is p99. 0: its median, or the last line.
  double percentile = 0;
};

/// A command of its own among the words of CommandSpec::run.
struct StageCommand {
  std::string name;
  std::size_t begin = 0;  ///< words [begin, end) of CommandSpec::run
  std::size_t end = 0;
};

struct CommandSpec {
  std::vector<std::string> build;  ///< empty: nothing to build
  std::vector<std::string> run;
  double timeout_s = 600;
  double build_timeout_s = 3600;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string reference;            ///< revision that `run` and `check` measure beside this one; empty: none
  std::vector<MetricSpec> metrics;  ///< never empty; wall time if nothing else is asked for
  std::vector<AccuracyGate> accuracy;
  /// Commands that are run one after another; the words between them are "then". Empty: `run` is one command.
  std::vector<StageCommand> stages;
  /// What is to be known of stages, as notes of runs (model/stages.h): items and limits.
  std::vector<std::pair<std::string, std::string>> stage_notes;
  /// Values to measure, by the name of a setting.
  std::vector<std::pair<std::string, std::vector<std::string>>> sizes;
  /// Of a command that writes down why it failed: asked after it did, instead of quoting its output. Nothing if it says
  /// nothing. Empty: not asked.
  std::function<std::optional<Error>()> why_failed;
};

/// Data error with the line for unknown keys, missing ones, bad values and regular expressions that do not compile.
[[nodiscard]] Result<CommandSpec> parse_command_spec(std::string_view yaml, std::string_view file_name);
[[nodiscard]] Result<CommandSpec> load_command_spec(const std::string& path);

/// A gate on a metric of `spec`; a margin such as "1%" is a share of A, a bare number absolute. Usage error for an
/// unknown metric, one without a direction, and a bad margin.
[[nodiscard]] Result<AccuracyGate> metric_gate(const std::string& metric, const std::string& margin,
                                               const CommandSpec& spec);

/// A command measured by its wall time.
[[nodiscard]] CommandSpec timed_command(std::vector<std::string> words);

/// Blanks separate, '...' and "..." keep together, a backslash takes the next character as it is. Nothing is expanded.
/// Usage error for a quote that is not closed, for no words, and for what needs a shell outside quotes: | && ; < > $(
/// $NAME, a pattern of file names as a word (*.py), and a first word NAME=VALUE.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

/// Of words that are separate already. Usage error for a command that begins with NAME=VALUE, which only a shell takes
/// for a variable, and for an operator of a shell between words (`echo a '|' wc`), unless it is the value of an option
/// (`cut -d '|' file`) or the last word.
[[nodiscard]] Status check_words(const std::vector<std::string>& words);

}  // namespace warpmark::validate
