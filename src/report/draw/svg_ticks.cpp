#include "report/draw/svg_ticks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace warpmark::report {
namespace {

constexpr double kLabelGap = 12;
constexpr double kLabelDrop = 17;

/// All labels beside one another, whether or not the values are evenly spread.
bool has_room(const std::vector<double>& ticks, const Axis& axis, double width) {
  double needed = 0;
  for (const auto& label : tick_labels(ticks, axis.unit)) needed = std::max(needed, text_width(label) + kLabelGap);
  return needed * static_cast<double>(ticks.size()) <= width;
}

}  // namespace

void draw_horizontal_ticks(SvgCanvas& canvas, const Scale& scale, const Axis& axis, const HorizontalAxis& place,
                           std::size_t most) {
  constexpr std::size_t kFewest = 2;
  auto ticks = scale.ticks(most);
  while (most > kFewest && !has_room(ticks, axis, place.right - place.left)) ticks = scale.ticks(--most);
  const auto labels = tick_labels(ticks, axis.unit);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = place.left + scale.place(ticks[i]) * (place.right - place.left);
    const std::string& label = labels[i];
    canvas.line({x, place.top}, {x, place.bottom}, "grid");
    const double half = text_width(label) / 2;
    canvas.text({std::min(x, place.width - half - 2), place.bottom + kLabelDrop}, label, "middle");
  }
}

}  // namespace warpmark::report
