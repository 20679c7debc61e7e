#include "validate/commands/line_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace warpmark::validate {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

re2::RE2::Options options_for(std::string_view expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  // A program may print bytes that are no UTF-8, which no "." would match: an expression that does not ask for other
  // characters sees bytes.
  options.set_encoding(is_ascii(expression) ? re2::RE2::Options::EncodingLatin1 : re2::RE2::Options::EncodingUTF8);
  return options;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return text.find(part) != text.npos; });
}

/// `rejected` is the part of the expression that RE2 stopped at.
std::string way_out(std::string_view expression, std::string_view rejected) {
  if (contains_any(rejected, {"(?=", "(?!", "(?<"})) {
    if (contains_any(expression, {"(?=", "(?!", "(?<=", "(?<!"})) {
      return "there is no look-around: write what stands around the number, and put the number into a group (...)";
    }
    return "a group with a name is (?P<name>...)";
  }
  if (rejected.size() > 1 && rejected[0] == '\\' &&
      ((rejected[1] >= '1' && rejected[1] <= '9') || rejected[1] == 'k')) {
    return "there are no backreferences, as their time has no bound";
  }
  return "the syntax is that of RE2";
}

}  // namespace

Result<LinePattern> LinePattern::compile(std::string_view expression) {
  auto pattern =
      std::make_shared<const re2::RE2>(re2::StringPiece(expression.data(), expression.size()), options_for(expression));
  if (pattern->ok()) return LinePattern(std::move(pattern));
  // What RE2 says ends with the rejected part where there is one: it is quoted here instead.
  std::string why = pattern->error();
  const std::string& rejected = pattern->error_arg();
  if (!rejected.empty() && why.ends_with(": " + rejected)) {
    why = why.substr(0, why.size() - rejected.size() - 2) + " '" + rejected + "'";
  }
  return usage_error("'" + std::string(expression) + "' is not valid: " + why, way_out(expression, rejected));
}

std::optional<std::string> LinePattern::find(std::string_view line) const {
  const re2::StringPiece text(line.data(), line.size());
  std::array<re2::StringPiece, 2> groups;
  const int wanted = pattern_->NumberOfCapturingGroups() > 0 ? 2 : 1;
  if (!pattern_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups.data(), wanted)) return std::nullopt;
  return std::string(groups[wanted == 2 ? 1 : 0]);
}

}  // namespace warpmark::validate
