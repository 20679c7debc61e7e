#include "base/float_types.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

TEST(Float16, round_trips_every_value) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_f16(value), half) << bits;
  }
}

TEST(Float16, rounds_to_nearest_even) {
  EXPECT_EQ(float_to_f16(1.0F + 0x1p-11F), 0x3C00);      // half way, to even
  EXPECT_EQ(float_to_f16(1.0F + 3 * 0x1p-11F), 0x3C02);  // half way, to even
  EXPECT_EQ(float_to_f16(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);
  EXPECT_EQ(float_to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_f16(-0x1p-25F), 0x8000);
}

TEST(Bfloat16, round_trips_every_value) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_bf16(value), bits);
  }
  EXPECT_EQ(float_to_bf16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::nanf("")))));
}

}  // namespace
}  // namespace warpmark
