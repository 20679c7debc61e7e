// Options of a verb as a table: the same rows parse the command line and make --help, the shell completions and
// docs/cli. Parsing is CLI11's.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/range.h"
#include "base/result.h"

namespace warpmark {

struct Type;

/// What becomes of an option's values.
struct OptionUse {
  bool repeatable = false;
  bool choice = false;       ///< one of the words of its completion, and no other
  bool separated = false;    ///< a value has several parts of a list, by commas; of numbers always
  const char* part = "";     ///< what it is for, where its help says so: for first_in
  const char* actions = "";  ///< of the verb, that it is for: "run, compare"; empty for all
  Range range{};             ///< empty: as the placeholder says

  // The member of a request that it gives, see model/fields/options.h. Without one the verb reads the words itself.
  const Type* type = nullptr;
  const void* owner = nullptr;  ///< the tag of the request
  const void* (*member)(const void* request) = nullptr;
  const void* (*defaults)() = nullptr;                              ///< a request without options
  Status (*read)(const std::string& text, void* member) = nullptr;  ///< of a form that no type describes

  constexpr OptionUse(bool repeats = false) : repeatable(repeats) {}
  template <typename Value>
  [[nodiscard]] constexpr OptionUse with(Value OptionUse::*field, std::type_identity_t<Value> value) const {
    OptionUse changed = *this;
    changed.*field = value;
    return changed;
  }
  [[nodiscard]] constexpr OptionUse of(const char* its) const { return with(&OptionUse::actions, its); }
  [[nodiscard]] constexpr OptionUse in(const char* its) const { return with(&OptionUse::part, its); }
  [[nodiscard]] constexpr OptionUse repeats() const { return with(&OptionUse::repeatable, true); }
  [[nodiscard]] constexpr OptionUse by_commas() const { return with(&OptionUse::separated, true); }
  [[nodiscard]] constexpr OptionUse chosen() const { return with(&OptionUse::choice, true); }
  [[nodiscard]] constexpr OptionUse within(const Range& numbers) const { return with(&OptionUse::range, numbers); }
};
[[nodiscard]] constexpr OptionUse of(const char* actions) { return OptionUse().of(actions); }

/// One option. `value` is the placeholder of its argument; an option without one is a flag. Rows of one name, each for
/// other actions, stand next to each other.
struct OptionSpec {
  const char* name;   ///< "--suite"
  const char* value;  ///< "NAME"; "[FILE]" if it may be left out, which means "-"; "" for a flag
  const char* help;   ///< one line, without its actions and the default of its member
  OptionUse use{};    ///< true: it may be given several times
  /// What a shell can complete the value with: words separated by spaces, or "<workloads>", "<suites>", "<devices>",
  /// "<files>", "<reporters>", "<runs>".
  const char* completion = "";
};

/// A table whose rows are for these actions, unless they name their own.
template <std::size_t kCount>
[[nodiscard]] constexpr auto of(const char* actions, const OptionSpec (&table)[kCount]) {
  auto rows = std::to_array(table);
  for (auto& row : rows) row.use.actions = *row.use.actions == '\0' ? actions : row.use.actions;
  return rows;
}

/// The rows of several tables as one.
template <typename... Tables>
[[nodiscard]] constexpr auto joined(const Tables&... tables) {
  constexpr std::size_t kCount = (sizeof(Tables) + ...) / sizeof(OptionSpec);
  std::array<OptionSpec, kCount> rows{};
  auto at = rows.begin();
  ((at = std::copy(std::begin(tables), std::end(tables), at)), ...);
  return rows;
}

/// What stands on the command line beside the options.
struct PositionalSpec {
  const char* name = "";  ///< "NAME|GLOB"; empty if the verb takes none
  const char* help = "";
  bool repeatable = false;
  const char* completion = "";
};

/// A word that people try, of another tool or of a document, and what is meant.
struct Synonym {
  std::string word;   ///< "--output"
  std::string meant;  ///< an option, which is suggested to verbs that have it; or a sentence
};

class ParsedOptions {
 public:
  ParsedOptions() = default;
  explicit ParsedOptions(std::span<const OptionSpec> specs) : specs_(specs) {}
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  /// The last value given, or `otherwise`.
  [[nodiscard]] std::string get(std::string_view name, std::string_view otherwise = "") const;
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  /// The first given option that is in this part, or for this action alone; empty without one.
  [[nodiscard]] std::string first_in(std::string_view part) const;
  [[nodiscard]] const std::vector<std::string>& positionals() const { return positionals_; }

  /// The table that they were parsed by.
  [[nodiscard]] std::span<const OptionSpec> specs() const { return specs_; }
  /// All that was given, by name; a flag has one empty value.
  [[nodiscard]] const std::map<std::string, std::vector<std::string>>& given() const { return values_; }

  void add(const std::string& name, std::string value) { values_[name].push_back(std::move(value)); }
  /// Instead of what was given.
  void replace(const std::string& name, std::string value) { values_[name] = {std::move(value)}; }
  void add_positional(std::string value) { positionals_.push_back(std::move(value)); }

 private:
  std::span<const OptionSpec> specs_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

/// Usage error for an option that means nothing to this action of a verb whose positional completes to actions.
[[nodiscard]] Status check_action(std::span<const OptionSpec> options, const PositionalSpec& positional,
                                  const ParsedOptions& parsed, const std::string& action);

/// Usage error naming the word and suggesting an option, by the synonyms or the nearest, and for an option that the
/// action which comes first would pass over. `--help` is always accepted and appears as "--help".
[[nodiscard]] Result<ParsedOptions> parse_options(std::span<const OptionSpec> options, const PositionalSpec& positional,
                                                  std::span<const std::string> words,
                                                  std::span<const Synonym> synonyms = {});

}  // namespace warpmark
