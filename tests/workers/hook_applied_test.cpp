// Knobs in runs that nobody times, as `optimize --apply` starts them: those that go by steps act there, too, and all of
// them for as long as a program lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/two_ranks.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::python_with_torch;

/// Asks in each step to empty the cache, and prints how often PyTorch did look whether there is one; and what is
/// frozen.
constexpr const char* kEmptying = R"(
import gc, torch
looks = []
torch.cuda.memory.is_initialized = lambda: looks.append(1) and False
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(3, 4))
model(torch.randn(3, 4))
for step in range(40):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
    torch.cuda.empty_cache()
print("looks", len(looks), "frozen", gc.get_freeze_count() > 0)
)";

/// Two models, one after the other, as of two folds: whether the first is freed, and what the second's weights are.
constexpr const char* kFolds = R"(
import gc, torch, weakref
from torch import nn
gc.disable()
def fold():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(6):
        optimizer.zero_grad()
        model(torch.randn(4, 3, 8, 8)).square().mean().backward()
        optimizer.step()
    print("last", model[0].weight.is_contiguous(memory_format=torch.channels_last))
    return weakref.ref(model), weakref.ref(optimizer)
for number in range(2):
    left = fold()
    gc.collect()
    print("freed", [one() is None for one in left])
)";

/// In each step two gradients are added, one in the last; the exchanges that rank 0 asks for are counted.
constexpr const char* kAdding = R"(
torch.manual_seed(dist.get_rank())
exchanges = 0
for step in range(12):
    for part in range(1 if step == 11 else 2):
        both = not UNUSED or (step + dist.get_rank()) % 2 == 0
        loss = model(torch.randn(4, 8), both).square().mean()
        exchanges += model.require_backward_grad_sync
        loss.backward()
    if CLIPS: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    optimizer.zero_grad()
total = sum(p.double().sum().item() for p in model.parameters())
print("weights %.6f" % total, "exchanges", exchanges) if dist.get_rank() == 0 else None
)";

/// Two models that exchange, with an optimizer each; a backward of the second goes through the first.
constexpr const char* kTwoModels = R"(
other = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
its = torch.optim.SGD(other.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for step in range(8):
    for part in range(2): model(other(torch.randn(4, 8)).detach()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    model(other(torch.randn(4, 8))).mean().backward()
    its.step()
    its.zero_grad()
    optimizer.zero_grad()
total = sum(p.double().sum().item() for m in (model, other) for p in m.parameters())
os.write(1, b"rank %d weights %.6f\n" % (dist.get_rank(), total))
)";

class HookApplied : public HookedText {
 protected:
  static HookPlan untimed(const NamedValues& knobs) { return {.knobs = knobs, .measure = false}; }

  HookedRun ran(const HookPlan& plan, const std::string& program, const NamedValues& variables = {}) {
    auto run = this->run({python_with_torch()}, program, plan, variables);
    EXPECT_EQ(run.output.exit_code, 0) << run.output.err;
    EXPECT_TRUE(plan.measure || main_of(run).steps.empty()) << "nothing is measured";
    return run;
  }
  std::string printed(const HookPlan& plan, const std::string& program) { return ran(plan, program).output.out; }

  /// What both ranks print, sorted.
  std::string of_two_ranks(const HookPlan& plan, std::string steps, bool unused = false, bool clips = false) {
    const auto put = [&](const std::string& name, bool value) {
      if (const auto at = steps.find(name); at != std::string::npos)
        steps.replace(at, name.size(), value ? "True" : "False");
    };
    put("UNUSED", unused);
    put("CLIPS", clips);
    const std::string launcher = testing_support::start_two_ranks(python_with_torch(), "\"$0\"");
    const auto ran =
        run({"sh", "-c", "(" + launcher + "; wait) | sort"}, testing_support::model_of_two_ranks(unused) + steps, plan);
    EXPECT_EQ(ran.output.exit_code, 0) << ran.output.err;
    EXPECT_THAT(ran.output.out, HasSubstr("weights")) << ran.output.err;
    return ran.output.out;
  }
};

TEST_F(HookApplied, the_cache_is_left_and_objects_are_frozen_though_nobody_times) {
  WM_NEEDS_TORCH();
  EXPECT_THAT(printed(untimed({}), kEmptying), HasSubstr("looks 40 frozen False"));
  EXPECT_THAT(printed(untimed({{"memory.no_empty_cache", "on"}}), kEmptying), HasSubstr("looks 0 frozen False"));
  EXPECT_THAT(printed(untimed({{"python.gc_freeze", "on"}}), kEmptying), HasSubstr("looks 40 frozen True"));
}

TEST_F(HookApplied, models_of_further_folds_are_changed_and_those_before_are_freed) {
  WM_NEEDS_TORCH();
  const std::string plain = "last False\nfreed [True, True]\n";
  const std::string changed = "last True\nfreed [True, True]\n";
  EXPECT_EQ(printed(untimed({}), kFolds), plain + plain);
  EXPECT_EQ(printed(untimed({{"channels_last", "on"}, {"python.gc_freeze", "on"}}), kFolds), changed + changed);
  EXPECT_EQ(printed({.knobs = {{"channels_last", "on"}}, .warmup_steps = 1}, kFolds), changed + changed);
}

TEST_F(HookApplied, ranks_that_accumulate_exchange_once_a_step_and_learn_the_same) {
  WM_NEEDS_TORCH();
  const auto once = untimed({{"ddp.no_sync", "on"}});
  for (const bool unused : {false, true}) {
    for (const bool clips : {false, true}) {
      SCOPED_TRACE(std::string(unused ? "unused " : "") + (clips ? "clips" : ""));
      const auto plain = of_two_ranks({}, kAdding, unused, clips);
      const auto exchanged = of_two_ranks(once, kAdding, unused, clips);
      EXPECT_THAT(plain, HasSubstr("exchanges 23"));
      EXPECT_THAT(exchanged, HasSubstr("exchanges 13")) << "two steps are for learning; the last one is by hand";
      EXPECT_EQ(plain.substr(0, plain.find(" exch")), exchanged.substr(0, exchanged.find(" exch")));
    }
  }
}

TEST_F(HookApplied, with_two_models_that_exchange_every_backward_does) {
  WM_NEEDS_TORCH();
  const auto plain = of_two_ranks({}, kTwoModels);
  EXPECT_EQ(of_two_ranks(untimed({{"ddp.no_sync", "on"}}), kTwoModels), plain);
}

TEST_F(HookApplied, settings_that_did_nothing_are_told_once_at_the_end) {
  WM_NEEDS_TORCH();
  const auto run = ran(untimed({{"memory.no_empty_cache", "on"}, {"ddp.no_sync", "on"}}), kEmptying);
  EXPECT_THAT(run.output.err, HasSubstr("warpmark: ddp.no_sync=on of the plan: nothing in the program"));
  EXPECT_THAT(run.output.err, Not(HasSubstr("no_empty_cache")));
}

/// The kind of optimizer that a checkpoint was saved from does not come back with it.
TEST_F(HookApplied, an_optimizer_goes_on_from_a_checkpoint_as_the_plan_says) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import torch\n"
      "model = torch.nn.Linear(4, 2)\n"
      "def make(): return torch.optim.AdamW(model.parameters(), lr=0.1)\n"
      "def step(optimizer):\n"
      "    model(torch.ones(3, 4)).sum().backward()\n"
      "    optimizer.step()\n"
      "    return optimizer\n"
      "saved = step(make()).state_dict()\n"
      "for group in saved['param_groups']: group['foreach'] = None\n"
      "resumed = make()\n"
      "resumed.load_state_dict(saved)\n"
      "step(resumed).load_state_dict(saved)\n"
      "print(resumed.param_groups[0]['foreach'], saved['param_groups'][0]['foreach'])\n"
      "step(resumed)\n";
  EXPECT_EQ(printed(untimed({}), program), "None None\n");
  EXPECT_EQ(printed(untimed({{"optimizer.implementation", "foreach"}}), program), "True None\n");
}

/// A launcher that imports torch takes the variable off for those that it starts.
TEST_F(HookApplied, a_variable_that_a_launcher_takes_off_is_off_for_its_ranks) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import os, subprocess, sys, torch\n"
      "if len(sys.argv) > 1:\n"
      "    for step in range(8): torch.nn.Linear(4, 2)(torch.ones(1, 4))\n"
      "    print(os.environ.get('CUDA_LAUNCH_BLOCKING'))\n"
      "else: subprocess.run([sys.executable, __file__, 'rank'], check=True)\n";
  const auto run =
      ran({.knobs = {{"debug.launch_blocking", "off"}}, .warmup_steps = 1}, program, {{"CUDA_LAUNCH_BLOCKING", "1"}});
  EXPECT_EQ(run.output.out, "None\n");
  ASSERT_EQ(knobs(run).size(), 1u);
  EXPECT_TRUE(knobs(run).front().in_force) << knobs(run).front().said;
}

/// Nested tensors have no length: what cannot be counted is told, and the program gets its batch.
TEST_F(HookApplied, a_batch_that_cannot_be_counted_is_the_programs) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import torch, warnings\n"
      "warnings.simplefilter('ignore')\n"
      "nested = torch.nested.nested_tensor if hasattr(torch, 'nested') else torch.nested_tensor\n"
      "def collate(rows): return nested([torch.ones(len(rows)), torch.ones(2)])\n"
      "loader = torch.utils.data.DataLoader(range(8), batch_size=2, collate_fn=collate)\n"
      "model = torch.nn.Linear(4, 2)\n"
      "for batch in loader: model(torch.ones(1, 4))\n"
      "print('done')\n";
  EXPECT_EQ(printed(untimed({}), program), "done\n");
  EXPECT_EQ(printed({.warmup_steps = 1}, program), "done\n");
}

}  // namespace
}  // namespace warpmark::workers
