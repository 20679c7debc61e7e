// The horizontal axis of a drawing: as many round values as have room for their labels, each with a grid line.
#pragma once

#include <cstddef>

#include "report/draw/axis.h"
#include "report/draw/svg_canvas.h"

namespace warpmark::report {

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
