// The analysis of a timeline made for a test, and one finding of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

/// Of the rule's first finding; 0 if it found nothing.
inline double severity(const ProfileSession& session, std::string_view rule) {
  const Analysis analysis = analyze::analyze(session);
  const Finding* finding = find(analysis, rule);
  return finding == nullptr ? 0 : finding->severity;
}

/// nullptr if there is none of this id.
inline const AnalysisTable* table_of(const Analysis& analysis, const std::string& id) {
  const auto found = std::ranges::find(analysis.tables, id, &AnalysisTable::id);
  return found == analysis.tables.end() ? nullptr : &*found;
}
const AnalysisTable* table_of(Analysis&& analysis, const std::string& id) = delete;

/// The interval holds `factor`, to three per cent.
inline void expect_gain(const Finding* finding, double factor) {
  ASSERT_NE(finding, nullptr);
  EXPECT_LE(finding->gain.low, factor * 1.03);
  EXPECT_GE(finding->gain.high, factor * 0.97);
}

}  // namespace warpmark::testing_support
