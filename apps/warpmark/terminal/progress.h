// Progress for people who wait: a bar with the time left on a terminal, a line every 10 s otherwise.
#pragma once

#include <iosfwd>
#include <string>

#include "session/run_session.h"

namespace warpmark::apps {

class ProgressPrinter {
 public:
  /// `terminal`: draw over one line of `width` columns; else print whole lines now and then.
  ProgressPrinter(std::ostream& out, bool terminal, int width) : out_(out), terminal_(terminal), width_(width) {}
  void show(const session::Progress& progress);
  /// Removes the bar.
  void clear();

 private:
  std::ostream& out_;
  bool terminal_;
  int width_;
  double last_line_s_ = -1e9;
  bool drawn_ = false;
};

/// "[#####.....]  12/78  0:21 left  gemm cpu ..." cut to `width` columns. Pure.
[[nodiscard]] std::string progress_line(const session::Progress& progress, int width);

}  // namespace warpmark::apps
