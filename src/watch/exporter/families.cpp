#include "watch/exporter/families.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace warpmark::watch {
namespace {

/// HELP takes \\ and \n; a label's value also \". Bytes that are no UTF-8 would make Prometheus refuse everything.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t size = c < 0x80                ? 1
                             : c >= 0xC2 && c < 0xE0 ? 2
                             : (c & 0xF0) == 0xE0    ? 3
                             : c >= 0xF0 && c < 0xF5 ? 4
                                                     : 0;
    bool whole = size > 0 && i + size <= text.size();
    for (std::size_t k = 1; whole && k < size; ++k) whole = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (whole && size >= 3) {  // overlong forms, surrogates, beyond U+10FFFF
      const auto next = static_cast<unsigned char>(text[i + 1]);
      whole = !(c == 0xE0 && next < 0xA0) && !(c == 0xED && next >= 0xA0) && !(c == 0xF0 && next < 0x90) &&
              !(c == 0xF4 && next >= 0x90);
    }
    if (!whole) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += text.substr(i, size);
    i += size;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string render_families(const std::vector<Family>& families, TextFormat format) {
  const bool open = format == TextFormat::open_metrics;
  std::string out;
  for (const auto& family : families) {
    if (family.samples.empty()) continue;
    constexpr std::string_view kTotal = "_total";
    const bool total = family.name.ends_with(kTotal);
    const std::string name = open && total ? family.name.substr(0, family.name.size() - kTotal.size()) : family.name;
    const char* type = family.type == FamilyType::gauge ? "gauge" : open && !total ? "unknown" : "counter";
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help, open), name, type);
    for (const auto& sample : family.samples) {
      out += family.name;
      for (std::size_t i = 0; i < sample.labels.size(); ++i) {
        const auto& [label, value] = sample.labels[i];
        out += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", label, escaped(value, true));
      }
      out += (sample.labels.empty() ? " " : "} ") + number(sample.value) + "\n";
    }
  }
  if (open) out += "# EOF\n";
  return out;
}

const char* content_type_of(TextFormat format) {
  return format == TextFormat::open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                            : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace warpmark::watch
