#include <fmt/format.h>

#include "apps/cli_fixture.h"
#include "support/python_with_torch.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

/// A log of so many minutes that took so many epochs.
std::string log_of(int minutes, int epochs, const std::string& status = "success") {
  std::string text;
  std::int64_t now = 1'700'000'000'000;
  const auto line = [&](const char* type, const char* key, const std::string& value, const std::string& more = "") {
    text += fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", \"value\": {}, "
        "\"metadata\": {{\"file\": \"t.py\", \"lineno\": 3{}}}}}\n",
        now, type, key, value, more);
  };
  line("POINT_IN_TIME", "cache_clear", "true");
  line("INTERVAL_START", "init_start", "null");
  for (const auto& [key, value] :
       {std::pair("submission_status", "\"onprem\""), std::pair("submission_benchmark", "\"ssd\""),
        std::pair("submission_org", "\"us\""), std::pair("submission_division", "\"closed\""),
        std::pair("submission_platform", "\"H100\""), std::pair("seed", "1"), std::pair("global_batch_size", "256"),
        std::pair("gradient_accumulation_steps", "1"), std::pair("opt_name", "\"adam\""),
        std::pair("opt_base_learning_rate", "1.0"), std::pair("opt_weight_decay", "0"),
        std::pair("opt_learning_rate_warmup_epochs", "1"), std::pair("opt_learning_rate_warmup_factor", "0.1"),
        std::pair("train_samples", "1281167"), std::pair("eval_samples", "50000")}) {
    line("POINT_IN_TIME", key, value);
  }
  line("INTERVAL_END", "init_stop", "null");
  line("INTERVAL_START", "run_start", "null");
  const std::string epoch = fmt::format(", \"epoch_num\": {}", epochs);
  line("INTERVAL_START", "epoch_start", "null", epoch);
  now += minutes * 60'000;
  line("INTERVAL_END", "epoch_stop", "null", epoch);
  line("INTERVAL_START", "eval_start", "null", epoch);
  line("POINT_IN_TIME", "eval_accuracy", status == "success" ? "0.35" : "0.3", epoch);
  line("INTERVAL_END", "eval_stop", "null", epoch);
  line("INTERVAL_END", "run_stop", "null", ", \"status\": \"" + status + "\"");
  return text;
}

TEST_F(Cli, mllog_scores_a_result_without_its_extremes) {
  std::vector<std::string> words{"mllog"};
  const int minutes[] = {10, 11, 12, 30, 1};
  for (int i = 0; i < 5; ++i) {
    write(fmt::format("result_{}.txt", i), log_of(minutes[i], 16, i == 3 ? "aborted" : "success"));
    words.push_back(path(fmt::format("result_{}.txt", i)));
  }
  write("rcps.json", R"({"ssd_ref_256": {"Benchmark": "ssd", "BS": 256, "Hyperparams": {},
        "Epochs to converge": [16, 14, 16, 17, 16, 16, 15, 16, 15, 16]}})");
  words.insert(words.end(), {"--rcp", path("rcps.json"), "--json", path("score.json")});
  const auto scored = warpmark(words);
  EXPECT_EQ(scored.exit_code, 0) << scored.out << scored.err;
  EXPECT_NE(scored.out.find("Score: 11.000 minutes"), std::string::npos) << scored.out;
  const Json result = json("score.json");
  EXPECT_EQ(testing_support::schema_errors(result, "mllog.schema.json"), "");
  EXPECT_DOUBLE_EQ(result["score_s"].get<double>(), 660);
  EXPECT_TRUE(result["convergence"]["accepted"].get<bool>());
  EXPECT_EQ(result["ruleset"], "4.1");
  EXPECT_NEAR(result["convergence"]["least"].get<double>(), 14.78, 0.005);

  write("result_0.txt", log_of(10, 16, "aborted"));
  const auto two = warpmark(words);
  EXPECT_EQ(two.exit_code, 1);
  EXPECT_NE(two.out.find("2 of 5 logs break the rules, 1 may"), std::string::npos) << two.out;
  for (int i = 0; i < 5; ++i) write(fmt::format("result_{}.txt", i), log_of(5, 12));
  const auto fast = warpmark(words);
  EXPECT_EQ(fast.exit_code, 1);
  EXPECT_NE(fast.out.find("faster than the reference can explain"), std::string::npos) << fast.out;
}

TEST_F(Cli, mllog_names_what_is_wrong) {
  write("one.txt", log_of(3, 2));
  const auto alone = warpmark({"mllog", path("one.txt")});
  EXPECT_EQ(alone.exit_code, 0) << alone.out;
  EXPECT_NE(alone.out.find("No score: a result has 5 runs"), std::string::npos) << alone.out;
  const auto few = warpmark({"mllog", path("one.txt"), path("one.txt")});
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_NE(few.out.find("a result has 5 runs, these are 2"), std::string::npos) << few.out;
  EXPECT_EQ(warpmark({"mllog", path("one.txt"), "--runs", "1"}).exit_code, 0);
  write("one.txt", log_of(3, 2, "aborted"));
  const auto aborted = warpmark({"mllog", path("one.txt"), "--runs", "1"});
  EXPECT_EQ(aborted.exit_code, 1);
  EXPECT_NE(aborted.out.find("no eval_accuracy is at least 0.34"), std::string::npos) << aborted.out;
  EXPECT_EQ(warpmark({"mllog", path("one.txt"), "--ruleset", "5.2"}).exit_code, 2);
  EXPECT_EQ(warpmark({"mllog", path("one.txt"), "--runs", "0"}).exit_code, 2);
  EXPECT_EQ(warpmark({"mllog"}).exit_code, 2);
  write("none.txt", "epoch 1\n");
  const auto none = warpmark({"mllog", path("none.txt")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("no line with :::MLLOG"), std::string::npos) << none.err;
  EXPECT_EQ(warpmark({"mllog", path("missing.txt")}).exit_code, 2);
}

/// What `run --set log=` writes keeps the rules itself, one log per round.
TEST_F(Cli, mllog_accepts_each_log_of_ours) {
  WM_NEEDS_TORCH();
  setenv("OMP_NUM_THREADS", "1", 1);  // threads that spin for one another are slow on a busy machine
  const auto ran =
      warpmark({"run", "vit", "--device", "cpu", "--set", "preset=tiny", "--until", "accuracy>=0.3", "--set",
                "batch=16", "--set", "log=" + path("log.txt"), "--set",
                "python=" + testing_support::python_with_torch(), "--rounds", "2", "--no-ceilings", "--no-store"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* log : {"log_0.txt", "log_1.txt"}) {
    const auto checked = warpmark({"mllog", path(log), "--json", path("checked.json")});
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
    EXPECT_TRUE(json("checked.json")["logs"][0]["converged"].get<bool>());
  }
}

}  // namespace
}  // namespace warpmark::apps
