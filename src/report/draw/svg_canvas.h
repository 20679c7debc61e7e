// The few SVG elements that the plots are made of, and a horizontal axis with as many round values as have room for
// their labels, each with a grid line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/draw/axis.h"

namespace warpmark::report {

struct Point {
  double x = 0;
  double y = 0;
};

class SvgCanvas {
 public:
  /// Sizes in user units, about one pixel; `title` is read by screen readers.
  SvgCanvas(double width, double height, std::string_view title);

  void line(Point from, Point to, std::string_view css_class);
  void polyline(const std::vector<Point>& points, std::string_view css_class);
  void rectangle(Point corner, Point size, std::string_view css_class);
  /// One of six shapes, so that series also differ without colour; `hint` shows on hovering.
  void mark(Point center, std::size_t shape, std::string_view css_class, std::string_view hint = {});
  /// Many small dots in one element.
  void dots(const std::vector<Point>& points, std::string_view css_class);
  /// `anchor` is start, middle or end; `degrees` turns the text around its point.
  void text(Point at, std::string_view words, std::string_view anchor, std::string_view css_class = {},
            double degrees = 0);

  /// The whole element. The canvas is empty afterwards.
  [[nodiscard]] std::string finish();

 private:
  std::string out_;
};

/// Roughly, for a 12-unit sans-serif font: nothing here can measure text.
[[nodiscard]] double text_width(std::string_view words);

struct HorizontalAxis {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;  ///< labels stand below
  double width = 0;   ///< of the drawing: no label crosses its edge
};

/// At most `most` ticks.
void draw_horizontal_ticks(SvgCanvas& canvas, const Scale& scale, const Axis& axis, const HorizontalAxis& place,
                           std::size_t most);

}  // namespace warpmark::report
