// attention on the CPU: both implementations, every type, odd shapes, all instruction sets; its check and cost.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/float_types.h"
#include "workloads/attention/attention_cpu.h"
#include "workloads/attention/flash_kernels.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

Overrides attention(const char* batch, const char* heads, const char* seq, const char* dim, const char* causal,
                    const char* impl, const char* dtype = "f32") {
  return {{"batch", batch},   {"heads", heads}, {"seq", seq},    {"dim", dim},
          {"causal", causal}, {"impl", impl},   {"dtype", dtype}};
}

TEST(AttentionOnCpu, tells_right_from_wrong_for_both_implementations) {
  for (const char* impl : {"standard", "flash"}) {
    for (const char* causal : {"no", "yes"}) {
      test::expect_right_and_wrong_told_apart("attention", attention("1", "1", "1", "1", causal, impl));
      test::expect_right_and_wrong_told_apart("attention", attention("1", "1", "7", "5", causal, impl));
      test::expect_right_and_wrong_told_apart("attention", attention("1", "1", "300", "64", causal, impl));
      test::expect_right_and_wrong_told_apart("attention", attention("2", "3", "128", "80", causal, impl));
      test::expect_right_and_wrong_told_apart("attention", attention("1", "5", "512", "64", causal, impl));
    }
  }
}

TEST(AttentionOnCpu, flash_takes_16_bit_types) {
  for (const char* dtype : {"f16", "bf16"}) {
    for (const char* causal : {"no", "yes"}) {
      test::expect_right_and_wrong_told_apart("attention", attention("1", "3", "200", "40", causal, "flash", dtype));
    }
  }
}

TEST(AttentionOnCpu, flash_needs_memory_proportional_to_the_sequence) {
  const auto workspace = [](const char* impl, const char* seq) {
    test::Prepared prepared("attention", attention("1", "4", seq, "64", "no", impl), 1);
    return std::strtod(prepared.note("workspace_bytes").c_str(), nullptr);
  };
  EXPECT_EQ(workspace("standard", "1024"), 4.0 * 4 * 1024 * 1024);
  EXPECT_LT(workspace("flash", "2048"), 2.1 * workspace("flash", "1024"));
  EXPECT_EQ(workspace("standard", "2048"), 4 * workspace("standard", "1024"));
}

TEST(AttentionOnCpu, names_what_it_lacks) {
  EXPECT_EQ(test::support_on_cpu("attention", {{"impl", "cudnn"}}).reason, "cuDNN runs on NVIDIA GPUs");
  EXPECT_EQ(test::support_on_cpu("attention", {{"impl", "standard"}, {"dtype", "bf16"}}).reason,
            "impl=standard multiplies with OpenBLAS, which has no bf16");
}

TEST(AttentionCost, counts_visible_pairs_and_each_tensor_once) {
  const auto full = test::cost_of("attention", attention("2", "3", "5", "7", "no", "flash"));
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->flops, 4.0 * 6 * 25 * 7);
  EXPECT_EQ(full->bytes, 4.0 * 4 * 6 * 5 * 7);
  EXPECT_EQ(full->footprint_bytes, 4 * 4 * 6 * 5 * 7);
  const auto causal = test::cost_of("attention", attention("2", "3", "5", "7", "yes", "standard", "bf16"));
  ASSERT_TRUE(causal.ok());
  EXPECT_EQ(causal->flops, 4.0 * 6 * 15 * 7);
  EXPECT_EQ(causal->bytes, 2.0 * 4 * 6 * 5 * 7);
  EXPECT_EQ(causal->flop_type, "bf16");
}

TEST(AttentionCost, refuses_shapes_that_make_no_sense) {
  EXPECT_EQ(test::cost_error("attention", {{"seq", "0"}}),
            "seq is 0, but must be at least 1 | set seq to 1 or more: --set seq=...");
  EXPECT_EQ(
      test::cost_error("attention", {{"seq", "2147483648"}, {"dim", "1073741824"}}),
      "the product batch=8 * heads=16 * seq=2147483648 * dim=1073741824 * bytes=16 is above 2^62 | choose a smaller "
      "shape with --set");
}

// The kernels of all instruction sets that this CPU has.

TEST(FlashKernels, softmax_sums_to_one_and_matches_the_definition) {
  for (const auto* kernels : flash_kernels()) {
    SCOPED_TRACE(kernels->instructions);
    for (const std::size_t count : {1UL, 5UL, 16UL, 37UL, 200UL}) {
      std::vector<float> scores;
      for (std::size_t i = 0; i < count; ++i) scores.push_back(static_cast<float>(i * 37 % 41) * 0.7F - 12);
      double total = 0;
      for (const float s : scores) total += std::exp(static_cast<double>(s));
      auto weights = scores;
      kernels->softmax(weights.data(), count);
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(static_cast<double>(weights[i]), std::exp(static_cast<double>(scores[i])) / total, 1e-6);
        sum += static_cast<double>(weights[i]);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST(FlashKernels, convert_16_bit_types_as_the_reference_does) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x7C00; bits += 7) {  // finite in both formats, both signs
    halves.push_back(static_cast<std::uint16_t>(bits));
    halves.push_back(static_cast<std::uint16_t>(bits | 0x8000U));
  }
  std::vector<float> floats{0.1F, -1.0F / 3, 65519.0F, 1e-7F, 3.1415927F, 1.00390625F, 1.01171875F, 0, -0.0F};
  while (floats.size() % 16 != 5) floats.push_back(static_cast<float>(floats.size()) * 0.37F);
  for (const auto* kernels : flash_kernels()) {
    SCOPED_TRACE(kernels->instructions);
    std::vector<float> wide(halves.size());
    kernels->widen_f16(halves.data(), wide.data(), halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) ASSERT_EQ(wide[i], f16_to_float(halves[i])) << halves[i];
    kernels->widen_bf16(halves.data(), wide.data(), halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) ASSERT_EQ(wide[i], bf16_to_float(halves[i])) << halves[i];
    std::vector<std::uint16_t> narrow(floats.size());
    kernels->narrow_f16(floats.data(), narrow.data(), floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(narrow[i], float_to_f16(floats[i])) << floats[i];
    kernels->narrow_bf16(floats.data(), narrow.data(), floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(narrow[i], float_to_bf16(floats[i])) << floats[i];
  }
}

struct alignas(64) KeyLine {
  float values[16] = {};
};

/// 64-byte aligned floats.
class Floats {
 public:
  explicit Floats(std::size_t count) : lines_((count + 15) / 16) {}
  float* data() { return lines_[0].values; }
  float& operator[](std::size_t i) { return lines_[i / 16].values[i % 16]; }

 private:
  std::vector<KeyLine> lines_;
};

/// One head of one block of queries by the kernel, against the definition.
void expect_head_right(const FlashKernels& kernels, std::size_t seq, std::size_t dim, bool causal) {
  const std::size_t padded_dim = (dim + kernels.panel - 1) / kernels.panel * kernels.panel;
  const std::size_t padded_keys = (seq + kernels.keys_per_tile - 1) / kernels.keys_per_tile * kernels.keys_per_tile;
  const std::size_t block = kernels.queries_per_block;
  const auto value = [](std::size_t i, std::size_t step) { return static_cast<float>(i * step % 23) / 11.0F - 1; };
  Floats keys(padded_keys * dim);
  Floats values(padded_keys * padded_dim);
  Floats queries(block * dim);
  Floats attended(block * padded_dim);
  Floats scores(kernels.rows_per_group * kernels.keys_per_tile);
  Floats highest(block);
  Floats total(block);
  for (std::size_t j = 0; j < seq; ++j) {
    for (std::size_t d = 0; d < dim; ++d) {
      keys[j / kernels.panel * kernels.panel * dim + d * kernels.panel + j % kernels.panel] = value(j * dim + d, 5);
      values[j * padded_dim + d] = value(j * dim + d, 7);
    }
  }
  const std::size_t rows = std::min(block, seq);
  for (std::size_t i = 0; i < rows * dim; ++i) queries[i] = value(i, 3) * 1.4426950408889634F;
  kernels.attend({seq, dim, padded_dim, padded_keys, keys.data(), values.data(), causal},
                 {0, rows, queries.data(), attended.data(), scores.data(), highest.data(), total.data()});
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t seen = causal ? i + 1 : seq;
    std::vector<double> weights(seen);
    double sum = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      double dot = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        dot += static_cast<double>(value(i * dim + d, 3)) * static_cast<double>(value(j * dim + d, 5));
      }
      weights[j] = std::exp(dot);
      sum += weights[j];
    }
    for (std::size_t d = 0; d < dim; ++d) {
      double expected = 0;
      for (std::size_t j = 0; j < seen; ++j) expected += weights[j] / sum * static_cast<double>(value(j * dim + d, 7));
      ASSERT_NEAR(static_cast<double>(attended[i * padded_dim + d]), expected, 1e-5) << "row " << i << " column " << d;
    }
  }
}

TEST(FlashKernels, attend_matches_the_definition) {
  for (const auto* kernels : flash_kernels()) {
    SCOPED_TRACE(kernels->instructions);
    for (const bool causal : {false, true}) {
      expect_head_right(*kernels, 1, 3, causal);
      expect_head_right(*kernels, 129, 16, causal);
      expect_head_right(*kernels, 300, 70, causal);
    }
  }
}

// The check by itself.

TEST(CheckAttention, finds_wrong_elements_in_rows_it_does_not_compute) {
  // All values equal: the result is that value whatever the weights, and rows are sampled.
  const AttentionShape shape{.batch = 1, .heads = 2, .seq = 1024, .dim = 64, .causal = false, .dtype = "f32"};
  const auto count = static_cast<std::size_t>(shape.elements());
  const std::vector<float> q(count, 0.5F);
  const std::vector<float> v(count, 2.0F);
  std::vector<float> o(count, 2.0F);
  const auto check = [&] {
    return check_attention(shape,
                           {std::as_bytes(std::span(q)), std::as_bytes(std::span(q)), std::as_bytes(std::span(v)),
                            std::as_bytes(std::span(o))},
                           9);
  };
  EXPECT_LE(check().value, check().tolerance);
  EXPECT_NE(check().reference.find("rows"), std::string::npos) << "the shape is meant to be sampled";
  for (std::size_t at = 77; at < count; at += 12345) {
    for (const float garbage : {2.1F, -3.0F, std::nanf("")}) {
      o[at] = garbage;
      EXPECT_GT(check().value, check().tolerance) << at << " " << garbage;
    }
    o[at] = 2.0F;
  }
}

}  // namespace
}  // namespace warpmark::workloads
