#include "analyze/cures/strongest.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace warpmark::analyze {

namespace {

constexpr std::size_t kLongestClause = 110;

double middle_of(const Gain& gain) { return std::sqrt(gain.low * gain.high); }

bool is_cure(const Recommendation& one) { return one.kind != AdviceKind::command && one.kind != AdviceKind::measure; }

}  // namespace

void lead_with_strongest(Finding& finding) {
  auto& all = finding.recommendations;
  if (all.empty() || !is_cure(all.front())) return;
  if (!all.front().gain) all.front().gain = finding.gain;
  const auto better = [](const Recommendation& a, const Recommendation& b) {
    return middle_of(*a.gain) < middle_of(*b.gain);
  };
  auto best = all.begin();
  for (auto one = all.begin() + 1; one != all.end(); ++one) {
    if (!one->gain || !is_cure(*one) || one->gain->per_sample != best->gain->per_sample) continue;
    if (better(*best, *one)) best = one;
  }
  if (best != all.begin() && best->gain->low > middle_of(*all.front().gain)) std::rotate(all.begin(), best, best + 1);
  finding.gain = *all.front().gain;
}

std::string leading_cure(const Finding& finding) {
  if (finding.recommendations.empty() || !is_cure(finding.recommendations.front())) return "";
  const std::string& text = finding.recommendations.front().text;
  // To the end of the first clause; a long one only to its first comma.
  std::size_t end = 0, comma = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    const bool before_blank = end + 1 == text.size() || text[end + 1] == ' ';
    if (c == ':' || c == ';' || c == '(' || (c == '.' && before_blank)) break;
    if (c == ',' && comma == 0) comma = end;
  }
  if (end > kLongestClause) end = comma;
  if (end == 0 || end > kLongestClause) return "";
  std::string clause = text.substr(0, end);
  while (!clause.empty() && clause.back() == ' ') clause.pop_back();
  // "CUDA graphs ..." keeps its capitals.
  const bool word = clause.size() > 1 && std::islower(static_cast<unsigned char>(clause[1])) != 0;
  if (word) clause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(clause[0])));
  return clause;
}

}  // namespace warpmark::analyze
