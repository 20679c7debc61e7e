// A session that begins now: its id, the command line, the revision, the machine and this build.
#pragma once

#include <string>

#include "model/machine.h"
#include "model/run.h"

namespace warpmark::session {

/// "20260301-123456" of "2026-03-01T12:34:56Z", with which the ids of sessions begin, so that they sort by time.
[[nodiscard]] std::string id_stamp(std::string utc);

/// Without runs. `command`: the command line as text. Gathers the machine's facts: up to a second with a GPU.
[[nodiscard]] Session new_session(const std::string& command);

/// Cheap: loads nothing.
[[nodiscard]] Build build_info();

struct GitState {
  std::string commit;  ///< 40 hex digits; empty outside a repository or without git
  std::string branch;  ///< empty when detached
  bool dirty = false;
};

[[nodiscard]] GitState git_state();

}  // namespace warpmark::session
