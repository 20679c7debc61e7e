#include "report/draw/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/text.h"
#include "report/draw/format.h"
#include "report/draw/wrap.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kColumnGap = 2;     // blanks between columns
constexpr std::size_t kComfortable = 22;  // a text column is not wrapped below this while anything else can be given up
constexpr std::size_t kNarrowest = 6;     // nor below this at all
constexpr std::size_t kLongestWord = 32;  // longer ones are paths and names of kernels: they do not widen a column
constexpr std::size_t kLabel = 12;        // of the first column where names of rows stand above them
constexpr std::size_t kUnlimited = 1'000'000;
constexpr std::size_t kWideBar = 10;
constexpr std::size_t kNarrowBar = 6;
constexpr std::size_t kIndent = 2;  // of what stands below its row

/// What is shown of a table in a given width.
struct Layout {
  std::vector<std::size_t> shown;   // indices of columns
  std::vector<std::size_t> widths;  // of the texts of the shown columns
  std::vector<std::size_t> bars;    // 0 where a shown column has none
  bool below = false;               // a word that is wider than its column stands on a line of its own
};

std::size_t width_of(const RenderOptions& options) { return static_cast<std::size_t>(std::max(options.width, 40)); }

std::string cell_text(const std::string& text, const RenderOptions& options) {
  std::string line = without_controls(options.unicode ? text : to_ascii(text));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

bool has_bar(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return column < row.size() && row[column].share.has_value(); });
}

bool has_header(const Table& table) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [](const auto& column) { return !column.name.empty(); });
}

/// Of every column, header included: the widest text, and the least width that breaks no word and no number.
struct Widths {
  std::vector<std::size_t> texts, least;
};

std::size_t widest_word(const std::string& text, std::size_t longest) {
  std::size_t widest = 0;
  for (const auto& word : split(text, ' ')) {
    if (const auto width = display_width(word); width <= longest) widest = std::max(widest, width);
  }
  return widest;
}

Widths natural_widths(const Table& table, const RenderOptions& options) {
  Widths widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string name = cell_text(table.columns[i].name, options);
    std::size_t natural = display_width(name), least = widest_word(name, kLongestWord);
    for (const auto& row : table.rows) {
      if (i >= row.size()) continue;
      const std::string text = cell_text(row[i].text, options);
      const std::size_t width = display_width(text);
      natural = std::max(natural, width);
      least = std::max(least, table.columns[i].align == Align::right ? width : widest_word(text, kLongestWord));
    }
    widths.texts.push_back(natural);
    widths.least.push_back(least);
  }
  return widths;
}

std::size_t total_width(const Layout& layout) {
  std::size_t sum = std::accumulate(layout.widths.begin(), layout.widths.end(), std::size_t{0});
  for (const std::size_t bar : layout.bars) sum += bar > 0 ? bar + 1 : 0;
  return sum + kColumnGap * (layout.widths.empty() ? 0 : layout.widths.size() - 1);
}

/// Narrows the widest column by one until the table fits or none is wider than `narrowest` and its own least width.
void narrow(Layout& layout, std::size_t width, std::size_t narrowest, const std::vector<std::size_t>& least) {
  for (std::size_t total = total_width(layout); total > width; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      if (layout.widths[i] <= std::max(narrowest, least[layout.shown[i]])) continue;
      if (widest == nullptr || layout.widths[i] > *widest) widest = &layout.widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

/// Nothing if the table does not fit.
std::optional<Layout> lay_out(const Table& table, const RenderOptions& options) {
  const bool whole = options.whole_tables && has_header(table);
  const std::size_t width = whole ? kUnlimited : width_of(options);
  auto natural = natural_widths(table, options);
  int most_optional = 0;
  std::vector<bool> barred;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    most_optional = std::max(most_optional, table.columns[i].optional);
    barred.push_back(has_bar(table, i));
  }
  const auto try_layout = [&](int keep, std::size_t bar) {
    Layout layout{.shown = {}, .widths = {}, .bars = {}, .below = !options.whole_tables};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].optional > keep) continue;
      layout.shown.push_back(i);
      layout.widths.push_back(natural.texts[i]);
      layout.bars.push_back(barred[i] ? bar : 0);
    }
    narrow(layout, width, kComfortable, natural.least);
    return layout;
  };
  Layout layout = try_layout(most_optional, kWideBar);
  for (const std::size_t bar : {kNarrowBar, std::size_t{0}}) {
    for (int keep = most_optional; keep >= 0 && total_width(layout) > width; --keep) layout = try_layout(keep, bar);
  }
  narrow(layout, width, kNarrowest, natural.least);
  if (layout.below) {  // names of rows may stand above their numbers
    natural.least.front() = std::min(natural.least.front(), kLabel);
    narrow(layout, width, kNarrowest, natural.least);
  }
  return total_width(layout) <= width ? std::optional(std::move(layout)) : std::nullopt;
}

/// Colours the text, not the blanks around it.
std::string padded(const std::string& text, std::size_t width, Align align, Tone tone, const RenderOptions& options) {
  const std::size_t used = display_width(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  const std::string painted = paint(text, tone, options);
  return align == Align::right ? blanks + painted : painted + blanks;
}

/// One line of one cell, padded to the column's width; `bar` is the width of the column's share bars.
std::string cell_line(const Cell& cell, const std::string& text, bool first, std::size_t width, Align align,
                      std::size_t bar, const RenderOptions& options) {
  const std::string line = padded(text, width, align, cell.tone, options);
  if (bar == 0) return line;
  const bool drawn = first && cell.share.has_value();
  return line + " " +
         (drawn ? paint(share_bar(*cell.share, bar, options.unicode), cell.tone, options) : std::string(bar, ' '));
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

/// "name: text" over the whole width.
void append_wide(std::string& out, const std::string& name, const std::string& text, std::size_t indent, Tone tone,
                 const RenderOptions& options) {
  const std::string before = name.empty() ? "" : name + ": ";
  for (const auto& line : wrap(before + text, width_of(options) - indent)) {
    append_line(out, std::string(indent, ' ') + paint(line, tone, options));
  }
}

void append_row(std::string& out, const Table& table, const std::vector<Cell>& row, const Layout& layout,
                const RenderOptions& options) {
  const Cell empty;
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  bool moved = false;
  std::string below;
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    const std::size_t column = layout.shown[i];
    const Cell& cell = column < row.size() ? row[column] : empty;
    auto text = cell_text(cell.text, options);
    if (layout.below && table.columns[column].align == Align::left &&
        widest_word(text, kUnlimited) > layout.widths[i]) {
      const bool first = i == 0;
      append_wide(first ? out : below, first ? "" : cell_text(table.columns[column].name, options), text,
                  first ? 0 : kIndent, cell.tone, options);
      text.clear();
      moved = true;
    }
    lines.push_back(wrap(text, std::max<std::size_t>(1, layout.widths[i])));
    height = std::max(height, lines.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      const std::size_t column = layout.shown[i];
      const std::string part = line < lines[i].size() ? lines[i][line] : std::string();
      text += (i > 0 ? std::string(kColumnGap, ' ') : "") +
              cell_line(column < row.size() ? row[column] : empty, part, line == 0, layout.widths[i],
                        table.columns[column].align, layout.bars[i], options);
    }
    if (!moved || text.find_first_not_of(' ') != std::string::npos) append_line(out, std::move(text));
  }
  out += below;
}

/// A row as lines "name: value", in the order of the columns. An empty first cell continues the row above.
void append_records(std::string& out, const Table& table, const RenderOptions& options) {
  std::string group;
  for (std::size_t at = 0; at < table.rows.size(); ++at) {
    if (at > 0 && has_header(table)) out += "\n";
    const auto& row = table.rows[at];
    for (std::size_t i = 0; i < std::min(row.size(), table.columns.size()); ++i) {
      std::string text = cell_text(row[i].text, options);
      if (i == 0) text = group = text.empty() ? group : text;
      if (text.empty()) continue;
      const bool indented = !has_header(table) && i > 0;
      append_wide(out, cell_text(table.columns[i].name, options), text, indented ? kIndent : 0, row[i].tone, options);
    }
  }
}

void append_header(std::string& out, const Table& table, const Layout& layout, const RenderOptions& options) {
  std::vector<Cell> names;
  for (const auto& column : table.columns) names.push_back({column.name, Tone::quiet});
  append_row(out, table, names, layout, options);
  std::string rule;
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    rule += std::string(i > 0 ? kColumnGap : 0, ' ');
    const std::size_t bar = layout.bars[i] > 0 ? layout.bars[i] + 1 : 0;
    for (std::size_t dash = 0; dash < layout.widths[i] + bar; ++dash) rule += options.unicode ? "─" : "-";
  }
  out += paint(rule, Tone::quiet, options) + "\n";
}

/// Which columns had no room.
void append_left_out(std::string& out, const Table& table, const Layout& layout, const RenderOptions& options) {
  std::string names;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& name = table.columns[i].name;
    if (name.empty() || std::ranges::find(layout.shown, i) != layout.shown.end()) continue;
    names += (names.empty() ? "" : ", ") + cell_text(name, options);
  }
  if (names.empty()) return;
  for (const auto& line : wrap("Not shown at this width: " + names + ".", width_of(options))) {
    out += paint(line, Tone::quiet, options) + "\n";
  }
}

}  // namespace

std::string render_table(const Table& table, const RenderOptions& options) {
  std::string out;
  if (table.columns.empty()) return out;
  const auto layout = lay_out(table, options);
  if (!layout) {
    append_records(out, table, options);
    return out;
  }
  if (has_header(table)) append_header(out, table, *layout, options);
  for (const auto& row : table.rows) append_row(out, table, row, *layout, options);
  append_left_out(out, table, *layout, options);
  return out;
}

std::string paint(std::string_view text, Tone tone, const RenderOptions& options) {
  if (!options.color || tone == Tone::plain || text.empty()) return std::string(text);
  const char* code = tone == Tone::good ? "32" : tone == Tone::warning ? "33" : tone == Tone::bad ? "31" : "2";
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string share_bar(double share, std::size_t width, bool unicode) {
  const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  if (!unicode) {
    const auto filled = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width)));
    return std::string(filled, '#') + std::string(width - filled, '.');
  }
  constexpr std::array<const char*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width) * 8));
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const std::size_t used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  for (std::size_t i = used; i < width; ++i) bar += "░";
  return bar;
}

Table without_empty_columns(Table table) {
  for (std::size_t column = table.columns.size(); column-- > 1;) {
    const bool any = std::ranges::any_of(
        table.rows, [&](const auto& row) { return column < row.size() && !row[column].text.empty(); });
    if (any) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) {
      if (column < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
  }
  return table;
}

}  // namespace warpmark::report
