#include "report/formats/html.h"
#include "report/formats/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/draw/chart_text.h"
#include "report/draw/svg.h"

namespace warpmark::report {
namespace {

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::plain: return "plain";
    case Tone::good: return "good";
    case Tone::warning: return "warning";
    case Tone::bad: return "bad";
    case Tone::quiet: return "quiet";
  }
  return "plain";
}

constexpr std::size_t kLongText = 24;  // longer texts may wrap, but not into a narrow column
constexpr std::size_t kLongWide = 18;  // what such a text takes of a narrow page, in characters
constexpr std::size_t kPhone = 52;     // characters in the width of a phone
constexpr std::size_t kMostStacked = 12;

/// Whether a phone shows each row as lines "name value": a table that is too wide for it, and short enough to be read
/// so.
bool stacks_on_phones(const Table& table) {
  if (table.rows.size() > kMostStacked) return false;
  std::size_t width = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool number = table.columns[i].align == Align::right;
    std::size_t widest = 0;
    for (const auto& word : split(table.columns[i].name, ' ')) widest = std::max(widest, display_width(word));
    for (const auto& row : table.rows) {
      if (i >= row.size()) continue;
      const std::size_t text = display_width(row[i].text) + (row[i].share ? kLongWide / 2 : 0);
      widest = std::max(widest, number || text <= kLongText ? text : kLongWide);
    }
    width += widest + 1;
  }
  return width > kPhone;
}

/// Right-aligned cells stay on one line; texts wrap.
std::string cell_class(const Cell& cell, const Column& column) {
  std::string names = column.align == Align::right ? "number" : "text";
  if (column.align == Align::left && display_width(cell.text) > kLongText) names += " long";
  if (cell.tone != Tone::plain) names += std::string(" ") + tone_class(cell.tone);
  return names;
}

/// Escaped; a long word may wrap behind its punctuation, and a longer one without any, such as a hash, every 32 bytes.
std::string wrappable(const std::string& text) {
  constexpr std::size_t kLongWord = 16, kLongestPiece = 32;
  constexpr std::string_view kBreaks = "_:/,<>()[].-=+;@|&";
  std::string out;
  bool any = false;
  for (const auto& word : split(text, ' ')) {
    if (!out.empty()) out += ' ';
    if (display_width(word) <= kLongWord) {
      out += escape_markup(word);
      continue;
    }
    for (std::size_t i = 0, begin = 0; i < word.size(); ++i) {
      const bool last = i + 1 == word.size();
      const bool begins_letter = !last && (static_cast<unsigned char>(word[i + 1]) & 0xC0U) != 0x80U;
      const bool punctuation = !last && kBreaks.find(word[i]) != std::string_view::npos &&
                               kBreaks.find(word[i + 1]) == std::string_view::npos;
      const bool breaks = punctuation || (begins_letter && i + 1 - begin >= kLongestPiece);
      if (!last && !breaks) continue;
      out += escape_markup(word.substr(begin, i + 1 - begin)) + (last ? "" : "<wbr/>");
      any = any || breaks;
      begin = i + 1;
    }
  }
  return any ? "<span>" + out + "</span>" : out;
}

std::string cell_html(const Cell& cell, const Column& column, bool stacks) {
  std::string bar;
  if (cell.share) {
    const double share = std::isfinite(*cell.share) ? std::clamp(*cell.share, 0.0, 1.0) : 0;
    bar = fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span>", share * 100);
  }
  const std::string name = stacks ? fmt::format(" data-name=\"{}\"", escape_markup(column.name)) : "";
  return fmt::format("<td class=\"{}\"{}>{}{}</td>", cell_class(cell, column), name,
                     column.align == Align::left ? wrappable(cell.text) : escape_markup(cell.text), bar);
}

void write(std::string& out, const Paragraph& paragraph) {
  if (paragraph.code) {
    out += "<pre class=\"scroll\">" + escape_markup(paragraph.text) + "</pre>\n";
  } else {
    out += fmt::format("<p class=\"{}\">{}</p>\n", tone_class(paragraph.tone), escape_markup(paragraph.text));
  }
}

void write(std::string& out, const Table& table) {
  if (table.columns.empty()) return;
  const bool named =
      std::any_of(table.columns.begin(), table.columns.end(), [](const auto& column) { return !column.name.empty(); });
  const bool stacks = named && stacks_on_phones(table);
  out += fmt::format("<div class=\"scroll\"><table{}>\n", stacks  ? " class=\"stacks\""
                                                          : named ? ""
                                                                  : " class=\"facts\"");
  if (named) {
    out += "<thead><tr>";
    for (const auto& column : table.columns) {
      out += fmt::format("<th class=\"{}\">{}</th>", column.align == Align::right ? "number" : "text",
                         escape_markup(column.name));
    }
    out += "</tr></thead>\n";
  }
  out += "<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += cell_html(i < row.size() ? row[i] : Cell{}, table.columns[i], stacks);
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
}

template <typename Drawing>
void write_figure(std::string& out, const Drawing& drawing, const std::string& caption) {
  out += "<figure><figcaption>" + escape_markup(caption) + "</figcaption><div class=\"scroll\">\n" +
         render_svg(drawing) + "</div></figure>\n";
}

template <typename Drawing>
void write_figure(std::string& out, const Drawing& drawing) {
  write_figure(out, drawing, drawing.title);
}

void write(std::string& out, const Plot& plot) { write_figure(out, plot); }
void write(std::string& out, const Distribution& distribution) { write_figure(out, distribution); }
void write(std::string& out, const Waterfall& waterfall) { write_figure(out, waterfall); }
void write(std::string& out, const HeatMap& map) {
  const std::string framed = has_marks(map) ? "; framed: " + map.mark : "";
  write_figure(out, map, map.title + framed + "; the stronger the colour, the larger the value");
}

void write_section(std::string& out, const Section& section) {
  const auto heading = escape_markup(section.heading);
  if (section.detail) {
    out += section.open ? "<details open><summary>" : "<details><summary>";
    out += heading + "</summary>\n";
  } else {
    out += heading.empty() ? "<section>\n" : "<section><h2>" + heading + "</h2>\n";
  }
  for (const auto& block : section.blocks) {
    std::visit([&](const auto& item) { write(out, item); }, block);
  }
  out += section.detail ? "</details>\n" : "</section>\n";
}

}  // namespace

std::string render_html(const Report& report) {
  const auto title = escape_markup(report.title);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
      title + "</title>\n<style>\n" + std::string(html_style()) + "</style>\n</head>\n<body>\n<main>\n<header><h1>" +
      title + "</h1>\n";
  if (!report.subtitle.empty()) out += "<p class=\"quiet\">" + escape_markup(report.subtitle) + "</p>\n";
  out += "</header>\n";
  for (const auto& section : report.sections) write_section(out, section);
  return out + "</main>\n</body>\n</html>\n";
}

std::string standalone_svg(const std::string& svg) {
  const auto end = svg.find('>');
  if (end == std::string::npos) return svg;
  return svg.substr(0, end + 1) + "<style>\n" + std::string(html_style()) +
         "svg { background: var(--page); }\n</style>" + svg.substr(end + 1);
}

extern const Reporter kHtmlReporter{
    "html", "one self-contained HTML file with plots", "html",
    [](const Report& report, const RenderOptions& /*none apply*/) { return render_html(report); }};

}  // namespace warpmark::report
