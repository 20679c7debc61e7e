// What is seen while a load runs: a dashboard that is drawn over on a terminal, a line every ten seconds elsewhere.
// Reads counters that the load thread writes; the load waits for nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/surroundings.h"
#include "serving/client/load_plan.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// What the counters said at a moment, and before.
struct LoadView {
  loadtest::RunningLoad load;
  double elapsed_s = 0;
  std::vector<double> output_rate;  ///< tokens/s in each half second so far
};

/// The dashboard's lines, none wider than `width` (at least 40). Pure but for the counters.
[[nodiscard]] std::vector<std::string> dashboard_lines(const LoadView& view, const serving::LiveCounters& live,
                                                       int width, bool unicode);

/// One line that says the same in short.
[[nodiscard]] std::string progress_text(const LoadView& view, const serving::LiveCounters& live);

/// Writes the lines over the `drawn` ones above the cursor, each in its place: what clears a whole screen is kept by
/// terminals that remember what scrolled away.
[[nodiscard]] std::string redraw(const std::vector<std::string>& lines, std::size_t drawn);

class LoadDashboard {
 public:
  LoadDashboard(Context& context, loadtest::RunningLoad load);
  void show(const serving::LiveCounters& live);
  /// Removes it.
  void clear();

 private:
  void draw(const serving::LiveCounters& live);
  Context& context_;
  LoadView view_;
  std::int64_t began_ns_;
  std::int64_t shown_ns_ = 0;
  std::int64_t tokens_before_ = 0;
  std::size_t drawn_ = 0;  ///< lines
};

}  // namespace warpmark::apps
