// The schemas of collectives are those that their tables make.
#include <gtest/gtest.h>

#include "collectives/links.h"
#include "collectives/net/live.h"
#include "collectives/net/pairs.h"
#include "collectives/results/report.h"
#include "support/expect_schema.h"

namespace warpmark::collectives {
namespace {

TEST(CollectiveSchemas, are_those_of_the_tables) {
  testing_support::expect_schema(kCollectiveResult);
  testing_support::expect_schema(kTuningResult);
  testing_support::expect_schema(kLinksResult);
  testing_support::expect_schema(net::kPairs);
  testing_support::expect_schema(net::kTrafficLog);
}

}  // namespace
}  // namespace warpmark::collectives
