// Drawings for programs that know neither style sheets with variables nor the reader's colour scheme.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "report/draw/svg.h"

namespace warpmark::report {
namespace {

// The light scheme of formats/html.cpp.
constexpr std::array<std::string_view, 8> kFlatColors{"#2f6fba", "#c4561b", "#1f8a5b", "#8a4fb5",
                                                      "#b3287a", "#7a6a10", "#0e8490", "#5d6779"};
constexpr std::pair<std::string_view, std::string_view> kFlatStyles[] = {
    {"grid", "stroke:#dfe3ea;stroke-width:1"},
    {"axis", "stroke:#5d6779;fill:none"},
    {"limit", "stroke:#5d6779;stroke-width:1.3;stroke-dasharray:5 3;fill:none"},
    {"title", "fill:#5d6779"},
    {"limit-name", "fill:#5d6779;font-size:11px"},
    {"line", "fill:none;stroke:@;stroke-width:2;stroke-linejoin:round"},
    {"mark", "fill:@;stroke:#ffffff;stroke-width:0.8"},
    {"dots", "fill:none;stroke:@;stroke-width:3.4;stroke-linecap:round;opacity:0.55"},
    {"plot", "font:12px 'Liberation Sans','DejaVu Sans',sans-serif;background:#ffffff"}};

/// "line s3" as a style attribute's value; empty for classes without one.
std::string style_of(std::string_view classes) {
  std::string style;
  std::string_view color = kFlatColors[0];
  for (std::size_t at = 0; at < classes.size();) {
    const std::size_t end = std::min(classes.find(' ', at), classes.size());
    const std::string_view name = classes.substr(at, end - at);
    at = end + 1;
    if (name.size() == 2 && name[0] == 's' && name[1] >= '0' && name[1] <= '7') {
      color = kFlatColors[static_cast<std::size_t>(name[1] - '0')];
    }
    for (const auto& [known, text] : kFlatStyles) {
      if (known == name) style += (style.empty() ? "" : ";") + std::string(text);
    }
  }
  for (auto hole = style.find('@'); hole != std::string::npos; hole = style.find('@')) style.replace(hole, 1, color);
  return style;
}

}  // namespace

std::string flat_svg(std::string_view svg) {
  constexpr std::string_view kClass = " class=\"";
  std::string out;
  while (!svg.empty()) {
    const auto at = svg.find(kClass);
    out += svg.substr(0, at);
    if (at == std::string_view::npos) break;
    svg.remove_prefix(at + kClass.size());
    const auto end = svg.find('"');
    const std::string style = style_of(svg.substr(0, end));
    if (!style.empty()) out += " style=\"" + style + "\"";
    svg.remove_prefix(end == std::string_view::npos ? svg.size() : end + 1);
  }
  return out;
}

}  // namespace warpmark::report
