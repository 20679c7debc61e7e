// Heat maps. The shade is one hue of growing strength, weak enough for the numbers to be read on it in light and dark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/draw/format.h"
#include "report/draw/svg.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {
namespace {

constexpr double kMapHeight = 34, kMapGap = 8, kMapTop = 44;
constexpr int kShades = 8;

double widest(const std::vector<std::string>& texts) {
  double width = 0;
  for (const auto& text : texts) width = std::max(width, text_width(text));
  return width;
}

/// Maps a value to a shade.
class Shades {
 public:
  explicit Shades(const HeatMap& map) {
    bool any = false;
    for (const auto& row : map.squares) {
      for (const auto& square : row) {
        if (!square.value) continue;
        low_ = any ? std::min(low_, *square.value) : *square.value;
        high_ = any ? std::max(high_, *square.value) : *square.value;
        any = true;
      }
    }
  }
  [[nodiscard]] int of(double value) const {
    const bool logarithmic = low_ > 0;
    const auto at = [&](double x) { return logarithmic ? std::log(x) : x; };
    const double range = at(high_) - at(low_);
    const double share = range > 0 ? (at(value) - at(low_)) / range : 0.5;
    return std::clamp(static_cast<int>(share * kShades), 0, kShades - 1);
  }

 private:
  double low_ = 0;
  double high_ = 0;
};

double square_width(const HeatMap& map) {
  double width = std::max(64.0, widest(map.columns) + 16);
  for (const auto& row : map.squares) {
    for (const auto& square : row) width = std::max(width, text_width(square.text) + 16);
  }
  return width;
}

constexpr double kRowHeight = 28, kBarHeight = 18, kEdge = 8, kFallTop = 28, kBarsWidth = 360;

const char* class_of(Tone tone) {
  if (tone == Tone::good) return "fall-good";
  return tone == Tone::bad ? "fall-bad" : "fall-plain";
}

std::string label_of(const Waterfall::Bar& bar, const std::string& unit) {
  return format_quantity(bar.to, unit) + (bar.text.empty() ? "" : ", " + bar.text);
}

}  // namespace

std::string render_svg(const HeatMap& map) {
  const double left = std::max(widest(map.rows), text_width(map.row_axis)) + 2 * kMapGap;
  const double width = square_width(map);
  const double total = std::max(540.0, left + width * static_cast<double>(map.columns.size()) + kMapGap);
  SvgCanvas canvas(total, kMapTop + kMapHeight * static_cast<double>(map.rows.size()) + kMapGap, map.title);
  const Shades shades(map);
  canvas.text({left, 14}, map.column_axis, "start", "title");
  canvas.text({left - kMapGap, kMapTop - 10}, map.row_axis, "end", "title");
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    canvas.text({left + (static_cast<double>(column) + 0.5) * width, kMapTop - 10}, map.columns[column], "middle");
  }
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const double y = kMapTop + static_cast<double>(row) * kMapHeight;
    canvas.text({left - kMapGap, y + kMapHeight / 2 + 4}, map.rows[row], "end");
    for (std::size_t column = 0; column < map.squares[row].size(); ++column) {
      const auto& square = map.squares[row][column];
      const double x = left + static_cast<double>(column) * width;
      canvas.rectangle({x, y}, {width, kMapHeight},
                       square.value ? fmt::format("heat h{}", shades.of(*square.value)) : "heat-none");
      canvas.text({x + width / 2, y + kMapHeight / 2 + 4}, square.text, "middle", square.value ? "" : "title");
      if (square.marked) canvas.rectangle({x + 3, y + 3}, {width - 6, kMapHeight - 6}, "heat-frame");
    }
  }
  return canvas.finish();
}

// Waterfalls: how one number became another, step by step.

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
