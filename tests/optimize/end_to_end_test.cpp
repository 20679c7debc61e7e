// `warpmark optimize` on real programs. Gains are made by sleeping less, so that they hold on any machine under any
// load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "optimize/optimize_fixture.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

TEST_F(Optimize, proves_a_gain_of_a_training_and_applies_its_plan) {
  WM_NEEDS_TORCH();
  // Waiting for data takes many times as long as computing, so that workers help on any machine.
  const auto program = training({"--samples", "64", "--delay-ms", "16"});
  const auto output = optimize({"--asked-only", "--try", "loader.workers=4", "--out", path("gains")}, program);
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto optimization = json("gains/optimization.json");
  ASSERT_TRUE(optimization.contains("plan")) << output.err;
  EXPECT_TRUE(optimization["plan"].contains("loader.workers")) << output.err;
  EXPECT_GT(optimization["measured_speedup"]["ratio"].get<double>(), 1.1);
  EXPECT_EQ(optimization["times_of"], "sample");
  EXPECT_THAT(optimization["advice"][0]["where"].get<std::string>(), HasSubstr("train.py:"));
  EXPECT_EQ(testing_support::schema_errors(optimization, "optimization.schema.json"), "");
  for (const char* file : {"plan.yaml", "job.yaml", "vertex.yaml", "report.md", "report.html", "waterfall.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "gains" / file)) << file;
  }
  const auto plain = run_process(program, {.deadline_s = 200});
  const auto applied = warpmark(with({"optimize", "--apply", path("gains/plan.yaml"), "--"}, program));
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_EQ(applied.out, plain->out);
  const auto proven = optimize({"--prove", path("gains/plan.yaml"), "--json", path("proven.json")}, program);
  EXPECT_EQ(proven.exit_code, 0) << proven.out << proven.err;
  EXPECT_TRUE(json("proven.json")["plan"].contains("loader.workers")) << proven.err;
  EXPECT_GT(json("proven.json")["measured_speedup"]["ratio"].get<double>(), 1.1);
}

TEST_F(Optimize, a_program_that_ends_while_settings_are_tested_is_started_again_and_no_setting_failed) {
  WM_NEEDS_TORCH();
  write("short.py",
        "import time, torch\n"
        "model = torch.nn.Linear(8, 8)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "for step in range(200):\n"
        "    optimizer.zero_grad()\n"
        "    model(torch.randn(4, 8)).sum().backward()\n"
        "    time.sleep(0.02)\n"
        "    optimizer.step()\n"
        "raise TypeError('no plot')\n");
  const auto output = optimize({"--only", "process.threads,optimizer.set_to_none,optimizer.implementation", "--budget",
                                "40s", "--json", path("o.json")},
                               {python_with_torch(), path("short.py")});
  EXPECT_THAT(output.err, testing::Not(HasSubstr("no plot"))) << "which the program says without any setting, too";
  const Json optimization = json("o.json");
  for (const auto& step : optimization["steps"]) EXPECT_NE(step["outcome"], "failed") << step.dump();
}

TEST_F(Optimize, tells_what_could_be_changed_and_why_not_the_rest) {
  WM_NEEDS_TORCH();
  const auto output =
      optimize({"--list-knobs", "--json", path("knobs.json")}, training({"--samples", "64", "--delay-ms", "40"}));
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Worth trying here"));
  EXPECT_THAT(output.out, HasSubstr("the loader has no workers"));
  const Json found = json("knobs.json");
  EXPECT_EQ(found["schema"], "warpmark.knobs/1");
  const auto& knobs = found["knobs"];
  const auto knob = [&](const char* id) {
    const auto one = std::find_if(knobs.begin(), knobs.end(), [&](const Json& each) { return each["id"] == id; });
    return one == knobs.end() ? Json() : *one;
  };
  const Json workers = knob("loader.workers"), persistent = knob("loader.persistent_workers");
  ASSERT_FALSE(workers["values"].empty());
  // Waiting is most of a step, and the first look says so.
  EXPECT_GT(workers["values"][0]["high"].get<double>(), 1.1);
  EXPECT_TRUE(persistent["values"].empty());
  EXPECT_EQ(persistent["why_not"], "the loader has no workers");
}

TEST_F(Optimize, runs_that_start_at_once_prove_the_same) {
  WM_NEEDS_TORCH();
  const auto program = training({"--samples", "64", "--delay-ms", "40"});
  const auto output =
      optimize({"--asked-only", "--start-ahead", "6", "--try", "loader.workers=4", "--json", path("optimization.json")},
               program);
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto optimization = json("optimization.json");
  EXPECT_TRUE(optimization["plan"].contains("loader.workers")) << output.err;
  EXPECT_GT(optimization["measured_speedup"]["ratio"].get<double>(), 1.1);
  const auto copied = optimize({"--start-ahead", "2", "--copy"}, program);
  EXPECT_EQ(copied.exit_code, 2) << copied.err;
}

TEST_F(Optimize, tests_within_one_process_what_can_be_switched) {
  WM_NEEDS_TORCH();
  write("sleeps.py",
        "import time, torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.end = nn.Linear(8, 2)\n"
        "    def forward(self, x):\n"
        // A thread more is a sleep more: many times what the noise of any machine is.
        "        time.sleep(0.02 * (1 + torch.get_num_threads()))\n"
        "        return self.end(x)\n"
        "model = Net()\n"
        "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nx = torch.randn(4, 8)\n"
        "for step in range(100000):\n"
        "    optimizer.zero_grad()\n"
        "    model(x).square().mean().backward()\n"
        "    optimizer.step()\n");
  const auto output =
      run_process({kExecutable, "optimize", "--only", "process.threads", "--effect", "20%", "--no-store", "--json",
                   path("optimization.json"), "--", python_with_torch(), path("sleeps.py")},
                  {.deadline_s = 400, .directory = folder_.string(), .environment = {{"OMP_NUM_THREADS", "1"}}});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << output->err;
  const auto optimization = json("optimization.json");
  EXPECT_EQ(testing_support::schema_errors(optimization, "optimization.schema.json"), "");
  if (optimization["steps"].empty()) GTEST_SKIP() << "one processor: no other number of threads is offered";
  const auto& step = optimization["steps"][0];
  EXPECT_EQ(step["outcome"], "slower") << output->err;
  EXPECT_EQ(step["cost"]["runs"], 0) << "no process of its own";
  EXPECT_EQ(optimization["cost"]["runs"], 1) << "one process did all";
  EXPECT_LT(step["in_process"]["high"].get<double>(), 1.2);
}

/// A slow loader, and a debugging aid that was left on.
constexpr const char* kTwoFlaws = R"(
import sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.full((16,), i % 7 / 7.0), i % 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 32), nn.Linear(32, 3)
    def forward(self, x):
        # Of anomaly detection the time is slept, so that it is the same on any machine.
        time.sleep(0.04 if torch.is_anomaly_enabled() else 0.005)
        return self.last(torch.relu(self.first(x)))
torch.manual_seed(0)
torch.autograd.set_detect_anomaly(True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Slow(), batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
)";

TEST_F(Optimize, finds_two_flaws_at_once_and_proves_their_fix_within_the_default_budget) {
  WM_NEEDS_TORCH();
  write("flaws.py", kTwoFlaws);
  const auto output = run_process({kExecutable, "optimize", "--no-store", "--effect", "5%", "--json",
                                   path("optimization.json"), "--", python_with_torch(), path("flaws.py")},
                                  {.deadline_s = 500, .directory = folder_.string()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 0) << output->err;
  const auto optimization = json("optimization.json");
  EXPECT_EQ(testing_support::schema_errors(optimization, "optimization.schema.json"), "");
  EXPECT_TRUE(optimization["plan"].contains("loader.workers")) << output->err;
  EXPECT_EQ(optimization["plan"]["debug.anomaly_detection"], "off") << output->err;
  EXPECT_GT(optimization["measured_speedup"]["ratio"].get<double>(), 2)
      << output->err;  // by hand 120 ms become 20 to 30
  EXPECT_THAT(output->err, HasSubstr("after "));
}

TEST_F(Optimize, a_command_that_sets_the_python_path_keeps_the_hook) {
  WM_NEEDS_TORCH();
  auto program = training({"--samples", "64", "--delay-ms", "10"});
  program.insert(program.begin(), {"env", "-i", "PYTHONPATH=/nowhere", "PATH=/usr/bin:/bin"});
  const auto output = optimize({"--list-knobs"}, program);
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("loader.workers"));
}

TEST_F(Optimize, says_within_seconds_why_the_hook_is_not_loaded) {
  write("sleeps.py", "import time\ntime.sleep(30)\n");
  const auto begin = std::chrono::steady_clock::now();
  const auto output =
      run_process({kExecutable, "optimize", "--budget", "15s", "--no-store", "--", "python3", "-I", path("sleeps.py")},
                  {.deadline_s = 100, .directory = folder_.string()});
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(output->err + output->out, HasSubstr("python -I ignores PYTHONPATH"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(Optimize, a_program_that_failed_is_started_again_by_the_same_command) {
  write("needs.sh", "[ -e installed ] || { echo no module named x >&2; exit 1; }\nsleep $2\n");
  const std::vector<std::string> program{"sh", "needs.sh", "--sleep", "0.5"};
  const auto failed = optimize({"--knob", "sleep=--sleep {0.05}"}, program);
  EXPECT_EQ(failed.exit_code, 2) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("no module named x"));
  write("installed", "");
  const auto works = optimize({"--knob", "sleep=--sleep {0.05}"}, program);
  EXPECT_EQ(works.exit_code, 0) << works.err;
}

TEST_F(Optimize, refuses_wrong_fixes_of_a_training) {
  WM_NEEDS_TORCH();
  for (const char* wrong : {"drop=--drop-one {1}", "reuse=--reuse {1}", "half=--half {1} precision"}) {
    const auto output = optimize({"--asked-only", "--knob", wrong, "--json", path("optimization.json")},
                                 training({"--samples", "96", "--delay-ms", "1"}));
    EXPECT_EQ(output.exit_code, 4) << wrong << output.out << output.err;
    EXPECT_EQ(json("optimization.json")["steps"][0]["outcome"], "rejected") << wrong;
    EXPECT_TRUE(json("optimization.json")["plan"].empty());
  }
}

TEST_F(Optimize, a_program_without_torch_is_measured_whole_with_the_users_knobs) {
  const auto output =
      optimize({"--knob", "sleep=--sleep {0.05,crash,memory}", "--json", path("optimization.json")}, sleeper());
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const auto optimization = json("optimization.json");
  EXPECT_EQ(optimization["times_of"], "run");
  EXPECT_EQ(optimization["plan"]["sleep"], "0.05");
  std::map<std::string, std::string> reasons;
  for (const auto& step : optimization["steps"]) reasons[step["value"]] = step["reason"];
  EXPECT_THAT(reasons["crash"], HasSubstr("no such mode"));
  EXPECT_EQ(reasons["memory"], "ran out of memory");
}

TEST_F(Optimize, writes_where_it_is_asked_and_spends_no_more_than_it_may) {
  // The program leaves a file behind, as a checkpoint.
  write("leaves.sh", "echo step >> model.ckpt; sleep $2\n");
  const std::vector<std::string> program{"sh", "leaves.sh", "--sleep", "0.3"};
  const auto copied =
      optimize({"--copy", "--knob", "sleep=--sleep {0.05}", "--price", "7.2", "--json", path("j.json")}, program);
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_FALSE(std::filesystem::exists(path("model.ckpt")));
  EXPECT_THAT(copied.err, ::testing::Not(HasSubstr("--copy runs it in copies")));
  EXPECT_THAT(copied.out, HasSubstr("7.2 per hour"));
  // 0.002 at 7.2 an hour are one second: the baseline alone takes longer.
  const auto cut = optimize({"--knob", "sleep=--sleep {0.05}", "--price", "7.2", "--budget-money", "0.002"}, program);
  EXPECT_EQ(cut.exit_code, 3) << cut.out;
  EXPECT_THAT(cut.out, HasSubstr("nothing is proven so far"));
  EXPECT_THAT(cut.err, HasSubstr("--copy runs it in copies"));
  EXPECT_TRUE(std::filesystem::exists(path("model.ckpt"))) << "it runs here unless asked";
  EXPECT_EQ(optimize({"--budget-money", "1"}, program).exit_code, 2) << "without a price";
}

TEST_F(Optimize, a_hang_is_an_outcome) {
  const auto output =
      optimize({"--knob", "sleep=--sleep {hang}", "--timeout", "10s", "--json", path("optimization.json")}, sleeper());
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_THAT(json("optimization.json")["steps"][0]["reason"].get<std::string>(), HasSubstr("did not end within"));
}

TEST_F(Optimize, the_original_may_fail_once_in_the_middle_of_a_test) {
  // Look and baselines are its first five runs; the next is of a test. Not Python, which starts slowly.
  write("fails.sh",
        "echo >> runs-$2; [ $2 = 1 ] && [ $(wc -l < runs-1) = 6 ] && { echo hiccup >&2; exit 9; }\n"
        "sleep $2\n");
  const auto output = optimize({"--knob", "sleep=--sleep {0.05}", "--json", path("optimization.json")},
                               {"sh", "fails.sh", "--sleep", "1"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(json("optimization.json")["plan"]["sleep"], "0.05");
}

TEST_F(Optimize, goes_on_where_it_was_killed) {
  auto words = with({kExecutable, "optimize"}, kQuick);
  words = with(words, {"--knob", "sleep=--sleep {0.05}", "--json", path("optimization.json"), "--"});
  words = with(words, sleeper());
  // Killed as by kill -9, in the middle of a run.
  const auto killed =
      run_process(with({"timeout", "-s", "KILL", "6"}, words), {.deadline_s = 60, .directory = folder_.string()});
  ASSERT_TRUE(killed.ok());
  EXPECT_NE(killed->exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("optimization.json")));
  const auto again = run_process(words, {.deadline_s = 200, .directory = folder_.string()});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->exit_code, 0) << again->err;
  EXPECT_THAT(again->err, HasSubstr("going on after"));
  EXPECT_EQ(json("optimization.json")["plan"]["sleep"], "0.05");
}

TEST_F(Optimize, a_budget_that_is_too_short_is_not_exceeded) {
  const auto output =
      optimize({"--budget", "2.5s", "--knob", "sleep=--sleep {0.05}", "--json", path("optimization.json")},
               sleeper());  // a run takes longer than a second
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
  EXPECT_LT(output.wall_s, 10);
  const auto optimization = json("optimization.json");
  EXPECT_THAT(optimization["verdict"].get<std::string>(), HasSubstr("run the same command to continue"));
  EXPECT_EQ(testing_support::schema_errors(optimization, "optimization.schema.json"), "");
  EXPECT_FALSE(optimization["complete"]);
}

TEST_F(Optimize, tries_a_patch_in_a_copy_and_leaves_the_program_alone) {
  write("slow.py", "import time\ntime.sleep(1)\n");
  write("faster.diff",
        "--- a/slow.py\n+++ b/slow.py\n@@ -1,2 +1,2 @@\n import time\n-time.sleep(1)\n+time.sleep(0.05)\n");
  const auto output =
      optimize({"--try-patch", "faster.diff", "--json", path("optimization.json"), "--out", path("gains")},
               {"python3", "slow.py"});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("optimization.json")["plan"]["patch"], "faster.diff");
  EXPECT_THAT(*read_file(path("slow.py")), HasSubstr("sleep(1)"));
  const std::string apply = "cd " + in_quotes(folder_.string()) + " && " + in_quotes(kExecutable) +
                            " optimize --apply gains/plan.yaml -- python3 slow.py";
  const auto without = run_process({"sh", "-c", apply}, {.deadline_s = 60});
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->exit_code, 2);
  EXPECT_THAT(without->err, HasSubstr("put it on first: patch -p1 -i "));
  const auto proven =
      optimize({"--prove", path("gains/plan.yaml"), "--json", path("proven.json")}, {"python3", "slow.py"});
  EXPECT_EQ(proven.exit_code, 0) << proven.out << proven.err;
  EXPECT_GT(json("proven.json")["measured_speedup"]["ratio"].get<double>(), 1.5);
  const auto patched = run_process({"sh", "-c", "cd " + in_quotes(folder_.string()) + " && patch -p1 -i faster.diff"});
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ(patched->exit_code, 0) << patched->out;
  std::filesystem::rename(path("faster.diff"), path("elsewhere.diff"));  // as on another machine: one lies beside it
  const auto with = run_process({"sh", "-c", apply}, {.deadline_s = 60});
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->exit_code, 0) << with->err;
}

TEST_F(Optimize, sets_a_value_in_a_copy_of_a_file) {
  write("config.json", "{\"sleep\": 1}\n");
  write("reads.py", "import json, time\ntime.sleep(json.load(open('config.json'))['sleep'])\n");
  write("optimize.yaml", "knobs:\n  - {name: sleep, file: config.json, pattern: '\"sleep\": {}', values: [0.05]}\n");
  const auto output =
      optimize({"--knobs", "optimize.yaml", "--json", path("optimization.json"), "--out", path("gains")},
               {"python3", "reads.py"});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("optimization.json")["plan"]["sleep"], "0.05");
  EXPECT_EQ(*read_file(path("config.json")), "{\"sleep\": 1}\n");
  const std::string apply = "cd " + in_quotes(folder_.string()) + " && " + in_quotes(kExecutable) +
                            " optimize --apply gains/plan.yaml -- python3 reads.py";
  const auto without = run_process({"sh", "-c", apply}, {.deadline_s = 60});
  EXPECT_THAT(without->err, HasSubstr("the plan sets sleep in the file config.json to 0.05"));
  write("config.json", "{\"sleep\": 0.05}\n");
  const auto with = run_process({"sh", "-c", apply}, {.deadline_s = 60});
  EXPECT_EQ(with->exit_code, 0) << with->err;
}

TEST_F(Optimize, says_what_is_wrong_with_the_command_line) {
  struct Wrong {
    std::vector<std::string> options;
    std::string said;
  };
  for (const auto& [options, said] : std::vector<Wrong>{{{"--only", "loader.wrkers"}, "loader.workers"},
                                                        {{"--knob", "batch"}, "--knob"},
                                                        {{"--try", "tf32"}, "KNOB=VALUE"},
                                                        {{"--asked-only"}, "--asked-only"},
                                                        {{"--knobs", "no.yaml"}, "no.yaml"},
                                                        {{"--apply", "no.yaml"}, "no.yaml"}}) {
    const auto output = optimize(options, {"python3", "-c", "pass"});
    EXPECT_EQ(output.exit_code, 2) << options.front();
    EXPECT_THAT(output.err, HasSubstr(said));
  }
  EXPECT_EQ(warpmark({"optimize"}).exit_code, 2);
  const auto failing = optimize({}, {"python3", "-c", "raise SystemExit('my own fault')"});
  EXPECT_EQ(failing.exit_code, 2);
  EXPECT_THAT(failing.err, HasSubstr("my own fault"));
}

TEST_F(Optimize, calibration_says_that_there_is_nothing_yet) {
  const auto output = warpmark({"optimize", "calibration"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("no optimization"));
}

}  // namespace
}  // namespace warpmark::apps
