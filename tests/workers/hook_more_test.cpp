// The hook in programs of several ranks, in recorded runs, and with knobs of the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "support/two_ranks.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using testing_support::python_with_torch;

/// They accumulate two gradients a step, and one in the last; the weights are printed.
constexpr const char* kSteps = R"(
torch.manual_seed(dist.get_rank())
for step in range(8):
    for part in range(1 if step == 7 else 2):
        model(torch.randn(4, 8), BOTH).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
total = sum(p.double().sum().item() for p in model.parameters())
if dist.get_rank() == 0: print("weights %.6f" % total)
)";

class HookMore : public HookedText {
 protected:
  HookedRun two_ranks(const HookPlan& plan, bool changing = false) {
    std::string program = testing_support::model_of_two_ranks(changing) + kSteps;
    program.replace(program.find("BOTH)"), 5, changing ? "step % 2 == 0)" : "True)");
    const std::string launcher = testing_support::start_two_ranks(python_with_torch(), "\"$0\"");
    return run({"sh", "-c", launcher}, program, plan);
  }
};

TEST_F(HookMore, ranks_report_each_and_exchange_once_a_step) {
  WM_NEEDS_TORCH();
  const auto plain = two_ranks({});
  ASSERT_EQ(plain.output.exit_code, 0) << plain.output.err;
  EXPECT_THAT(plain.output.out, HasSubstr("weights"));
  const auto main = main_processes(plain.reports);
  ASSERT_EQ(main.size(), 2u);
  EXPECT_EQ(main[0]->rank, 0);
  EXPECT_EQ(main[1]->rank, 1);
  EXPECT_EQ(main[0]->world, 2);
  EXPECT_EQ(main[0]->steps.front().backwards, 2);
  const auto once = two_ranks({.knobs = {{"ddp.no_sync", "on"}}});
  ASSERT_EQ(once.output.exit_code, 0) << once.output.err;
  EXPECT_EQ(once.output.out, plain.output.out) << "also where the last step ends early";
  ASSERT_EQ(knobs(once).size(), 1u);
  EXPECT_TRUE(knobs(once).front().in_force) << knobs(once).front().said;
  for (const auto* report : main_processes(once.reports)) {
    EXPECT_TRUE(report->faults.empty()) << report->faults.front();
  }
}

TEST_F(HookMore, how_ranks_exchange_gradients_is_changed_and_read_back) {
  WM_NEEDS_TORCH();
  const auto plain = two_ranks({});
  ASSERT_EQ(plain.output.exit_code, 0) << plain.output.err;
  const auto exchanged = two_ranks({.knobs = {{"ddp.bucket_cap_mb", "1"}, {"ddp.gradient_as_bucket_view", "on"}}});
  EXPECT_EQ(exchanged.output.exit_code, 0) << exchanged.output.err;
  EXPECT_EQ(exchanged.output.out, plain.output.out);
  ASSERT_EQ(knobs(exchanged).size(), 2u);
  for (const auto& knob : knobs(exchanged)) {
    EXPECT_TRUE(knob.in_force) << knob.id << knob.said;
    EXPECT_EQ(knob.places, 1) << knob.id;
  }
}

TEST_F(HookMore, static_graph_on_a_changing_graph_does_not_pass_for_the_same) {
  WM_NEEDS_TORCH();
  const auto plain = two_ranks({}, true);
  ASSERT_EQ(plain.output.exit_code, 0) << plain.output.err;
  const auto lie = two_ranks({.knobs = {{"ddp.static_graph", "on"}}}, true);
  const bool seen = lie.output.exit_code != 0 || lie.output.out != plain.output.out;
  EXPECT_TRUE(seen) << "a lie about the graph must show in an error or in other weights: " << lie.output.out;
}

constexpr const char* kBlocks = R"(
import torch
from torch import nn
torch.manual_seed(0)
calls = 0
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
    def forward(self, x):
        global calls
        calls += 1
        return x + torch.tanh(self.a(x))
model = nn.Sequential(nn.Sequential(*[Block() for _ in range(4)]), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(6):
    optimizer.zero_grad()
    model(torch.randn(5, 16)).square().mean().backward()
    optimizer.step()
print("calls", calls)
)";

TEST_F(HookMore, blocks_that_are_checkpointed_are_computed_twice_and_learn_the_same) {
  WM_NEEDS_TORCH();
  const auto plain = run({python_with_torch()}, kBlocks, {});
  const auto again = run({python_with_torch()}, kBlocks, {.knobs = {{"checkpoint.blocks", "on"}}});
  EXPECT_EQ(plain.output.out, "calls 24\n") << plain.output.err;
  EXPECT_EQ(again.output.out, "calls 48\n") << again.output.err;
  EXPECT_EQ(main_of(again).losses, main_of(plain).losses);
  EXPECT_EQ(main_of(again).losses.size(), 6u);
  ASSERT_EQ(knobs(again).size(), 1u);
  EXPECT_TRUE(knobs(again).front().in_force) << knobs(again).front().said;
  EXPECT_EQ(knobs(again).front().places, 4);
}

constexpr const char* kDirect = R"(
import copy, pickle, torch
from torch import nn
torch.manual_seed(0)
kinds = []
class Layer(nn.Linear):
    def forward(self, x):
        out = super().forward(x)
        kinds.append(str(out.dtype))
        return out.tanh()
    def learn(self, x):
        loss = self.forward(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss
layers = [Layer(8, 8), Layer(8, 8)]
for layer in layers:
    layer.optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for i in range(10):
    loss = sum(layer.learn(torch.randn(16, 8)) for layer in layers)
last = copy.deepcopy(layers[0])
assert pickle.loads(pickle.dumps(last.state_dict())).keys() == last.state_dict().keys()
with torch.no_grad():
    last.weight.zero_()
assert last.forward(torch.ones(1, 8)).unique().numel() <= 8 and layers[0].weight.abs().sum() > 0
print("narrow", kinds.count("torch.bfloat16") > 0, "calls", len(kinds), "last %.4f" % loss)
)";

TEST_F(HookMore, modules_whose_forward_the_program_calls_itself_are_timed_and_changed) {
  WM_NEEDS_TORCH();
  const auto plain = run({python_with_torch()}, kDirect, {});
  ASSERT_EQ(plain.output.exit_code, 0) << plain.output.err;
  EXPECT_THAT(plain.output.out, HasSubstr("narrow False calls 21"));
  EXPECT_TRUE(main_of(plain).faults.empty());
  ASSERT_FALSE(main_of(plain).modules.empty());
  EXPECT_EQ(main_of(plain).modules.front().name, "Layer");
  EXPECT_GT(main_of(plain).steps.back().forward_s, 0);
  const auto narrow = run({python_with_torch()}, kDirect, {.knobs = {{"precision.autocast", "bf16"}}});
  EXPECT_THAT(narrow.output.out, HasSubstr("narrow True calls 21")) << narrow.output.err;
  ASSERT_EQ(knobs(narrow).size(), 1u);
  EXPECT_TRUE(knobs(narrow).front().in_force) << knobs(narrow).front().said;
}

constexpr const char* kReading = R"(
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(24):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 64)).square().mean()
    loss.backward()
    optimizer.step()
    last = loss.item()
print(last)
)";

TEST_F(HookMore, records_steps_with_pytorchs_profiler) {
  WM_NEEDS_TORCH();
  const auto traces = folder_ / "traces";
  ASSERT_TRUE(make_folder(traces).ok());
  const auto hooked = run({python_with_torch()}, kReading,
                          {.warmup_steps = 3, .stop = true, .profile_steps = 4, .profile_folder = traces.string()});
  EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto main = main_processes(hooked.reports);
  ASSERT_FALSE(main.empty());
  EXPECT_TRUE(main.front()->faults.empty()) << main.front()->faults.front();
  EXPECT_EQ(main.front()->steps.size(), 8u) << "warm-up, one for the profiler's own, four";
  std::size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(traces)) {
    const auto text = read_file(file.path());
    ASSERT_TRUE(text.ok());
    const bool trace = file.path().extension() == ".json";
    EXPECT_THAT(*text, HasSubstr(trace ? "ProfilerStep#" : "\"steps\": 4")) << file.path();
    ++found;
  }
  EXPECT_EQ(found, 2u) << "a trace, and the phases of its steps";
}

TEST_F(HookMore, an_optimizer_that_computes_the_loss_is_given_its_own_time_only) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()},
                          "import time, torch\nfrom torch import nn\n"
                          "class Slow(nn.Module):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.end = nn.Linear(8, 2)\n"
                          "    def forward(self, x):\n"
                          "        time.sleep(0.05)\n"
                          "        return self.end(x)\n"
                          "model = Slow()\n"
                          "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                          "def closure():\n"
                          "    optimizer.zero_grad()\n"
                          "    loss = model(torch.ones(4, 8)).square().mean()\n"
                          "    loss.backward()\n"
                          "    return loss\n"
                          "for step in range(6): optimizer.step(closure)\n",
                          {});
  const auto main = main_processes(hooked.reports);
  ASSERT_EQ(main.size(), 1u) << hooked.output.err;
  ASSERT_EQ(main.front()->steps.size(), 6u);
  EXPECT_EQ(main.front()->losses.size(), 6u);
  for (const auto& step : main.front()->steps) {
    EXPECT_GT(step.forward_s, 0.049);
    EXPECT_LT(step.optimizer_s, step.forward_s) << "the rest of the closure is the program's";
  }
}

TEST_F(HookMore, what_an_optimizer_reads_of_its_own_is_no_line_of_the_program) {
  WM_NEEDS_TORCH();
  // AdamW keeps a count of steps for each tensor, and reads it in each step.
  const auto hooked = run({python_with_torch()},
                          "import torch\nfrom torch import nn\n"
                          "model = nn.Linear(8, 2)\n"
                          "optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)\n"
                          "for step in range(20):\n"
                          "    model(torch.ones(4, 8)).square().mean().backward()\n"
                          "    optimizer.step()\n",
                          {.sync_phases = true});
  const auto main = main_processes(hooked.reports);
  ASSERT_FALSE(main.empty());
  EXPECT_EQ(main.front()->steps.size(), 20u);
  EXPECT_TRUE(main.front()->reads.empty()) << main.front()->reads.front().where;
}

TEST_F(HookMore, names_the_lines_that_read_values_in_the_loop) {
  WM_NEEDS_TORCH();
  const auto hooked = run({python_with_torch()}, kReading, {.sync_phases = true});
  const auto main = main_processes(hooked.reports);
  ASSERT_FALSE(main.empty());
  ASSERT_FALSE(main.front()->reads.empty());
  const auto& read = main.front()->reads.front();
  EXPECT_THAT(read.where, HasSubstr("program.py:12"));
  EXPECT_EQ(read.call, "item");
  EXPECT_GT(read.count, 20);
}

TEST_F(HookMore, debugging_aids_that_were_left_on_are_told_and_put_off) {
  WM_NEEDS_TORCH();
  const std::string program = R"(
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    with torch.autograd.set_detect_anomaly(True):
        optimizer.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        print("looked" if torch.is_anomaly_enabled() else "did not look")
        optimizer.step()
)";
  const NamedValues variables{{"CUDA_LAUNCH_BLOCKING", "1"}};
  const auto plain = run({python_with_torch()}, program, {.warmup_steps = 1}, variables);
  ASSERT_FALSE(main_processes(plain.reports).empty()) << plain.output.err;
  EXPECT_THAT(main_processes(plain.reports).front()->debugging,
              UnorderedElementsAre("debug.anomaly_detection", "debug.launch_blocking"));
  EXPECT_THAT(plain.output.out, Not(HasSubstr("did not look")));

  const HookPlan plan{.knobs = {{"debug.anomaly_detection", "off"}, {"debug.launch_blocking", "off"}},
                      .warmup_steps = 1};
  const auto off = run({python_with_torch()}, program, plan, variables);
  ASSERT_EQ(knobs(off).size(), 2u) << off.output.err;
  for (const auto& knob : knobs(off)) EXPECT_TRUE(knob.in_force) << knob.id << ": " << knob.said;
  EXPECT_THAT(main_processes(off.reports).front()->debugging, IsEmpty());
  EXPECT_THAT(off.output.out, HasSubstr("did not look"));

  const auto without =
      run({python_with_torch()}, "import torch\nfor s in range(8): torch.nn.Linear(4, 2)(torch.ones(1, 4))\n", plan);
  for (const auto& knob : knobs(without)) EXPECT_FALSE(knob.in_force) << knob.id;
}

/// The variable outweighs the flag in the torch of Debian 12: the program brings a flag of its own.
TEST_F(HookMore, tf32_that_the_program_switches_off_is_not_in_force) {
  WM_NEEDS_TORCH();
  const auto with_flag = [](const std::string& flag) {
    return "import torch\n"
           "class Flags: allow_tf32 = " +
           flag +
           "\n"
           "torch.backends.cuda.matmul = Flags()\n"
           "model = torch.nn.Linear(4, 2)\n"
           "for step in range(8): model(torch.ones(1, 4))\n";
  };
  const NamedValues variables{{"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}};
  const HookPlan plan{.knobs = {{"env.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"}}, .warmup_steps = 1};
  const auto on = run({python_with_torch()}, with_flag("True"), plan, variables);
  ASSERT_EQ(knobs(on).size(), 1u);
  EXPECT_TRUE(knobs(on).front().in_force) << knobs(on).front().said;
  const auto off = run({python_with_torch()}, with_flag("False"), plan, variables);
  ASSERT_EQ(knobs(off).size(), 1u);
  EXPECT_FALSE(knobs(off).front().in_force);
  EXPECT_THAT(knobs(off).front().said, HasSubstr("switches TF32 off"));
}

/// Set on top of the file: what the program asks for besides stays. Set after the import it may come too late or not.
TEST_F(HookMore, settings_of_the_allocator_outlast_those_that_a_program_makes_before_it_imports_torch) {
  WM_NEEDS_TORCH();
  const std::string theirs = "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:64'\n";
  const std::string steps =
      "model = torch.nn.Linear(4, 2)\n"
      "for step in range(8): model(torch.ones(1, 4))\n"
      "print(os.environ['PYTORCH_CUDA_ALLOC_CONF'])\n";
  const HookPlan plan{.knobs = {{"env.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}}, .warmup_steps = 1};
  const NamedValues variables{{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}};
  const auto before = run({python_with_torch()}, "import os\n" + theirs + "import torch\n" + steps, plan, variables);
  EXPECT_EQ(before.output.out, "max_split_size_mb:64,expandable_segments:True\n");
  ASSERT_EQ(knobs(before).size(), 1u) << before.output.err;
  EXPECT_TRUE(knobs(before).front().in_force) << knobs(before).front().said;
  const auto after = run({python_with_torch()}, "import os, torch\n" + theirs + steps, plan, variables);
  ASSERT_EQ(knobs(after).size(), 1u) << after.output.err;
  EXPECT_FALSE(knobs(after).front().in_force);
  EXPECT_THAT(knobs(after).front().said, HasSubstr("changed the variable"));
}

TEST_F(HookMore, processors_and_preloaded_libraries_are_read_back) {
  WM_NEEDS_TORCH();
  const auto free = run({python_with_torch()}, kReading, {.knobs = {{"process.affinity", "100000"}}});
  ASSERT_EQ(knobs(free).size(), 1u);
  EXPECT_FALSE(knobs(free).front().in_force);
  EXPECT_THAT(knobs(free).front().said, HasSubstr("it may use the processors"));
  const auto all = run({python_with_torch()}, kReading, {.knobs = {{"process.affinity", "0-99999"}}});
  EXPECT_TRUE(knobs(all).front().in_force) << knobs(all).front().said;
  const NamedValues missing{{"LD_PRELOAD", "/no/such/liballocator.so"}};
  const auto preloaded =
      run({python_with_torch()}, kReading, {.knobs = {{"env.LD_PRELOAD", "/no/such/liballocator.so"}}}, missing);
  ASSERT_EQ(knobs(preloaded).size(), 1u);
  EXPECT_FALSE(knobs(preloaded).front().in_force) << "the loader ignores it, and the variable alone proves nothing";
  EXPECT_THAT(knobs(preloaded).front().said, HasSubstr("is not loaded"));
}

/// A module that moves to a GPU after its optimizer was made changes what the optimizer can do; here flags stand for
/// it.
TEST_F(HookMore, optimizers_are_what_they_are_at_their_first_step) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import torch\nmodel = torch.nn.Linear(4, 4)\n"
      "optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)\noptimizer.param_groups[0]['foreach'] = MADE\n"
      "for step in range(20):\n    optimizer.zero_grad()\n    model(torch.ones(2, 4)).sum().backward()\n"
      "    optimizer.step()\nprint('foreach', optimizer.param_groups[0]['foreach'])\n";
  const auto made = [&](const std::string& flag) {
    auto text = program;
    return text.replace(text.find("MADE"), 4, flag);
  };
  const auto reported = run({python_with_torch()}, made("True"), {});
  ASSERT_FALSE(main_of(reported).optimizers.empty()) << reported.output.err;
  EXPECT_TRUE(main_of(reported).optimizers.front().foreach);
  EXPECT_NE(main_of(reported).optimizers.front().where.find(":3"), std::string::npos);
  const auto changed = run({python_with_torch()}, made("False"), {.knobs = {{"optimizer.implementation", "foreach"}}});
  EXPECT_NE(changed.output.out.find("foreach True"), std::string::npos) << changed.output.out << changed.output.err;
  ASSERT_EQ(main_of(changed).knobs.size(), 1u);
  EXPECT_TRUE(main_of(changed).knobs.front().in_force) << main_of(changed).knobs.front().said;
}

}  // namespace
}  // namespace warpmark::workers
