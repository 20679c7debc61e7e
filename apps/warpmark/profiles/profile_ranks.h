// `warpmark profile --ranks`: its options, and what it says of what the ranks sent.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "collectives/net/clock.h"
#include "model/profile/profile_session.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Options that do nothing without --ranks or --hosts are refused.
Status check_rank_options(const ParsedOptions& options);

/// Starts and collects ranks; one file of all that came. `specs` are the verb's options, of which each rank gets those
/// that say how to record. The exit code is the programs'.
Result<int> record_ranks(Context& context, const ParsedOptions& options, std::span<const OptionSpec> specs,
                         const std::filesystem::path& out);

// Recordings of ranks on several hosts as one session, by the clock of the one that collected them.

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
