// A session that begins now: its id, the command line, the revision, the machine and this build.
#pragma once

#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Without runs. Gathers the machine's facts: up to a second with a GPU.
[[nodiscard]] Session new_session(const Context& context);

}  // namespace warpmark::apps
