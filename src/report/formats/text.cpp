#include "report/formats/text.h"
#include "report/formats/catalog.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "report/draw/chart_text.h"
#include "report/draw/table.h"
#include "report/draw/wrap.h"

namespace warpmark::report {
namespace {

class TextWriter {
 public:
  explicit TextWriter(const RenderOptions& options) : options_(options) {}

  void title(const Report& report) {
    for (const auto& line : wrap(shown(report.title), width())) out_ += bold(line) + "\n";
    if (!report.subtitle.empty()) wrapped(report.subtitle, Tone::quiet);
  }

  /// Nothing for a section of which this format can show nothing.
  void section(const Section& section) {
    std::string body;
    for (const auto& block : section.blocks) {
      const std::string before = std::exchange(out_, {});
      std::visit([this](const auto& item) { write(item); }, block);
      if (!out_.empty()) body += (body.empty() ? "" : "\n") + out_;
      out_ = before;
    }
    if (body.empty()) return;
    out_ += "\n";
    heading(shown(section.heading));
    out_ += body;
  }

  std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(std::max(options_.width, 40)); }
  [[nodiscard]] std::string shown(const std::string& text) const {
    return without_controls(options_.unicode ? text : to_ascii(text));
  }
  [[nodiscard]] std::string bold(const std::string& text) const {
    return options_.color ? "\x1b[1m" + text + "\x1b[0m" : text;
  }

  void heading(const std::string& text) {
    if (text.empty()) return;
    std::string rule;
    for (std::size_t i = 0; i < std::min(display_width(text), width()); ++i) rule += options_.unicode ? "━" : "=";
    for (const auto& line : wrap(text, width())) out_ += bold(line) + "\n";
    out_ += paint(rule, Tone::quiet, options_) + "\n";
  }

  void wrapped(const std::string& text, Tone tone) {
    for (const auto& paragraph : split(shown(text), '\n')) {
      for (const auto& line : wrap(paragraph, width())) out_ += paint(line, tone, options_) + "\n";
    }
  }

  void write(const Paragraph& paragraph) {
    if (paragraph.code) {
      for (const auto& line : split(shown(paragraph.text), '\n')) {
        for (const auto& part : wrap_code(line, width() - 2)) {
          out_ += "  " + paint(part, paragraph.tone, options_) + "\n";
        }
      }
    } else {
      wrapped(paragraph.text, paragraph.tone);
    }
  }

  void write(const Table& table) { out_ += render_table(table, options_); }

  void write(const Plot& plot) {
    const Table table = table_of(plot);
    if (table.rows.empty()) return;
    wrapped(plot.title, Tone::plain);
    write(table);
  }

  void write(const Distribution& distribution) {
    wrapped(distribution.title, Tone::plain);
    write(table_of(distribution));
  }

  void write(const HeatMap& map) {
    wrapped(text_title(map), Tone::plain);
    write(table_of(map));
  }

  void write(const Waterfall& waterfall) { write(table_of(waterfall)); }

  const RenderOptions& options_;
  std::string out_;
};

}  // namespace

std::string render_text(const Report& report, const RenderOptions& options) {
  TextWriter writer(options);
  writer.title(report);
  for (const auto& section : report.sections) {
    if (!section.detail || options.details) writer.section(section);
  }
  return writer.take();
}

extern const Reporter kTextReporter{"text", "tables for a terminal", "txt", render_text};

}  // namespace warpmark::report
