// The implementations of attention on the GPU against fp64, over shapes that do not fill tiles.
#include <cstdint>
#include <string>

#include "cuda/gpu.h"

namespace warpmark::cuda_tests {
namespace {

struct Shape {
  std::string impl = "flash";
  std::string dtype = "f16";
  std::int64_t seq = 128;
  std::int64_t dim = 64;
  std::string causal = "no";
  std::int64_t batch = 2;
  std::int64_t heads = 3;
};

Params to_params(const Shape& s) {
  return params_of({{"batch", s.batch},
                    {"heads", s.heads},
                    {"seq", s.seq},
                    {"dim", s.dim},
                    {"causal", s.causal},
                    {"dtype", s.dtype},
                    {"impl", s.impl}});
}

class CudaAttention : public Gpu {
 protected:
  [[nodiscard]] device::Support supports(const Shape& shape) const {
    return implementation("attention").supports(device_->info(), to_params(shape));
  }

  [[nodiscard]] Result<std::unique_ptr<measure::Prepared>> prepare(const Shape& shape) const {
    return implementation("attention").prepare({*device_, to_params(shape), 2, 11});
  }

  void expect_right(const Shape& shape) {
    SCOPED_TRACE(to_text(to_params(shape)));
    const device::Support support = supports(shape);
    ASSERT_TRUE(support.available) << support.reason;
    expect_right_outputs(prepare(shape));
  }

  void expect_right_for_all_lengths(Shape shape) {
    for (const char* causal : {"no", "yes"}) {
      for (const std::int64_t dim : {64, 128}) {
        for (const std::int64_t seq : {1, 17, 64, 100, 191, 193, 256, 1000}) {
          shape.causal = causal;
          shape.dim = dim;
          shape.seq = seq;
          expect_right(shape);
        }
      }
    }
  }
};

TEST_F(CudaAttention, flash_is_right_at_every_length_in_f16) { expect_right_for_all_lengths({.dtype = "f16"}); }
TEST_F(CudaAttention, flash_is_right_at_every_length_in_bf16) { expect_right_for_all_lengths({.dtype = "bf16"}); }
TEST_F(CudaAttention, flash_is_right_at_every_length_in_f32) { expect_right_for_all_lengths({.dtype = "f32"}); }

TEST_F(CudaAttention, flash_is_right_when_blocks_walk_over_many_tiles) {
  for (const char* causal : {"no", "yes"}) {
    expect_right({.seq = 1024, .causal = causal, .batch = 8, .heads = 16});
    expect_right({.seq = 2049, .causal = causal, .batch = 4, .heads = 16});
  }
}

TEST_F(CudaAttention, flash_gives_the_same_bits_every_time) {
  const auto prepared = prepare({.seq = 1000, .causal = "yes", .batch = 4, .heads = 16});
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  double first = 0;
  for (int repetition = 0; repetition < 5; ++repetition) {
    ASSERT_TRUE((*prepared)->poison().ok());
    ASSERT_TRUE((*prepared)->launch(device_->stream(), 0).ok());
    ASSERT_TRUE((*prepared)->launch(device_->stream(), 1).ok());
    ASSERT_TRUE(device_->synchronize().ok());
    const auto check = (*prepared)->check(0);
    ASSERT_TRUE(check.ok()) << check.error().what;
    if (repetition == 0) first = check->value;
    EXPECT_EQ(check->value, first) << "an error that moves is a race";
  }
}

TEST_F(CudaAttention, standard_is_right_at_any_dim) {
  for (const char* dtype : {"f16", "bf16", "f32"}) {
    for (const char* causal : {"no", "yes"}) {
      for (const std::int64_t seq : {1, 17, 100, 1000, 1024}) {
        expect_right({.impl = "standard", .dtype = dtype, .seq = seq, .dim = 64, .causal = causal});
        expect_right({.impl = "standard", .dtype = dtype, .seq = seq, .dim = 80, .causal = causal});
      }
    }
  }
}

TEST_F(CudaAttention, standard_names_the_sizes_when_the_scores_do_not_fit) {
  const auto prepared = prepare({.impl = "standard", .seq = 65536, .batch = 1, .heads = 64});  // 550 GB of scores
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::environment);
  EXPECT_NE(prepared.error().what.find("549755813888"), std::string::npos) << prepared.error().what;
  EXPECT_NE(prepared.error().what.find("65536 x 65536"), std::string::npos) << prepared.error().what;
}

TEST_F(CudaAttention, cudnn_is_right) {
  const device::Support support = supports({.impl = "cudnn"});
  if (!support.available) GTEST_SKIP() << support.reason;
  for (const char* dtype : {"f16", "bf16"}) {
    for (const char* causal : {"no", "yes"}) {
      for (const std::int64_t dim : {64, 128}) {
        for (const std::int64_t seq : {64, 100, 1000, 1024}) {
          expect_right({.impl = "cudnn", .dtype = dtype, .seq = seq, .dim = dim, .causal = causal});
        }
      }
    }
  }
}

TEST_F(CudaAttention, says_which_combinations_do_not_exist) {
  EXPECT_FALSE(supports({.impl = "flash", .dim = 80}).available);
  EXPECT_FALSE(supports({.impl = "flash", .dtype = "f64"}).available);
  EXPECT_FALSE(supports({.impl = "cudnn", .dtype = "f32"}).available);
  EXPECT_NE(supports({.impl = "flash", .dim = 80}).reason.find("dim=80"), std::string::npos);
}

TEST_F(CudaAttention, refuses_empty_shapes) {
  const auto prepared = prepare({.seq = 0});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace warpmark::cuda_tests
