#include "validate/scaling/training_layout.h"

#include <gtest/gtest.h>

namespace warpmark::validate {
namespace {

TEST(TrainingPlanStates, take_the_published_bytes_a_parameter) {
  // Mixed precision with Adam: 2 + 2 + K, K = 12 (Rajbhandari et al. 2020, section 3.1).
  for (const auto precision : {Precision::bf16, Precision::fp16, Precision::fp8}) {
    EXPECT_EQ(state_bytes({precision, Optimizer::adam, false}).total(), 16) << name_of(precision);
    EXPECT_EQ(state_bytes({precision, Optimizer::adam, false}).optimizer, 12) << name_of(precision);
  }
  // Gradients summed in 32 bits: 18 (Megatron-LM, distributed optimizer).
  EXPECT_EQ(state_bytes({}).total(), 18);
  // In 32 bits parameter, gradient and two states of 4 each.
  EXPECT_EQ(state_bytes({Precision::fp32, Optimizer::adam, false}).total(), 16);
  EXPECT_EQ(state_bytes({Precision::tf32, Optimizer::adam, false}).total(), 16);
  EXPECT_EQ(state_bytes({Precision::fp32, Optimizer::momentum, false}).total(), 12);
  EXPECT_EQ(state_bytes({Precision::fp32, Optimizer::sgd, false}).total(), 8);
  EXPECT_EQ(state_bytes({Precision::bf16, Optimizer::momentum, false}).total(), 12);
  EXPECT_EQ(state_bytes({Precision::bf16, Optimizer::sgd, false}).total(), 8);
}

TEST(TrainingPlanStates, of_adam_in_8_bits_are_2_bytes_instead_of_8) {
  for (const auto precision : {Precision::fp32, Precision::bf16}) {
    const double saved = state_bytes({precision, Optimizer::adam, false}).total() -
                         state_bytes({precision, Optimizer::adam8bit, false}).total();
    EXPECT_EQ(saved, 6) << name_of(precision);
  }
  EXPECT_EQ(state_bytes({Precision::bf16, Optimizer::adam8bit, false}).total(), 10);
}

TEST(TrainingPlanStates, names_are_read_back_and_have_a_rate_in_datasheets) {
  for (const char* name : {"fp32", "tf32", "bf16", "fp16", "fp8"}) {
    ASSERT_TRUE(value_named<Precision>(name)) << name;
    EXPECT_STREQ(name_of(*value_named<Precision>(name)), name);
  }
  EXPECT_FALSE(value_named<Precision>("fp4"));
  EXPECT_STREQ(flop_type_of(Precision::fp32), "f32");
  EXPECT_STREQ(flop_type_of(Precision::fp16), "f16");
  EXPECT_STREQ(flop_type_of(Precision::fp8), "fp8");
  for (const char* name : {"adam", "sgd", "momentum", "adam8bit"})
    EXPECT_STREQ(name_of(*value_named<Optimizer>(name)), name);
  EXPECT_FALSE(value_named<Optimizer>("adamw"));
}

}  // namespace
}  // namespace warpmark::validate
