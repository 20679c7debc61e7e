// Programs that start at once and step one after another.
#include "workers/gated_runs.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

class Gated : public Hooked {
 protected:
  /// NAME of the run decides what it does; each step adds it to the file of steps.
  HookedCommand named(const std::string& name) {
    const auto path = script(
        "import os, sys, time, torch\n"
        "name = os.environ['NAME']\n"
        "if name == 'broken': sys.exit(3)\n"
        "if name == 'late': time.sleep(1)\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.end = torch.nn.Linear(4, 2)\n"
        "    def forward(self, x):\n"
        "        with open('steps', 'a') as file: file.write(name + '\\n')\n"
        "        if name == 'hangs': time.sleep(1000)\n"
        "        time.sleep(0.02)\n"
        "        return self.end(x)\n"
        "model = Net()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "batches = torch.utils.data.DataLoader(torch.ones(48, 4), batch_size=4)\n"
        "for batch in batches:\n"
        "    model(batch).sum().backward()\n"
        "    optimizer.step()\n");
    return {.words = {testing_support::python_with_torch(), path},
            .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"NAME", name}},
            .directory = folder_.string(),
            .plan = {.warmup_steps = 2, .window_steps = 6}};
  }
  std::vector<GatedRun> run(const std::vector<std::string>& names, GatedOptions options) {
    std::vector<HookedCommand> commands;
    for (const auto& name : names) commands.push_back(named(name));
    return run_gated(std::move(commands), folder_ / "hook", folder_ / "scratch", options);
  }
  /// Whose steps were taken, each once for as long as they follow each other.
  std::vector<std::string> turns() {
    std::vector<std::string> all;
    for (const auto& line : split(read_file(folder_ / "steps").value(), '\n')) {
      if (!line.empty() && (all.empty() || all.back() != line)) all.emplace_back(line);
    }
    return all;
  }
};

TEST_F(Gated, take_their_steps_one_after_another_in_order) {
  WM_NEEDS_TORCH();
  std::vector<std::size_t> begun, ended;
  const auto runs =
      run({"late", "a", "b"}, {.deadline_s = 200,
                               .before_turn = [&](std::size_t i) { begun.push_back(i); },
                               .after_turn = [&](std::size_t i, const GatedRun&) { ended.push_back(i); }});
  ASSERT_EQ(runs.size(), 3U);
  for (const auto& one : runs) {
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    EXPECT_TRUE(one.waited);
    EXPECT_GT(one.cpu_before_s, 0);
    EXPECT_LE(one.cpu_before_s, one.run->output.cpu_s + 0.1);
    EXPECT_EQ(one.run->output.exit_code, 0) << one.run->output.err;
    const auto& report = main_of(*one.run);
    ASSERT_TRUE(report.window);
    EXPECT_EQ(report.window->steps, 6);
    EXPECT_LT(report.window->before_s, one.run->output.wall_s);
  }
  EXPECT_EQ(turns(), (std::vector<std::string>{"late", "a", "b"}));
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(ended, begun);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch"));
}

TEST_F(Gated, one_that_fails_before_its_first_step_keeps_no_other_from_it) {
  WM_NEEDS_TORCH();
  const auto runs = run({"a", "broken", "b"}, {.deadline_s = 200});
  ASSERT_EQ(runs.size(), 3U);
  ASSERT_TRUE(runs[1].run.ok());
  EXPECT_FALSE(runs[1].waited);
  EXPECT_EQ(runs[1].run->output.exit_code, 3);
  EXPECT_EQ(turns(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(Gated, one_that_hangs_is_ended_and_the_next_has_its_turn) {
  WM_NEEDS_TORCH();
  const auto runs = run({"hangs", "a"}, {.deadline_s = 45});
  ASSERT_EQ(runs.size(), 2U);
  ASSERT_TRUE(runs[0].run.ok()) << runs[0].run.error().what;
  EXPECT_EQ(runs[0].run->ending, Ending::timed_out);
  ASSERT_TRUE(runs[1].run.ok());
  EXPECT_EQ(runs[1].run->output.exit_code, 0);
  EXPECT_EQ(turns(), (std::vector<std::string>{"hangs", "a"}));
}

TEST_F(Gated, end_with_the_time_that_all_have_together) {
  WM_NEEDS_TORCH();
  const auto runs = run({"a", "hangs", "b"}, {.deadline_s = 200, .all_s = 0});
  ASSERT_EQ(runs.size(), 3U);
  for (const auto& one : runs) {
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    EXPECT_EQ(one.run->ending, Ending::timed_out);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "steps"));
}

TEST_F(Gated, an_interruption_ends_all) {
  WM_NEEDS_TORCH();
  std::atomic<bool> interrupted = false;
  const auto runs = run(
      {"hangs", "a"},
      {.deadline_s = 200, .interrupted = &interrupted, .before_turn = [&](std::size_t) { interrupted.store(true); }});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_FALSE(runs[0].run.ok());
  EXPECT_FALSE(runs[1].run.ok());
}

}  // namespace
}  // namespace warpmark::workers
