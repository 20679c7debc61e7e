// A session that begins now: its id, the command line, the revision, the machine and this build.
#pragma once

#include <string>

#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// "20260301-123456" of "2026-03-01T12:34:56Z", with which the ids of sessions begin, so that they sort by time.
[[nodiscard]] std::string id_stamp(std::string utc);

/// Without runs. Gathers the machine's facts: up to a second with a GPU.
[[nodiscard]] Session new_session(const Context& context);

}  // namespace warpmark::apps
