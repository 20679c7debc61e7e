// Programs that XLA compiled: their kernels are named after how they were fused.
#include "analyze/redundant/xla_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::iterated;
using testing_support::of;
using testing_support::TimelineScene;

constexpr const char* kProduct = "nvjet_sm90_tst_512x64_64x2_1x2_h_bz_coopB_NNN";

template <typename Body>
void execution(TimelineScene& scene, int program, Body body) {
  scene.within("XlaModule:#hlo_module=jit_f,program_id=" + std::to_string(program) + "#", EventKind::annotation, body);
}

TEST(XlaKernels, have_the_categories_of_what_was_fused) {
  EXPECT_EQ(kernel_category("wrapped_convert", ""), Category::elementwise);  // no convolution
  EXPECT_EQ(kernel_category("loop_convert_multiply_fusion_3", ""), Category::elementwise);
  EXPECT_EQ(kernel_category("input_transpose_fusion_11", ""), Category::elementwise);
  EXPECT_EQ(kernel_category("fusion_304", ""), Category::elementwise);
  EXPECT_EQ(kernel_category("input_multiply_reduce_fusion", ""), Category::reduction);
  EXPECT_EQ(kernel_category("loop_reduce_window_fusion", ""), Category::elementwise);
  EXPECT_EQ(kernel_category("input_scatter_fusion", ""), Category::gather);
  EXPECT_EQ(kernel_category("gemm_fusion_dot_61", ""), Category::gemm);
  EXPECT_EQ(kernel_category("triton_softmax_95", ""), Category::softmax);
}

TEST(XlaKernels, of_one_execution_are_fused_as_far_as_they_can_be) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    execution(scene, 1, [&] {
      for (const char* name : {"loop_add_fusion", "loop_multiply_fusion", "wrapped_sqrt", "wrapped_divide"})
        scene.launch(name, 300'000);
    });
  }));
  EXPECT_EQ(find(analysis, "memory_bandwidth"), nullptr);
}

TEST(XlaKernels, of_several_executions_can_be_fused_by_compiling_them_together) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    int program = 0;
    for (const char* name : {"loop_add_fusion", "loop_multiply_fusion", "wrapped_sqrt", "wrapped_divide"})
      execution(scene, ++program, [&] { scene.launch(name, 300'000); });
  }));
  expect_gain(find(analysis, "memory_bandwidth"), 2.9);
}

TEST(XlaKernels, tell_attention_by_passes_longer_than_the_products_around_them) {
  const auto program = [](std::int64_t pass_ns) {
    return of(iterated(6, [pass_ns](TimelineScene& scene) {
      execution(scene, 1, [&] {
        for (int layer = 0; layer < 3; ++layer) {
          scene.launch(kProduct, 200'000);
          scene.launch("fusion_304", pass_ns);
          scene.launch("gemm_fusion_dot_178", 190'000);
          scene.launch("loop_add_fusion", 40'000);
          scene.launch("nvjet_sm90_tss_128x128_64x6_4x2_h_bz_NTT", 400'000);
        }
      });
    }));
  };
  const Analysis scores = program(2'000'000);
  ASSERT_NE(find(scores, "attention"), nullptr);
  EXPECT_EQ(scores.findings.front().rule, "attention");
  const Analysis activation = program(100'000);
  EXPECT_EQ(find(activation, "attention"), nullptr);
}

TEST(XlaKernels, between_two_executions_hold_no_scores) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    execution(scene, 1, [&] {
      scene.launch("loop_convert_fusion", 5'000'000);  // a lookup that feeds the products
      scene.launch(kProduct, 200'000);
      scene.launch("loop_maximum_fusion", 40'000);
      scene.launch(kProduct, 200'000);
    });
  }));
  EXPECT_EQ(find(analysis, "attention"), nullptr);
}

TEST(XlaKernels, launched_by_many_executions_are_fixed_by_compiling_them_as_one) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    for (int i = 0; i < 50; ++i) {
      execution(scene, i, [&] {
        scene.launch("loop_add_fusion", 3'000);
        scene.idle_host(15'000);
      });
      scene.idle_host(20'000);
    }
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  expect_gain(finding, 10);
  EXPECT_EQ(finding->recommendations.front().id, "compile");
}

TEST(XlaKernels, of_executions_compiled_as_one_pass_over_memory_together) {
  const auto program = [](bool reads) {
    return of(iterated(6, [reads](TimelineScene& scene) {
      for (int i = 0; i < 40; ++i) {
        execution(scene, i, [&] { scene.launch("loop_add_fusion", 20'000); });
        if (reads) scene.copy(CopyKind::device_to_host, HostMemory::pinned, 4, 2'000, true);
        scene.idle_host(30'000);
      }
    }));
  };
  const Analysis computing = program(false), reading = program(true);
  const Finding* compiled = find(computing, "launch_overhead");
  ASSERT_NE(compiled, nullptr);
  EXPECT_GT(compiled->gain.high, 1.7);  // the kernels alone: 1.9
  const Finding* waiting = find(reading, "launch_overhead");
  EXPECT_TRUE(waiting == nullptr || waiting->gain.high < 8);
}

TEST(XlaKernels, of_one_execution_that_is_bound_by_launches_gain_what_a_graph_gains) {
  int rounds = 0;
  const Analysis analysis = testing_support::of(testing_support::iterated(8, [&rounds](TimelineScene& scene) {
    scene.within("XlaModule:#hlo_module=jit_classify,program_id=7#", EventKind::annotation, [&] {
      const int more = 20 * (++rounds % 2);  // rounds of a loop that depend on the data
      for (int i = 0; i < 200 + more; ++i) scene.launch("loop_add_fusion", 1'000);
    });
  }));
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "launch_overhead");
  EXPECT_GT(finding.gain.high, 1.8);
  EXPECT_THAT(finding.recommendations.front().snippet, testing::HasSubstr("WHILE"));
}

TEST(XlaKernels, launched_round_by_round_belong_into_a_loop_of_the_compiled_function) {
  const Analysis analysis = of(iterated(40, [](TimelineScene& scene) {
    execution(scene, 1, [&] { scene.launch("loop_add_subtract_fusion", 3'000); });
    scene.idle_host(40'000);
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->recommendations.front().snippet.find("fori_loop"), std::string::npos);
}

TEST(XlaKernels, launched_as_a_graph_already_are_one_launch) {
  const Analysis analysis = of(iterated(40, [](TimelineScene& scene) {
    execution(scene, 1, [&] { scene.replay(std::vector<std::string>(30, "loop_add_fusion"), 1'000); });
    scene.idle_host(150'000);
  }));
  const Finding* finding = find(analysis, "launch_overhead");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->recommendations.front().snippet.find("fori_loop"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::analyze
