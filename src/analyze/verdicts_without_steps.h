// Verdicts of sessions that show no GPU work: traces of other tools, and counters alone.
#pragma once

#include <cstddef>
#include <string>

#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Chrome traces of other tools: rows, but of no kind that PyTorch, XLA or a recorder of ours names.
[[nodiscard]] bool is_of_unknown_kinds(const ProfileSession& session);
/// Names the categories that such a trace has.
[[nodiscard]] std::string unknown_kinds_verdict(const ProfileSession& session);
/// Nothing is wrong in the counters of so many GPUs: says no more than they can show.
[[nodiscard]] std::string counters_verdict(const ProfileSession& session, std::size_t gpus);

}  // namespace warpmark::analyze
