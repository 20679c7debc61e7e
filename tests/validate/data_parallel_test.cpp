#include "validate/scaling/training_plan.h"

#include <gtest/gtest.h>

namespace warpmark::validate {
namespace {

TEST(DataParallel, exposes_what_the_backward_pass_does_not_hide) {
  const DataParallelJob job{.step_s = 0.1, .gradient_bytes = 1e9, .overlap = 0.6, .contention = 0};
  const auto hidden = data_parallel_step(job, 0.0005);
  EXPECT_NEAR(hidden.communication_s, 0.02, 1e-12);  // 40 buckets
  EXPECT_NEAR(hidden.exposed_s, 0.0005, 1e-12);      // the last one
  const auto exposed = data_parallel_step(job, 0.0025);
  EXPECT_NEAR(exposed.exposed_s, 0.06, 1e-12);
  EXPECT_NEAR(exposed.efficiency, 0.1 / 0.16, 1e-12);
}

TEST(DataParallel, computing_is_slower_while_gradients_travel) {
  const DataParallelJob job{.step_s = 0.1, .gradient_bytes = 1e9, .overlap = 0.6, .contention = 0.5};
  EXPECT_NEAR(data_parallel_step(job, 0.0005).exposed_s, 0.01, 1e-12);  // half of the 20 ms that are hidden
  EXPECT_NEAR(data_parallel_step(job, 0.0025).exposed_s, 0.06 + 0.02, 1e-12);
}

TEST(DataParallel, gradients_below_a_bucket_are_one_message) {
  const DataParallelJob job{.step_s = 0.01, .gradient_bytes = 4e6};
  EXPECT_EQ(message_bytes(job), 4e6);
  EXPECT_NEAR(data_parallel_step(job, 0.0001).exposed_s, 0.0001, 1e-12);
  EXPECT_EQ(data_parallel_step({.step_s = 0.01}, 0).exposed_s, 0);
}

TEST(DataParallel, batches_before_an_exchange_dilute_it_and_only_the_last_hides_it) {
  DataParallelJob job{.step_s = 0.1, .gradient_bytes = 1e9, .overlap = 0.6, .contention = 0, .accumulation = 4};
  const auto step = data_parallel_step(job, 0.0025);
  EXPECT_NEAR(step.exposed_s, 0.06, 1e-12) << "as after one batch";
  EXPECT_NEAR(step.step_s, 0.46, 1e-12);
  EXPECT_NEAR(step.efficiency, 0.4 / 0.46, 1e-12);
}

TEST(DataParallel, compressed_gradients_are_as_many_and_smaller_messages) {
  const DataParallelJob job{.step_s = 0.1, .gradient_bytes = 1e9};
  const auto half = compressed(job, 0.5);
  EXPECT_EQ(half.gradient_bytes, 5e8);
  EXPECT_EQ(message_bytes(half), 12.5e6);
  EXPECT_NEAR(data_parallel_step(half, 0.001).communication_s, data_parallel_step(job, 0.001).communication_s, 1e-12);
}

}  // namespace
}  // namespace warpmark::validate
