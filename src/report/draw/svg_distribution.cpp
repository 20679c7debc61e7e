// Distributions of samples, one row a group.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/draw/axis.h"
#include "report/draw/format.h"
#include "report/draw/svg.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {
namespace {

constexpr double kRowWidth = 680;
constexpr double kRowLeft = 240;
constexpr double kRowRight = 20;
constexpr double kRowTop = 10;
constexpr double kRow = 34;
constexpr double kBand = 22;  // height of the dots and the box within a row
constexpr std::size_t kMostDots = 150;
constexpr std::size_t kMostName = 32;

/// The first characters with an ellipsis; cut between code points.
std::string shortened(const std::string& text) {
  if (display_width(text) <= kMostName) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; shown + 1 < kMostName; ++shown) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) ++end;
  }
  return text.substr(0, end) + "…";
}

double quartile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

void draw_group(SvgCanvas& canvas, const Distribution::Group& group, const Scale& scale, double top) {
  const auto x_of = [&](double value) { return kRowLeft + scale.place(value) * (kRowWidth - kRowLeft - kRowRight); };
  const double band = top + (kRow - kBand) / 2;
  canvas.text({kRowLeft - 10, top + kRow / 2 + 4}, shortened(group.name), "end");
  std::vector<double> sorted;
  std::vector<Point> dots;
  const std::size_t n = group.samples.size();
  const std::size_t drawn = std::min(n, kMostDots);
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(group.samples[i])) sorted.push_back(group.samples[i]);
  }
  if (sorted.empty()) return;
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t sample = i * n / drawn;
    if (!std::isfinite(group.samples[sample])) continue;
    const double height = drawn > 1 ? static_cast<double>(i) / static_cast<double>(drawn - 1) : 0.5;
    dots.push_back({x_of(group.samples[sample]), band + height * kBand});
  }
  std::sort(sorted.begin(), sorted.end());
  canvas.dots(dots, "s0");
  const double low = x_of(quartile(sorted, 0.25));
  const double high = x_of(quartile(sorted, 0.75));
  canvas.rectangle({low, band}, {std::max(1.0, high - low), kBand}, "box");
  if (group.interval) {
    const double from = x_of(group.interval->first);
    const double to = x_of(group.interval->second);
    canvas.rectangle({from, band + kBand / 2 - 3}, {std::max(1.5, to - from), 6}, "interval");
  }
  canvas.line({x_of(group.median), band - 3}, {x_of(group.median), band + kBand + 3}, "median");
}

}  // namespace

std::string render_svg(const Distribution& distribution) {
  const Range range = shown_range(distribution);
  const std::vector<double> ends{range.low, range.high};
  const Scale scale(ends, distribution.x);
  const double bottom = kRowTop + kRow * static_cast<double>(std::max<std::size_t>(1, distribution.groups.size()));
  SvgCanvas canvas(kRowWidth, bottom + 50, distribution.title);
  draw_horizontal_ticks(canvas, scale, distribution.x, {kRowLeft, kRowWidth - kRowRight, kRowTop, bottom, kRowWidth},
                        6);
  canvas.polyline({{kRowLeft, kRowTop}, {kRowLeft, bottom}, {kRowWidth - kRowRight, bottom}}, "axis");
  canvas.text({(kRowLeft + kRowWidth - kRowRight) / 2, bottom + 38}, distribution.x.title, "middle", "title");
  double top = kRowTop;
  for (const auto& group : distribution.groups) {
    draw_group(canvas, group, scale, top);
    top += kRow;
  }
  return canvas.finish();
}

}  // namespace warpmark::report
