#include "warpmark/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/clock.h"

namespace warpmark::apps {
namespace {

constexpr std::size_t kBarWidth = 20;

std::string minutes(double seconds) {
  const auto whole = static_cast<long>(std::ceil(std::max(0.0, seconds)));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_line(const session::Progress& progress, int width) {
  const double share =
      progress.slices == 0 ? 0 : static_cast<double>(progress.slices_done) / static_cast<double>(progress.slices);
  const auto filled = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBarWidth)));
  std::string left = "budget used up";
  if (!progress.left_known) {
    left = minutes(progress.elapsed_s) + " so far";
  } else if (progress.left_s > 0) {
    left = minutes(progress.left_s) + " left";
  }
  std::string line = fmt::format("[{}{}] {:3.0f} %  {}  {}", std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), share * 100, left,
                                 progress.stage.empty() ? progress.current : progress.stage + ": " + progress.current);
  const auto columns = static_cast<std::size_t>(std::max(1, width - 1));
  if (line.size() > columns) line.resize(columns);
  return line;
}

void ProgressPrinter::show(const session::Progress& progress) {
  if (terminal_) {
    out_ << "\r\x1b[2K" << progress_line(progress, width_) << std::flush;
    drawn_ = true;
  }
}

StepBar::StepBar(const Context& context, double budget_s)
    : printer_(context), started_s_(static_cast<double>(monotonic_ns()) * 1e-9), budget_s_(budget_s) {}

void StepBar::update(std::int64_t done, std::int64_t of, const std::string& what, const std::string& estimate) {
  const double elapsed_s = static_cast<double>(monotonic_ns()) * 1e-9 - started_s_;
  session::Progress progress{.slices_done = static_cast<std::size_t>(done),
                             .slices = static_cast<std::size_t>(of),
                             .elapsed_s = elapsed_s,
                             .left_known = done > 0 && of > done,
                             .current = estimate.empty() ? what : estimate + "  " + what};
  if (progress.left_known) {
    progress.left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(of - done);
    if (budget_s_ > 0) progress.left_s = std::min(progress.left_s, std::max(0.0, budget_s_ - elapsed_s));
  }
  printer_.show(progress);
}

void ProgressPrinter::clear() {
  if (drawn_) out_ << "\r\x1b[2K" << std::flush;
  drawn_ = false;
}

}  // namespace warpmark::apps
