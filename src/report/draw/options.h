// How a report is rendered; what a format cannot do is ignored by it.
#pragma once

namespace warpmark::report {

struct RenderOptions {
  int width = 80;             ///< terminal columns, at least 40
  bool whole_tables = false;  ///< tables with a header are as wide as their columns: pipes and files
  bool color = false;         ///< ANSI colours
  bool unicode = false;       ///< the terminal shows UTF-8
  bool details = false;       ///< text: also print the sections that other formats fold away
};

}  // namespace warpmark::report
