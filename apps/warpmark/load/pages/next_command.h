// The command of a load with other options, as the next thing to run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmark::apps {

/// Without options that name files of results, which hold the load that was measured.
class NextCommand {
 public:
  explicit NextCommand(std::string_view command);
  [[nodiscard]] bool has(std::string_view option) const;
  /// The option's value; empty without it.
  [[nodiscard]] std::string value_of(std::string_view option) const;
  /// In the place of those that the option has.
  NextCommand& set(std::string option, std::string value);
  [[nodiscard]] std::string text() const;

 private:
  struct Part {
    std::string option;  ///< empty for the words before the first
    std::vector<std::string> values;
  };
  std::vector<Part> parts_;
};

}  // namespace warpmark::apps
