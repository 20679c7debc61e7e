// A Report is what a person reads, before it has a format: sections of text, tables and plots. Reporters turn it into
// terminal text, markdown or HTML; they know formats, not what a benchmark is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace warpmark {

enum class Tone { plain, good, warning, bad, quiet };
enum class Align { left, right };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  std::optional<double> share = std::nullopt;  ///< 0..1: also drawn as a bar where the format can
};

struct Column {
  std::string name;
  Align align = Align::left;
  int optional = 0;  ///< above 0: left out where there is no room for it, the highest first
};

struct Table {
  std::vector<Column> columns;  ///< without a header if all names are empty
  std::vector<std::vector<Cell>> rows;
};

struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
  bool code = false;  ///< commands or code, a line each: broken only so that it can be pasted
};

/// Points of one series, in the axes' base units.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool line = true;    ///< joined by a line, else marks only
  bool limit = false;  ///< a ceiling: drawn thin, without marks, with its name beside it
};

struct Axis {
  std::string title;  ///< with the unit: "arithmetic intensity (FLOP/B)"
  std::string unit;   ///< base unit for tick labels with prefixes; "%" for a ratio; empty for plain numbers
  bool logarithmic = false;
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};

/// Distributions of samples side by side: one row a label.
struct Distribution {
  std::string title;
  Axis x;
  struct Group {
    std::string name;
    std::vector<double> samples;
    double median = 0;
    std::optional<std::pair<double, double>> interval;
  };
  std::vector<Group> groups;
};

/// A table of numbers coloured by their size: rows and columns are the values of two axes.
struct HeatMap {
  std::string title;
  std::string row_axis;
  std::string column_axis;
  std::string mark;  ///< what a marked square is; each format says how it looks
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  struct Square {
    std::optional<double> value;  ///< nothing: `text` says why
    std::string text;
    bool marked = false;  ///< drawn with a frame, or a star in text
  };
  std::vector<std::vector<Square>> squares;  ///< by row, then column
};

/// Bars of which each begins where the one before ended: how a quantity became another.
struct Waterfall {
  std::string title;  ///< the quantity
  std::string unit;   ///< of the numbers
  struct Bar {
    std::string name;
    double from = 0;
    double to = 0;
    std::string text;  ///< the speedup of this bar; stands beside `to`
    Tone tone = Tone::plain;
  };
  std::vector<Bar> bars;
};

using Block = std::variant<Paragraph, Table, Plot, Distribution, HeatMap, Waterfall>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
  bool detail = false;  ///< folded away where the format can
  bool open = false;    ///< a detail that is unfolded at first
};

struct Report {
  std::string title;
  std::string subtitle;
  std::vector<Section> sections;
};

}  // namespace warpmark
