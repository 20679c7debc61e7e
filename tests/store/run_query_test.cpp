// Queries of series: the same answers by either way, and never by reading whole tables.
#include "store/sql/sql_store.h"

#include <gtest/gtest.h>

#include "sample_data.h"
#include "store/sqlite/sqlite_store.h"
#include "support/memory_store.h"

namespace warpmark::store {
namespace {

TEST(FindPoints, reads_a_series_as_one_stretch_of_its_table) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).ok());
  auto database = Database::open(folder.file(), {}).value();
  std::string plan;
  ASSERT_TRUE(database
                  .each("EXPLAIN QUERY PLAN SELECT p.median FROM points p CROSS JOIN sessions s ON s.key = p.session "
                        "WHERE p.case_key = 1 AND p.metric = 'time' ORDER BY p.started DESC, p.run DESC LIMIT 9",
                        {}, [&](const Row& row) { return plan += row.text(3) + "\n", Status(); })
                  .ok());
  EXPECT_NE(plan.find("SEARCH p USING PRIMARY KEY (case_key=? AND metric=?)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("SCAN"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("B-TREE"), std::string::npos) << plan;  // no sorting
}

TEST(FindPoints, are_the_same_whether_cases_are_few_or_many) {
  const TemporaryFolder folder;
  const auto sqlite = open_sqlite(folder.file()).value();
  const auto memory = make_memory_store();
  for (int day = 1; day <= 3; ++day) {
    const std::string id = "s" + std::to_string(day);
    for (Store* store : {sqlite.get(), memory.get()}) {
      ASSERT_TRUE(store->begin(sample_session(id, "2026-01-0" + std::to_string(day) + "T00:00:00Z")).ok());
    }
    for (int index = 0; index < 20; ++index) {
      auto run = sample_run(id, index, index % 2 == 0 ? "gemm" : "copy");
      run.params.set("m", std::int64_t{index + 10 * day});
      for (Store* store : {sqlite.get(), memory.get()}) ASSERT_TRUE(store->append_run(id, run).ok());
    }
  }
  auto database = Database::open(folder.file(), {}).value();
  const RunQuery queries[] = {{},
                              {.limit = 0},
                              {.limit = 7},
                              {.workload = "gemm", .limit = 15},
                              {.metric = "energy"},
                              {.device = "cpu", .limit = 25},
                              {.metric = "*", .limit = 33},
                              {.metric = "*", .limit = 100'000},  // nearly all: by a scan
                              {.limit = 100'000},
                              {.metric = "e*", .branch = "main", .limit = 100'000},
                              {.branch = "main", .dirty = true, .limit = 9},
                              {.workload = "g*", .commit = "0123", .limit = 28}};
  for (const auto& query : queries) {
    const auto expected = memory->find(query);
    for (const std::int64_t many_cases : {1, 1000}) {
      const auto found = find_points(database, query, many_cases);
      ASSERT_TRUE(found.ok()) << found.error().what;
      ASSERT_EQ(found->size(), expected->size());
      for (std::size_t i = 0; i < found->size(); ++i) {
        EXPECT_EQ(found->at(i).session, expected->at(i).session) << i;
        EXPECT_EQ(found->at(i).index, expected->at(i).index) << i;
        EXPECT_EQ(found->at(i).metric, expected->at(i).metric) << i;
        EXPECT_EQ(found->at(i).median, expected->at(i).median) << i;
      }
    }
  }
}

}  // namespace
}  // namespace warpmark::store
