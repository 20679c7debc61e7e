// Suites: YAML files that name what to measure: cases of workloads, and commands such as collectives and loads
// (docs/suites.md). Unknown keys are errors with the line and a suggestion.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/params.h"

namespace warpmark::workloads {

/// "sweep: {m: [512, 1024]}": the values of one parameter.
using Sweep = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// One item of `cases:`. Without `set` and `sweep` it means the workload's own default cases.
struct SuiteEntry {
  std::string workload;  ///< id or glob
  std::string device;    ///< "cpu", "cuda", "cuda:0"; empty means every selected device
  Overrides set;
  Sweep sweep;
  int line = 0;
};

/// One item of `commands:`: a verb of warpmark that measures something else than workloads.
struct SuiteCommand {
  std::vector<std::string> words;  ///< "collective", "all_reduce", ...
  int line = 0;
};

struct Suite {
  std::string name;
  std::string summary;
  double budget_s = 0;  ///< of the whole session; 0 is without limit
  int rounds = 3;
  double half_width = 0.005;
  std::vector<SuiteEntry> entries;
  std::vector<SuiteCommand> commands;  ///< after all cases, in this order
};

inline constexpr const char* kSuiteSchema = "warpmark.suite/1";

/// Data error with file name, line and fix.
[[nodiscard]] Result<Suite> parse_suite(std::string_view yaml, std::string_view file_name);

/// The suites built into the executable.
[[nodiscard]] std::vector<std::string> built_in_suite_names();

/// A built-in suite by name, or a file by path (anything with a '/' or ending in .yaml or .yml).
[[nodiscard]] Result<Suite> load_suite(const std::string& name_or_path);

}  // namespace warpmark::workloads
