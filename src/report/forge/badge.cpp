#include "report/forge/badge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/build/check.h"
#include "report/draw/svg.h"

namespace warpmark::report {
namespace {

constexpr int kBadgeHeight = 20, kBadgePadding = 6;
constexpr double kBadgeCharacter = 6.6;  // of Verdana 11: a badge must not measure fonts, so textLength fits the words

const char* badge_color(Verdict verdict) {
  switch (verdict) {
    case Verdict::worse: return "#c0392b";
    case Verdict::better:
    case Verdict::same: return "#2e7d32";
    case Verdict::different: return "#1f6feb";
    case Verdict::inconclusive:
    case Verdict::unreliable: return "#6e7681";
  }
  return "#6e7681";
}

/// Of the metrics that have the verdict the one that changed most.
std::string badge_message(const Check& check, Verdict verdict) {
  const MetricCheck* most = nullptr;
  for (const auto& metric : check.metrics) {
    if (metric.verdict != verdict || !metric.ratio) continue;
    const auto size = [](const MetricCheck& item) { return std::fabs(std::log(*item.ratio)); };
    if (most == nullptr || size(metric) > size(*most)) most = &metric;
  }
  if (verdict == Verdict::same) return "unchanged";
  if (most == nullptr || verdict == Verdict::inconclusive || verdict == Verdict::unreliable) return name_of(verdict);
  return change_text(*most) + " " + most->metric;
}

std::string badge_half(int x, const std::string& text, const char* color, int& width) {
  const int words = static_cast<int>(std::lround(kBadgeCharacter * static_cast<double>(text.size())));
  width = words + 2 * kBadgePadding;
  return fmt::format(
      "<rect x=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>"
      "<text x=\"{}\" y=\"14\" textLength=\"{}\">{}</text>",
      x, width, kBadgeHeight, color, x + kBadgePadding, words, escape_markup(text));
}

}  // namespace

std::string render_badge(const Check& check) {
  const Verdict verdict = overall(check);
  const std::string message = badge_message(check, verdict);
  int left = 0, right = 0;
  const std::string name = badge_half(0, "performance", "#444c56", left);
  const std::string value = badge_half(left, message, badge_color(verdict), right);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"img\" "
      "aria-label=\"performance: {}\"><g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" "
      "font-size=\"11\">{}{}</g></svg>\n",
      left + right, kBadgeHeight, escape_markup(message), name, value);
}

}  // namespace warpmark::report
