// How verbs end, the same in every one (docs/cli/exit-codes.md).
#pragma once

namespace warpmark {

enum ExitCode : int {
  kSuccess = 0,
  kGateFailed = 1,
  kUsage = 2,
  kInconclusive = 3,
  kAccuracyRejected = 4,
  kEnvironment = 5,
  kInterrupted = 130,  ///< as shells report SIGINT
};

}  // namespace warpmark
