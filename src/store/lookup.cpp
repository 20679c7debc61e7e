#include "store/lookup.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::store {

Result<std::string> choose_session(const std::string& typed, std::span<const std::string> matches,
                                   const std::string& newest) {
  if (newest.empty() && (typed == kLast || typed.empty())) {
    return usage_error("no session is stored yet", "'warpmark run' measures one");
  }
  if (typed == kLast) return newest;
  if (typed.empty()) return usage_error("no session was named", "'last' is the newest one, " + newest);
  if (std::find(matches.begin(), matches.end(), typed) != matches.end()) return typed;
  if (matches.size() == 1) return matches.front();
  const std::string quoted = "'" + typed + "'";
  if (matches.empty()) {
    return usage_error("there is no session " + quoted,
                       newest.empty() ? "no session is stored yet: 'warpmark run' measures one"
                                      : "the newest is " + newest + "; 'warpmark history list' shows all");
  }
  const std::string shown = join(matches.first(std::min(matches.size(), kShownMatches)), ", ");
  return usage_error(
      quoted + " could be any of these sessions: " + shown + (matches.size() > kShownMatches ? ", ..." : ""),
      "type more of the id, or 'last' for the newest");
}

Status check_tag(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const auto is_allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || is_digit(letter) || letter == '.' ||
           letter == '_' || letter == '-' || letter == '/';
  };
  if (name == kLast) return usage_error("'last' always is the newest session", "choose another name");
  if (!name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), is_allowed)) return {};
  return usage_error("'" + name + "' cannot be a tag", "up to 64 letters, digits and . _ - / can, as in v1.2");
}

Error tag_is_taken(const std::string& name, const std::string& session) {
  return usage_error("the tag '" + name + "' is that of session " + session,
                     "'warpmark history tag --remove " + name + "' takes it off");
}

Error no_such_tag(const std::string& name) {
  return usage_error("there is no tag '" + name + "'", "'warpmark history list' shows all");
}

Error tag_keeps(const std::string& session) {
  return usage_error("session " + session + " has a tag, which keeps it",
                     "'warpmark history tag --remove NAME' takes it off");
}

Error not_begun(const std::string& session) { return internal_error("session '" + session + "' was not begun"); }

Error no_such_run(const std::string& session, std::int64_t index) {
  return usage_error("there is no run " + std::to_string(index) + " in a session '" + session + "'",
                     "it may still be measured, or have been pruned");
}

Error no_such_document(const std::string& session, std::int64_t index) {
  return usage_error("there is no document " + std::to_string(index) + " of a session '" + session + "'",
                     "its session may have been pruned");
}

}  // namespace warpmark::store
