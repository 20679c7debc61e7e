#include "report/draw/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kColumnGap = 2;     // blanks between columns
constexpr std::size_t kComfortable = 22;  // a text column is not wrapped below this while anything else can be given up
constexpr std::size_t kNarrowest = 6;     // nor below this at all
constexpr std::size_t kLongestWord = 32;  // that is kept whole while anything else can be given up
constexpr std::size_t kUnlimited = 1'000'000;
constexpr std::size_t kWideBar = 10;
constexpr std::size_t kNarrowBar = 6;

/// What is shown of a table in a given width.
struct Layout {
  std::vector<std::size_t> shown;   // indices of columns
  std::vector<std::size_t> widths;  // of the shown columns, bar included
  std::size_t bar = 0;
};

std::size_t width_of(const RenderOptions& options) { return static_cast<std::size_t>(std::max(options.width, 40)); }

std::string shown_text(const std::string& text, const RenderOptions& options) {
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

/// Of every column, header included: the widest text, and the widest word.
struct Widths {
  std::vector<std::size_t> texts, words;
};

Widths natural_widths(const Table& table, const RenderOptions& options) {
  Widths widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t text_width = 0, word_width = 0;
    const auto add = [&](const std::string& raw) {
      const auto text = shown_text(raw, options);
      text_width = std::max(text_width, display_width(text));
      for (const auto& word : split(text, ' ')) {
        if (const auto width = display_width(word); width <= kLongestWord) word_width = std::max(word_width, width);
      }
    };
    add(table.columns[i].name);
    for (const auto& row : table.rows) {
      if (i < row.size()) add(row[i].text);
    }
    widths.texts.push_back(text_width);
    widths.words.push_back(word_width);
  }
  return widths;
}

std::size_t total_width(const Layout& layout) {
  const auto sum = std::accumulate(layout.widths.begin(), layout.widths.end(), std::size_t{0});
  return sum + kColumnGap * (layout.widths.empty() ? 0 : layout.widths.size() - 1);
}

/// Narrows the widest text column by one until the table fits or no text column is wider than `least` or than its
/// widest word (`words`, by column; empty: words may be broken).
void narrow(const Table& table, Layout& layout, std::size_t width, std::size_t least,
            const std::vector<std::size_t>& words) {
  for (std::size_t total = total_width(layout); total > width; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      const std::size_t column = layout.shown[i];
      const std::size_t floor = std::max(least, words.empty() ? 0 : words[column]);
      if (table.columns[column].align == Align::right || layout.widths[i] <= floor) continue;
      if (widest == nullptr || layout.widths[i] > *widest) widest = &layout.widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

Layout lay_out(const Table& table, const RenderOptions& options) {
  const std::size_t width = options.whole_tables && has_header(table) ? kUnlimited : width_of(options);
  const auto natural = natural_widths(table, options);
  int most_optional = 0;
  for (const auto& column : table.columns) most_optional = std::max(most_optional, column.optional);
  const auto try_layout = [&](int keep, std::size_t bar) {
    Layout layout{{}, {}, bar};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].optional > keep) continue;
      layout.shown.push_back(i);
      layout.widths.push_back(natural.texts[i] + (bar > 0 && has_bar(table, i) ? bar + 1 : 0));
    }
    narrow(table, layout, width, kComfortable, natural.words);
    return layout;
  };
  Layout layout = try_layout(most_optional, kWideBar);
  for (const std::size_t bar : {kNarrowBar, std::size_t{0}}) {
    for (int keep = most_optional; keep >= 0 && total_width(layout) > width; --keep) layout = try_layout(keep, bar);
  }
  narrow(table, layout, width, kNarrowest, natural.words);
  narrow(table, layout, width, kNarrowest, {});
  return layout;
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
  const std::string line = padded(text, bar > 0 ? width - bar - 1 : width, align, cell.tone, options);
  if (bar == 0) return line;
  const bool drawn = first && cell.share.has_value();
  return line + " " +
         (drawn ? paint(share_bar(*cell.share, bar, options.unicode), cell.tone, options) : std::string(bar, ' '));
}

void trim_right(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

void append_row(std::string& out, const Table& table, const std::vector<Cell>& row, const Layout& layout,
                const RenderOptions& options) {
  const Cell empty;
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    const std::size_t column = layout.shown[i];
    const auto text = shown_text(column < row.size() ? row[column].text : std::string(), options);
    const bool wraps = table.columns[column].align == Align::left;
    lines.push_back(wraps ? wrap(text, layout.widths[i]) : std::vector<std::string>{text});
    height = std::max(height, lines.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = 0; i < layout.shown.size(); ++i) {
      const std::size_t column = layout.shown[i];
      const Cell& cell = column < row.size() ? row[column] : empty;
      const std::size_t bar = has_bar(table, column) ? layout.bar : 0;
      const std::string part = line < lines[i].size() ? lines[i][line] : std::string();
      text += (i > 0 ? std::string(kColumnGap, ' ') : "") +
              cell_line(cell, part, line == 0, layout.widths[i], table.columns[column].align, bar, options);
    }
    trim_right(text);
    out += text + "\n";
  }
}

void append_header(std::string& out, const Table& table, const Layout& layout, const RenderOptions& options) {
  std::vector<Cell> names;
  for (const auto& column : table.columns) names.push_back({column.name, Tone::quiet});
  append_row(out, table, names, layout, options);
  std::string rule;
  for (std::size_t i = 0; i < layout.shown.size(); ++i) {
    rule += std::string(i > 0 ? kColumnGap : 0, ' ');
    for (std::size_t dash = 0; dash < layout.widths[i]; ++dash) rule += options.unicode ? "─" : "-";
  }
  out += paint(rule, Tone::quiet, options) + "\n";
}

/// "ms", "%)" or "GB/s,": what belongs to the number before it.
bool is_unit(std::string_view word) {
  word = word.substr(0, word.find_last_not_of(").,;:") + 1);
  constexpr std::array<std::string_view, 17> kUnits{"%",  "s",   "ms",  "µs",  "us",   "ns",   "B",    "kB", "MB",
                                                    "GB", "KiB", "MiB", "GiB", "MB/s", "GB/s", "TB/s", "TiB"};
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

/// Between blanks; a number and its unit are one word where the line is wide enough for it.
std::vector<std::string> words_of(std::string_view text, std::size_t width) {
  std::vector<std::string> words;
  for (std::string& word : split(text, ' ')) {
    const bool number = !words.empty() && !words.back().empty() && is_digit(words.back().back());
    if (number && is_unit(word) && display_width(words.back()) + 1 + display_width(word) <= width) {
      words.back() += ' ' + word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// Where the part of a word that begins at `begin` ends: behind all of it where it fits into `room` columns, else
/// behind the last sign that joins names ("fused_texture/", "size="), else behind the last character that fits.
std::size_t end_of_part(std::string_view word, std::size_t begin, std::size_t room) {
  std::size_t end = begin, joint = begin;
  for (std::size_t used = 0; end < word.size() && used < room; ++used) {
    ++end;
    while (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0U) == 0x80) ++end;
    if (std::string_view("_/:.,-=").find(word[end - 1]) != std::string_view::npos) joint = end;
  }
  return end == word.size() || joint == begin ? end : joint;
}

/// Which columns had no room.
void append_left_out(std::string& out, const Table& table, const Layout& layout, const RenderOptions& options) {
  std::string names;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& name = table.columns[i].name;
    if (name.empty() || std::ranges::find(layout.shown, i) != layout.shown.end()) continue;
    names += (names.empty() ? "" : ", ") + shown_text(name, options);
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
  const Layout layout = lay_out(table, options);
  if (has_header(table)) append_header(out, table, layout, options);
  for (const auto& row : table.rows) append_row(out, table, row, layout, options);
  append_left_out(out, table, layout, options);
  return out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  WM_CHECK(width > 0);
  const std::vector<std::string> words = words_of(text, width);
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  const auto flush = [&] {
    lines.push_back(std::move(line));
    line.clear();
    used = 0;
  };
  for (const auto& word : words) {
    const std::size_t length = display_width(word);
    if (used > 0 && used + 1 + length > width) flush();
    if (used > 0) {
      line += ' ';
      ++used;
    }
    for (std::size_t i = 0; i < word.size();) {
      const std::size_t end = end_of_part(word, i, width - used);
      line.append(word, i, end - i);
      used += display_width(std::string_view(word).substr(i, end - i));
      i = end;
      if (i < word.size()) flush();
    }
  }
  if (!line.empty() || lines.empty()) flush();
  return lines;
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
