// Parameters of a benchmark: typed, ordered, and described by a table that parsing, --help and docs share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace warpmark {

using ParamValue = std::variant<std::int64_t, double, std::string>;

enum class ParamKind {
  integer,
  bytes,
  number,
  text,
  program,  ///< a text that is started, which is for people to choose
  path,     ///< a text that names a file or folder, read or written: the same
};

/// One row of a workload's parameter table.
struct ParamSpec {
  const char* name;
  ParamKind kind;
  const char* default_text;  ///< as a person would type it
  const char* help;          ///< one line: meaning and unit
  const char* choices = "";  ///< allowed texts separated by '|'; empty allows any
};

/// "k=v" pairs as typed or as listed in a suite; later ones win.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Values in the order of their table. A getter of an absent name or another type is our own bug.
class Params {
 public:
  void set(std::string_view name, ParamValue value);
  /// A further one, for what reads files.
  ParamValue& add(std::string_view name) { return items_.emplace_back(name, ParamValue{}).second; }
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, ParamValue>>& items() const { return items_; }
  friend bool operator==(const Params&, const Params&) = default;

 private:
  [[nodiscard]] const ParamValue& at(std::string_view name) const;
  std::vector<std::pair<std::string, ParamValue>> items_;
};

/// The value as a person would type it: "4096", "0.5", "f32".
[[nodiscard]] std::string to_text(const ParamValue& value);

/// "m=1024 n=1024 dtype=f32".
[[nodiscard]] std::string to_text(const Params& params);

/// One value of a parameter. Usage error that names the parameter, the value and what is allowed.
[[nodiscard]] Result<ParamValue> parse_param(const ParamSpec& spec, std::string_view text);

/// Defaults of the table, then the overrides. An unknown name is a usage error with a suggestion.
[[nodiscard]] Result<Params> resolve_params(std::span<const ParamSpec> table, const Overrides& overrides);

}  // namespace warpmark
