// Recordings of ranks on several hosts as one session, by the clock of the one that collected them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/net/clock.h"
#include "model/profile/profile_session.h"

namespace warpmark::apps {

struct RecordedRank {
  int rank = 0;
  std::string host;
  ProfileSession session;
  std::optional<collectives::net::ClockOffset> before;  ///< the recording
  std::optional<collectives::net::ClockOffset> after;
};

/// Times of each rank are moved by the offset of its clock when it was recorded; what it is, and how certain, stands in
/// its metadata as clock_offset_ns and clock_uncertainty_ns. A clock that was set meanwhile is a flaw of that rank's
/// data. Counters go with their rank, as each host has its own GPU 0. Pure.
[[nodiscard]] ProfileSession join_ranks(std::vector<RecordedRank> ranks, int world_size);

}  // namespace warpmark::apps
