// Which rows a cache holds, and what lookups in cached tables find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "measure/round.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::set<std::int32_t> held_by(const RowCache& cache) {
  std::set<std::int32_t> rows;
  for (const auto& entry : cache.contents()) rows.insert(entry.row);
  return rows;
}

TEST(RowCache, holds_the_rows_that_were_asked_for_most) {
  RowCache cache(6, 2);
  EXPECT_THAT(cache.contents(), IsEmpty());
  const std::vector<std::uint32_t> counted{1, 0, 7, 2, 0, 9};
  EXPECT_EQ(cache.choose(counted).size(), 2U);
  EXPECT_THAT(held_by(cache), ElementsAre(2, 5));
  EXPECT_NE(cache.slots()[2], cache.slots()[5]);
  EXPECT_EQ(cache.slots()[0], kAbsent);
}

TEST(RowCache, moves_nothing_that_stays) {
  RowCache cache(4, 2);
  (void)cache.choose(std::vector<std::uint32_t>{5, 4, 0, 0});
  const auto stays = cache.slots()[0];
  const auto entries = cache.choose(std::vector<std::uint32_t>{0, 0, 9, 0});
  EXPECT_THAT(entries, ElementsAre(RowEntry{2, 1 - stays, 1}));
  EXPECT_EQ(cache.slots()[0], stays);
  EXPECT_EQ(cache.slots()[1], kAbsent);
  EXPECT_THAT(cache.choose(std::vector<std::uint32_t>{0, 0, 0, 0}), IsEmpty());
}

TEST(RowCache, forgets_by_half_at_each_choice) {
  RowCache cache(2, 1);
  (void)cache.choose(std::vector<std::uint32_t>{16, 0});
  EXPECT_THAT(cache.choose(std::vector<std::uint32_t>{0, 8}), IsEmpty()) << "8 against 16 / 2: who is there stays";
  EXPECT_EQ(cache.choose(std::vector<std::uint32_t>{0, 1}).size(), 1U) << "8 / 2 + 1 against 16 / 4";
}

TEST(RowCache, leaves_slots_free_rather_than_guess) {
  RowCache cache(100, 50);
  std::vector<std::uint32_t> counted(100, 0);
  counted[70] = 1;
  (void)cache.choose(counted);
  EXPECT_THAT(held_by(cache), ElementsAre(70));
}

TEST(RowCache, holds_everything_where_there_is_room) {
  RowCache cache(3, 10);
  EXPECT_EQ(cache.capacity(), 3U);
  EXPECT_EQ(cache.choose(std::vector<std::uint32_t>{0, 0, 0}).size(), 3U);
  RowCache nothing(3, 0);
  EXPECT_THAT(nothing.choose(std::vector<std::uint32_t>{1, 1, 1}), IsEmpty());
}

/// An order by number would hold the popular rows of made-up inputs, whose numbers are their ranks.
TEST(RowCache, lets_chance_decide_between_equals) {
  RowCache cache(1000, 100);
  (void)cache.choose(std::vector<std::uint32_t>(1000, 1));
  const auto rows = held_by(cache);
  EXPECT_EQ(rows.size(), 100U);
  EXPECT_GT(*rows.rbegin(), 900);
  EXPECT_LT(*rows.begin(), 100);
}

TEST(LookupBatch, asks_each_table_by_the_law_and_drifts) {
  const CachedShape shape{.tables = 3, .rows = 1000, .dim = 1, .bags = 4000, .lookups = 2, .batches = 4};
  const auto first_batch = lookup_batch(shape, {.skew = 1.2, .drift = 0.5, .seed = 1}, 0);
  ASSERT_EQ(first_batch.size(), 24000U);
  std::vector<double> top(3, 0);
  for (std::size_t i = 0; i < first_batch.size(); ++i) {
    const auto table = static_cast<std::int32_t>(i / 2 % 3);
    ASSERT_EQ(first_batch[i] / 1000, table);
    if (first_batch[i] % 1000 < 100) top[static_cast<std::size_t>(table)] += 1.0 / 8000;
  }
  for (const double share : top) EXPECT_NEAR(share, zipf_hit_rate(1000, 100, 1.2), 0.02);
  const auto third = lookup_batch(shape, {.skew = 1.2, .drift = 0.5, .seed = 1}, 2);
  const auto popular = [](const std::vector<std::int32_t>& batch, std::int32_t first) {
    const auto count =
        std::count_if(batch.begin(), batch.end(), [&](auto row) { return row % 1000 / 100 == first / 100; });
    return static_cast<double>(count) / static_cast<double>(batch.size());
  };
  // Half of a pass later a quarter of the pairs has changed places; which ones is chance, and the first ranks weigh
  // most.
  EXPECT_LT(popular(first_batch, 500), 0.03);
  EXPECT_GT(popular(third, 500), 0.03);
  EXPECT_LT(popular(third, 0), popular(first_batch, 0));
  EXPECT_NEAR(popular(third, 0) + popular(third, 500), popular(first_batch, 0) + popular(first_batch, 500), 0.02);
}

TEST(LookupBatch, expects_what_the_law_says) {
  EXPECT_EQ(zipf_hit_rate(1000, 1000, 1.05), 1);
  EXPECT_EQ(zipf_hit_rate(1000, 0, 1.05), 0);
  EXPECT_NEAR(zipf_hit_rate(999, 99, 0), 0.1, 1e-3);
  EXPECT_NEAR(zipf_hit_rate(999, 99, 1), 2.0 / 3, 1e-12);
}

warpmark::Run run_cached(Overrides overrides) {
  for (const auto& [name, text] :
       Overrides{{"tables", "4"}, {"rows", "2000"}, {"dim", "8"}, {"bags", "500"}, {"batches", "12"}}) {
    overrides.emplace_back(name, text);
  }
  return test::run_small("embedding_cache", overrides);
}

double median_of(const warpmark::Run& run, const std::string& id) {
  for (const auto& metric : run.metrics) {
    if (metric.id == id) return metric.summary.median;
  }
  return -1;
}

TEST(EmbeddingCache, sums_are_right_whatever_is_held) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const char* cache : {"0", "0.01", "0.3", "1"}) {
      for (const char* refresh : {"0", "5"}) {
        const auto run = run_cached({{"dtype", dtype}, {"cache", cache}, {"refresh", refresh}, {"lookups", "3"}});
        ASSERT_EQ(run.outcome, Outcome::passed) << run.reason;
        EXPECT_LE(run.error->value, 1e-5);
        EXPECT_EQ(median_of(run, "choosing") >= 0, std::string(refresh) != "0");
      }
    }
  }
}

TEST(EmbeddingCache, hits_what_the_law_lets_it) {
  EXPECT_EQ(median_of(run_cached({{"cache", "0"}}), "hit_rate"), 0);
  EXPECT_EQ(median_of(run_cached({{"cache", "1"}}), "hit_rate"), 1);
  const auto some = run_cached({{"cache", "0.1"}, {"skew", "1.2"}});
  const double reached = median_of(some, "hit_rate"), best = median_of(some, "best_hit_rate");
  EXPECT_NEAR(best, zipf_hit_rate(2000, 200, 1.2), 1e-12);
  EXPECT_LE(reached, best + 0.01);
  EXPECT_GT(reached, best - 0.08);
  EXPECT_NEAR(median_of(some, "cache_bandwidth") / median_of(some, "host_bandwidth"), reached / (1 - reached), 1e-6);
}

TEST(EmbeddingCache, follows_popularity_only_where_it_chooses_anew) {
  const Overrides drifting{{"cache", "0.1"}, {"skew", "1.2"}, {"drift", "1"}};
  auto choosing = drifting;
  choosing.emplace_back("refresh", "2");
  const auto once = run_cached(drifting), often = run_cached(choosing);
  EXPECT_GT(median_of(often, "hit_rate"), median_of(once, "hit_rate") + 0.03);
  bool reported = false;
  for (const auto& [name, text] : often.notes)
    reported = reported || (name == "refreshes" && text.starts_with("5 in a pass"));
  EXPECT_TRUE(reported);
}

TEST(EmbeddingCache, refuses_what_makes_no_cache) {
  EXPECT_THAT(test::cost_error("embedding_cache", {{"cache", "1.5"}}), HasSubstr("0 to 1"));
  EXPECT_THAT(test::cost_error("embedding_cache", {{"drift", "-1"}}), HasSubstr("0 to 1"));
  EXPECT_THAT(test::cost_error("embedding_cache", {{"refresh", "-1"}}), HasSubstr("refresh"));
  EXPECT_THAT(test::cost_error("embedding_cache", {{"rows", "1000000000"}}), HasSubstr("2^31"));
}

}  // namespace
}  // namespace warpmark::workloads
