#include "watch/exporter/families.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/untrusted/input.h"

namespace warpmark::watch {
namespace {

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
