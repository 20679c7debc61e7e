// Knobs that are switched between the steps of one process: each is in force in its blocks and gone after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::python_with_torch;

/// Prints in each step what is in force: threads, memory format of the weights and of the optimizer's state, type of
/// the output inside of the model, foreach, whether gradients were dropped, whether the cache is emptied.
constexpr const char* kShowing = R"(
import sys, torch
from torch import nn
torch.manual_seed(0)
emptied = []
torch.cuda.empty_cache = lambda: emptied.append(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.end = nn.Conv2d(3, 4, 3), nn.Linear(144, 5)
    def forward(self, x):
        x = self.conv(x)
        self.narrow = int(x.dtype == torch.bfloat16)
        return self.end(x.flatten(1))
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
last = torch.channels_last
for step in range(100000):
    optimizer.zero_grad()
    dropped = int(step > 0 and model.conv.weight.grad is None)
    loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.arange(4))
    loss.backward()
    optimizer.step()
    before = len(emptied)
    torch.cuda.empty_cache()
    state = optimizer.state[model.conv.weight]["exp_avg"]
    print("threads=%d" % torch.get_num_threads(), "last=%d" % model.conv.weight.is_contiguous(memory_format=last),
          "state=%d" % state.is_contiguous(memory_format=last), "narrow=%d" % model.narrow,
          "foreach=%d" % bool(optimizer.param_groups[0]["foreach"]), "dropped=%d" % dropped,
          "kept=%d" % (len(emptied) == before), flush=True)
)";

class HookScreening : public Hooked {
 protected:
  HookedRun run(const std::string& program, const ScreeningPlan& screening, const NamedValues& knobs = {}) {
    const HookPlan plan{.knobs = knobs, .warmup_steps = 3, .stop = true, .screening = screening};
    return run_words({python_with_torch(), script(program)}, plan, {{"OMP_NUM_THREADS", "1"}});
  }
  static std::string said(const HookedRun& run, const std::string& id) {
    for (const auto& state : main_of(run).switches) {
      if (state.id == id) return state.said;
    }
    return "nothing was told of " + id;
  }
};

TEST_F(HookScreening, each_knob_is_in_force_in_its_blocks_and_alone) {
  WM_NEEDS_TORCH();
  std::map<std::string, std::pair<std::string, std::string>> shown{
      {"threads=2", {"process.threads", "2"}},
      {"last=1", {"channels_last", "on"}},
      {"narrow=1", {"precision.autocast", "bf16"}},
      {"foreach=1", {"optimizer.implementation", "foreach"}},
      {"dropped=1", {"optimizer.set_to_none", "on"}}};
  ScreeningPlan plan{.rounds = 3, .block_steps = 4, .wash_steps = 2, .seed = 5};
  for (const auto& [word, knob] : shown) plan.switches.push_back(knob);
  const auto hooked = run(kShowing, plan);
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto& report = main_of(hooked);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  EXPECT_EQ(report.ended, "window");
  EXPECT_EQ(report.switched_last, -1);
  std::vector<std::int64_t> arms{0, 1, 2, 3, 4, 5, 6};
  if (!report.torch.starts_with("1.")) {  // since PyTorch 2 zero_grad drops gradients unless told otherwise
    EXPECT_EQ(said(hooked, "optimizer.set_to_none"), "this torch does it by itself");
    shown.erase("dropped=1");
    arms.erase(arms.begin() + 2);  // the first of the switches, by their names
  }
  EXPECT_EQ(report.blocks.size(), 3 * arms.size());
  std::set<std::vector<std::int64_t>> orders;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::int64_t> order;
    for (const auto& block : report.blocks) {
      if (block.round != round) continue;
      order.push_back(block.arm);
      EXPECT_EQ(block.steps, 4);
      EXPECT_EQ(block.samples, 16);
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, arms);
  }
  EXPECT_GT(orders.size(), 1U) << "rounds are in random order";
  for (const auto& [word, knob] : shown) EXPECT_EQ(said(hooked, knob.first), "") << knob.first;
  // What the program saw: in no step more than one knob; each in 3 blocks of 6 steps, one step early or late by where
  // in a step it prints.
  std::map<std::string, int> steps;
  for (const auto& line : split(hooked.output.out, '\n')) {
    int on = 0;
    for (const auto& [word, knob] : shown) {
      if ((" " + line + " ").find(" " + word + " ") == std::string::npos) continue;
      ++on;
      ++steps[word];
    }
    EXPECT_LE(on, 2) << line;
    EXPECT_EQ(line.find("last=1") == std::string::npos, line.find("state=1") == std::string::npos) << line;
  }
  for (const auto& [word, knob] : shown) {
    EXPECT_GE(steps[word], 3 * 5) << word;
    EXPECT_LE(steps[word], 3 * 7) << word;
  }
}

TEST_F(HookScreening, a_knob_that_changes_nothing_is_left_out_with_its_reason) {
  WM_NEEDS_TORCH();
  std::string program = kShowing;
  const std::string call = "    torch.cuda.empty_cache()\n";
  program.replace(program.find(call), call.size(), "");
  const auto hooked = run(program, {.switches = {{"memory.no_empty_cache", "on"},
                                                 {"optimizer.implementation", "fused"},
                                                 {"compile", "default"},
                                                 {"python.gc_freeze", "on"},
                                                 {"process.threads", "2"}},
                                    .rounds = 2,
                                    .block_steps = 3,
                                    .wash_steps = 1});
  EXPECT_THAT(said(hooked, "memory.no_empty_cache"), HasSubstr("nothing in these steps"));
  EXPECT_THAT(said(hooked, "optimizer.implementation"), HasSubstr("not for"));
  EXPECT_THAT(said(hooked, "compile"), HasSubstr("cannot be switched"));
  EXPECT_THAT(said(hooked, "python.gc_freeze"), HasSubstr("cannot be switched"));
  EXPECT_EQ(said(hooked, "process.threads"), "");
  EXPECT_EQ(main_of(hooked).blocks.size(), 2U * 3U);
}

TEST_F(HookScreening, names_the_knob_on_which_the_program_fails) {
  WM_NEEDS_TORCH();
  std::string program = kShowing;
  const std::string flat = "x.flatten(1)";
  program.replace(program.find(flat), flat.size(), "x.view(4, -1)");  // of another layout there is no such view
  const auto hooked =
      run(program, {.switches = {{"channels_last", "on"}}, .rounds = 2, .block_steps = 3, .wash_steps = 1});
  EXPECT_NE(hooked.output.exit_code, 0);
  EXPECT_EQ(main_of(hooked).switched_last, 2);
}

TEST_F(HookScreening, ranks_switch_at_the_same_steps_and_end_together) {
  WM_NEEDS_TORCH();
  ASSERT_TRUE(
      write_file(folder_ / "program.py",
                 "import os, torch\nimport torch.distributed as dist\nfrom torch import nn\n"
                 "dist.init_process_group('gloo', init_method='file://' + os.path.abspath('meeting'),\n"
                 "                        rank=int(os.environ['RANK']), world_size=2)\n"
                 "torch.manual_seed(0)\n"
                 "model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten()))\n"
                 "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
                 "for step in range(100000):\n"
                 "    optimizer.zero_grad()\n"
                 "    model(torch.randn(4, 3, 8, 8)).square().mean().backward()\n"
                 "    optimizer.step()\n"
                 "    if dist.get_rank() == 0:\n"
                 "        torch.cuda.empty_cache()\n")
          .ok());
  const std::string start = python_with_torch() + " program.py";
  const HookPlan plan{.warmup_steps = 3,
                      .stop = true,
                      .screening = {.switches = {{"optimizer.implementation", "foreach"},
                                                 {"channels_last", "on"},
                                                 {"memory.no_empty_cache", "on"}},
                                    .rounds = 4,
                                    .block_steps = 4,
                                    .wash_steps = 2}};
  const auto hooked = run_hooked(
      {.words = {"sh", "-c", "RANK=1 LOCAL_RANK=1 " + start + " & RANK=0 LOCAL_RANK=0 " + start + " && wait $!"},
       .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}, {"OMP_NUM_THREADS", "1"}, {"GLOO_SOCKET_IFNAME", "lo"}},
       .directory = folder_.string(),
       .deadline_s = 200,
       .plan = plan},
      folder_ / "hook", folder_ / "scratch");
  ASSERT_TRUE(hooked.ok());
  EXPECT_EQ(hooked->output.exit_code, 0) << hooked->output.err;
  const auto main = main_processes(hooked->reports);
  ASSERT_EQ(main.size(), 2U);
  constexpr std::int64_t kOnlyOfTheFirst = 4;
  const auto arms = [](const ProgramReport& report) {
    std::vector<std::int64_t> order;
    for (const auto& block : report.blocks) {
      if (block.arm != kOnlyOfTheFirst) order.push_back(block.arm);
    }
    return order;
  };
  EXPECT_EQ(arms(*main[0]), arms(*main[1]));
  EXPECT_EQ(main[0]->blocks.size(), 4U * 4U) << "two without a knob, two with";
  EXPECT_EQ(main[1]->blocks.size(), 4U * 3U) << "the knob that changes nothing here keeps its steps";
  for (const auto* report : main) {
    EXPECT_EQ(report->world, 2) << "by torch.distributed, as there is no WORLD_SIZE";
    EXPECT_EQ(report->switched_last, -1);
  }
  EXPECT_THAT(said(*hooked, "channels_last"), HasSubstr("DistributedDataParallel"));
}

TEST_F(HookScreening, a_switch_leaves_the_knobs_of_the_run_as_they_were) {
  WM_NEEDS_TORCH();
  const auto hooked = run(kShowing,
                          {.switches = {{"precision.autocast", "bf16"}, {"process.threads", "2"}},
                           .rounds = 2,
                           .block_steps = 3,
                           .wash_steps = 1},
                          {{"precision.autocast", "bf16"}});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  EXPECT_EQ(main_of(hooked).blocks.size(), 2U * 4U);
  EXPECT_THAT(hooked.output.out, HasSubstr("narrow=1"));
  EXPECT_THAT(hooked.output.out, Not(HasSubstr("narrow=0")));
}

TEST_F(HookScreening, begins_again_where_the_training_begins_after_forwards) {
  WM_NEEDS_TORCH();
  std::string program = kShowing;
  const std::string made = "optimizer = torch";
  program.insert(program.find(made), "for early in range(21):\n    model(torch.randn(4, 3, 8, 8))\n");
  const auto hooked =
      run(program, {.switches = {{"process.threads", "2"}}, .rounds = 3, .block_steps = 3, .wash_steps = 1});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto& report = main_of(hooked);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  EXPECT_EQ(report.marker, "optimizer");
  std::vector<std::int64_t> rounds;
  for (const auto& block : report.blocks) rounds.push_back(block.round);
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(report.switches.size(), 1U);
}

TEST_F(HookScreening, ends_in_time_however_slow_a_knob_is) {
  WM_NEEDS_TORCH();
  const auto hooked = run(
      kShowing,
      {.switches = {{"process.threads", "2"}}, .rounds = 1000000, .block_steps = 3, .wash_steps = 1, .most_s = 0.5});
  EXPECT_EQ(main_of(hooked).ended, "window");
  EXPECT_GE(main_of(hooked).blocks.size(), 3U);
}

}  // namespace
}  // namespace warpmark::workers
