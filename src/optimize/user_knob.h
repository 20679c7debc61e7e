// Knobs that the user declares: an argument of the command, an environment variable, or a value in a file, with the
// values to try. On the command line NAME='--batch-size {64,128}' or NAME='OMP_PROC_BIND={close,spread}'; in
// optimize.yaml:
//
//   schema: warpmark.optimize/1
//   knobs:
//     - {name: batch, argument: --batch-size, values: [64, 128, 256], changes: semantic}
//     - {name: proc_bind, variable: OMP_PROC_BIND, values: [close, spread]}
//     - {name: blocks, file: config.json, pattern: '"blocks": {}', values: [2, 4]}
//     - {name: fused, patch: fused.diff}
//
// `changes` is what happens to the answers: exact, rounding (default), random_streams, precision or semantic.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

inline constexpr const char* kOptimizeSchema = "warpmark.optimize/1";

/// A patch (unified diff) is applied to a copy of the folder; its target is the file.
enum class UserKnobPlace { argument, variable, file, patch };

struct UserKnob {
  std::string name;
  UserKnobPlace place = UserKnobPlace::argument;
  std::string target;   ///< "--batch-size", "OMP_PROC_BIND", "config.json"
  std::string pattern;  ///< of a file: text with {} where the value stands
  std::vector<std::string> values;
  bool until_memory_ends = false;  ///< the values ended in "...": they go on as they began until memory ends
  Numerics numerics = Numerics::rounding;
};

/// Its one value is the file's name.
[[nodiscard]] UserKnob patch_knob(const std::string& name, const std::string& file);

/// Values that end in "..." go on by the ratio of the last two (else doubled), a dozen times at most. Usage error where
/// they are no whole numbers that grow.
[[nodiscard]] Status expand_values(UserKnob& knob);

/// "batch=--batch-size {64,128,...}". Usage error that says the form.
[[nodiscard]] Result<UserKnob> parse_user_knob(std::string_view text);
/// Data error with the line.
[[nodiscard]] Result<std::vector<UserKnob>> parse_user_knobs(std::string_view yaml, std::string_view file_name);
/// The list of a file that is being read, for a table of its keys.
[[nodiscard]] Status read_user_knobs(const YamlReader& reader, const YamlNode& list, const YamlKey& key,
                                     std::vector<UserKnob>& knobs);

[[nodiscard]] std::optional<Numerics> numerics_from(std::string_view text);

/// The command with the argument's value replaced ("--x 1", "--x=1") or, where it is not there, added at the end.
[[nodiscard]] std::vector<std::string> with_argument(std::vector<std::string> words, const std::string& argument,
                                                     const std::string& value);

/// The file's text with the value at the pattern's place. Data error unless the pattern is there exactly once.
[[nodiscard]] Result<std::string> with_value(const std::string& text, const std::string& pattern,
                                             const std::string& value);

}  // namespace warpmark::optimize
