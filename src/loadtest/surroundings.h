// What a load test may know of the world, and whom it tells how it goes. Functions that are empty are not called; all
// are called on the thread of run_load.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// A load that runs now. Every counter may be read at any time.
struct LiveLoad {
  std::string title;  ///< "D(100,100), 8 users"
  std::int64_t step = 1, steps = 1;
  double duration_s = 0;
  std::int64_t most_requests = 0;  ///< 0 without limit
  const serving::LiveCounters& counters;
};

struct Surroundings {
  const char* (*environment)(const char* name);  ///< value, or nullptr
  const std::atomic<bool>& interrupted;          ///< ends the load; what was measured is kept
  std::vector<std::string> words = {};           ///< of this program's command line, which clients are started with
  std::string command = {};                      ///< the same as text, for results
  std::function<void(const std::string&)> note = {};
  std::function<void(const LiveLoad&)> live = {};  ///< every 50 ms
  std::function<void()> live_ended = {};
  std::function<void(const serving::ScenarioResult&)> measured = {};  ///< one load, before it is written down
  std::function<void(double)> needs_time = {};  ///< so many seconds after an interruption, to write down what there is

  void say(const std::string& text) const {
    if (note) note(text);
  }
};

}  // namespace warpmark::loadtest
