// Which fixes the summary names: the one that fits the program as it is, whose interval the finding has, and the
// strongest one.
#include "analyze/recommendations/strongest.h"

#include <gmock/gmock.h>

#include "base/units.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::TimelineScene;

constexpr const char* kProductInSingles = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma_aligna4_alignc4_execute_kernel";

Recommendation fix(const char* id, double low, double high, AdviceKind kind = AdviceKind::code) {
  return {
      .kind = kind, .text = id, .snippet = "", .id = id, .gain = Gain{.low = low, .high = high, .method = "made up"}};
}

TEST(StrongestFix, is_the_highest_of_those_wholly_above_the_findings) {
  Finding finding;
  finding.gain = {.low = 1.2, .high = 1.8, .method = "made up"};
  finding.recommendations = {fix("compile", 1.2, 1.8), fix("overlaps", 1.7, 9), fix("graph", 3, 6),
                             fix("strongest", 4, 8), fix("watch", 20, 30, AdviceKind::measure)};
  ASSERT_NE(stronger_fix(finding), nullptr);
  EXPECT_EQ(stronger_fix(finding)->id, "strongest");
  finding.recommendations[3].gain->per_sample = true;  // of another quantity than the finding's
  EXPECT_EQ(stronger_fix(finding)->id, "graph");
  finding.recommendations.resize(2);
  EXPECT_EQ(stronger_fix(finding), nullptr);
}

TEST(StrongestFix, is_named_by_the_first_clause_of_what_it_says) {
  EXPECT_EQ(clause_of({.text = "Replay the step as a CUDA graph: one launch instead of all."}),
            "replay the step as a CUDA graph");
  EXPECT_EQ(clause_of({.text = "CUDA graphs launch at once; see there."}), "CUDA graphs launch at once");
  EXPECT_EQ(clause_of({.text = "Use version 2.1 of it."}), "use version 2.1 of it");
  EXPECT_EQ(clause_of({.kind = AdviceKind::command, .text = "Look at it."}), "") << "no fix";
}

/// In PyTorch; kernels of many shapes, which no graph replays as they are.
Analysis of_changing_shapes() {
  std::uint32_t step = 0;
  return of(testing_support::stepped(6, [&step](TimelineScene& scene) {
    ++step;
    for (int i = 0; i < 100; ++i) {
      scene.idle_host(20'000);
      scene.launch(kTensorGemm, 4'000, 8 * step);
    }
  }));
}

TEST(Summary, names_the_fix_that_fits_and_the_strongest_each_with_its_interval) {
  const Analysis analysis = of_changing_shapes();
  const Finding& first = analysis.findings.front();
  ASSERT_EQ(first.rule, "launch_overhead");
  const Recommendation* graph = stronger_fix(first);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->id, "static_cuda_graph");
  EXPECT_THAT(analysis.verdict, HasSubstr("Estimated speedup if fixed: 1.14x-1.33x. Fix: compile the model."));
  EXPECT_THAT(analysis.verdict, HasSubstr("Larger, where possible: "));
  EXPECT_THAT(analysis.verdict, testing::EndsWith("as a CUDA graph, 1.72x-6.2x."));
  EXPECT_GT(graph->gain->low, first.gain.high);
}

TEST(Summary, names_one_fix_where_the_first_is_the_strongest) {
  const Analysis analysis = of(testing_support::stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 100; ++i) scene.idle_host(20'000), scene.launch(kTensorGemm, 4'000);
  }));
  EXPECT_THAT(analysis.verdict, HasSubstr("Fix: replay the step as a CUDA graph."));
  EXPECT_THAT(analysis.verdict, Not(HasSubstr("where it can be done")));
  EXPECT_THAT(analysis.verdict, HasSubstr("Estimated speedup if fixed: 1.72x-6.2x."));
}

struct Program {
  const char* name;
  void (*step)(TimelineScene&);
};

const Program kPrograms[] = {
    {"launches",
     [](TimelineScene& scene) {
       for (int i = 0; i < 100; ++i) scene.idle_host(20'000), scene.launch(kTensorGemm, 4'000);
     }},
    {"waits",
     [](TimelineScene& scene) {
       for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000), scene.synchronize(), scene.idle_host(60'000);
     }},
    {"copies",
     [](TimelineScene& scene) {
       scene.within("aten::index", EventKind::op, [&] { scene.idle_host(2'000'000); });
       scene.copy(CopyKind::host_to_device, HostMemory::pageable, 64 << 20, 2'000'000, true);
       for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
       scene.synchronize();
     }},
    {"products",
     [](TimelineScene& scene) {
       for (int i = 0; i < 20; ++i) scene.launch(kProductInSingles, 100'000);
     }},
    {"small grids",
     [](TimelineScene& scene) {
       for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 100'000, 33);
     }},
    {"a loader",
     [](TimelineScene& scene) {
       scene.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 4'000'000);
       for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
     }},
};

/// A finding's interval is that of the fix it leads with; others have their own.
TEST(Findings, have_the_interval_of_their_first_fix_and_further_fixes_their_own) {
  int with_their_own = 0;
  for (const Program& program : kPrograms) {
    for (const bool torch : {true, false}) {
      const Analysis analysis =
          of(torch ? testing_support::stepped(6, program.step) : testing_support::iterated(6, program.step));
      ASSERT_FALSE(analysis.findings.empty()) << program.name;
      for (const Finding& finding : analysis.findings) {
        ASSERT_FALSE(finding.recommendations.empty()) << program.name << ' ' << finding.rule;
        const auto& first = finding.recommendations.front();
        if (first.gain) {
          EXPECT_EQ(first.gain->low, finding.gain.low) << program.name << ' ' << finding.rule;
          EXPECT_EQ(first.gain->high, finding.gain.high) << program.name << ' ' << finding.rule;
        }
        for (const auto& one : finding.recommendations) {
          if (!one.gain) continue;
          EXPECT_LE(one.gain->low, one.gain->high) << one.id;
          EXPECT_FALSE(one.gain->method.empty()) << one.id;
          with_their_own += &one != &first;
        }
      }
    }
  }
  EXPECT_GE(with_their_own, 5);
}

}  // namespace
}  // namespace warpmark::analyze
