#include "report/draw/chart_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/draw/axis.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

constexpr std::array<const char*, 8> kLevels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string range_text(double low, double high, std::string_view unit) {
  const auto from = format_quantity(low, unit);
  const auto to = format_quantity(high, unit);
  return from == to ? from : from + " – " + to;
}

std::vector<std::pair<double, double>> finite_points(const Series& series) {
  std::vector<std::pair<double, double>> points;
  for (const auto& point : series.points) {
    if (std::isfinite(point.first) && std::isfinite(point.second)) points.push_back(point);
  }
  std::sort(points.begin(), points.end());
  return points;
}

/// As many values as a line of a terminal has room for; of each run of values the most, as peaks are what is looked
/// for.
std::vector<double> thinned(const std::vector<double>& values) {
  constexpr std::size_t kMost = 24;
  if (values.size() <= kMost) return values;
  std::vector<double> shown(kMost, -INFINITY);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& most = shown[i * kMost / values.size()];
    most = std::max(most, values[i]);
  }
  return shown;
}

}  // namespace

std::string sparkline(std::span<const double> values) {
  std::string line;
  if (values.empty()) return line;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  for (const double value : values) {
    const double height = *high > *low ? (value - *low) / (*high - *low) : 1;
    line += kLevels[static_cast<std::size_t>(std::lround(height * (kLevels.size() - 1)))];
  }
  return line;
}

std::string histogram_line(std::span<const double> samples, double low, double high, std::size_t bins) {
  std::vector<std::size_t> counts(bins, 0);
  for (const double sample : samples) {
    const double place = high > low ? (sample - low) / (high - low) * static_cast<double>(bins) : 0;
    counts[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))] += 1;
  }
  const auto most = *std::max_element(counts.begin(), counts.end());
  std::string line;
  for (const auto count : counts) {
    line += count == 0 ? "·" : kLevels[(count * kLevels.size() - 1) / most];
  }
  return line;
}

Table table_of(const Plot& plot) {
  Table table{{{"series"}, {plot.x.title}, {plot.y.title}, {"shape", Align::left, 1}}, {}};
  for (const auto& series : plot.series) {
    const auto points = finite_points(series);
    if (points.size() < 2 || !series.line || series.limit) continue;
    std::vector<double> ys;
    for (const auto& point : points) ys.push_back(point.second);
    const auto [low, high] = std::minmax_element(ys.begin(), ys.end());
    table.rows.push_back({{series.name},
                          {range_text(points.front().first, points.back().first, plot.x.unit)},
                          {range_text(*low, *high, plot.y.unit)},
                          {sparkline(thinned(ys)), Tone::quiet}});
  }
  return table;
}

Table table_of(const Distribution& distribution) {
  constexpr std::size_t kBins = 24;
  Table table{{{"samples of"}, {"n", Align::right}, {"", Align::left}}, {}};
  const Range range = shown_range(distribution);
  table.columns.back().name = distribution.x.title + ", " + range_text(range.low, range.high, distribution.x.unit);
  for (const auto& group : distribution.groups) {
    if (group.samples.empty()) continue;
    table.rows.push_back({{group.name},
                          {format_count(static_cast<std::int64_t>(group.samples.size()))},
                          {histogram_line(group.samples, range.low, range.high, kBins), Tone::quiet}});
  }
  return table;
}

bool has_marks(const HeatMap& map) {
  return std::any_of(map.squares.begin(), map.squares.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const auto& square) { return square.marked; });
  });
}

std::string text_title(const HeatMap& map) { return map.title + (has_marks(map) ? "; * " + map.mark : ""); }

Table table_of(const HeatMap& map) {
  Table table{{{map.row_axis + " \\ " + map.column_axis}}, {}};
  for (const auto& column : map.columns) table.columns.push_back({column, Align::right});
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    auto& cells = table.rows.emplace_back();
    cells.push_back({map.rows[row]});
    for (const auto& square : map.squares[row]) {
      cells.push_back({square.text + (square.marked ? " *" : ""), square.value ? Tone::plain : Tone::quiet});
    }
  }
  return table;
}

Table table_of(const Waterfall& waterfall) {
  double most = 0;
  for (const auto& bar : waterfall.bars) most = std::max({most, bar.from, bar.to});
  Table table{{{"with"}, {waterfall.title, Align::right}, {"speedup", Align::right}}, {}};
  for (const auto& bar : waterfall.bars) {
    Cell amount{format_quantity(bar.to, waterfall.unit), bar.tone};
    if (most > 0) amount.share = bar.to / most;
    table.rows.push_back({{bar.name}, std::move(amount), {bar.text}});
  }
  return table;
}

}  // namespace warpmark::report
