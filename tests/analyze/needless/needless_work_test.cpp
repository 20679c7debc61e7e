// Loops over values, tensors that are copied whole, and more loader workers: what goes away when they are cured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::kTensorGemm;
using testing_support::of;
using testing_support::stepped;
using testing_support::TimelineScene;

constexpr const char* kGelu = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>";
constexpr const char* kCast =
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>";

/// One value read: the question's kernels, then the copy and the wait.
void read_value(TimelineScene& scene) {
  scene.within("aten::item", EventKind::op, [&] {
    scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4, 1'000, false);
    scene.synchronize();
  });
}

/// 1 ms of products, then a loop of 60 rounds that launches `kernel` and reads a value in each.
Analysis of_loop(const char* kernel) {
  return of(stepped(6, [kernel](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 3; ++i) scene.launch(kernel, 2'000);
      read_value(scene);
    }
  }));
}

TEST(NeedlessWork, a_loop_that_reads_value_after_value_goes_as_a_whole) {
  const Analysis analysis = of_loop(kGelu);
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  expect_gain(finding, static_cast<double>(analysis.median_step_ns) / 1e6);
  EXPECT_EQ(&analysis.findings.front(), finding);
}

TEST(NeedlessWork, a_loop_of_matrix_products_stays_when_its_reads_go) {
  const Analysis analysis = of_loop(kTensorGemm);
  const Finding* finding = find(analysis, "cpu_gpu_sync");
  ASSERT_NE(finding, nullptr);
  const Analysis values = of_loop(kGelu);
  EXPECT_LT(finding->gain.high, find(values, "cpu_gpu_sync")->gain.high * 0.8);
}

TEST(NeedlessWork, what_asks_the_question_goes_with_its_answer) {
  const auto with_operator = [](const char* name) {
    return of(stepped(6, [name](TimelineScene& scene) {
      for (int layer = 0; layer < 12; ++layer) {
        scene.launch(kTensorGemm, 20'000);
        scene.within(name, EventKind::op, [&] {
          for (int i = 0; i < 4; ++i) scene.launch(kGelu, 15'000);
        });
        read_value(scene);
      }
    }));
  };
  const Analysis asked = with_operator("aten::isfinite");
  const Analysis computed = with_operator("aten::gelu");
  ASSERT_NE(find(asked, "cpu_gpu_sync"), nullptr);
  ASSERT_NE(find(computed, "cpu_gpu_sync"), nullptr);
  EXPECT_GT(find(asked, "cpu_gpu_sync")->gain.low, find(computed, "cpu_gpu_sync")->gain.high);
}

/// 100 us of products and one concatenation of 300 us a layer.
Analysis of_concatenations(const char* shapes, const char* other_operator = "aten::mm") {
  return of(stepped(6, [=](TimelineScene& scene) {
    for (int layer = 0; layer < 8; ++layer) {
      scene.within(other_operator, EventKind::op, [&] { scene.launch(kTensorGemm, 100'000); });
      scene.within(
          "aten::cat", EventKind::op, [&] { scene.launch("void at::native::CatArrayBatchedCopy<128, 1>", 300'000); },
          shapes);
    }
  }));
}

TEST(NeedlessWork, a_tensor_that_grows_by_copies_of_the_whole_is_written_in_place) {
  const Analysis analysis = of_concatenations("[[[48, 16, 2048, 64], [48, 16, 1, 64]], []]");
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "memory_bandwidth");
  EXPECT_NEAR(finding.severity, 1.0, 1e-9);
  expect_gain(&finding, 4.0);
  EXPECT_THAT(finding.recommendations.front().text, testing::HasSubstr("torch.cat copies all that was there"));
  EXPECT_EQ(finding.recommendations.size(), 1U);  // there is nothing to fuse
  for (const Fact& fact : finding.evidence) EXPECT_GT(fact.value.value_or(1), 0) << fact.text;
}

TEST(NeedlessWork, concatenations_of_like_parts_are_left_alone) {
  for (const Finding& one : of_concatenations("[[[48, 16, 64, 64], [48, 16, 64, 64]], []]").findings) {
    EXPECT_LT(one.severity, 0.4) << one.title;
  }
}

TEST(NeedlessWork, concatenations_that_a_backward_pass_needs_are_left_alone) {
  const Analysis analysis = of_concatenations("[[[48, 16, 2048, 64], [48, 16, 1, 64]], []]", "aten::mm_backward");
  for (const Finding& one : analysis.findings) EXPECT_LT(one.severity, 0.4) << one.title;
}

constexpr const char* kFill = "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<long>>";

/// A product of 400 us, then 4096 numbers as rows of 8192, widened and multiplied with a tensor of `multiplied`.
Analysis of_rows_of_numbers(const char* made_by, const char* multiplied) {
  return of(stepped(6, [=](TimelineScene& scene) {
    scene.within(
        "aten::mm", EventKind::op, [&] { scene.launch(kTensorGemm, 400'000); }, "[[4096, 64], [64, 64]]");
    scene.within(made_by, EventKind::op, [&] {
      scene.idle_host(1'000);
      scene.within(
          "aten::fill_", EventKind::op, [&] { scene.launch(kFill, 200'000); }, "[[4096, 8192], []]");
    });
    scene.within(
        "aten::copy_", EventKind::op, [&] { scene.launch(kCast, 300'000); }, "[[4096, 8192], []]");
    scene.within(
        "aten::mm", EventKind::op, [&] { scene.launch(kTensorGemm, 400'000); }, multiplied);
  }));
}

TEST(NeedlessWork, one_hot_rows_are_neither_written_nor_multiplied) {
  const Analysis analysis = of_rows_of_numbers("aten::one_hot", "[[8192, 4096], [4096, 64]]");
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "memory_bandwidth");
  expect_gain(&finding, 1300.0 / (400 + 40));
  EXPECT_THAT(finding.recommendations.front().snippet, testing::HasSubstr("index_add_"));
}

TEST(NeedlessWork, a_product_with_other_rows_stays) {
  const Analysis analysis = of_rows_of_numbers("aten::one_hot", "[[4096, 64], [64, 64]]");
  expect_gain(find(analysis, "memory_bandwidth"), 1300.0 / 800);
  // As many elements in other dimensions.
  const Analysis as_many = of_rows_of_numbers("aten::one_hot", "[[2048, 16384], [16384, 64]]");
  expect_gain(find(as_many, "memory_bandwidth"), 1300.0 / 800);
  EXPECT_NEAR(find(as_many, "memory_bandwidth")->gain.high, find(analysis, "memory_bandwidth")->gain.high, 0.01);
  for (const Finding& one : of_rows_of_numbers("aten::zeros", "[[8192, 4096], [4096, 64]]").findings) {
    EXPECT_LT(one.severity, 0.4) << one.title;
  }
}

TEST(NeedlessWork, keys_and_values_repeated_for_every_head_are_read_where_they_are) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    for (int layer = 0; layer < 8; ++layer) {
      scene.launch(kTensorGemm, 50'000);
      for (int i = 0; i < 2; ++i) scene.launch(kCast, 300'000);
      scene.launch(kTensorGemm, 100'000);
      scene.launch("softmax_warp_forward", 10'000);
      scene.launch(kTensorGemm, 100'000);
    }
  }));
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "attention");
  expect_gain(&finding, 860.0 / (50 + 2 * 45));
  EXPECT_THAT(finding.recommendations.back().snippet, testing::HasSubstr("enable_gqa=True"));
}

TEST(NeedlessWork, more_workers_gain_no_more_than_they_are_more) {
  const Analysis analysis = of(stepped(6, [](TimelineScene& scene) {
    scene.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 30'000'000);
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
  }));
  const Finding* finding = find(analysis, "data_loading");
  expect_gain(finding, 6.0);
  EXPECT_LT(finding->gain.high, 14);
  ASSERT_EQ(finding->recommendations[1].id, "gpu_preprocessing");
  EXPECT_GT(finding->recommendations[1].gain->low, 15);
}

}  // namespace
}  // namespace warpmark::analyze
