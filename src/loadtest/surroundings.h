// What a load test gets from its caller: environment variables, whether to stop, and whom to tell how it goes. Empty
// functions are not called; all are called on the thread of run_load.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// A load that runs now.
struct RunningLoad {
  std::string title;  ///< "D(100,100), 8 users"
  std::int64_t step = 1, steps = 1;
  double duration_s = 0;           ///< 0 without limit
  std::int64_t most_requests = 0;  ///< 0 without limit
};

struct Surroundings {
  const char* (*environment)(const char* name);  ///< value, or nullptr
  const std::atomic<bool>& interrupted;          ///< ends the load; what was measured is kept
  std::vector<std::string> words = {};           ///< of this program's command line, which clients are started with
  std::string command = {};                      ///< the same as text, for results
  std::function<void(const std::string&)> note = {};
  /// Every 50 ms; counters may be read at any time until live_ended.
  std::function<void(const RunningLoad&, const serving::LiveCounters&)> live = {};
  std::function<void()> live_ended = {};
  std::function<void(const serving::ScenarioResult&)> measured = {};  ///< one load, before it is written down
  std::function<void(double)> needs_time = {};  ///< so many seconds after an interruption, to write down what there is

  void say(const std::string& text) const {
    if (note) note(text);
  }
};

}  // namespace warpmark::loadtest
