#include "report/draw/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/untrusted/input.h"
#include "report/draw/svg.h"

namespace warpmark::report {
namespace {

/// Tenths are enough for drawing; trailing zeros only make the file longer.
std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string path_of(const std::vector<Point>& points) {
  std::string path;
  for (const auto& point : points) path += (path.empty() ? "M" : "L") + number(point.x) + " " + number(point.y);
  return path;
}

const char* entity_of(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return nullptr;
  }
}

constexpr double kLabelGap = 12;
constexpr double kLabelDrop = 17;

/// All labels beside one another, whether or not the values are evenly spread.
bool has_room(const std::vector<double>& ticks, const Axis& axis, double width) {
  double needed = 0;
  for (const auto& label : tick_labels(ticks, axis.unit)) needed = std::max(needed, text_width(label) + kLabelGap);
  return needed * static_cast<double>(ticks.size()) <= width;
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, std::string_view title)
    : out_(fmt::format("<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">"
                       "<title>{}</title>\n",
                       number(width), number(height), escape_markup(title))) {}

void SvgCanvas::line(Point from, Point to, std::string_view css_class) {
  out_ += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", css_class, number(from.x), number(from.y),
                      number(to.x), number(to.y));
}

void SvgCanvas::polyline(const std::vector<Point>& points, std::string_view css_class) {
  out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, path_of(points));
}

void SvgCanvas::rectangle(Point corner, Point size, std::string_view css_class) {
  out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css_class,
                      number(corner.x), number(corner.y), number(size.x), number(size.y));
}

void SvgCanvas::mark(Point center, std::size_t shape, std::string_view css_class, std::string_view hint) {
  constexpr std::array<const char*, 6> kShapes{
      "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",                 // circle
      "m-3.6 -3.6h7.2v7.2h-7.2z",                            // square
      "m0 -5l4.6 8.2h-9.2z",                                 // triangle
      "m0 -5.2l5.2 5.2l-5.2 5.2l-5.2 -5.2z",                 // diamond
      "m0 5l4.6 -8.2h-9.2z",                                 // triangle pointing down
      "m-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",  // plus
  };
  const auto path = "M" + number(center.x) + " " + number(center.y) + kShapes[shape % kShapes.size()];
  const auto tip = hint.empty() ? std::string() : "<title>" + escape_markup(hint) + "</title>";
  out_ += fmt::format("<path class=\"mark {}\" d=\"{}\">{}</path>\n", css_class, path, tip);
}

void SvgCanvas::dots(const std::vector<Point>& points, std::string_view css_class) {
  std::string path;
  for (const auto& point : points) path += "M" + number(point.x) + " " + number(point.y) + "h0";
  out_ += fmt::format("<path class=\"dots {}\" d=\"{}\"/>\n", css_class, path);
}

void SvgCanvas::text(Point at, std::string_view words, std::string_view anchor, std::string_view css_class,
                     double degrees) {
  const auto turn = degrees == 0
                        ? std::string()
                        : fmt::format(" transform=\"rotate({} {} {})\"", number(degrees), number(at.x), number(at.y));
  out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", css_class, number(at.x),
                      number(at.y), anchor, turn, escape_markup(words));
}

std::string SvgCanvas::finish() { return std::exchange(out_, {}) + "</svg>\n"; }

double text_width(std::string_view words) { return 6.6 * static_cast<double>(display_width(words)); }

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : shown_text(text)) {
    if (const char* entity = entity_of(c); entity != nullptr) {
      out += entity;
    } else {
      out += c;
    }
  }
  return out;
}

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
