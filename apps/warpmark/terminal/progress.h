// Progress for people who wait: a bar, the time left and what is known so far. Nothing where nobody watches.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "session/run_session.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Draws over one line of stderr, if that is a terminal.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(const Context& context)
      : out_(context.err), terminal_(context.err_is_terminal), width_(context.width) {}
  void show(const session::Progress& progress);
  /// Removes the bar.
  void clear();

 private:
  std::ostream& out_;
  bool terminal_;
  int width_;
  bool drawn_ = false;
};

/// The same for steps that take about the same time each: runs, rounds, questions.
class StepBar {
 public:
  /// `budget_s`: the steps end with it; 0 is without limit.
  explicit StepBar(const Context& context, double budget_s = 0);
  /// `what`: "run 12 of at most 60", `estimate`: "B / A 1.08"; empty where nothing is known yet.
  void update(std::int64_t done, std::int64_t of, const std::string& what, const std::string& estimate = {});
  void clear() { printer_.clear(); }

 private:
  ProgressPrinter printer_;
  double started_s_, budget_s_;
};

/// "[#####.....]  12/78  0:21 left  gemm cpu ..." cut to `width` columns. Pure.
[[nodiscard]] std::string progress_line(const session::Progress& progress, int width);

}  // namespace warpmark::apps
