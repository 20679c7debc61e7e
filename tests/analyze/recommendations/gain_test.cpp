// What a gain promises, whatever the program: an interval within what Amdahl's law allows for the time that is lost,
// and no fix of everything that gains less than the fix of one thing.
#include <gtest/gtest.h>

#include <random>

#include "analyze/analyze.h"
#include "analyze/rules/rules.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kAddOfFloats = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>";
constexpr const char* kWideGemm = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1";

/// A program with a random mixture of causes; the same in every step.
Timeline random_program(unsigned seed) {
  return stepped(6, [seed](TimelineScene& scene) {
    std::mt19937 random(seed);
    const auto upto = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    scene.dispatch_ns = 3'000 + upto(20'000);
    if (upto(2) == 0) scene.range("enumerate(DataLoader)", 10'000 + upto(4'000'000));
    if (upto(2) == 0) {
      scene.copy(CopyKind::host_to_device, HostMemory::pageable, 10 << 20, 10'000 + upto(2'000'000), true);
    }
    const int parts = 5 + upto(20);
    for (int i = 0; i < parts; ++i) {
      switch (upto(6)) {
        case 0: scene.launch(kWideGemm, 5'000 + upto(300'000)); break;
        case 1: scene.api("cudaMalloc", 5'000 + upto(200'000)); break;
        case 2: scene.synchronize(); break;
        case 3:
          for (int k = upto(8); k >= 0; --k) scene.launch(kAddOfFloats, 5'000 + upto(100'000));
          break;
        case 4:
          scene.within("Optimizer.step#Adam.step", EventKind::annotation, [&] {
            for (int k = 0; k < 50; ++k) scene.launch(kAddOfFloats, 2'000 + upto(5'000));
          });
          break;
        default: scene.launch(kTensorGemm, 5'000 + upto(300'000), 8U << upto(8)); break;
      }
    }
  });
}

Analysis of(unsigned seed) {
  ProfileSession session;
  session.ranks.push_back(random_program(seed));
  return analyze(session, {.tables = false});
}

TEST(Gain, is_at_most_what_the_lost_time_allows) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Analysis analysis = of(seed);
    for (const Finding& finding : analysis.findings) {
      const double lost = static_cast<double>(finding.lost_ns) / analysis.undisturbed_step_ns;
      const auto check = [&](const Gain& gain, const std::string& of) {
        EXPECT_GE(gain.low, 1) << of << " of program " << seed;
        EXPECT_LE(gain.low, gain.high) << of << " of program " << seed;
        const double most = finding.lost_ns > 0 && lost < 0.99 ? 1.001 / (1 - lost) : 1e9;
        EXPECT_LE(gain.high, most) << of << " of program " << seed;
        EXPECT_FALSE(gain.method.empty()) << of;
      };
      check(finding.gain, finding.rule);
      for (const Recommendation& advice : finding.recommendations) {
        EXPECT_EQ(advice.gain.has_value(), !advice.id.empty()) << advice.text;
        if (advice.gain) check(*advice.gain, advice.id);
      }
    }
  }
}

TEST(Gain, of_all_fixes_never_begins_below_that_of_one) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Analysis analysis = of(seed);
    for (const Finding& finding : analysis.findings) {
      if (finding.gain.per_sample) continue;
      EXPECT_GE(analysis.combined.low, finding.gain.low) << finding.rule << " of program " << seed;
      EXPECT_GE(analysis.combined.high, finding.gain.high) << finding.rule << " of program " << seed;
    }
  }
}

TEST(Gain, goes_from_half_of_the_cause_to_all_of_it) {
  const Gain gain = gain_up_to(4.0, "test");
  EXPECT_NEAR(gain.high, 4.0, 1e-9);
  EXPECT_NEAR(gain.low, 1 / (1 - 0.75 / 2), 1e-9);
  EXPECT_EQ(gain_up_to(0.8, "test").high, 1);
}

}  // namespace
}  // namespace warpmark::analyze
