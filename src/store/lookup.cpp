#include "store/lookup.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::store {

Result<std::string> choose_session(const std::string& typed, std::span<const std::string> matches,
                                   const std::string& newest) {
  if (newest.empty()) return usage_error("no session is stored yet", "'warpmark run' measures one");
  if (typed == kLast) return newest;
  if (typed.empty()) return usage_error("no session was named", "'last' is the newest one, " + newest);
  if (std::find(matches.begin(), matches.end(), typed) != matches.end()) return typed;
  if (matches.size() == 1) return matches.front();
  const std::string quoted = "'" + typed + "'";
  if (matches.empty()) {
    return usage_error("there is no session " + quoted,
                       "the newest is " + newest + "; 'warpmark history list' shows all");
  }
  const std::string shown = join(matches.first(std::min(matches.size(), kShownMatches)), ", ");
  return usage_error(
      quoted + " could be any of these sessions: " + shown + (matches.size() > kShownMatches ? ", ..." : ""),
      "type more of the id, or 'last' for the newest");
}

}  // namespace warpmark::store
