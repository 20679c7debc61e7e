// `warpmark profile` of a program on several ranks and hosts: mpirun or srun starts a recorder for each rank, which
// compares its clock with ours, records, compares again and sends what it recorded.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/start/launch.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"
#include "warpmark/profiles/profile_ranks.h"

namespace warpmark::apps {

struct RankRecording {
  collectives::LaunchOptions launch;
  std::vector<std::string> words;  ///< of each rank's recorder, behind the launcher's
  std::string bind;                ///< where ranks reach us; empty: this machine alone, or with hosts everywhere
};

struct CollectedRanks {
  std::vector<RecordedRank> ranks;    ///< ascending
  std::vector<std::string> problems;  ///< ranks that sent nothing, and why
  int exit_code = 0;                  ///< the first that is not 0 of the programs, or the launcher's
};

/// Starts the ranks and waits for them. The programs' output is printed as it comes.
[[nodiscard]] Result<CollectedRanks> collect_ranks(Context& context, const RankRecording& recording);

/// One of them: sends what `recorded` records and returns the exit code. `record.out` is a place of its own.
[[nodiscard]] Result<int> record_as_rank(
    Context& context, profile::RecordOptions record,
    const std::function<Result<profile::RecordOutcome>(profile::RecordOptions& record)>& recorded);

}  // namespace warpmark::apps
