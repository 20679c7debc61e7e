// Waterfalls: how one number became another, step by step.
#include <algorithm>
#include <cmath>

#include "report/draw/format.h"
#include "report/draw/svg.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {
namespace {

constexpr double kRowHeight = 28, kBarHeight = 18, kEdge = 8, kFallTop = 28, kBarsWidth = 360;

const char* class_of(Tone tone) {
  if (tone == Tone::good) return "fall-good";
  return tone == Tone::bad ? "fall-bad" : "fall-plain";
}

std::string label_of(const Waterfall::Bar& bar, const std::string& unit) {
  return format_quantity(bar.to, unit) + (bar.text.empty() ? "" : ", " + bar.text);
}

}  // namespace

std::string render_svg(const Waterfall& waterfall) {
  double names = 0, texts = 0, most = 0;
  for (const auto& bar : waterfall.bars) {
    names = std::max(names, text_width(bar.name));
    texts = std::max(texts, text_width(label_of(bar, waterfall.unit)));
    most = std::max({most, bar.from, bar.to});
  }
  const double left = names + 2 * kEdge;
  const double height = kFallTop + kRowHeight * static_cast<double>(waterfall.bars.size()) + kEdge;
  SvgCanvas canvas(left + kBarsWidth + texts + 3 * kEdge, height, waterfall.title);
  const auto at = [&](double value) { return left + (most > 0 ? value / most : 0) * kBarsWidth; };
  canvas.text({left, 14}, "0", "middle", "title");
  canvas.text({left + kBarsWidth, 14}, format_quantity(most, waterfall.unit), "end", "title");
  canvas.line({left, kFallTop - 6}, {left, height - kEdge}, "axis");
  for (std::size_t i = 0; i < waterfall.bars.size(); ++i) {
    const auto& bar = waterfall.bars[i];
    const double y = kFallTop + static_cast<double>(i) * kRowHeight;
    const double low = at(std::min(bar.from, bar.to)), high = at(std::max(bar.from, bar.to));
    canvas.text({left - kEdge, y + kBarHeight / 2 + 4}, bar.name, "end");
    canvas.rectangle({low, y}, {std::max(high - low, 1.0), kBarHeight}, class_of(bar.tone));
    canvas.text({at(std::max(bar.from, bar.to)) + kEdge, y + kBarHeight / 2 + 4}, label_of(bar, waterfall.unit),
                "start");
    if (i + 1 < waterfall.bars.size()) {
      canvas.line({at(bar.to), y + kBarHeight}, {at(bar.to), y + kRowHeight}, "grid");
    }
  }
  return canvas.finish();
}

}  // namespace warpmark::report
