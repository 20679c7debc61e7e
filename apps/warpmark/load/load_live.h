// What is seen while a load runs: a line that is drawn over on a terminal, a line every ten seconds elsewhere. Reads
// counters that the load thread writes; the load waits for nobody.
#pragma once

#include <cstdint>
#include <string>

#include "serving/client/load_plan.h"
#include "serving/client/prepare_load.h"
#include "warpmark/command.h"

namespace warpmark::apps {

class LoadLine {
 public:
  LoadLine(Context& context, const serving::Traffic& traffic);
  void show(const serving::LiveCounters& live);
  void clear();

 private:
  Context& context_;
  const serving::Traffic& traffic_;
  std::int64_t began_ns_;
  std::int64_t shown_ns_ = 0;
  bool drawn_ = false;
};

/// Whether half the interval (95 %, order statistics) of a percentile, "ttft:p99", is below this share of it.
[[nodiscard]] bool precise_enough(const serving::LiveCounters& live, const std::string& what, double share);

}  // namespace warpmark::apps
