#include "report/formats/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/fields/names.h"
#include "report/draw/chart_text.h"
#include "report/draw/svg.h"
#include "report/formats/catalog.h"

namespace warpmark::report {
namespace {

constexpr auto kToneClasses = in_order(Tone::quiet, "plain", "good", "warning", "bad", "quiet");
const char* tone_class(Tone tone) { return name_in(kToneClasses, static_cast<std::int64_t>(tone)); }

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
    bar = fmt::format(
        "<svg class=\"bar\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\"><rect width=\"{:.1f}\" "
        "height=\"1\"/></svg>",
        share * 100);
  }
  const std::string name = stacks ? fmt::format(" data-name=\"{}\"", escape_markup(column.name)) : "";
  return fmt::format("<td class=\"{}\"{}>{}{}</td>", cell_class(cell, column), name,
                     column.align == Align::left ? wrappable(cell.text) : escape_markup(cell.text), bar);
}

void write(std::string& out, const Paragraph& paragraph) {
  if (paragraph.code) {
    out += "<pre>" + escape_markup(paragraph.text) + "</pre>\n";
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

constexpr std::string_view kStyle = R"css(:root {
  --page: #ffffff; --panel: #f6f7f9; --ink: #1d2330; --quiet: #5d6779; --rule: #dfe3ea;
  --bar: #2f6fba; --track: #e3e8f0;
  --good: #1a7f37; --warning: #9a6200; --bad: #c02626; --box: #2f6fba33;
  --c0: #2f6fba; --c1: #c4561b; --c2: #1f8a5b; --c3: #8a4fb5; --c4: #b3287a; --c5: #7a6a10;
  --c6: #0e8490; --c7: #5d6779;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --panel: #1a2029; --ink: #e5e9f0; --quiet: #9aa5b8; --rule: #2c3543; --bar: #5b9ae6;
    --track: #2a3342; --good: #56c271; --warning: #e0a63c; --bad: #f47171; --box: #5b9ae640;
    --c0: #6aa8f0; --c1: #f08b52; --c2: #4cc38a; --c3: #bd8be6; --c4: #ec74b5; --c5: #d2bd45;
    --c6: #4cc6d3; --c7: #9aa5b8;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI",
  "Liberation Sans", "DejaVu Sans", sans-serif; -webkit-text-size-adjust: 100%; }
main { max-width: 1100px; margin: 0 auto; padding: 20px 20px 60px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 8px 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 34px 0 8px; padding-bottom: 4px; border-bottom: 1px solid var(--rule); }
header p { margin: 0; } p { margin: 8px 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; max-width: 100%; --under: var(--page); background: linear-gradient(to right,
  var(--under) 40%, transparent) 0 0, linear-gradient(to left, var(--under) 40%, transparent) 100% 0,
  linear-gradient(to right, var(--rule), transparent) 0 0, linear-gradient(to left, var(--rule), transparent) 100% 0;
  background-repeat: no-repeat; background-size: 48px 100%, 48px 100%, 18px 100%, 18px 100%;
  background-attachment: local, local, scroll, scroll; }
details .scroll { --under: var(--panel); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 6px 0 12px; font-size: 0.93rem; }
th { text-align: left; font-weight: 600; color: var(--quiet); white-space: nowrap; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
th { vertical-align: bottom; } th.number { white-space: normal; }
td.text { max-width: 36em; overflow-wrap: break-word; }
table:not(.facts) td.long { min-width: 13em; }
.facts td { border-bottom: 0; padding-top: 2px; padding-bottom: 2px; }
.facts td.text { max-width: 56em; }
.facts td:first-child { white-space: nowrap; }
.facts td:first-child:not(.good, .warning, .bad) { color: var(--quiet); }
.facts tr:has(td:first-child:not(:empty)) td { padding-top: 6px; }
.bar { display: inline-block; width: 88px; height: 9px; margin-left: 10px; border-radius: 5px; background: var(--track);
  vertical-align: baseline; }
.bar rect { fill: var(--bar); }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); font-weight: 600; }
.quiet { color: var(--quiet); }
pre { background: var(--panel); padding: 8px 12px; border-radius: 6px; font-size: 0.87rem; margin: 6px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
details { border: 1px solid var(--rule); border-radius:8px; margin: 10px 0; padding: 0 14px; background: var(--panel); }
details[open] { padding-bottom: 10px; }
summary { cursor: pointer; padding: 9px 0; font-weight: 600; overflow-wrap: anywhere; }
figure { margin: 14px 0; } figcaption { font-weight: 600; margin-bottom: 4px; }
svg.plot { display: block; width: 100%; min-width: 540px; max-width: 860px; height: auto; }
svg text { fill: var(--ink); font: 12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans",
  sans-serif; font-variant-numeric: tabular-nums; }
svg text.title, svg text.limit-name { fill: var(--quiet); }
svg text.limit-name { font-size: 11px; paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
details svg text.limit-name { stroke: var(--panel); }
.grid { stroke: var(--rule); stroke-width: 1; } .axis { stroke: var(--quiet); fill: none; }
.limit { stroke: var(--quiet); stroke-width: 1.3; stroke-dasharray: 5 3; fill: none; }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.mark { fill: var(--c); stroke: var(--page); stroke-width: 0.8; }
.dots { fill: none; stroke: var(--c); stroke-width: 3.4; stroke-linecap: round; opacity: 0.55; }
.box { fill: var(--box); stroke: var(--c0); stroke-width: 1; }
.heat { stroke: var(--page); stroke-width: 2; fill: var(--c0); } .heat-none { fill: var(--track); stroke: var(--page); }
.h0 { fill-opacity: 0.06; } .h1 { fill-opacity: 0.13; } .h2 { fill-opacity: 0.2; } .h3 { fill-opacity: 0.27; }
.h4 { fill-opacity: 0.34; } .h5 { fill-opacity: 0.41; } .h6 { fill-opacity: 0.48; } .h7 { fill-opacity: 0.55; }
.fall-plain { fill: var(--c0); } .fall-good { fill: var(--good); } .fall-bad { fill: var(--bad); }
.heat-frame { fill: none; stroke: var(--c1); stroke-width: 2.5; }
.interval { fill: var(--c1); } .median { stroke: var(--c1); stroke-width: 2; }
.s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); } .s3 { --c: var(--c3); }
.s4 { --c: var(--c4); } .s5 { --c: var(--c5); } .s6 { --c: var(--c6); } .s7 { --c: var(--c7); }
@media (max-width: 600px) { main { padding: 12px 12px 40px; } body { font-size: 14px; } .bar { width: 48px; }
  table { font-size: 0.86rem; } th, td { padding: 4px 9px 4px 0; } table:not(.facts) td.long { min-width: 9em; }
  section .stacks thead, section .stacks td:empty { display: none; } section .stacks :is(tbody, tr) { display: block; }
  section .stacks { display: block; } section .stacks tr { border-bottom: 1px solid var(--rule); padding: 6px 0; }
  section .stacks td { display: flex; border: 0; padding: 1px 0; max-width: none; text-align: left;
    white-space: normal; }
  section .stacks td::before { content: attr(data-name); flex: 0 0 9.5em; color: var(--quiet); font-weight: 400; } }
@media print { details { break-inside: avoid; } body { background: #fff; } }
)css";

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
  return out + "</header>\n" + html_sections(report) + "</main>\n</body>\n</html>\n";
}

std::string html_sections(const Report& report) {
  std::string out;
  for (const auto& section : report.sections) write_section(out, section);
  return out;
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

// The style sheet of HTML reports. Colours: the ColorBrewer-like categorical set below keeps a contrast of at least 3:1
// against both backgrounds and stays apart for the common kinds of colour blindness together with the marks' shapes.
// Shadows of .scroll mark an edge with more columns behind it (Verou, 2012).

std::string_view html_style() { return kStyle; }

}  // namespace warpmark::report
