// Logs of MLPerf's training: reading, rules, and convergence points against the examples of the rules themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "exchange/mllog/convergence.h"
#include "exchange/mllog/rules.h"

namespace warpmark::exchange {
namespace {

using testing::HasSubstr;

struct Line {
  const char* type;
  std::string key;
  std::string value;     ///< JSON
  std::string metadata;  ///< JSON members
};

/// A log of ResNet's, second by second, as the closed division wants it.
std::vector<Line> whole_log() {
  const char* point = "POINT_IN_TIME";
  const char* begin = "INTERVAL_START";
  const char* end = "INTERVAL_END";
  return {{point, "cache_clear", "true", ""},
          {begin, "init_start", "null", ""},
          {point, "submission_benchmark", "\"resnet\"", ""},
          {point, "submission_org", "\"somebody\"", ""},
          {point, "submission_division", "\"closed\"", ""},
          {point, "submission_platform", "\"1xH100\"", ""},
          {point, "seed", "7", ""},
          {point, "global_batch_size", "3264", ""},
          {point, "gradient_accumulation_steps", "1", ""},
          {point, "opt_name", "\"lars\"", ""},
          {point, "opt_base_learning_rate", "10.5", ""},
          {point, "train_samples", "1281167", ""},
          {point, "eval_samples", "50000", ""},
          {end, "init_stop", "null", ""},
          {begin, "run_start", "null", ""},
          {begin, "epoch_start", "null", "\"epoch_num\": 35"},
          {end, "epoch_stop", "null", "\"epoch_num\": 35"},
          {begin, "eval_start", "null", "\"epoch_num\": 35"},
          {point, "eval_accuracy", "0.7592", "\"epoch_num\": 35"},
          {end, "eval_stop", "null", "\"epoch_num\": 35"},
          {end, "run_stop", "null", "\"status\": \"success\""}};
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text = "some other line\n";
  int second = 0;
  for (const auto& line : lines) {
    text += fmt::format(
        "0: [rank 0] :::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", "
        "\"value\": {}, \"metadata\": {{\"file\": \"t.py\", \"lineno\": 3{}{}}}}}\n",
        1'700'000'000'000 + 1000 * second++, line.type, line.key, line.value, line.metadata.empty() ? "" : ", ",
        line.metadata);
  }
  return text;
}

MlLogTraining judged(const std::vector<Line>& lines) {
  const auto events = read_mllog("log.txt", text_of(lines));
  EXPECT_TRUE(events.ok()) << events.error().what;
  return events.ok() ? judge_mllog(*events) : MlLogTraining{};
}

std::string faults_of(const std::vector<Line>& lines) {
  std::string all;
  for (const auto& fault : judged(lines).faults) all += fmt::format("{}: {}\n", fault.line, fault.what);
  return all;
}

std::vector<Line> without(const std::string& key) {
  auto lines = whole_log();
  std::erase_if(lines, [&](const Line& line) { return line.key == key; });
  return lines;
}

std::vector<Line> with(const std::string& key, const std::string& value, const std::string& metadata = "") {
  auto lines = whole_log();
  for (auto& line : lines) {
    if (line.key != key) continue;
    line.value = value;
    line.metadata = metadata;
  }
  return lines;
}

TEST(Mllog, that_has_everything_has_no_fault) {
  const auto training = judged(whole_log());
  EXPECT_TRUE(training.faults.empty()) << faults_of(whole_log());
  EXPECT_EQ(training.benchmark, "resnet");
  EXPECT_EQ(training.division, "closed");
  EXPECT_EQ(training.batch, 3264);
  EXPECT_TRUE(training.converged);
  EXPECT_DOUBLE_EQ(*training.seconds, 6);
  EXPECT_DOUBLE_EQ(*training.quality, 0.7592);
  EXPECT_DOUBLE_EQ(*training.to_converge, 35);
}

TEST(Mllog, that_lacks_a_key_or_has_one_twice_says_which) {
  for (const char* key : {"submission_org", "cache_clear", "init_start", "init_stop", "run_start", "run_stop",
                          "eval_accuracy", "train_samples", "eval_samples", "gradient_accumulation_steps", "seed",
                          "global_batch_size", "epoch_start", "eval_stop"}) {
    EXPECT_THAT(faults_of(without(key)), HasSubstr(key)) << key;
  }
  auto twice = whole_log();
  twice.insert(twice.begin() + 5, twice[4]);
  EXPECT_EQ(faults_of(twice), "0: there are 2 of submission_division, not one\n");
}

TEST(Mllog, keeps_an_order_and_a_time) {
  auto swapped = whole_log();
  std::swap(swapped[13], swapped[14]);  // run_start before init_stop
  EXPECT_THAT(faults_of(swapped), HasSubstr("15: run_start comes before init_stop"));
  auto slow = read_mllog("log.txt", text_of(whole_log()));
  ASSERT_TRUE(slow.ok());
  for (std::size_t i = 13; i < slow->size(); ++i) (*slow)[i].time_ms += 31 * 60e3;
  const auto late = judge_mllog(*slow);
  ASSERT_EQ(late.faults.size(), 1U);
  EXPECT_THAT(late.faults.front().what, HasSubstr("30 are allowed"));
  (*slow)[18].time_ms -= 60e3;
  EXPECT_THAT(judge_mllog(*slow).faults.back().what, HasSubstr("earlier than the line before"));
}

TEST(Mllog, has_values_that_mean_something) {
  EXPECT_THAT(faults_of(with("submission_division", "\"semi\"")), HasSubstr("6: submission_division is 'semi'"));
  EXPECT_THAT(faults_of(with("submission_org", "\"\"")), HasSubstr("submission_org is empty"));
  EXPECT_THAT(faults_of(with("submission_benchmark", "\"tetris\"")), HasSubstr("no benchmark of the closed division"));
  EXPECT_THAT(faults_of(with("gradient_accumulation_steps", "0")), HasSubstr("not above 0"));
  EXPECT_THAT(faults_of(with("eval_accuracy", "0.75", "\"epoch_num\": 35")), HasSubstr("no eval_accuracy is at least"));
  EXPECT_THAT(faults_of(with("epoch_start", "null")), HasSubstr("neither epoch_num nor samples_count"));
  EXPECT_THAT(faults_of(with("run_stop", "null")), HasSubstr("no status"));
  const auto aborted = judged(with("run_stop", "null", "\"status\": \"aborted\""));
  EXPECT_TRUE(aborted.faults.empty());
  EXPECT_FALSE(aborted.converged);
}

/// As training_rules.adoc (v6.0, and its table of deprecated benchmarks) and the checker's closed_*.yaml have them.
TEST(Mllog, is_held_against_the_target_of_its_benchmark) {
  struct Target {
    const char* benchmark;
    const char* reached;
    const char* missed;
    int runs;
  };
  for (const Target& target : {Target{"llama31_405b", "5.6", "5.601", 3}, Target{"llama31_8b", "3.3", "3.301", 10},
                               Target{"llama2_70b_lora", "0.925", "0.9251", 10}, Target{"flux1", "0.586", "0.5861", 10},
                               Target{"rgat", "0.72", "0.7199", 10}, Target{"dlrm_dcnv2", "0.80275", "0.80274", 10},
                               Target{"retinanet", "0.34", "0.3399", 5}, Target{"resnet", "0.759", "0.7589", 5},
                               Target{"bert", "0.72", "0.7199", 10}, Target{"gpt3", "2.69", "2.691", 3},
                               Target{"unet3d", "0.908", "0.9079", 40}, Target{"rnnt", "0.058", "0.0581", 10},
                               Target{"gpt_oss_20b", "3.34", "3.341", 10}, Target{"deepseekv3_671b", "3.6", "3.601", 3},
                               Target{"gnn", "0.72", "0.7199", 10}}) {
    const auto faults = [&](const char* quality) {
      auto lines = with("eval_accuracy", quality, "\"epoch_num\": 35");
      for (auto& line : lines) {
        if (line.key == "submission_benchmark") line.value = fmt::format("\"{}\"", target.benchmark);
      }
      return faults_of(lines);
    };
    EXPECT_EQ(faults(target.reached), "") << target.benchmark;
    EXPECT_THAT(faults(target.missed), HasSubstr("run_stop says success, but no eval_accuracy is "))
        << target.benchmark;
    ASSERT_NE(mlperf_benchmark(target.benchmark), nullptr);
    EXPECT_EQ(mlperf_benchmark(target.benchmark)->runs, target.runs) << target.benchmark;
  }
}

TEST(Mllog, of_a_benchmark_with_two_targets_is_not_judged_by_one) {
  for (const char* benchmark : {"\"maskrcnn\"", "\"stable_diffusion\""}) {
    auto lines = with("eval_accuracy", R"({"BBOX": 0.38, "SEGM": 0.34})", "\"epoch_num\": 35");
    for (auto& line : lines) {
      if (line.key == "submission_benchmark") line.value = benchmark;
    }
    EXPECT_EQ(faults_of(lines), "") << benchmark;
  }
}

TEST(Mllog, tells_a_percentage_from_a_ratio_and_a_loss_of_nothing_from_a_good_one) {
  EXPECT_EQ(faults_of(with("eval_accuracy", "1.0", "\"epoch_num\": 35")), "");
  EXPECT_THAT(faults_of(with("eval_accuracy", "75.9", "\"epoch_num\": 35")),
              HasSubstr("at least 0.759 and at most 1; 75.9 is no ratio, perhaps a percentage"));
  auto lines = with("eval_accuracy", "0", "\"epoch_num\": 35");
  for (auto& line : lines) {
    if (line.key == "submission_benchmark") line.value = "\"gpt3\"";
  }
  EXPECT_THAT(faults_of(lines), HasSubstr("no eval_accuracy is above 0 and at most 2.69"));
}

TEST(Mllog, that_is_broken_names_the_line) {
  for (const char* line : {":::MLLOG {", ":::MLLOG 3", ":::MLLOG {\"key\": \"x\"}",
                           ":::MLLOG {\"time_ms\": \"x\", \"event_type\": \"POINT_IN_TIME\", \"key\": \"x\", "
                           "\"value\": 1, \"metadata\": {}}",
                           ":::MLLOG {\"time_ms\": 1, \"event_type\": \"NOW\", \"key\": \"x\", \"value\": 1, "
                           "\"metadata\": {}}"}) {
    const auto events = read_mllog("log.txt", std::string("\n") + line + "\n");
    ASSERT_FALSE(events.ok()) << line;
    EXPECT_EQ(events.error().kind, ErrorKind::data);
    EXPECT_THAT(events.error().what, HasSubstr("line 2")) << line;
  }
  EXPECT_FALSE(read_mllog("log.txt", "epoch 1\n").ok());
  EXPECT_FALSE(read_mllog("log.txt", "").ok());
  const auto latin = read_mllog("log.txt",
                                ":::MLLOG {\"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", \"key\": \"k\", "
                                "\"value\": \"M\xFCller\", \"metadata\": {}}\r\n");
  ASSERT_TRUE(latin.ok()) << latin.error().what;
  EXPECT_EQ(latin->front().value, "M\xC3\xBCller");
}

/// The two examples of the rules' appendix.
TEST(Convergence, has_the_least_means_of_the_rules) {
  const ConvergenceRules rules;
  const auto first = reference_point(1, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, rules);
  ASSERT_TRUE(first.ok());
  EXPECT_DOUBLE_EQ(first->mean, 15.75);
  EXPECT_NEAR(first->spread, 0.43, 0.005);
  EXPECT_NEAR(first->minimum, 15.21, 0.005);
  EXPECT_NEAR(100 * (first->mean / first->minimum - 1), 3.53, 0.005);
  const auto second = reference_point(1, {20, 21, 21, 20, 22, 22, 21, 21, 20, 20}, rules);
  ASSERT_TRUE(second.ok());
  EXPECT_DOUBLE_EQ(second->mean, 20.75);
  EXPECT_NEAR(second->spread, 0.66, 0.005);
  EXPECT_NEAR(second->minimum, 19.93, 0.005);
  EXPECT_NEAR(100 * (second->mean / second->minimum - 1), 4.12, 0.005);
  const auto all = reference_point(1, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, {.spread = Spread::of_all});
  EXPECT_NEAR(all->spread, 0.78, 0.005);
  EXPECT_FALSE(reference_point(1, {16, 16, 16}, rules).ok());
}

ReferencePoint point(double batch, double mean) {
  const auto made = reference_point(batch, {mean - 1, mean, mean, mean, mean, mean, mean, mean, mean, mean + 1}, {});
  EXPECT_TRUE(made.ok());
  return *made;
}

TEST(Convergence, accepts_what_the_reference_explains_and_scales_what_is_faster) {
  const auto reference = *reference_point(256, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, {});
  const auto as_slow = judge_convergence({reference}, 256, {16, 16, 16, 16, 16}, {});
  ASSERT_TRUE(as_slow.ok());
  EXPECT_TRUE(as_slow->accepted);
  EXPECT_EQ(as_slow->scale, 1);
  const auto faster = judge_convergence({reference}, 256, {15.4, 15.4, 15.4, 15.4, 15.4}, {});
  EXPECT_TRUE(faster->accepted);
  EXPECT_DOUBLE_EQ(faster->scale, 15.75 / 15.4);
  EXPECT_FALSE(judge_convergence({reference}, 256, {15, 15, 15, 15, 15}, {})->accepted);
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(judge_convergence({reference}, 256, {16, 16, 16, 16, never}, {})->accepted);
  EXPECT_FALSE(judge_convergence({reference}, 256, {16, 16, 16, never, never}, {})->accepted);
}

TEST(Convergence, finds_a_point_for_other_batches) {
  const std::vector<ReferencePoint> points{point(100, 10), point(200, 20)};
  const auto middle = judge_convergence(points, 150, {15, 15, 15, 15, 15}, {});
  ASSERT_TRUE(middle.ok());
  EXPECT_TRUE(middle->accepted);
  EXPECT_TRUE(middle->point.between);
  EXPECT_DOUBLE_EQ(middle->point.mean, 15);
  EXPECT_TRUE(judge_convergence(points, 50, {10, 10, 10, 10, 10}, {})->accepted);
  EXPECT_FALSE(judge_convergence(points, 50, {9, 9, 9, 9, 9}, {})->accepted);
  EXPECT_FALSE(judge_convergence(points, 300, {99, 99, 99, 99, 99}, {})->accepted) << "beyond the reference";
}

TEST(Convergence, leaves_out_points_that_are_slower_than_their_neighbours_say) {
  const std::vector<ReferencePoint> points{point(50, 30), point(100, 10), point(150, 19), point(200, 20)};
  const auto pruned = judge_convergence(points, 150, {16, 16, 16, 16, 16}, {});
  EXPECT_TRUE(pruned->accepted);
  EXPECT_DOUBLE_EQ(pruned->point.mean, 15);
  EXPECT_FALSE(judge_convergence(points, 150, {16, 16, 16, 16, 16}, {.prune = false})->accepted);
  EXPECT_TRUE(judge_convergence(points, 50, {12, 12, 12, 12, 12}, {})->accepted) << "the point of 50 is none any more";
  EXPECT_FALSE(judge_convergence(points, 50, {12, 12, 12, 12, 12}, {.prune = false})->accepted);
}

TEST(Convergence, reads_points_as_the_reference_has_them) {
  const Json file = {{"resnet_ref_256",
                      {{"Benchmark", "resnet"},
                       {"BS", 256},
                       {"Hyperparams", Json::object()},
                       {"Epochs to converge", {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}}}}};
  const auto points = read_references(file, "rcps.json", "resnet", {});
  ASSERT_TRUE(points.ok());
  EXPECT_DOUBLE_EQ(points->front().mean, 15.75);
  EXPECT_FALSE(read_references(file, "rcps.json", "bert", {}).ok());
  EXPECT_FALSE(read_references(Json::array(), "rcps.json", "bert", {}).ok());
  EXPECT_FALSE(read_references({{"x", 3}}, "rcps.json", "bert", {}).ok());
}

}  // namespace
}  // namespace warpmark::exchange
