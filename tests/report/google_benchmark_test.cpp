#include "report/formats/google_benchmark.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "report/sample_session.h"
#include "support/golden.h"

namespace warpmark::report {
namespace {

TEST(GoogleBenchmark, looks_like_its_golden_file) {
  testing_support::expect_golden("report/golden/google_benchmark.json",
                                 dump_json(google_benchmark_json(small_session())) + "\n");
}

TEST(GoogleBenchmark, has_the_keys_that_its_readers_need) {
  const Json json = google_benchmark_json(sample_session());
  for (const char* key :
       {"date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "caches", "library_build_type"}) {
    EXPECT_TRUE(json["context"].contains(key)) << key;
  }
  ASSERT_FALSE(json["benchmarks"].empty());
  for (const auto& entry : json["benchmarks"]) {
    for (const char* key : {"name", "run_name", "run_type", "repetitions", "family_index", "threads"}) {
      EXPECT_TRUE(entry.contains(key)) << key;
    }
    for (const char* key : {"real_time", "cpu_time", "time_unit", "iterations"})
      EXPECT_TRUE(entry.contains(key)) << key;
  }
}

TEST(GoogleBenchmark, has_one_entry_a_sample_and_four_aggregates) {
  SampleSession sample;
  sample.measured("copy", "cpu", {{"size", std::int64_t{4096}}}, {0, 8192, 8192, "f32", ""}, 2e-6, {5, 0.01, 0});
  const Session session = sample.finish();
  const Json entries = google_benchmark_json(session)["benchmarks"];
  ASSERT_EQ(entries.size(), 9U);
  EXPECT_EQ(entries[0]["name"], "copy/size:4096/cold/cpu");
  EXPECT_DOUBLE_EQ(entries[2]["real_time"].get<double>(), session.runs[0].metrics[0].samples[2] * 1e9);
  EXPECT_DOUBLE_EQ(entries[2]["bytes_per_second"].get<double>(), session.runs[0].metrics[1].samples[2]);
  EXPECT_EQ(entries[6]["name"], "copy/size:4096/cold/cpu_median");
  EXPECT_DOUBLE_EQ(entries[6]["real_time"].get<double>(), session.runs[0].metrics[0].summary.median * 1e9);
  EXPECT_DOUBLE_EQ(entries[8]["real_time"].get<double>(), session.runs[0].metrics[0].summary.cv) << "a ratio";
}

TEST(GoogleBenchmark, names_outcomes_in_the_context_and_gives_failures_no_time) {
  const Json json = google_benchmark_json(small_session());
  const Json& outcomes = json["context"]["warpmark_outcomes"];
  ASSERT_EQ(outcomes.size(), 5U) << "wrong, unreliable, unsupported, skipped, error";
  EXPECT_EQ(outcomes[0]["outcome"], "failed");
  EXPECT_EQ(outcomes[1]["outcome"], "unreliable");
  EXPECT_EQ(outcomes[3]["outcome"], "skipped");
  EXPECT_EQ(outcomes[4]["reason"], "12 GiB are needed and 4 GiB are free");
  for (std::size_t i = 0; i < outcomes.size(); ++i) EXPECT_EQ(outcomes[i]["index"], 4 + i) << "after four that passed";
  for (const auto& entry : json["benchmarks"]) {
    EXPECT_NE(entry["run_name"], outcomes[0]["name"]);
    EXPECT_GT(entry["real_time"].get<double>(), 0);
  }
}

}  // namespace
}  // namespace warpmark::report
