#include "report/formats/markdown.h"
#include "report/formats/catalog.h"

#include <algorithm>

#include "base/untrusted/input.h"
#include "report/draw/chart_text.h"
#include "report/draw/table.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kBarWidth = 10;

/// Code in backquotes: a longer fence where the text has backquotes itself (CommonMark, "Code spans").
std::string code_span(const std::string& text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string room = longest > 0 ? " " : "";
  return fence + room + text + room + fence;
}

std::string cell_text(const Cell& cell) {
  std::string text = escape_markdown(cell.text);
  if (cell.share) text += " `" + share_bar(*cell.share, kBarWidth, true) + "`";
  if (!cell.text.empty() && cell.tone == Tone::bad) return "**" + text + "**";
  return text;
}

void write_markdown(std::string& out, const Paragraph& paragraph) {
  if (paragraph.code) {
    out += code_span(paragraph.text) + "\n";
  } else if (paragraph.tone == Tone::bad) {
    out += "**" + escape_markdown(paragraph.text) + "**\n";
  } else {
    out += escape_markdown(paragraph.text) + "\n";
  }
}

void write_markdown(std::string& out, const Table& table) {
  if (table.columns.empty()) return;
  out += "|";
  for (const auto& column : table.columns) out += " " + escape_markdown(column.name) + " |";
  out += "\n|";
  for (const auto& column : table.columns) out += column.align == Align::right ? " ---: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += " " + (i < row.size() ? cell_text(row[i]) : std::string()) + " |";
    }
    out += "\n";
  }
}

void write_markdown(std::string& out, const Plot& plot) {
  const Table table = table_of(plot);
  if (table.rows.empty()) return;
  out += "**" + escape_markdown(plot.title) + "**\n\n";
  write_markdown(out, table);
}

void write_markdown(std::string& out, const Distribution& distribution) {
  out += "**" + escape_markdown(distribution.title) + "**\n\n";
  write_markdown(out, table_of(distribution));
}

void write_markdown(std::string& out, const HeatMap& map) {
  out += "**" + escape_markdown(text_title(map)) + "**\n\n";
  write_markdown(out, table_of(map));
}

void write_markdown(std::string& out, const Waterfall& waterfall) { write_markdown(out, table_of(waterfall)); }

}  // namespace

std::string render_markdown(const Report& report) {
  std::string out = "# " + escape_markdown(report.title) + "\n";
  if (!report.subtitle.empty()) out += "\n" + escape_markdown(report.subtitle) + "\n";
  for (const auto& section : report.sections) {
    std::string body;
    for (const auto& block : section.blocks) {
      std::string part;
      std::visit([&](const auto& item) { write_markdown(part, item); }, block);
      if (!part.empty()) body += "\n" + part;
    }
    if (body.empty()) continue;
    const auto heading = escape_markdown(section.heading);
    if (section.detail) {
      out += "\n<details>\n<summary>" + heading + "</summary>\n" + body + "\n</details>\n";
    } else {
      out += (heading.empty() ? "" : "\n## " + heading + "\n") + body;
    }
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : shown_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\n':
      case '\r': out += ' '; break;
      case '|':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '\\':
      case '#':
      case '~':
      case '$':
        out += '\\';
        out += c;
        break;
      default: out += c;
    }
  }
  return out;
}

extern const Reporter kMarkdownReporter{
    "md", "GitHub-flavoured markdown", "md",
    [](const Report& report, const RenderOptions& /*none apply*/) { return render_markdown(report); }};

}  // namespace warpmark::report
