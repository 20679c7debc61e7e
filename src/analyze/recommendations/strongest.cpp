#include "analyze/recommendations/strongest.h"

#include <cctype>
#include <cmath>

namespace warpmark::analyze {

namespace {

constexpr std::size_t kLongestClause = 110;

double middle_of(const Gain& gain) { return std::sqrt(gain.low * gain.high); }

bool is_fix(const Recommendation& one) { return one.kind != AdviceKind::command && one.kind != AdviceKind::measure; }

}  // namespace

const Recommendation* stronger_fix(const Finding& finding) {
  const Recommendation* best = nullptr;
  for (const Recommendation& one : finding.recommendations) {
    if (!one.gain || !is_fix(one) || one.gain->per_sample != finding.gain.per_sample) continue;
    if (one.gain->low <= finding.gain.high) continue;
    if (best == nullptr || middle_of(*one.gain) > middle_of(*best->gain)) best = &one;
  }
  return best;
}

std::string clause_of(const Recommendation& fix) {
  if (!is_fix(fix)) return "";
  const std::string& text = fix.text;
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
