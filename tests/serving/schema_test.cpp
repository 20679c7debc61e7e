// The schemas of loads are those that their tables make.
#include <gtest/gtest.h>

#include "serving/results/load_comparison.h"
#include "serving/results/load_result.h"
#include "support/expect_schema.h"

namespace warpmark::serving {
namespace {

TEST(LoadSchemas, are_those_of_the_tables) {
  testing_support::expect_schema(kLoadReport);
  testing_support::expect_schema(kLoadComparison);
}

}  // namespace
}  // namespace warpmark::serving
