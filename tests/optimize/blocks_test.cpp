// Blocks of steps in the living process: their order, and which are compared.
#include <gtest/gtest.h>

#include "base/json.h"
#include "optimize/stages/in_process.h"

namespace warpmark::optimize {
namespace {

std::vector<int> order(int variants, const std::vector<bool>& skip) {
  const std::vector<Variant> all(static_cast<std::size_t>(variants), Variant{{}, Numerics::exact});
  const auto command = blocks_command({}, {}, all, skip, 0.1, 2, true);
  std::vector<int> found;
  for (const auto& block : command["blocks"]) found.push_back(block["variant"]);
  return found;
}

TEST(Blocks, each_variant_is_next_to_a_block_of_the_base) {
  EXPECT_EQ(order(1, {false}), (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(order(2, {false, false}), (std::vector<int>{1, 0, 2, 2, 0, 1}));
  EXPECT_EQ(order(3, {false, false, false}), (std::vector<int>{1, 0, 2, 0, 3, 3, 0, 2, 0, 1}));
  EXPECT_EQ(order(3, {false, true, false}), (std::vector<int>{1, 0, 3, 3, 0, 1}));
}

TEST(Blocks, evaluations_are_counted_in_blocks_of_the_base) {
  const auto block = [](int variant, double left_out_s) {
    return Json{{"variant", variant}, {"steps", 10}, {"seconds", 3}, {"left_out_seconds", left_out_s}};
  };
  const auto time = time_left_out(Json::array({{{"blocks", Json::array({block(0, 1), block(1, 9), block(0, 0)})}}}));
  EXPECT_DOUBLE_EQ(time.left_out_s, 1);
  EXPECT_DOUBLE_EQ(time.counted_s, 6);
}

TEST(Blocks, a_slow_stretch_in_the_middle_counts_for_those_that_ran_in_it_and_their_base) {
  Json blocks = Json::array();
  // The program is twice as slow while 3 and 4 and their base run.
  for (const auto& [variant, seconds] :
       std::vector<std::pair<int, double>>{{1, 1}, {0, 1}, {2, 0.5}, {3, 2}, {0, 2}, {4, 1}}) {
    blocks.push_back({{"variant", variant}, {"steps", 10}, {"seconds", seconds}});
  }
  const Json answers = Json::array({{{"blocks", blocks}, {"variants", Json::array()}}});
  std::vector<VariantResult> results(4);
  add_blocks(answers, results);
  const std::vector<double> gains{1, 2, 1, 2};
  for (std::size_t i = 0; i < gains.size(); ++i) {
    ASSERT_EQ(results[i].times_s.size(), 1U) << i;
    EXPECT_DOUBLE_EQ(results[i].base_s[0] / results[i].times_s[0], gains[i]) << i;
  }
}

}  // namespace
}  // namespace warpmark::optimize
