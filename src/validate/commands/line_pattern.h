// A user's regular expression over the lines that a program prints. Both come from elsewhere, so no pair of them may
// take longer than the line is long: RE2 (Cox, "Regular Expression Matching in the Wild", 2010) runs an automaton and
// never backtracks. The price is that there is no look-around and no backreference. std::regex, which has both, is kept
// busy for ever by (a+)+$ and overflows the stack on a long line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace warpmark::validate {

/// May be copied and used by several threads at once.
class LinePattern {
 public:
  /// Usage error that says what is wrong, and what to write instead, for what is no expression of RE2.
  [[nodiscard]] static Result<LinePattern> compile(std::string_view expression);

  /// The first group of the leftmost match, or the whole match where the expression has no group. Absent without one.
  [[nodiscard]] std::optional<std::string> find(std::string_view line) const;

 private:
  explicit LinePattern(std::shared_ptr<const re2::RE2> pattern) : pattern_(std::move(pattern)) {}
  std::shared_ptr<const re2::RE2> pattern_;
};

}  // namespace warpmark::validate
