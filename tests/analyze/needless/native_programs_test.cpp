// What can be told of programs of kernels of their own: in CUDA C++, or from Python without a framework of networks.
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/needless/streaming_kernels.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::expect_gain;
using testing_support::find;
using testing_support::iterated;
using testing_support::of;
using testing_support::TimelineScene;

constexpr const char* kGather = "void at::native::vectorized_gather_kernel<16, long>";

TEST(NativePrograms, what_the_program_is_given_still_crosses_the_link) {
  // 500 MB a step: 63 ms from pageable memory, some 10 ms over PCIe 5; 2 ms of work
  const auto gain_of = [](HostMemory memory) {
    const Analysis analysis = of(testing_support::iterated(6, [memory](TimelineScene& scene) {
      scene.copy(CopyKind::host_to_device, memory, 500'000'000, 63'000'000, true);
      for (int i = 0; i < 10; ++i) scene.launch("correlate", 200'000);
    }));
    return find(analysis, "host_transfer")->gain;
  };
  EXPECT_LT(gain_of(HostMemory::pageable).high, 9);
  EXPECT_GT(gain_of(HostMemory::pageable).low, 3);
  EXPECT_GT(gain_of(HostMemory::pinned).low, 15);  // slow for another reason: nothing is known of what is left
}

TEST(NativePrograms, a_kernel_of_the_program_s_own_that_gathers_may_be_all_there_is_to_do) {
  const auto finding_on = [](const char* kernel) {
    const Analysis analysis = of(iterated(6, [kernel](TimelineScene& scene) {
      for (int i = 0; i < 10; ++i) scene.launch(kernel, 100'000), scene.launch("update(float*)", 20'000);
    }));
    return find(analysis, "memory_bandwidth") != nullptr;
  };
  EXPECT_FALSE(finding_on("gather_ranks(int const*, int const*, float const*, float*, int)"));
  EXPECT_TRUE(finding_on("cupy_take"));
  EXPECT_TRUE(finding_on(kGather));
}

Analysis program_of(const char* kernel) {
  return of(iterated(6, [kernel](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kernel, 500'000);
  }));
}

TEST(BytesAThread, are_told_by_the_parameters) {
  EXPECT_EQ(bytes_a_thread("smooth(float const*, float4*, int)"), 20);
  EXPECT_EQ(bytes_a_thread("void scale<float, 4>(float*, unsigned char const*, std::array<float, 2>)"), 5);
  EXPECT_EQ(bytes_a_thread("half_sum(__half*, __nv_bfloat16 const*)"), 4);
  EXPECT_EQ(bytes_a_thread("kick(Particle*, float)"), 0);  // of a record any part may be read
  EXPECT_EQ(bytes_a_thread("links(float**)"), 0);
  EXPECT_EQ(bytes_a_thread("step(int, float)"), 0);
  EXPECT_EQ(bytes_a_thread("find_motifs"), 0);
  EXPECT_EQ(bytes_a_thread(")"), 0);
  EXPECT_EQ(bytes_a_thread("f(,*)"), 0);
}

/// Passes over 67M elements by default: 256 threads a block.
Analysis passes_of(std::initializer_list<const char*> kernels, std::int64_t ns, std::uint32_t blocks = 1U << 18) {
  return of(iterated(6, [=](TimelineScene& scene) {
    for (const char* kernel : kernels) scene.launch(kernel, ns, blocks);
  }));
}

TEST(NativePrograms, that_pass_over_memory_again_and_again_are_told_so_in_a_note) {
  const auto kernels = {"exposure(float4*)", "contrast(float4*)", "saturation(float4*)", "gamma_curve(float4*)"};
  const Analysis analysis = passes_of(kernels, 500'000);
  const Finding* finding = find(analysis, "memory_bandwidth");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->severity, 0.2);
  EXPECT_LT(finding->severity, 0.4);  // a stencil between them could not be fused
  expect_gain(finding, 2.4);
  const Analysis computing = passes_of(kernels, 10'000'000);
  EXPECT_EQ(find(computing, "memory_bandwidth"), nullptr);
  const Analysis cached = passes_of(kernels, 2'000, 1U << 10);
  EXPECT_EQ(find(cached, "memory_bandwidth"), nullptr);
}

TEST(NativePrograms, of_one_busy_kernel_are_to_be_profiled) {
  const Analysis analysis = program_of("sgd_columns(int const*, float const*, float*)");
  const Finding* finding = find(analysis, "compute_bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->recommendations.front().snippet.find("--ncu"), std::string::npos);
}

TEST(NativePrograms, that_iterate_need_each_round) {
  const Analysis analysis = passes_of({"relax(float4*, float4 const*)", "relax(float4*, float4 const*)",
                                       "relax(float4*, float4 const*)", "relax(float4*, float4 const*)"},
                                      600'000);
  EXPECT_EQ(find(analysis, "memory_bandwidth"), nullptr);
}

TEST(NativePrograms, in_double_precision_are_told_so_in_a_note) {
  for (const char* kernel : {"void option_greeks<double>(Options<double>, Greeks<double>, double)",
                             "advance(double2*, double const*, int)", "cupy_multiply__float64_float_float64"}) {
    const Analysis analysis = program_of(kernel);
    const Finding* finding = find(analysis, "precision");
    ASSERT_NE(finding, nullptr) << kernel;
    EXPECT_LT(finding->severity, 0.4) << kernel;
    EXPECT_GT(finding->severity, 0.2) << kernel;
    EXPECT_FALSE(finding->recommendations.empty());
    expect_gain(finding, 2.0);
  }
}

TEST(NativePrograms, kernels_in_doubles_are_told_beside_a_small_product) {
  const Analysis analysis = of(iterated(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch("forces(double4 const*, double4*, int)", 500'000);
    scene.launch("ampere_sgemm_128x64_nn", 20'000);
  }));
  const Finding* finding = find(analysis, "precision");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(finding->severity, 0.3);
  EXPECT_GT(finding->gain.high, 1.9);
}

TEST(NativePrograms, of_single_precision_may_add_up_in_doubles) {
  for (const char* kernel : {"price_paths(float4 const*, double*, int)", "advance(float*, float const*, double)",
                             "double_buffered(float*, float const*)", "void stencil<float>(float*, double)",
                             "cupy_multiply__float32_float_float32",
                             "void at::native::vectorized_elementwise_kernel<4, pow<float, double>>"}) {
    const Analysis analysis = program_of(kernel);
    EXPECT_EQ(find(analysis, "precision"), nullptr) << kernel;
  }
}

}  // namespace
}  // namespace warpmark::analyze
