// What a gain promises, whatever the program: an interval, narrower than a factor of two, and no cure of everything
// that gains less than the cure of one thing.
#include <gtest/gtest.h>

#include <cmath>
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

TEST(Gain, is_an_interval_narrower_than_a_factor_of_two) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Analysis analysis = of(seed);
    const auto check = [seed](const Gain& gain, const std::string& of) {
      EXPECT_GE(gain.low, 0.9) << of << " of program " << seed;
      EXPECT_LE(gain.low, gain.high) << of << " of program " << seed;
      EXPECT_LT(gain.high, 2 * gain.low) << of << " of program " << seed;
      EXPECT_FALSE(gain.method.empty()) << of;
    };
    for (const Finding& finding : analysis.findings) {
      check(finding.gain, finding.rule);
      for (const Recommendation& advice : finding.recommendations) {
        EXPECT_EQ(advice.gain.has_value(), !advice.id.empty()) << advice.text;
        if (advice.gain) check(*advice.gain, advice.id);
      }
    }
    if (!analysis.findings.empty()) check(analysis.combined, "everything");
  }
}

TEST(Gain, of_all_cures_never_begins_below_that_of_one) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Analysis analysis = of(seed);
    for (const Finding& finding : analysis.findings) {
      if (finding.gain.per_sample) continue;
      EXPECT_GE(analysis.combined.low, finding.gain.low) << finding.rule << " of program " << seed;
      EXPECT_GE(analysis.combined.high, finding.gain.high) << finding.rule << " of program " << seed;
    }
  }
}

TEST(Gain, is_centred_on_what_was_foretold_and_narrower_where_little_is_gained) {
  const Calibration calibration{1.0, 0.1, 0.3};
  const Gain large = gain_around(3.0, calibration, "test");
  EXPECT_NEAR(std::sqrt(large.low * large.high), 3.0 * std::exp(0.1), 1e-9);
  EXPECT_NEAR(std::log(large.high / large.low), 0.6, 1e-9);
  const Gain small = gain_around(1.05, {1.0, 0.0, 0.3}, "test");
  EXPECT_LT(small.high / small.low, large.high / large.low);
  EXPECT_GE(small.low, 0.93);
  EXPECT_LT(gain_around(50.0, {1.0, 0.0, 5.0}, "test").high / gain_around(50.0, {1.0, 0.0, 5.0}, "test").low, 2.0);
}

}  // namespace
}  // namespace warpmark::analyze
