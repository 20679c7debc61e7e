// Programs that start at once and step one after another.
#include "workers/hooked_program.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

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
        "torch.backends.cudnn.benchmark = 'CHOOSES' in os.environ\n"
        "if 'GRAPHS' in os.environ: exec(os.environ['GRAPHS'])\n"
        "model = Net()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "batches = [torch.ones(4, 4)] * int(os.environ.get('BATCHES', '12'))\n"
        "if 'loader' in os.environ:\n"
        "    workers = int(os.environ['loader'])\n"
        "    batches = torch.utils.data.DataLoader(torch.ones(48, 4), batch_size=4, num_workers=workers)\n"
        "for batch in batches:\n"
        "    model(batch).sum().backward()\n"
        "    optimizer.step()\n");
    return {.words = {testing_support::python_with_torch(), path},
            .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"NAME", name}},
            .directory = folder_.string(),
            .plan = {.warmup_steps = 2, .window_steps = 6}};
  }
  std::unique_ptr<GatedRuns> start(const std::vector<std::string>& names, bool loader = true,
                                   const std::atomic<bool>* interrupted = nullptr) {
    std::vector<HookedCommand> commands;
    for (const auto& name : names) {
      commands.push_back(named(name));
      if (loader) commands.back().environment.emplace_back("loader", "1");
    }
    return std::make_unique<GatedRuns>(std::move(commands), folder_ / "hook", folder_ / "scratch", interrupted);
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

TEST_F(Gated, take_their_steps_one_after_another_as_they_are_told) {
  WM_NEEDS_TORCH();
  auto runs = start({"late", "a", "b"});
  runs->await_all(200);
  for (const std::size_t i : {0U, 2U, 1U}) {
    EXPECT_TRUE(runs->waits(i));
    const auto one = runs->turn(i, 200);
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    EXPECT_GT(one.cpu_before_s, 0);
    EXPECT_LE(one.cpu_before_s, one.run->output.cpu_s + 0.1);
    EXPECT_EQ(one.run->output.exit_code, 0) << one.run->output.err;
    const auto& report = main_of(*one.run);
    ASSERT_TRUE(report.window);
    EXPECT_EQ(report.window->steps, 6);
    EXPECT_LT(report.window->before_s, one.run->output.wall_s);
  }
  EXPECT_EQ(turns(), (std::vector<std::string>{"late", "b", "a"})) << "a loader reads ahead, so none warms up before";
  runs.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch"));
}

TEST_F(Gated, take_half_of_their_warm_up_side_by_side) {
  WM_NEEDS_TORCH();
  auto runs = start({"a", "b"}, false);
  runs->await_all(200);
  const auto before = split(read_file(folder_ / "steps").value(), '\n');
  EXPECT_EQ(std::ranges::count(before, "a"), 1) << "of two";
  EXPECT_EQ(std::ranges::count(before, "b"), 1);
  const auto first = runs->turn(0, 200), second = runs->turn(1, 200);
  ASSERT_TRUE(first.run.ok() && second.run.ok());
  EXPECT_EQ(main_of(*first.run).window->steps, 6);
  EXPECT_EQ(main_of(*second.run).window->steps, 6);
  const auto all = split(read_file(folder_ / "steps").value(), '\n');
  std::vector<std::string> after(all.begin() + 2, all.end());
  EXPECT_TRUE(std::ranges::is_sorted(after.begin(), std::ranges::find(after, ""))) << "a's steps, then b's";
}

/// A compiler, as far as the hook looks at it: it makes a graph in the first and in the third step.
constexpr const char* kCompiler = R"(
torch.compile = lambda call, **kwargs: call
if hasattr(torch.nn.Module, '_compiled_call_impl'):
    import torch._dynamo.utils
else:
    import types
    torch.nn.Module.compile = torch.nn.Module._compiled_call_impl = None
    made = {'stats': {'unique_graphs': 0}, 'graph_break': {}}
    torch._dynamo = types.SimpleNamespace(utils=types.SimpleNamespace(counters=made), config=types.SimpleNamespace())
made = torch._dynamo.utils.counters
calls, forward = [0], Net.forward
def counted(self, x):
    calls[0] += 1
    made['stats']['unique_graphs'] += calls[0] in (1, 3)
    return forward(self, x)
Net.forward = counted
)";

TEST_F(Gated, what_was_compiled_before_is_loaded_side_by_side_until_there_is_no_new_graph) {
  WM_NEEDS_TORCH();
  std::vector<HookedCommand> commands{named("compiles"), named("a")};
  commands[0].environment.insert(commands[0].environment.end(), {{"GRAPHS", kCompiler}, {"BATCHES", "40"}});
  commands[0].plan.knobs = {{"compile", "default"}};
  commands[0].plan.tuned = true;
  commands[0].plan.window_steps = 20;
  GatedRuns runs(std::move(commands), folder_ / "hook", folder_ / "scratch", nullptr);
  runs.await_all(200);
  const auto before = split(read_file(folder_ / "steps").value(), '\n');
  EXPECT_EQ(std::ranges::count(before, "compiles"), 5) << "two quiet ones behind the third";
  EXPECT_EQ(std::ranges::count(before, "a"), 1);
  const auto one = runs.turn(0, 200);
  ASSERT_TRUE(one.run.ok()) << one.run.error().what;
  const auto& report = main_of(*one.run);
  ASSERT_TRUE(report.window);
  EXPECT_EQ(report.window->steps, 20);
  EXPECT_EQ(report.steps.size(), 26U) << "one more of warm-up, alone";
  for (const auto& knob : report.knobs) EXPECT_TRUE(knob.in_force) << knob.said;
}

TEST_F(Gated, convolutions_that_are_chosen_by_their_time_begin_with_the_turn) {
  WM_NEEDS_TORCH();
  std::vector<HookedCommand> commands{named("convolves"), named("shall"), named("a")};
  commands[0].environment.emplace_back("CHOOSES", "1");
  commands[1].plan.knobs = {{"cudnn.benchmark", "on"}};
  GatedRuns runs(std::move(commands), folder_ / "hook", folder_ / "scratch", nullptr);
  runs.await_all(200);
  EXPECT_EQ(turns(), (std::vector<std::string>{"a"})) << "which lets nobody choose";
  for (const std::size_t i : {0U, 1U}) {
    const auto one = runs.turn(i, 200);
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    for (const auto& knob : main_of(*one.run).knobs) EXPECT_TRUE(knob.in_force) << knob.said;
  }
  EXPECT_EQ(turns(), (std::vector<std::string>{"a", "convolves", "shall"}));
}

TEST_F(Gated, workers_read_nothing_before_the_turn) {
  WM_NEEDS_TORCH();
  std::vector<HookedCommand> commands{named("a"), named("none")};
  commands[0].environment.emplace_back("loader", "1");
  commands[1].environment.emplace_back("loader", "0");
  GatedRuns runs(std::move(commands), folder_ / "hook", folder_ / "scratch", nullptr);
  runs.await_all(200);
  EXPECT_EQ(turns(), (std::vector<std::string>{"none"})) << "a loader without workers reads nothing ahead";
  for (const std::size_t i : {0U, 1U}) {
    const auto one = runs.turn(i, 200);
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    ASSERT_TRUE(main_of(*one.run).window);
    EXPECT_EQ(main_of(*one.run).steps.size(), 8U) << "two of warm-up, six";
  }
}

TEST_F(Gated, what_has_no_turn_is_ended) {
  WM_NEEDS_TORCH();
  auto runs = start({"a", "b"});
  runs->await_all(200);
  EXPECT_TRUE(runs->turn(0, 200).run.ok());
  EXPECT_TRUE(runs->waits(1));
  runs.reset();
  EXPECT_EQ(turns(), (std::vector<std::string>{"a"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scratch"));
}

TEST_F(Gated, one_that_fails_before_its_first_step_keeps_no_other_from_it) {
  WM_NEEDS_TORCH();
  auto runs = start({"a", "broken", "b"});
  runs->await_all(200);
  EXPECT_FALSE(runs->waits(1));
  EXPECT_TRUE(runs->turn(0, 200).run.ok());
  const auto broken = runs->turn(1, 200);
  ASSERT_TRUE(broken.run.ok());
  EXPECT_EQ(broken.run->output.exit_code, 3);
  EXPECT_TRUE(runs->turn(2, 200).run.ok());
  EXPECT_EQ(turns(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(Gated, one_that_hangs_is_ended_and_the_next_has_its_turn) {
  WM_NEEDS_TORCH();
  auto runs = start({"hangs", "a"});
  runs->await_all(200);
  const auto hung = runs->turn(0, 3);
  ASSERT_TRUE(hung.run.ok()) << hung.run.error().what;
  EXPECT_EQ(hung.run->ending, Ending::timed_out);
  const auto next = runs->turn(1, 200);
  ASSERT_TRUE(next.run.ok());
  EXPECT_EQ(next.run->output.exit_code, 0);
  EXPECT_EQ(turns(), (std::vector<std::string>{"hangs", "a"}));
}

TEST_F(Gated, what_does_not_come_to_its_gate_in_time_is_ended) {
  WM_NEEDS_TORCH();
  auto runs = start({"a", "hangs", "b"});
  runs->await_all(0);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto one = runs->turn(i, 200);
    ASSERT_TRUE(one.run.ok()) << one.run.error().what;
    EXPECT_EQ(one.run->ending, Ending::timed_out);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "steps"));
}

TEST_F(Gated, an_interruption_ends_all) {
  WM_NEEDS_TORCH();
  std::atomic<bool> interrupted = false;
  auto runs = start({"hangs", "a"}, true, &interrupted);
  runs->await_all(200);
  interrupted.store(true);
  EXPECT_FALSE(runs->turn(0, 200).run.ok());
  EXPECT_FALSE(runs->turn(1, 200).run.ok());
}

}  // namespace
}  // namespace warpmark::workers
