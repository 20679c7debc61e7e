// Blocks and windows of programs whose epochs are short.
#include <gtest/gtest.h>

#include "base/json.h"
#include "optimize/facts.h"
#include "optimize/stages/in_process.h"

namespace warpmark::optimize {
namespace {

ProgramFacts epochs_of(std::int64_t batches, double step_s) {
  ProgramFacts facts;
  facts.report.loaders.push_back({.workers = 2, .batches = batches});
  facts.seconds_per_step = step_s;
  return facts;
}

TEST(ShortEpoch, blocks_hold_whole_epochs) {
  const auto facts = epochs_of(16, 0.05);
  const auto length = block_length(facts, {{"loader.workers", "6"}}, 0.05, true);
  EXPECT_EQ(length.whole, 16);
  EXPECT_EQ(length.least, 16);
  const auto command = blocks_command(facts, {}, {}, {}, 0.05, 1, true);
  EXPECT_EQ(command["blocks"][0]["whole"], 16);
}

TEST(ShortEpoch, ranks_count_to_whole_epochs) {
  auto facts = epochs_of(16, 0.05);
  facts.report.world = 2;
  EXPECT_EQ(block_length(facts, {}, 0.05, false).steps, 32);
}

TEST(ShortEpoch, long_or_unknown_epochs_are_cut) {
  EXPECT_EQ(epochs_of(5000, 0.05).short_epoch(), 1);
  EXPECT_EQ(epochs_of(0, 0.05).short_epoch(), 1);
  EXPECT_EQ(ProgramFacts().short_epoch(), 1);
}

}  // namespace
}  // namespace warpmark::optimize
