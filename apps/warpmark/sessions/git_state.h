// The commit that the user's working directory is at, kept with every session so that history can be told by commits.
#pragma once

#include <string>

namespace warpmark::apps {

struct GitState {
  std::string commit;  ///< 40 hex digits; empty outside a repository or without git
  std::string branch;  ///< empty when detached
  bool dirty = false;
};

[[nodiscard]] GitState git_state();

}  // namespace warpmark::apps
