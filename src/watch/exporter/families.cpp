#include "watch/exporter/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace warpmark::watch {
namespace {

/// Bytes of the character at the begin of the text; 0 where it is no UTF-8.
std::size_t character_at(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  const std::size_t size = c < 0x80                ? 1
                           : c >= 0xC2 && c < 0xE0 ? 2
                           : (c & 0xF0) == 0xE0    ? 3
                           : c >= 0xF0 && c < 0xF5 ? 4
                                                   : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((static_cast<unsigned char>(text[k]) & 0xC0) != 0x80) return 0;
  }
  if (size < 3) return size;
  const auto next = static_cast<unsigned char>(text[1]);  // overlong forms, surrogates, beyond U+10FFFF
  const bool wrong = (c == 0xE0 && next < 0xA0) || (c == 0xED && next >= 0xA0) || (c == 0xF0 && next < 0x90) ||
                     (c == 0xF4 && next >= 0x90);
  return wrong ? 0 : size;
}

/// HELP takes \\ and \n; a label's value also \". Bytes that are no UTF-8 would make Prometheus refuse everything.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    out += size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

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
