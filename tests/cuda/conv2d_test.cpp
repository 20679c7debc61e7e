// conv2d on the GPU against direct convolution in fp64: types, layouts, passes and shapes that fill no tile.
#include <cstdint>
#include <string>

#include "cuda/gpu.h"

namespace warpmark::cuda_tests {
namespace {

struct ConvolutionShape {
  std::string dtype = "f32";
  std::string layout = "nchw";
  std::string pass = "forward";
  std::int64_t n = 4, c = 16, h = 14, w = 12, k = 24, r = 3;
  std::int64_t stride = 1;
  std::int64_t pad = -1;
};

Params to_params(const ConvolutionShape& s) {
  return params_of({{"n", s.n},
                    {"c", s.c},
                    {"h", s.h},
                    {"w", s.w},
                    {"k", s.k},
                    {"r", s.r},
                    {"stride", s.stride},
                    {"pad", s.pad},
                    {"layout", s.layout},
                    {"pass", s.pass},
                    {"dtype", s.dtype}});
}

class CudaConv2d : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (device_ == nullptr) return;
    const device::Support support = implementation("conv2d").supports(device_->info(), to_params(ConvolutionShape{}));
    if (!support.available) GTEST_SKIP() << support.reason;
  }

  [[nodiscard]] Result<std::unique_ptr<measure::Prepared>> prepare(const ConvolutionShape& shape) const {
    return implementation("conv2d").prepare({*device_, to_params(shape), 2, 5});
  }

  void expect_right(const ConvolutionShape& shape) {
    SCOPED_TRACE(to_text(to_params(shape)));
    expect_right_outputs(prepare(shape));
  }
};

TEST_F(CudaConv2d, is_right_in_every_type_layout_and_pass) {
  for (const char* dtype : {"f32", "tf32", "f16", "bf16"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      for (const char* pass : {"forward", "backward_data", "backward_weights"}) {
        expect_right({.dtype = dtype, .layout = layout, .pass = pass});
      }
    }
  }
}

TEST_F(CudaConv2d, is_right_with_strides_and_without_padding) {
  for (const char* pass : {"forward", "backward_data", "backward_weights"}) {
    expect_right({.pass = pass, .stride = 2});
    expect_right({.pass = pass, .pad = 0});
    expect_right({.dtype = "bf16", .layout = "nhwc", .pass = pass, .r = 1, .stride = 2});
  }
}

TEST_F(CudaConv2d, is_right_where_channels_fill_no_vector) {
  expect_right({.n = 1, .c = 3, .h = 7, .w = 5, .k = 5});
  expect_right({.dtype = "f16", .layout = "nhwc", .n = 3, .c = 8, .h = 9, .w = 11, .k = 8, .r = 5});
}

TEST_F(CudaConv2d, f32_is_not_tf32) {
  const auto prepared = prepare({.n = 16, .c = 64, .h = 28, .w = 28, .k = 64});
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  ASSERT_TRUE((*prepared)->launch(device_->stream(), 0).ok());
  ASSERT_TRUE((*prepared)->launch(device_->stream(), 1).ok());
  ASSERT_TRUE(device_->synchronize().ok());
  const auto check = (*prepared)->check(0);
  ASSERT_TRUE(check.ok()) << check.error().what;
  EXPECT_LE(check->value, 1e-5) << "tf32 products would be near 3e-4";
}

TEST_F(CudaConv2d, names_the_engine) {
  const auto prepared = prepare({});
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  bool named = false;
  for (const auto& [name, text] : (*prepared)->notes()) named |= name == "algorithm" && text.starts_with("engine ");
  EXPECT_TRUE(named);
}

TEST_F(CudaConv2d, refuses_shapes_without_an_output) {
  for (const ConvolutionShape& shape : {ConvolutionShape{.n = 0}, ConvolutionShape{.h = 2, .r = 5, .pad = 0}}) {
    const auto prepared = prepare(shape);
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().kind, ErrorKind::usage);
  }
}

}  // namespace
}  // namespace warpmark::cuda_tests
