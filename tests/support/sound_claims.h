// What holds of every attribution: no part of a step is given away twice.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analyze/evidence/evidence.h"

namespace warpmark::testing_support {

/// `what`: names the profile.
inline void expect_sound_claims(const analyze::Evidence& evidence, const std::string& what) {
  using analyze::AttributedTo;
  using analyze::Part;
  constexpr double kRounding = 2;  // ns
  const analyze::Attribution& attribution = evidence.attribution;
  ASSERT_EQ(attribution.ranks.size(), evidence.ranks.size()) << what;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const analyze::Attributions& attributions = attribution.ranks[r];
    double idle = 0;
    for (std::size_t i = 0; i < analyze::kParts; ++i) {
      const auto part = static_cast<Part>(i);
      const std::string where = what + ", rank " + std::to_string(r) + ", " + analyze::part_id(part);
      double attributed = 0;
      for (std::size_t c = 0; c < analyze::kAttributedTo; ++c) {
        const double one = attributions.attributed_ns(static_cast<AttributedTo>(c), part);
        EXPECT_GE(one, 0) << where;
        attributed += one;
      }
      EXPECT_GE(attributions.whole_ns(part), evidence.ranks[r].part_ns(part)) << where;
      EXPECT_LE(attributed, attributions.whole_ns(part) + kRounding) << where;
      EXPECT_NEAR(attributed + attributions.left_ns(part), attributions.whole_ns(part), kRounding) << where;
      if (part >= Part::idle_data_loading) idle += attributed;
    }
    EXPECT_LE(idle, evidence.ranks[r].group_ns("idle") + kRounding) << what;
  }
  if (!evidence.has_timeline()) return;
  // What a rule of the critical rank reports is what it was given there.
  for (std::size_t c = 0; c < static_cast<std::size_t>(AttributedTo::multi_gpu_comm); ++c) {
    const auto by = static_cast<AttributedTo>(c);
    double given = 0;
    for (std::size_t i = 0; i < analyze::kParts; ++i)
      given += attribution.ranks[evidence.critical].attributed_ns(by, static_cast<Part>(i));
    EXPECT_NEAR(std::max(attribution.lost_ns(by), 0.0), given, kRounding * 4) << what << ", claimant " << c;
  }
}

}  // namespace warpmark::testing_support
