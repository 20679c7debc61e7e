// A load test from what is asked to its report: every scenario at every load, one after another; each is kept as it
// ends.
#pragma once

#include "base/result.h"
#include "loadtest/prepare.h"

namespace warpmark::loadtest {

struct LoadTest {
  serving::LoadReport report;  ///< with an id unless it was interrupted before it began
  Status ended;                ///< the error that ended it; what was measured before is in the report and written down
  bool interrupted = false;
  bool stored = false;  ///< under the report's id
};

/// One at a time in a process. Usage error for what does not go together; environment error for a server that does not
/// answer, before anything is measured.
[[nodiscard]] Result<LoadTest> run_load(const LoadRequest& request, const Surroundings& around);

}  // namespace warpmark::loadtest
