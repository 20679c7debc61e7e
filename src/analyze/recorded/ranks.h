// Ranks against one another: clocks aligned by the ends of collectives (a collective ends everywhere at once), and how
// much of each collective was waiting for the rank that came last.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "analyze/recorded/programs.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Not known which one.
inline constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

struct RankAlignment {
  bool aligned = false;                  ///< false: too few collectives in common with the first rank
  std::int64_t clock_offset_ns = 0;      ///< add to this rank's absolute times to get those of its program's first
  std::int64_t end_spread_ns = 0;        ///< median absolute deviation of the ends after alignment
  std::int64_t matched = 0;              ///< collectives found on every rank
  std::vector<std::int64_t> wait_until;  ///< per work, on the rank's own timeline; 0 for none
  std::vector<std::uint32_t> late_rank;  ///< per work that waits: the place of that rank's list
  std::vector<std::int32_t> rendezvous;  ///< per work: the same number on every rank for one collective; -1 for none
  bool by_messages = false;              ///< most of its communication is messages, as between the stages of a pipeline
};

/// One element a list: the works of a rank, or of one of its GPUs. Only ranks of one program (programs_of) wait for one
/// another in collectives. Of a single rank only messages give waits.
[[nodiscard]] std::vector<RankAlignment> align_ranks(const std::vector<const Timeline*>& timelines,
                                                     const std::vector<WorkList>& lists,
                                                     const std::vector<std::size_t>& programs);

}  // namespace warpmark::analyze
