// The chart of one series over its sessions.
#include <fmt/format.h>

#include <algorithm>

#include "report/build/trend.h"
#include "report/draw/axis.h"
#include "report/draw/format.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {
namespace {

constexpr double kTrendWidth = 680, kTrendPlotHeight = 240;
constexpr double kTrendLeft = 96, kTrendRight = 18, kTrendTop = 26, kBottom = 62;
constexpr std::size_t kMostMarks = 400;  // beyond, points are drawn as one element without hints

class TrendDrawing {
 public:
  explicit TrendDrawing(const TrendSeries& series)
      : series_(series),
        y_(values_shown(series), {.title = series.metric, .unit = series.unit, .logarithmic = false}),
        canvas_(kTrendWidth, kTrendTop + kTrendPlotHeight + kBottom, series.label + " " + series.metric) {}

  std::string draw() {
    draw_band();
    draw_axes();
    draw_machines();
    draw_levels();
    draw_points();
    draw_changes();
    draw_legend();
    return canvas_.finish();
  }

 private:
  static std::vector<double> values_shown(const TrendSeries& series) {
    std::vector<double> values;
    for (const auto& item : series.points) values.push_back(item.point.value);
    if (series.band) values.insert(values.end(), {series.band->low, series.band->high});
    return values;
  }

  [[nodiscard]] double right() const { return kTrendWidth - kTrendRight; }
  /// Half a step of room on both sides, so that borders between sessions have a place.
  [[nodiscard]] double x_of(double index) const {
    const double steps = static_cast<double>(series_.points.size());
    return kTrendLeft + (index + 0.5) / steps * (right() - kTrendLeft);
  }
  [[nodiscard]] double y_of(double value) const { return kTrendTop + (1 - y_.place(value)) * kTrendPlotHeight; }
  [[nodiscard]] const HistoryPoint& point_at(std::int64_t index) const {
    return series_.points[static_cast<std::size_t>(index)].point;
  }

  void draw_band() {
    if (!series_.band) return;
    const double left = x_of(static_cast<double>(series_.band_from) - 0.5);
    const double top = y_of(series_.band->high), bottom = y_of(series_.band->low);
    canvas_.rectangle({left, top}, {right() - left, std::max(1.0, bottom - top)}, "box");
  }

  void draw_axes() {
    const double bottom = kTrendTop + kTrendPlotHeight;
    const auto ticks = y_.ticks(6);
    const auto labels_of_y = tick_labels(ticks, series_.unit);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      canvas_.line({kTrendLeft, y_of(ticks[i])}, {right(), y_of(ticks[i])}, "grid");
      canvas_.text({kTrendLeft - 8, y_of(ticks[i]) + 4}, labels_of_y[i], "end");
    }
    canvas_.polyline({{kTrendLeft, kTrendTop}, {kTrendLeft, bottom}, {right(), bottom}}, "axis");
    const std::size_t count = series_.points.size();
    const std::size_t labels = std::min<std::size_t>(5, count);
    std::string day, minute, commit;
    for (std::size_t i = 0; i < labels; ++i) {
      const auto index = labels == 1 ? 0 : static_cast<std::int64_t>(i * (count - 1) / (labels - 1));
      const double x = x_of(static_cast<double>(index));
      const auto& point = point_at(index);
      canvas_.line({x, bottom}, {x, bottom + 4}, "axis");
      const char* anchor = i == 0 ? "start" : i + 1 == labels ? "end" : "middle";
      const double place = i == 0 ? kTrendLeft : i + 1 == labels ? right() : x;
      // The time where the date is that of the label before, with seconds where the minute is, too.
      const bool same_day = i > 0 && point.started.substr(0, 10) == day;
      const std::string time = point.started.size() >= 19 ? point.started.substr(11, 8) : "";
      day = point.started.substr(0, 10);
      const std::string label = !same_day ? day : time.substr(0, 5) == minute ? time : time.substr(0, 5);
      minute = time.substr(0, 5);
      canvas_.text({place, bottom + 17}, label, anchor);
      if (!point.commit.empty() && point.commit != commit) {
        canvas_.text({place, bottom + 31}, point.commit.substr(0, 8), anchor, "title");
      }
      commit = point.commit;
    }
    canvas_.text({13, kTrendTop + kTrendPlotHeight / 2}, series_.metric, "middle", "title", -90);
  }

  void draw_machines() {
    for (const auto& machine : series_.machines) {
      const double x = x_of(static_cast<double>(machine.index) - 0.5);
      canvas_.line({x, kTrendTop}, {x, kTrendTop + kTrendPlotHeight}, "limit");
      canvas_.text({x + 4, kTrendTop + 12}, "other machine", "start", "limit-name");
    }
  }

  /// A line a level: from change to change.
  void draw_levels() {
    const auto line = [&](double from, double to, double level) {
      canvas_.line({x_of(from - 0.5), y_of(level)}, {x_of(to - 0.5), y_of(level)}, "line s1");
    };
    for (std::size_t i = 0; i < series_.changes.size(); ++i) {
      const auto& change = series_.changes[i];
      const bool first = i == 0 || series_.changes[i - 1].after != change.before;
      if (first)
        line(static_cast<double>(begin_before(change.index)), static_cast<double>(change.index), change.before);
      line(static_cast<double>(change.index), static_cast<double>(end_after(i)), change.after);
    }
  }

  [[nodiscard]] std::int64_t begin_before(std::int64_t index) const {
    std::int64_t begin = 0;
    for (const auto& change : series_.changes) {
      if (change.index < index) begin = std::max(begin, change.index);
    }
    for (const auto& machine : series_.machines) {
      if (machine.index < index) begin = std::max(begin, machine.index);
    }
    return begin;
  }

  [[nodiscard]] std::int64_t end_after(std::size_t change) const {
    auto end = static_cast<std::int64_t>(series_.points.size());
    if (change + 1 < series_.changes.size()) end = series_.changes[change + 1].index;
    for (const auto& machine : series_.machines) {
      if (machine.index > series_.changes[change].index) end = std::min(end, machine.index);
    }
    return end;
  }

  void draw_points() {
    std::vector<Point> places;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      places.push_back({x_of(static_cast<double>(i)), y_of(series_.points[i].point.value)});
    }
    if (places.size() > kMostMarks) {
      canvas_.polyline(places, "line s0");
      return;
    }
    for (std::size_t i = 0; i < places.size(); ++i) canvas_.mark(places[i], 0, "s0", hint_of(series_.points[i]));
  }

  [[nodiscard]] std::string hint_of(const TrendPoint& item) const {
    const auto& point = item.point;
    std::string text = format_quantity(point.value, series_.unit);
    if (item.interval) text += " " + format_half_width(point.value, *item.interval);
    text += fmt::format(", {} {}", point.n, point.n == 1 ? "sample" : "samples");
    if (!point.commit.empty()) text += ", commit " + point.commit.substr(0, 10) + (point.dirty ? "*" : "");
    return text + ", " + point.started + ", session " + point.session;
  }

  void draw_changes() {
    double previous = -1e9, height = 0;
    for (const auto& change : series_.changes) {
      const double x = x_of(static_cast<double>(change.index) - 0.5);
      canvas_.line({x, kTrendTop}, {x, kTrendTop + kTrendPlotHeight}, "line s1");
      const std::string text = format_change(change.before != 0 ? change.after / change.before : 1);
      height = x - previous < text_width(text) + 8 ? height + 12 : 0;  // names that would collide move down
      canvas_.text({x, kTrendTop - 8 + height}, text, "middle", "limit-name");
      previous = x;
    }
  }

  void draw_legend() {
    const double y = kTrendTop + kTrendPlotHeight + kBottom - 8;
    double x = kTrendLeft;
    const auto entry = [&](const std::string& name) {
      canvas_.text({x + 26, y}, name, "start");
      x += 26 + text_width(name) + 16;
    };
    canvas_.mark({x + 10, y - 4}, 0, "s0");
    entry("session");
    if (!series_.changes.empty()) {
      canvas_.line({x, y - 4}, {x + 20, y - 4}, "line s1");
      entry("level between changes");
    }
    if (series_.band) {
      canvas_.rectangle({x, y - 9}, {20, 10}, "box");
      entry("expected of the next (95 %)");
    }
  }

  const TrendSeries& series_;
  Scale y_;
  SvgCanvas canvas_;
};

}  // namespace

std::string render_trend_svg(const TrendSeries& series) { return TrendDrawing(series).draw(); }

}  // namespace warpmark::report
