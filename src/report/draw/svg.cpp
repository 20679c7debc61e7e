// Line plots and scatter plots. See svg_distribution.cpp for distributions.
#include "report/draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/draw/axis.h"
#include "report/draw/format.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMostSvgMarks = 100;  // on a line
constexpr double kWidth = 680;
constexpr double kPlotHeight = 330;
constexpr double kLeft = 108;
constexpr double kRight = 18;
constexpr double kTop = 16;
constexpr double kAxisRoom = 46;  // ticks and title under the plot
constexpr double kLegendLine = 19;
constexpr std::size_t kColors = 8;

struct LegendEntry {
  std::string name;
  std::size_t index;  // of colour and mark
  bool line;
  Point at;
};

std::vector<double> values_of(const Plot& plot, bool x) {
  std::vector<double> values;
  for (const auto& series : plot.series) {
    for (const auto& point : series.points) values.push_back(x ? point.first : point.second);
  }
  return values;
}

std::string color_class(std::size_t index) { return "s" + std::to_string(index % kColors); }

/// Names of all series but the limits, set in lines; returns the number of lines.
std::size_t lay_out_legend(const Plot& plot, double top, std::vector<LegendEntry>& entries) {
  double x = kLeft;
  std::size_t line = 0;
  std::size_t index = 0;
  for (const auto& series : plot.series) {
    if (series.limit) continue;
    const double width = 26 + text_width(series.name) + 14;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      ++line;
    }
    entries.push_back({series.name, index++, series.line, {x, top + kLegendLine * static_cast<double>(line)}});
    x += width;
  }
  return entries.empty() ? 0 : line + 1;
}

/// Draws one plot; a class because every step needs the same scales and canvas.
class PlotDrawing {
 public:
  explicit PlotDrawing(const Plot& plot)
      : plot_(plot),
        x_(values_of(plot, true), plot.x),
        y_(values_of(plot, false), plot.y),
        legend_lines_(lay_out_legend(plot, kTop + kPlotHeight + kAxisRoom + 12, legend_)),
        canvas_(kWidth, kTop + kPlotHeight + kAxisRoom + kLegendLine * static_cast<double>(legend_lines_) + 6,
                plot.title) {}

  std::string draw() {
    draw_axes();
    draw_limits();
    std::size_t index = 0;
    for (const auto& series : plot_.series) {
      if (!series.limit) draw_series(series, index++);
    }
    draw_legend();
    return canvas_.finish();
  }

 private:
  [[nodiscard]] Point at(double x, double y) const {
    return {kLeft + x_.place(x) * (kWidth - kLeft - kRight), kTop + (1 - y_.place(y)) * kPlotHeight};
  }

  void draw_axes() {
    const double bottom = kTop + kPlotHeight;
    const auto ticks = y_.ticks(7);
    const auto labels = tick_labels(ticks, plot_.y.unit);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      const double y = kTop + (1 - y_.place(ticks[i])) * kPlotHeight;
      canvas_.line({kLeft, y}, {kWidth - kRight, y}, "grid");
      canvas_.text({kLeft - 8, y + 4}, labels[i], "end");
    }
    draw_horizontal_ticks(canvas_, x_, plot_.x, {kLeft, kWidth - kRight, kTop, bottom, kWidth}, 8);
    canvas_.polyline({{kLeft, kTop}, {kLeft, bottom}, {kWidth - kRight, bottom}}, "axis");
    canvas_.text({(kLeft + kWidth - kRight) / 2, bottom + 38}, plot_.x.title, "middle", "title");
    canvas_.text({13, kTop + kPlotHeight / 2}, plot_.y.title, "middle", "title", -90);
  }

  [[nodiscard]] std::vector<Point> places(const Series& series) const {
    std::vector<Point> points;
    for (const auto& [x, y] : series.points) {
      if (x_.shows(x) && y_.shows(y)) points.push_back(at(x, y));
    }
    return points;
  }

  /// A flat end is named above its right end, a slope along its middle. Names that would collide move up.
  void draw_limits() {
    std::vector<std::pair<double, std::string>> flat;
    for (const auto& series : plot_.series) {
      if (!series.limit) continue;
      const auto points = places(series);
      if (points.size() < 2) continue;
      canvas_.polyline(points, "limit");
      const Point from = points[points.size() - 2];
      const Point to = points.back();
      if (std::abs(from.y - to.y) < 0.5) {
        flat.emplace_back(to.y, series.name);
      } else {
        const double degrees = std::atan2(to.y - from.y, to.x - from.x) * 180 / std::numbers::pi;
        const double radians = degrees * std::numbers::pi / 180;
        const Point middle{(from.x + to.x) / 2 + 5 * std::sin(radians), (from.y + to.y) / 2 - 5 * std::cos(radians)};
        canvas_.text(middle, series.name, "middle", "limit-name", degrees);
      }
    }
    std::sort(flat.begin(), flat.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    double previous = 1e9;
    for (const auto& [y, name] : flat) {
      const double place = std::min(y - 4, previous - 13);
      canvas_.text({kWidth - kRight - 2, place}, name, "end", "limit-name");
      previous = place;
    }
  }

  void draw_series(const Series& series, std::size_t index) {
    const auto color = color_class(index);
    const auto points = places(series);
    if (series.line && points.size() > 1) canvas_.polyline(points, "line " + color);
    if (series.line && series.points.size() > kMostSvgMarks) return;  // they would hide the line
    for (const auto& [x, y] : series.points) {
      if (!x_.shows(x) || !y_.shows(y)) continue;
      canvas_.mark(at(x, y), index, color,
                   series.name + ": " + format_quantity(x, plot_.x.unit) + ", " + format_quantity(y, plot_.y.unit));
    }
  }

  void draw_legend() {
    for (const auto& entry : legend_) {
      const auto color = color_class(entry.index);
      const Point mark{entry.at.x + 10, entry.at.y - 4};
      if (entry.line) canvas_.line({mark.x - 10, mark.y}, {mark.x + 10, mark.y}, "line " + color);
      canvas_.mark(mark, entry.index, color);
      canvas_.text({entry.at.x + 26, entry.at.y}, entry.name, "start");
    }
  }

  const Plot& plot_;
  Scale x_;
  Scale y_;
  std::vector<LegendEntry> legend_;
  std::size_t legend_lines_;
  SvgCanvas canvas_;
};

}  // namespace

std::string render_svg(const Plot& plot) { return PlotDrawing(plot).draw(); }

}  // namespace warpmark::report
