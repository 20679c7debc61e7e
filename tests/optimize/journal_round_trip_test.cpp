// What a run said is the same when the journal says it again: every number of every kind of record.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "optimize/apply/program_runs.h"

namespace warpmark::optimize {
namespace {

namespace fs = std::filesystem;

class RoundTrip : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warpmark trip XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    // Lines as the hook writes them, with numbers that no default has.
    fs::copy_file(fs::path(WARPMARK_SOURCE_DIR) / "tests/data/hook_report.jsonl", folder_ / "report.txt");
    // In output and answers bytes that are no UTF-8 as well.
    ASSERT_TRUE(write_file(folder_ / "program.sh",
                           "cp report.txt \"$WARPMARK_HOOK_REPORT/41-0.jsonl\"\n"
                           "printf 'top1: 0.761\\377\\n'\nprintf 'answer \\303\\244 1.25\\n' > answers.txt\n"
                           "printf x >> started; sleep 0.1\n")
                    .ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  ProgramRun run(const std::string& seed = "") {
    auto journal = TrialJournal::open((folder_ / "journal.jsonl").string(), "request" + seed, false);
    EXPECT_TRUE(journal.ok()) << journal.error().what;
    measure::GpuProbe gpus{.list = [] { return std::vector<std::string>(); }, .activity = {}, .energy_j = {}};
    ProgramRuns runs(
        {.words = {"sh", "program.sh"}, .directory = folder_.string(), .environment = {}, .user_knobs = {}},
        {.hook = folder_ / "hook", .scratch = folder_ / "scratch", .original = {}}, *journal, nullptr, 0, gpus);
    RunOptions options{.time_of = TimeOf::sample};
    options.post_commands = PostCommands{.commands = {{"sh", "-c", "echo judged; exit 3"}}, .file = "answers.txt"};
    const auto result = runs.run({}, options);
    EXPECT_TRUE(result.ok()) << result.error().what;
    spent_s_ = runs.spent_s();
    return result.ok() ? *result : ProgramRun{};
  }
  fs::path folder_;
  double spent_s_ = 0;
};

void expect_same_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << a[i] << " " << b[i];
  }
}

TEST_F(RoundTrip, the_report_keeps_every_number) {
  const auto report = run().report;
  EXPECT_EQ(report.python, "3.11.2");
  EXPECT_EQ(report.threads, 7);
  EXPECT_EQ(report.cpus, 13);
  EXPECT_EQ(report.gpu_node, 1);
  EXPECT_EQ(report.gpus.at(0).memory_bytes, 85899345920);
  EXPECT_EQ(report.gpus.at(0).major, 9);
  EXPECT_EQ(report.loaders.at(0).workers, 3);
  EXPECT_EQ(report.loaders.at(0).prefetch, 5);
  EXPECT_EQ(report.loaders.at(0).batch, 16);
  EXPECT_EQ(report.optimizers.at(0).parameters, 123456789012);
  EXPECT_EQ(report.modules.at(0).parameters, 987654321);
  EXPECT_EQ(report.modules.at(0).attentions, 5);
  ASSERT_EQ(report.steps.size(), 2U);
  EXPECT_EQ(report.steps[1].end_s, 0.2234568);
  EXPECT_EQ(report.steps[1].wait_s, 0.0012346);
  EXPECT_EQ(report.steps[1].forward_s, 0.0111112);
  EXPECT_EQ(report.steps[1].backward_s, 0.0222223);
  EXPECT_EQ(report.steps[1].optimizer_s, 0.0033334);
  EXPECT_EQ(report.steps[1].samples, 16);
  EXPECT_EQ(report.steps[1].backwards, 2);
  expect_same_numbers(report.losses, {2.302585092994046, std::nan(""), 1.1e-7});
  ASSERT_EQ(report.outputs.size(), 2U);
  expect_same_numbers(report.outputs[0], {0.25, -1.5e-9, std::nan("")});
  ASSERT_TRUE(report.window);
  EXPECT_EQ(report.window->seconds, 0.00123456789);
  EXPECT_EQ(report.window->before_s, 1.75);
  EXPECT_EQ(report.window->began_s, 12345.678);
  EXPECT_EQ(report.allocated_bytes, 4096000001);
  EXPECT_EQ(report.reserved_bytes, 5368709121);
  EXPECT_EQ(report.emptied, 4);
  EXPECT_TRUE(report.benchmarks);
  EXPECT_EQ(report.debugging, std::vector<std::string>{"debug.launch_blocking"});
  EXPECT_EQ(report.knobs.at(0).places, 9);
  EXPECT_EQ(report.reads.at(0).count, 17);
  EXPECT_EQ(report.reads.at(0).seconds, 0.0625);
  EXPECT_EQ(report.acts.at(0).knob, "attention.sdpa");
  EXPECT_EQ(report.acts.at(0).places, 12);
}

TEST_F(RoundTrip, a_run_from_the_journal_is_the_run) {
  const auto first = run();
  const double first_s = spent_s_;
  const auto again = run();
  EXPECT_EQ(*read_file(folder_ / "started"), "x") << "the journal answers, and nothing runs";
  EXPECT_EQ(again.failure, "");
  EXPECT_EQ(first.failure, "");
  EXPECT_EQ(again.time_s, first.time_s);
  EXPECT_EQ(again.time_s, 0.00123456789 / 32);
  EXPECT_EQ(again.wall_s, first.wall_s);
  EXPECT_GT(again.wall_s, 0.1);
  EXPECT_EQ(spent_s_, first_s);
  ASSERT_TRUE(again.memory_bytes);
  EXPECT_EQ(*again.memory_bytes, 5368709121.0);
  EXPECT_EQ(again.said.find("top1: 0.761"), 0U) << again.said;
  EXPECT_NE(again.said.find("judged"), std::string::npos);
  EXPECT_EQ(again.exit_codes, std::vector<int>{3});
  EXPECT_EQ(again.file, "answer \303\244 1.25\n");
  EXPECT_EQ(again.heard, true);
  expect_same_numbers(again.report.losses, first.report.losses);
  ASSERT_EQ(again.run.metrics.size(), 1U);
  expect_same_numbers(again.run.metrics[0].samples, first.run.metrics[0].samples);
  ASSERT_EQ(again.run.environment.readings.size(), first.run.environment.readings.size());
  ASSERT_FALSE(first.run.environment.readings.empty());
  for (std::size_t i = 0; i < first.run.environment.readings.size(); ++i) {
    EXPECT_EQ(again.run.environment.readings[i].id, first.run.environment.readings[i].id);
    EXPECT_EQ(again.run.environment.readings[i].after, first.run.environment.readings[i].after);
  }
}

TEST_F(RoundTrip, figures_of_gpus_come_back_from_the_journal) {
  (void)run("g");  // writes the question
  const auto path = folder_ / "journal.jsonl";
  const auto text = *read_file(path);
  const auto line = text.find('\n') + 1;
  auto record = *parse_json(std::string_view(text).substr(line), "journal");
  record["answer"]["gpus"] = {{"utilization", 0.625}, {"joules_per_step", 7.75}};
  ASSERT_TRUE(write_file(path, text.substr(0, line) + dump_json(record, -1) + "\n").ok());
  const auto again = run("g");
  EXPECT_EQ(again.gpu_utilization, 0.625);
  EXPECT_EQ(again.joules_per_step, 7.75);
}

}  // namespace
}  // namespace warpmark::optimize
