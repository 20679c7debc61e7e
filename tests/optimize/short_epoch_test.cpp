// Blocks of programs whose epochs are short, and of several ranks.
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

Json block(int variant, int steps, double seconds, int left_out = 0) {
  return {{"variant", variant}, {"steps", steps}, {"seconds", seconds}, {"left_out", left_out}};
}

TEST(BlocksOfRanks, the_slowest_counts_unless_one_evaluates_and_the_others_wait_for_it) {
  const Json ranks = {{{"blocks", {block(0, 10, 1), block(1, 10, 0.5), block(1, 9, 0.45, 1), block(0, 10, 1)}}},
                      {{"blocks", {block(0, 10, 2), block(1, 10, 0.4), block(1, 10, 7), block(0, 10, 1)}}}};
  VariantResult result;
  add_blocks(ranks, {&result, 1});
  EXPECT_EQ(result.base_s, (std::vector<double>{0.2, 0.1}));
  EXPECT_EQ(result.times_s, (std::vector<double>{0.05, 0.05}));
}

TEST(BlocksOfRanks, a_block_that_was_not_timed_leaves_the_others_in_their_rounds) {
  const Json alone = {{{"blocks", {block(0, 10, 1), block(1, 0, 0), block(1, 10, 0.5), block(0, 10, 3)}}}};
  VariantResult result;
  add_blocks(alone, {&result, 1});
  EXPECT_EQ(result.base_s, std::vector<double>{0.3});
  EXPECT_EQ(result.times_s, std::vector<double>{0.05});
}

}  // namespace
}  // namespace warpmark::optimize
