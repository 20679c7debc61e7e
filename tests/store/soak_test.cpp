// Two writers and a reader for a few seconds; bench/store_soak does it for as long as one likes.
#include "soak.h"

#include <gtest/gtest.h>

#include "postgres_server.h"
#include "sample_data.h"

namespace warpmark::store {
namespace {

void expect_no_lost_row(const SoakResult& result) {
  EXPECT_EQ(result.problem, "");
  EXPECT_GT(result.acknowledged, 0);
  EXPECT_GT(result.reads, 0);
  EXPECT_EQ(result.found, result.acknowledged);
}

TEST(Soak, loses_no_row_in_sqlite) {
  const TemporaryFolder folder;
  expect_no_lost_row(soak(folder.file().string(), 2));
}

TEST(Soak, loses_no_row_in_postgres) {
  if (postgres_server().folder.empty()) GTEST_SKIP() << postgres_server().why;
  expect_no_lost_row(soak(new_postgres_database(), 2));
}

}  // namespace
}  // namespace warpmark::store
