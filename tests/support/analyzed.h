// The analysis of a timeline made for a test, and one finding of it.
#pragma once

#include <string_view>
#include <utility>

#include "analyze/analyze.h"
#include "support/timeline_scene.h"

namespace warpmark::testing_support {

inline Analysis of(Timeline timeline) { return analyze::analyze(session_of(std::move(timeline))); }

/// nullptr if the rule found nothing.
inline const Finding* find(const Analysis& analysis, std::string_view rule) {
  for (const Finding& finding : analysis.findings) {
    if (finding.rule == rule) return &finding;
  }
  return nullptr;
}
/// The finding would be gone with the analysis.
const Finding* find(Analysis&& analysis, std::string_view rule) = delete;

}  // namespace warpmark::testing_support
