// Logs of MLPerf training: reading, the rules of the rounds, and the result that several logs make.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/mllog/result.h"

namespace warpmark::exchange {
namespace {

using testing::HasSubstr;

struct Line {
  std::string key;
  std::string value;     ///< JSON
  std::string metadata;  ///< JSON members
};

/// What every log of a benchmark in the closed division has, in the order of real ones: the init before the submission.
std::vector<Line> common_lines(const std::string& benchmark, const std::string& at, const std::string& quality) {
  const std::string place = "\"" + at + "\": 35";
  return {{"cache_clear", "true", ""},
          {"init_start", "null", ""},
          {"submission_benchmark", "\"" + benchmark + "\"", ""},
          {"submission_org", "\"somebody\"", ""},
          {"submission_division", "\"closed\"", ""},
          {"submission_platform", "\"1xH100\"", ""},
          {"global_batch_size", "3264", ""},
          {"gradient_accumulation_steps", "1", ""},
          {"train_samples", "1281167", ""},
          {"eval_samples", "50000", ""},
          {"init_stop", "null", ""},
          {"run_start", "null", ""},
          {"block_start", "null", "\"samples_count\": 0"},
          {"block_stop", "null", "\"samples_count\": 35"},
          {"eval_start", "null", place},
          {"eval_accuracy", quality, place},
          {"eval_stop", "null", place},
          {"run_stop", "null", "\"status\": \"success\""}};
}

std::vector<Line> with(std::vector<Line> lines, const std::string& key, const std::string& value,
                       const std::string& metadata = "") {
  for (auto& line : lines) {
    if (line.key == key) {
      line.value = value;
      if (!metadata.empty()) line.metadata = metadata;
      return lines;
    }
  }
  lines.insert(lines.begin() + 6, {key, value, metadata});  // before init_stop
  return lines;
}

std::vector<Line> without(std::vector<Line> lines, const std::string& key) {
  std::erase_if(lines, [&](const Line& line) { return line.key == key; });
  return lines;
}

std::vector<Line> with_keys(std::vector<Line> lines, const std::vector<std::pair<std::string, std::string>>& keys) {
  for (const auto& [key, value] : keys) lines = with(std::move(lines), key, value);
  return lines;
}

std::vector<Line> bert_log() {
  return with_keys(common_lines("bert", "epoch_num", "0.7205"), {{"opt_base_learning_rate", "0.00035"},
                                                                 {"opt_lamb_epsilon", "1e-06"},
                                                                 {"opt_learning_rate_training_steps", "7100"},
                                                                 {"opt_learning_rate_warmup_steps", "0"},
                                                                 {"num_warmup_steps", "0"},
                                                                 {"start_warmup_step", "0"},
                                                                 {"opt_lamb_beta_1", "0.9"},
                                                                 {"opt_lamb_beta_2", "0.999"},
                                                                 {"opt_lamb_weight_decay_rate", "0.01"}});
}

/// Without opt_name, seed and epoch_num, which its rules do not ask for.
std::vector<Line> lora_log() {
  return with_keys(common_lines("llama2_70b_lora", "samples_count", "0.9245"),
                   {{"opt_base_learning_rate", "0.0004"},
                    {"opt_learning_rate_training_steps", "1024"},
                    {"opt_gradient_clip_norm", "0.3"},
                    {"opt_adamw_weight_decay", "0.0001"},
                    {"lora_alpha", "32"},
                    {"lora_rank", "16"}});
}

std::vector<Line> dlrm_log() {
  return with_keys(common_lines("dlrm_dcnv2", "epoch_num", "0.803"), {{"opt_name", "\"adagrad\""},
                                                                      {"opt_base_learning_rate", "0.004"},
                                                                      {"opt_adagrad_learning_rate_decay", "0"},
                                                                      {"opt_weight_decay", "0.0"},
                                                                      {"opt_adagrad_initial_accumulator_value", "0"},
                                                                      {"opt_adagrad_epsilon", "1e-08"},
                                                                      {"opt_learning_rate_warmup_steps", "0"},
                                                                      {"opt_learning_rate_decay_start_step", "0"},
                                                                      {"opt_learning_rate_decay_steps", "0"},
                                                                      {"eval_samples", "89137319"}});
}

/// Later lines first: the checks of steps need the batch and the warm-up before them.
std::vector<Line> llama_log(const std::string& benchmark, const std::string& quality, const std::string& decay_steps) {
  return with_keys(common_lines(benchmark, "samples_count", quality),
                   {{"opt_learning_rate_decay_steps", decay_steps},
                    {"opt_learning_rate_warmup_steps", "8000"},
                    {"max_sequence_length", "8192"},
                    {"opt_name", "\"adamw\""},
                    {"opt_end_learning_rate", "8e-07"},
                    {"opt_learning_rate_decay_schedule", "\"cosine with linear warmup\""},
                    {"opt_adamw_beta_1", "0.9"},
                    {"opt_adamw_beta_2", "0.95"},
                    {"opt_adamw_epsilon", "1e-05"},
                    {"opt_adamw_weight_decay", "0.1"},
                    {"opt_gradient_clip_norm", "1.0"}});
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text = "some other line\n";
  int second = 0;
  for (const auto& line : lines) {
    text += fmt::format(
        "0: [rank 0] :::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", \"key\": "
        "\"{}\", "
        "\"value\": {}, \"metadata\": {{\"file\": \"t.py\", \"lineno\": 3{}{}}}}}\n",
        1'700'000'000'000 + 1000 * second++, line.key, line.value, line.metadata.empty() ? "" : ", ", line.metadata);
  }
  return text;
}

std::vector<MlLogEvent> events_of(const std::vector<Line>& lines) {
  const auto events = read_mllog("log.txt", text_of(lines));
  EXPECT_TRUE(events.ok()) << events.error().what;
  return events.ok() ? *events : std::vector<MlLogEvent>{};
}

std::string faults_of(const std::vector<Line>& lines, const char* round) {
  std::string all;
  for (const auto& fault : judge_mllog(events_of(lines), round).faults) {
    all += fmt::format("{}: {}\n", fault.line, fault.what);
  }
  return all;
}

TEST(Mllog, that_follows_the_rules_has_no_fault) {
  EXPECT_EQ(faults_of(bert_log(), "5.0"), "");
  EXPECT_EQ(faults_of(lora_log(), "5.1"), "");
  EXPECT_EQ(faults_of(dlrm_log(), "5.1"), "");
  const auto training = judge_mllog(events_of(lora_log()), "5.1");
  EXPECT_EQ(training.benchmark, "llama2_70b_lora");
  EXPECT_EQ(training.division, "closed");
  EXPECT_EQ(training.batch, 3264);
  EXPECT_TRUE(training.converged);
  EXPECT_TRUE(training.in_samples);
  EXPECT_DOUBLE_EQ(*training.quality, 0.9245);
  EXPECT_DOUBLE_EQ(*training.to_converge, 35);
  EXPECT_DOUBLE_EQ(*training.seconds, 6);
}

TEST(Mllog, that_lacks_a_key_names_it) {
  for (const char* key : {"submission_org", "cache_clear", "init_start", "init_stop", "run_start", "run_stop",
                          "eval_accuracy", "train_samples", "eval_samples", "gradient_accumulation_steps",
                          "global_batch_size", "block_start", "opt_lamb_epsilon", "start_warmup_step"}) {
    EXPECT_THAT(faults_of(without(bert_log(), key), "4.1"), HasSubstr(key)) << key;
  }
  EXPECT_EQ(faults_of(without(bert_log(), "submission_org"), "5.0"), "") << "5.0 does not ask for it";
  EXPECT_THAT(faults_of(bert_log(), "4.0"), HasSubstr("there is no submission_status"));
}

TEST(Mllog, may_repeat_a_key_with_the_same_value_only) {
  auto twice = lora_log();
  twice.insert(twice.begin() + 6, {"lora_alpha", "32", ""});
  EXPECT_EQ(faults_of(twice, "5.1"), "");
  twice.insert(twice.begin() + 6, {"lora_alpha", "16", ""});
  EXPECT_THAT(faults_of(twice, "5.1"), HasSubstr("there are 3 of lora_alpha with different values"));
}

TEST(Mllog, keeps_the_order_of_init_and_run_and_the_time_between) {
  auto swapped = bert_log();
  std::swap(swapped[19], swapped[20]);  // run_start before init_stop
  EXPECT_THAT(faults_of(swapped, "5.0"), HasSubstr("run_start comes before init_stop"));
  auto late = events_of(bert_log());
  for (std::size_t i = 19; i < late.size(); ++i) late[i].time_ms += 31 * 60e3;
  EXPECT_THAT(judge_mllog(late, "5.0").faults.front().what, HasSubstr("30 are allowed"));
  auto back = events_of(bert_log());
  back[24].time_ms -= 3600e3;
  EXPECT_TRUE(judge_mllog(back, "5.0").faults.empty()) << "ranks write with clocks of their own";
  auto division_last = without(lora_log(), "submission_division");
  division_last.push_back({"submission_division", "\"closed\"", ""});
  EXPECT_THAT(faults_of(division_last, "5.1"), HasSubstr("sets its time limit"));
}

TEST(Mllog, has_values_that_the_benchmark_fixes) {
  EXPECT_THAT(faults_of(with(lora_log(), "lora_rank", "8"), "5.1"), HasSubstr("lora_rank is 8"));
  EXPECT_EQ(faults_of(with(lora_log(), "gradient_accumulation_steps", "0"), "5.1"), "") << "replaced by its own rule";
  EXPECT_THAT(faults_of(with(bert_log(), "gradient_accumulation_steps", "0"), "5.0"), HasSubstr("(0)"));
  EXPECT_THAT(faults_of(with(dlrm_log(), "eval_samples", "3"), "5.0"), HasSubstr("89137319"));
  EXPECT_THAT(faults_of(with(dlrm_log(), "opt_name", "0"), "5.0"), HasSubstr("opt_name is 0"))
      << "a number is none of the names";
  EXPECT_THAT(faults_of(with(bert_log(), "submission_division", "\"semi\""), "5.0"), HasSubstr("closed|open"));
  EXPECT_THAT(faults_of(with(bert_log(), "submission_platform", "\"\""), "4.1"), HasSubstr("submission_platform"));
  EXPECT_THAT(faults_of(with(bert_log(), "eval_accuracy", "0.73", "\"samples_count\": 3"), "5.0"),
              HasSubstr("no epoch_num"));
  EXPECT_THAT(faults_of(with(bert_log(), "run_stop", "null", "\"x\": 1"), "5.0"), HasSubstr("no status"));
  EXPECT_THAT(faults_of(bert_log(), "5.1"), HasSubstr("'bert' is not a benchmark of the closed division in round 5.1"));
}

TEST(Mllog, has_steps_that_follow_from_its_batch) {
  const auto small = llama_log("llama31_8b", "3.29", "1192000");
  auto lines =
      with_keys(small, {{"opt_base_learning_rate", "0.001"}, {"max_steps", "1200000"}, {"eval_samples", "1024"}});
  EXPECT_EQ(faults_of(lines, "5.1"), "");
  EXPECT_THAT(faults_of(with(lines, "opt_learning_rate_decay_steps", "1200000"), "5.1"), HasSubstr("decay_steps is"));
  // batch 2304: ceil(1200000 / 2) - ceil(8000 / 2)
  auto large =
      with_keys(llama_log("llama31_405b", "5.59", "596000"),
                {{"opt_base_learning_rate", "16e-5"}, {"eval_samples", "5760"}, {"init_checkpoint_step", "0"}});
  large = without(std::move(large), "global_batch_size");
  large.insert(large.begin() + 2, {"global_batch_size", "2304", ""});
  EXPECT_EQ(faults_of(large, "5.1"), "");
  EXPECT_EQ(faults_of(with(large, "opt_learning_rate_decay_steps", "5"), "5.0"), "") << "5.0 does not fix them";
  EXPECT_NE(faults_of(with(large, "opt_learning_rate_decay_steps", "5"), "5.1"), "");
  EXPECT_NE(faults_of(with(large, "opt_base_learning_rate", "8e-5"), "5.0"), "");
}

TEST(Mllog, must_reach_its_quality_and_not_more_than_there_is) {
  for (const char* quality : {"0.7199", "1.0", "75.9"}) {
    EXPECT_THAT(faults_of(with(bert_log(), "eval_accuracy", quality), "5.0"),
                HasSubstr("no eval_accuracy is at least 0.72 and below 1"));
  }
  EXPECT_EQ(faults_of(with(bert_log(), "eval_accuracy", "0.72"), "5.0"), "");
  EXPECT_EQ(faults_of(with(dlrm_log(), "eval_accuracy", "1.0"), "5.1"), "");
  EXPECT_NE(faults_of(with(dlrm_log(), "eval_accuracy", "1.1"), "5.1"), "");
  EXPECT_NE(faults_of(with(lora_log(), "eval_accuracy", "0.9251"), "5.1"), "");
  EXPECT_NE(faults_of(with(lora_log(), "eval_accuracy", "0"), "5.1"), "");
  EXPECT_THAT(faults_of(with(lora_log(), "eval_accuracy", "\"good\""), "5.1"), HasSubstr("not a number"));
}

TEST(Mllog, of_stable_diffusion_needs_fid_and_clip_of_one_evaluation) {
  auto lines = with_keys(without(common_lines("stable_diffusion", "samples_count", "0"), "eval_accuracy"),
                         {{"opt_name", "\"adamw\""},
                          {"opt_adamw_beta_1", "0.9"},
                          {"opt_adamw_beta_2", "0.999"},
                          {"opt_adamw_epsilon", "1e-08"},
                          {"opt_adamw_weight_decay", "0.01"},
                          {"opt_base_learning_rate", "1e-4"},
                          {"opt_learning_rate_warmup_steps", "1000"}});
  const auto evaluated = [&](int samples, const char* fid, const char* clip) {
    const std::string place = fmt::format("\"samples_count\": {}", samples);
    lines.insert(lines.end() - 1, {"eval_accuracy", fid, place + ", \"metric\": \"FID\""});
    lines.insert(lines.end() - 1, {"eval_accuracy", clip, place + ", \"metric\": \"CLIP\""});
  };
  evaluated(100, "120", "0.16");
  EXPECT_THAT(faults_of(lines, "5.0"), HasSubstr("fewer than 2"));
  evaluated(200, "80", "0.14");
  EXPECT_THAT(faults_of(lines, "5.0"), HasSubstr("no evaluation has FID"));
  evaluated(300, "89", "0.15");
  EXPECT_EQ(faults_of(lines, "5.0"), "");
  EXPECT_DOUBLE_EQ(*judge_mllog(events_of(lines), "5.0").to_converge, 300);
}

TEST(Mllog, that_is_broken_names_the_line) {
  for (const char* line : {":::MLLOG {", ":::MLLOG 3", ":::MLLOG {\"key\": \"x\"}",
                           ":::MLLOG {\"time_ms\": \"x\", \"key\": \"x\", \"value\": 1, \"metadata\": {}}"}) {
    const auto events = read_mllog("log.txt", std::string("\n") + line + "\n");
    ASSERT_FALSE(events.ok()) << line;
    EXPECT_EQ(events.error().kind, ErrorKind::data);
    EXPECT_THAT(events.error().what, HasSubstr("line 2")) << line;
  }
  EXPECT_FALSE(read_mllog("log.txt", "epoch 1\n").ok());
  EXPECT_FALSE(read_mllog("log.txt", "").ok());
  const auto latin = read_mllog(
      "log.txt", ":::MLLOG {\"time_ms\": \"1\", \"key\": \"k\", \"value\": \"M\xFCller\", \"metadata\": null}\r\n");
  ASSERT_TRUE(latin.ok()) << latin.error().what;
  EXPECT_EQ(latin->front().value, "M\xC3\xBCller");
}

std::vector<MlLog> logs_of(const std::vector<std::vector<Line>>& all) {
  std::vector<MlLog> logs;
  for (const auto& lines : all) logs.push_back({fmt::format("result_{}.txt", logs.size()), events_of(lines)});
  return logs;
}

TEST(MllogResult, is_held_to_the_newest_round_that_its_logs_follow) {
  EXPECT_EQ(judge_result(logs_of({bert_log()}), "", {})->round, "5.0");
  EXPECT_EQ(judge_result(logs_of({dlrm_log()}), "", {})->round, "6.0");
  EXPECT_EQ(judge_result(logs_of({without(dlrm_log(), "submission_org")}), "", {})->round, "5.0");
  const auto ours = judge_result(
      logs_of({with(with(bert_log(), "submission_division", "\"open\""), "submission_benchmark", "\"vit\"")}), "", {});
  EXPECT_TRUE(ours->ok());
  EXPECT_EQ(ours->round, "") << "a benchmark of nobody: the common rules alone";
  EXPECT_EQ(judge_result(logs_of({bert_log()}), "5.0.0", {})->round, "5.0");
  EXPECT_FALSE(judge_result(logs_of({bert_log()}), "9.9", {}).ok());
}

TEST(MllogResult, may_have_one_log_that_breaks_the_rules) {
  std::vector<std::vector<Line>> runs(10, lora_log());
  runs[3] = with(lora_log(), "eval_accuracy", "0.95");
  const auto one = judge_result(logs_of(runs), "5.1", {});
  EXPECT_TRUE(one->ok());
  EXPECT_EQ(one->rejected, 1);
  EXPECT_DOUBLE_EQ(*one->score_s, 6);
  runs[4] = runs[3];
  EXPECT_THAT(judge_result(logs_of(runs), "5.1", {})->faults.front(), HasSubstr("2 of 10 logs break the rules, 1 may"));
  EXPECT_FALSE(judge_result(logs_of({lora_log(), lora_log()}), "5.1", {})->ok()) << "not a result";
  EXPECT_TRUE(judge_result(logs_of({lora_log()}), "5.1", {})->ok()) << "one log is only checked";
  EXPECT_FALSE(judge_result(logs_of({runs[3]}), "5.1", {})->ok());
  runs[4] = lora_log();
  auto unreadable = logs_of(runs);
  unreadable[3] = {.file = "result_3.txt", .unreadable = "result_3.txt line 2: no JSON object follows :::MLLOG"};
  EXPECT_DOUBLE_EQ(*judge_result(unreadable, "5.1", {})->score_s, 6);
}

TEST(MllogPublished, are_the_newest_round_of_the_benchmark) {
  const auto bert = published_results("bert");
  ASSERT_FALSE(bert.empty());
  for (const auto& one : bert) {
    EXPECT_EQ(one.round, "5.0");
    EXPECT_GT(one.minutes, 0);
    EXPECT_GT(one.accelerators, 0);
    EXPECT_FALSE(one.submitter.empty());
  }
  EXPECT_EQ(published_results("llama31_8b").front().round, "5.1");
  EXPECT_TRUE(published_results("vit").empty());
}

}  // namespace
}  // namespace warpmark::exchange
