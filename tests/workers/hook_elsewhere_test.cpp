// What looks like a step or an aid of the program and is none: what a loader's workers compute, and what compilers do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::python_with_torch;

class HookElsewhere : public HookedText {};

std::string with_a_network_in_the_dataset(const std::string& start) {
  return "import torch\n"
         "class Encoded(torch.utils.data.Dataset):\n"
         "    def __init__(self): self.encoder = torch.nn.Linear(4, 4)\n"
         "    def __len__(self): return 64\n"
         "    def __getitem__(self, i):\n"
         "        with torch.no_grad(): return self.encoder(torch.full((4,), float(i)))\n"
         "def main():\n"
         "    model = torch.nn.Linear(4, 2)\n"
         "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
         "    loader = torch.utils.data.DataLoader(Encoded(), 4, num_workers=1, multiprocessing_context='" +
         start +
         "')\n"
         "    for batch in loader:\n"
         "        model(batch).sum().backward()\n"
         "        optimizer.step()\n"
         "if __name__ == '__main__': main()\n";
}

TEST_F(HookElsewhere, a_worker_that_calls_a_network_takes_no_steps_and_is_not_ended) {
  WM_NEEDS_TORCH();
  for (const auto* start : {"fork", "spawn"}) {
    const auto hooked = run({python_with_torch()}, with_a_network_in_the_dataset(start),
                            {.warmup_steps = 2, .window_steps = 6, .stop = true});
    EXPECT_EQ(hooked.output.exit_code, 0) << start << hooked.output.err;
    const auto main = main_processes(hooked.reports);
    ASSERT_EQ(main.size(), 1U) << start;
    ASSERT_TRUE(main.front()->window) << start;
    EXPECT_EQ(main.front()->window->steps, 6) << start;
    EXPECT_EQ(main.front()->marker, "optimizer") << start;
    EXPECT_THAT(main.front()->faults, IsEmpty()) << start;
  }
}

TEST_F(HookElsewhere, anomaly_detection_of_a_compiler_is_not_the_programs) {
  WM_NEEDS_TORCH();
  const std::string program = R"(
import torch
compiler = {"__name__": "torch._functorch.aot_autograd", "torch": torch}
exec("""
def trace():
    with torch.autograd.detect_anomaly(check_nan=False):
        return torch.is_anomaly_enabled()
""", compiler)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    print("traced" if compiler["trace"]() else "was hindered")
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
)";
  const auto plain = run({python_with_torch()}, program, {.warmup_steps = 1});
  ASSERT_FALSE(main_processes(plain.reports).empty()) << plain.output.err;
  EXPECT_THAT(main_processes(plain.reports).front()->debugging, IsEmpty());

  const auto off =
      run({python_with_torch()}, program, {.knobs = {{"debug.anomaly_detection", "off"}}, .warmup_steps = 1});
  EXPECT_THAT(off.output.out, HasSubstr("traced"));
  ASSERT_EQ(main_processes(off.reports).front()->knobs.size(), 1U);
  EXPECT_FALSE(main_processes(off.reports).front()->knobs.front().in_force) << "there is nothing to put off";
}

/// A torch without CUDA has the class without what it stands on: the program brings that.
constexpr const char* kGraphs = R"(
import sys, time, torch
if torch.version.cuda: sys.exit(77)
base = torch.cuda.CUDAGraph.__mro__[1]
base.capture_begin = base.capture_end = lambda graph, *more, **named: None
base.replay = lambda graph: time.sleep(0.005)
def captured(what):
    graph = object.__new__(torch.cuda.CUDAGraph)
    graph.capture_begin()
    for i in range(20): what()
    graph.capture_end()
    return graph
model, encoder = torch.nn.Linear(4, 2), torch.nn.Linear(4, 4)
def forward():
    with torch.no_grad(): return encoder(torch.ones(1, 4))
)";
constexpr const char* kOptimizerStep = R"(
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
)";

class HookGraphs : public HookElsewhere {
 protected:
  /// No value: there is a torch with CUDA, whose graphs need a GPU.
  std::optional<ProgramReport> report_of(const std::string& program, HookPlan plan = {}) {
    plan.warmup_steps = 2;
    plan.window_steps = 6;
    plan.stop = true;
    const auto hooked = run({python_with_torch()}, kGraphs + program, plan);
    if (hooked.output.exit_code == 77) return std::nullopt;
    EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
    EXPECT_THAT(main_of(hooked).faults, IsEmpty());
    return main_of(hooked);
  }
  /// A training that warms up by so many steps, captures one, and replays it.
  static std::string replays_after(int warm_up) {
    return kOptimizerStep + ("for i in range(" + std::to_string(warm_up) + "): step()\n") +
           "graph = captured(step)\n"
           "for i in range(30): graph.replay()\n";
  }
  static void expect_window(const ProgramReport& report, const char* marker) {
    EXPECT_EQ(report.marker, marker);
    ASSERT_TRUE(report.window);
    EXPECT_EQ(report.window->steps, 6);
  }
};
constexpr const char* kNeedsGpu = "a torch with CUDA needs a GPU for its graphs";

TEST_F(HookGraphs, replays_of_the_whole_step_are_steps_and_what_was_captured_is_none) {
  WM_NEEDS_TORCH();
  const auto report = report_of(replays_after(3), {.sync_phases = true});
  if (!report) GTEST_SKIP() << kNeedsGpu;
  expect_window(*report, "graph");
  EXPECT_GE(report->window->seconds, 6 * 0.005);
  EXPECT_THAT(report->losses, IsEmpty()) << "they lie within the graph";
}

TEST_F(HookGraphs, where_graphs_are_known_to_be_the_steps_a_long_warm_up_is_none) {
  WM_NEEDS_TORCH();
  const auto report = report_of(replays_after(12), {.graphs_alone = true});
  if (!report) GTEST_SKIP() << kNeedsGpu;
  expect_window(*report, "graph");
}

TEST_F(HookGraphs, replays_of_a_part_leave_the_steps_to_the_optimizer) {
  WM_NEEDS_TORCH();
  for (const auto* program : {"graph = captured(forward)\nfor i in range(30): graph.replay(); graph.replay(); step()\n",
                              "step()\ngraph = captured(forward)\nfor i in range(9): graph.replay()\n"
                              "for i in range(30): step()\n"}) {
    const auto report = report_of(std::string(kOptimizerStep) + program);
    if (!report) GTEST_SKIP() << kNeedsGpu;
    expect_window(*report, "optimizer");
  }
}

TEST_F(HookGraphs, an_optimizer_that_comes_later_takes_the_steps_back) {
  WM_NEEDS_TORCH();
  const auto report = report_of("graph = captured(forward)\nfor i in range(4): graph.replay()\n" +
                                std::string(kOptimizerStep) + "for i in range(30): graph.replay(); step()\n");
  if (!report) GTEST_SKIP() << kNeedsGpu;
  expect_window(*report, "optimizer");
}

TEST_F(HookGraphs, of_a_program_that_infers_each_shape_has_its_graph) {
  WM_NEEDS_TORCH();
  const auto report = report_of(
      "forward()\ngraphs = [captured(forward) for shape in range(4)]\n"
      "for i in range(30): graphs[i % 4].replay()\n");
  if (!report) GTEST_SKIP() << kNeedsGpu;
  expect_window(*report, "graph");
}

TEST_F(HookGraphs, what_another_thread_does_while_one_captures_is_done) {
  WM_NEEDS_TORCH();
  const auto report = report_of(std::string(kOptimizerStep) +
                                "import threading\n"
                                "graph = object.__new__(torch.cuda.CUDAGraph)\n"
                                "thread = threading.Thread(target=graph.capture_begin)\n"
                                "thread.start(); thread.join()\n"
                                "for i in range(30): step()\n");
  if (!report) GTEST_SKIP() << kNeedsGpu;
  expect_window(*report, "optimizer");
}

/// On a processor, as on a GPU: nothing that the program can see is left behind.
TEST_F(HookElsewhere, libraries_are_loaded_without_a_trace) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()}, R"(
import torch
import _warpmark_libraries as libraries
torch.manual_seed(1)
expected = torch.rand(3).tolist()
torch.manual_seed(1)
torch.backends.cudnn.benchmark = True
with torch.no_grad(): libraries.load(torch, "cpu", (torch.float32,), True)
assert torch.rand(3).tolist() == expected, "the random numbers are others"
assert torch.backends.cudnn.benchmark and torch.is_grad_enabled()
model = torch.nn.Linear(4, 2)
for step in range(8): model(torch.ones(1, 4))
)",
                          {.warmup_steps = 1});
  EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  EXPECT_EQ(main_of(hooked).steps.size(), 8U);
  EXPECT_THAT(main_of(hooked).losses, IsEmpty()) << "its gradients are none of the program's";
}

/// A model that holds what torch.compile returns, as far as the hook looks at it.
constexpr const char* kCompiledWithin = R"(
import torch
class OptimizedModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._orig_mod = torch.nn.Linear(4, 4)
    def forward(self, x): return self._orig_mod(x)
    def get_compiler_config(self): return {"triton.cudagraphs": True}
class Task(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = OptimizedModule()
    def forward(self, x): return self.model(x)
model = Task()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(4):
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
)";

TEST_F(HookElsewhere, sees_how_the_program_compiles_a_part_of_its_model) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()}, kCompiledWithin, {.warmup_steps = 1});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto& report = main_of(hooked);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  ASSERT_FALSE(report.modules.empty());
  EXPECT_EQ(report.modules.front().compiled, "graphs");
}

/// A part that the program called by itself before, so that its calls go through the hook.
TEST_F(HookElsewhere, takes_nothing_of_its_own_for_a_compiler_of_the_program) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()}, R"(
import torch
import _warpmark_set_compile as compiling
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
def wrapped(*args): pass
def compiled(*args): pass
mode = lambda: compiling.own_mode(compiling.compiled_by_program(model))
assert mode() == ""
wrapped.theirs = None
model[0]._compiled_call_impl = wrapped
assert mode() == "", mode()
wrapped.theirs = compiled
assert mode() == "default", mode()
assert compiling.compiled_by_program(model) == [(model[0], compiled)]
)",
                          {});
  EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
}

/// TensorBoard's add_graph traces the module, in which sizes and counts are tensors.
TEST_F(HookElsewhere, leaves_a_traced_forward_alone) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()}, R"(
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
torch.jit.trace(model, torch.randn(2, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
)",
                          {});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto& report = main_of(hooked);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  ASSERT_EQ(report.modules.size(), 1U);
  EXPECT_EQ(report.modules.front().parameters, 40);
}

}  // namespace
}  // namespace warpmark::workers
