// The hook in real programs.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using testing_support::python_with_torch;

/// A training of 20 steps; PARTS are put in where they are named.
constexpr const char* kTraining = R"(
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x, y = torch.randn(80, 3, 8, 8), torch.arange(80) % 5
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
#BEFORE
for x, y in DataLoader(TensorDataset(x, y), batch_size=4):
    #STEP
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
#AFTER
)";

class HookTest : public Hooked {
 protected:
  static std::string training(const std::string& place = "", const std::string& text = "") {
    std::string program = kTraining;
    if (!place.empty()) program.replace(program.find(place), place.size(), text);
    return program;
  }

  HookedRun run(const std::vector<std::string>& words, const HookPlan& plan = {}, const NamedValues& variables = {}) {
    return run_words(words, plan, variables);
  }
  HookedRun run_script(const std::string& text, const HookPlan& plan = {}) {
    return run({python_with_torch(), script(text)}, plan);
  }
  static KnobState knob(const HookedRun& run, const std::string& id) {
    for (const auto& knob : main_of(run).knobs) {
      if (knob.id == id) return knob;
    }
    return {.id = "nothing was said of " + id};
  }
};

TEST_F(HookTest, a_program_without_torch_is_left_alone) {
  const auto program =
      script("import sys\nprint(sys.path, sorted(m for m in sys.modules if 'warp' in m))\nsys.exit(7)\n");
  const auto plain = run_process({"python3", program}, {.deadline_s = 60});
  ASSERT_TRUE(plain.ok());
  const auto hooked = run({"python3", program});
  EXPECT_EQ(hooked.output.exit_code, 7);
  EXPECT_EQ(hooked.output.err, plain->err);
  EXPECT_EQ(hooked.output.out.substr(0, hooked.output.out.find(']')), plain->out.substr(0, plain->out.find(']')));
  ASSERT_EQ(hooked.reports.size(), 1u);
  EXPECT_EQ(main_of(hooked).torch, "");
}

TEST_F(HookTest, a_torch_that_is_too_old_is_left_alone_and_told) {
  ASSERT_TRUE(make_folder(folder_ / "torch").ok());
  ASSERT_TRUE(write_file(folder_ / "torch/__init__.py", "__version__ = '1.8.0a0'\n").ok());
  const auto hooked = run({"python3", script("import torch\nprint(sorted(vars(torch))[-1])\n")});
  EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  ASSERT_EQ(main_of(hooked).faults.size(), 1u);
  EXPECT_EQ(main_of(hooked).faults[0], "torch: TooOld: torch 1.8.0a0 is older than 1.13");
}

TEST_F(HookTest, hands_over_to_the_users_own_sitecustomize) {
  const auto own = folder_ / "own";
  ASSERT_TRUE(make_folder(own).ok());
  ASSERT_TRUE(write_file(own / "sitecustomize.py", "import builtins\nbuiltins.greeting = 'from my own'\n").ok());
  const auto program = script("import sitecustomize\nprint(greeting, sitecustomize.__file__)\n");
  const auto hooked = run({"python3", program}, {}, {{"PYTHONPATH", own.string()}});
  EXPECT_EQ(hooked.output.out, "from my own " + (own / "sitecustomize.py").string() + "\n");
  EXPECT_EQ(hooked.reports.size(), 1u);
}

TEST_F(HookTest, an_isolated_interpreter_is_not_heard) {
  const auto hooked = run({"python3", "-I", script("print(1)\n")});
  EXPECT_EQ(hooked.output.out, "1\n");
  EXPECT_TRUE(hooked.reports.empty());
}

TEST_F(HookTest, finds_steps_phases_and_losses_and_changes_no_result) {
  WM_NEEDS_TORCH();
  const auto plain = run_process({python_with_torch(), script(training())}, {.deadline_s = 200});
  ASSERT_TRUE(plain.ok());
  const auto before_ns = monotonic_ns();
  const auto hooked = run_script(training());
  const auto after_ns = monotonic_ns();
  EXPECT_EQ(hooked.output.out, plain->out);
  EXPECT_EQ(hooked.output.err, plain->err);
  const auto& report = main_of(hooked);
  EXPECT_EQ(report.steps.size(), 20u);
  EXPECT_EQ(report.losses.size(), 20u);
  EXPECT_EQ(report.marker, "optimizer");
  EXPECT_EQ(report.ended, "exit");
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  for (const auto& step : report.steps) {
    EXPECT_EQ(step.samples, 4);
    EXPECT_EQ(step.backwards, 1);
    EXPECT_GT(step.forward_s, 0);
    EXPECT_GT(step.backward_s, 0);
    EXPECT_GT(step.optimizer_s, 0);
  }
  ASSERT_FALSE(report.loaders.empty());
  EXPECT_NE(report.loaders.front().where.find("program.py:10"), std::string::npos) << report.loaders.front().where;
  ASSERT_FALSE(report.modules.empty());
  EXPECT_EQ(report.modules.front().convolutions, 1);
  ASSERT_TRUE(report.window);
  EXPECT_EQ(report.window->samples, 4 * report.window->steps);
  EXPECT_GT(report.window->began_s, static_cast<double>(before_ns) * 1e-9) << "on the clock of monotonic_ns()";
  EXPECT_LT(report.window->began_s, static_cast<double>(after_ns) * 1e-9);
}

TEST_F(HookTest, puts_knobs_on_and_reads_them_back) {
  WM_NEEDS_TORCH();
  const auto hooked = run_script(training(), {.knobs = {{"loader.workers", "2"},
                                                        {"channels_last", "on"},
                                                        {"optimizer.implementation", "foreach"},
                                                        {"precision.autocast", "bf16"}}});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  for (const char* id : {"loader.workers", "channels_last", "optimizer.implementation", "precision.autocast"}) {
    const auto state = knob(hooked, id);
    EXPECT_TRUE(state.in_force) << state.id << ": " << state.said;
  }
  EXPECT_EQ(main_of(hooked).loaders.front().workers, 2);
  EXPECT_EQ(main_of(hooked).steps.size(), 20u);
}

TEST_F(HookTest, optimizers_without_a_fused_implementation_get_foreach) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import torch\nmodel = torch.nn.Linear(4, 4)\n"
      "optimizer = torch.optim.RAdam(model.parameters(), lr=0.01, foreach=False)\n"
      "for step in range(20):\n    optimizer.zero_grad()\n    model(torch.ones(2, 4)).sum().backward()\n"
      "    optimizer.step()\nprint('foreach', optimizer.param_groups[0]['foreach'])\n";
  const auto hooked = run_script(program, {.knobs = {{"optimizer.implementation", "foreach"}}});
  EXPECT_NE(hooked.output.out.find("foreach True"), std::string::npos) << hooked.output.out << hooked.output.err;
  EXPECT_TRUE(knob(hooked, "optimizer.implementation").in_force) << knob(hooked, "optimizer.implementation").said;
  const auto refused = run_script(program, {.knobs = {{"optimizer.implementation", "fused"}}});
  EXPECT_NE(refused.output.out.find("foreach False"), std::string::npos) << refused.output.out << refused.output.err;
  EXPECT_FALSE(knob(refused, "optimizer.implementation").in_force);
}

TEST_F(HookTest, workers_change_no_loss_of_fixed_data) {
  WM_NEEDS_TORCH();
  const auto plain = run_script(training());
  const auto workers = run_script(training(), {.knobs = {{"loader.workers", "2"}}});
  EXPECT_EQ(main_of(plain).losses, main_of(workers).losses);
  EXPECT_EQ(main_of(plain).losses.size(), 20u);
}

TEST_F(HookTest, a_knob_that_finds_nothing_is_not_in_force) {
  WM_NEEDS_TORCH();
  const auto hooked = run_script(training(), {.knobs = {{"ddp.static_graph", "on"}, {"loader.pin_memory", "on"}}});
  EXPECT_FALSE(knob(hooked, "ddp.static_graph").in_force);
  EXPECT_EQ(main_of(hooked).steps.size(), 20u);
}

TEST_F(HookTest, a_flag_that_the_program_sets_back_is_not_in_force) {
  WM_NEEDS_TORCH();
  const auto program = training("#STEP", "torch.backends.cudnn.benchmark = False");
  const auto state = knob(run_script(program, {.knobs = {{"cudnn.benchmark", "on"}}}), "cudnn.benchmark");
  EXPECT_FALSE(state.in_force);
  EXPECT_NE(state.said.find("set it back"), std::string::npos) << state.said;
}

TEST_F(HookTest, an_iterable_dataset_gets_no_workers) {
  WM_NEEDS_TORCH();
  auto program = training("DataLoader(TensorDataset(x, y), batch_size=4)", "DataLoader(Stream(), batch_size=4)");
  program.replace(program.find("#BEFORE"), 7,
                  "class Stream(torch.utils.data.IterableDataset):\n"
                  "    def __iter__(self):\n"
                  "        return iter([(a, b) for a, b in zip(*DATA)])\n"
                  "DATA = (x, y)\n");
  const auto hooked = run_script(program, {.knobs = {{"loader.workers", "2"}}});
  const auto state = knob(hooked, "loader.workers");
  EXPECT_FALSE(state.in_force);
  EXPECT_NE(state.said.find("IterableDataset"), std::string::npos) << state.said;
  EXPECT_EQ(main_of(hooked).steps.size(), 20u) << "no sample is read twice";
}

TEST_F(HookTest, ends_the_program_after_the_window_even_where_it_catches_everything) {
  WM_NEEDS_TORCH();
  auto program = training("#AFTER", "print('after')");
  program =
      "try:\n    exec(" + std::string("'''") + program + "''')\nexcept BaseException as e:\n    print('caught', e)\n";
  const auto hooked = run_script(program, {.warmup_steps = 2, .window_steps = 5, .stop = true});
  EXPECT_EQ(hooked.output.exit_code, 0);
  EXPECT_EQ(hooked.output.out, "");
  EXPECT_EQ(main_of(hooked).ended, "window");
  EXPECT_EQ(main_of(hooked).steps.size(), 7u);
  EXPECT_EQ(main_of(hooked).window->steps, 5);
}

TEST_F(HookTest, leaving_ends_a_loaders_workers_before_they_are_orphans) {
  WM_NEEDS_TORCH();
  const std::string program = R"(
import os, threading, time, torch
parent = os.getpid()
def tell():
    while os.getppid() == parent: time.sleep(0.02)
    open('orphan', 'w').close()
class Data(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i): return torch.ones(8)
def begin(_):
    open('worker', 'w').close()
    threading.Thread(target=tell, daemon=True).start()
loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2, worker_init_fn=begin)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).sum().backward()
    optimizer.step()
)";
  const auto hooked = run_script(program, {.warmup_steps = 2, .window_steps = 5, .stop = true});
  EXPECT_EQ(hooked.output.exit_code, 0);
  EXPECT_EQ(hooked.output.err.find("Error"), std::string::npos) << hooked.output.err;
  EXPECT_EQ(main_of(hooked).ended, "window");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "worker"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "orphan"));
}

TEST_F(HookTest, a_model_can_be_saved_copied_and_read_without_it) {
  WM_NEEDS_TORCH();
  const auto program = training("#AFTER",
                                "import copy, sys\ntorch.save(copy.deepcopy(model), 'model.pt')\n"
                                "torch.save(optimizer.state_dict(), 'optimizer.pt')\n");
  const auto hooked = run_script(program, {.knobs = {{"channels_last", "on"}}});
  ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  const auto read = run_process(
      {python_with_torch(), "-c",
       "import torch, sys\nm = torch.load(sys.argv[1], weights_only=False)\nprint(m(torch.zeros(1,3,8,8)).shape)",
       (folder_ / "model.pt").string()},
      {.deadline_s = 200});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->out, "torch.Size([1, 5])\n") << read->err;
}

TEST_F(HookTest, finds_steps_of_inference_by_the_outermost_call) {
  WM_NEEDS_TORCH();
  const auto hooked = run_script(
      "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
      "model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 4)))\n"
      "with torch.no_grad():\n    for i in range(12): out = model(torch.randn(5, 8))\nprint(out.shape)\n",
      {.knobs = {{"precision.inference", "bf16"}}});
  const auto& report = main_of(hooked);
  EXPECT_EQ(report.marker, "forward");
  EXPECT_EQ(report.steps.size(), 12u);
  ASSERT_FALSE(report.outputs.empty());
  EXPECT_EQ(report.outputs.front().size(), 20u);
  EXPECT_TRUE(knob(hooked, "precision.inference").in_force) << knob(hooked, "precision.inference").said;
}

TEST_F(HookTest, weights_of_64_bits_train_in_32_and_those_that_only_infer_are_held_in_16) {
  WM_NEEDS_TORCH();
  const auto trains = run_script(
      "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
      "model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4)).double()\n"
      "optimizer = torch.optim.Adam(model.parameters())\n"
      "for i in range(12):\n"
      "    out = model(torch.ones(5, 8, dtype=torch.float64))\n    loss = out.square().mean()\n"
      "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
      "print(out.dtype, model[0].weight.dtype, optimizer.state[model[0].weight]['exp_avg'].dtype)\n",
      {.knobs = {{"precision.weights", "f32"}}});
  EXPECT_EQ(trains.output.out, "torch.float64 torch.float32 torch.float32\n") << trains.output.err;
  EXPECT_TRUE(knob(trains, "precision.weights").in_force) << knob(trains, "precision.weights").said;
  EXPECT_EQ(main_of(trains).modules.front().dtype, "torch.float32");
  EXPECT_LT(main_of(trains).losses.back(), main_of(trains).losses.front());

  const std::string infers =
      "import torch\nfrom torch import nn\n"
      "model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4))\n"
      "with torch.no_grad():\n    for i in range(12): out = model(torch.ones(5, 8))\n"
      "print(out.dtype, model[0].weight.dtype)\n";
  const auto half = run_script(infers, {.knobs = {{"precision.weights", "bf16"}}});
  EXPECT_EQ(half.output.out, "torch.float32 torch.bfloat16\n") << half.output.err;
  EXPECT_TRUE(knob(half, "precision.weights").in_force);
  const auto wrong = run_script(infers, {.knobs = {{"precision.weights", "f32"}}});
  EXPECT_EQ(wrong.output.out, "torch.float32 torch.float32\n");
  EXPECT_FALSE(knob(wrong, "precision.weights").in_force);
  EXPECT_EQ(knob(wrong, "precision.weights").said, "the parameters are torch.float32");
}

TEST_F(HookTest, reports_a_child_that_trains) {
  WM_NEEDS_TORCH();
  for (const char* method : {"spawn", "fork"}) {
    std::string body = training();
    std::string indented;
    for (const char c : body) indented += c == '\n' ? std::string("\n    ") : std::string(1, c);
    const auto program = "def work():" + indented +
                         "\nif __name__ == '__main__':\n    import torch.multiprocessing as mp\n" +
                         "    p = mp.get_context('" + method + "').Process(target=work)\n    p.start()\n    p.join()\n";
    const auto hooked = run_script(program);
    ASSERT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
    EXPECT_EQ(main_of(hooked).steps.size(), 20u) << method;
    EXPECT_EQ(main_of(hooked).losses.size(), 20u) << method;
  }
}

TEST_F(HookTest, a_notebook_run_as_a_script_a_module_and_a_text_on_stdin_are_programs_too) {
  WM_NEEDS_TORCH();
  // As nbconvert writes it: cells one after another, nothing guarded, values shown by nobody.
  const auto notebook = "#!/usr/bin/env python\n# coding: utf-8\n\n# # Training\n\n# In[1]:\n\n" + training() +
                        "\n# In[2]:\n\nloss\n\n# In[ ]:\n\n\n";
  const auto path = script(notebook);
  const auto plain = run_process({python_with_torch(), path}, {.deadline_s = 200});
  ASSERT_TRUE(plain.ok());
  const std::vector<std::vector<std::string>> ways{{python_with_torch(), path},
                                                   {python_with_torch(), "-m", "program"},
                                                   {"sh", "-c", python_with_torch() + " - < program.py"}};
  for (const auto& words : ways) {
    const auto hooked = run(words);
    EXPECT_EQ(hooked.output.out, plain->out) << words.back() << hooked.output.err;
    EXPECT_EQ(hooked.output.err, plain->err) << words.back();
    EXPECT_EQ(main_of(hooked).steps.size(), 20u) << words.back();
  }
}

TEST_F(HookTest, the_users_own_sitecustomize_may_import_torch_itself) {
  WM_NEEDS_TORCH();
  const auto own = folder_ / "own";
  ASSERT_TRUE(make_folder(own).ok());
  ASSERT_TRUE(write_file(own / "sitecustomize.py", "import torch\ntorch.set_num_threads(1)\n").ok());
  const auto hooked =
      run({python_with_torch(), script(training("#AFTER", "print('threads', torch.get_num_threads())"))},
          {.knobs = {{"optimizer.implementation", "foreach"}}}, {{"PYTHONPATH", own.string()}});
  EXPECT_EQ(main_of(hooked).steps.size(), 20u) << hooked.output.err;
  EXPECT_NE(hooked.output.out.find("threads 1"), std::string::npos) << hooked.output.out;
  EXPECT_TRUE(knob(hooked, "optimizer.implementation").in_force);
}

TEST_F(HookTest, a_child_that_is_ended_after_its_window_is_an_end_to_its_parent) {
  WM_NEEDS_TORCH();
  std::string indented;
  for (const char c : training()) indented += c == '\n' ? std::string("\n    ") : std::string(1, c);
  const auto program = "def work():" + indented +
                       "\nif __name__ == '__main__':\n    import torch.multiprocessing as mp\n"
                       "    p = mp.get_context('spawn').Process(target=work)\n    p.start()\n    p.join()\n"
                       "    print('joined', p.exitcode)\n";
  const auto hooked = run_script(program, {.warmup_steps = 2, .window_steps = 5, .stop = true});
  EXPECT_EQ(hooked.output.exit_code, 0) << hooked.output.err;
  EXPECT_EQ(hooked.output.out, "joined 0\n");
  EXPECT_EQ(main_of(hooked).ended, "window");
}

TEST_F(HookTest, a_plan_that_it_cannot_read_is_its_own_trouble) {
  WM_NEEDS_TORCH();
  ASSERT_TRUE(write_file(folder_ / "bad.json", "{\"version\": 99}").ok());
  const auto plain = run_process({python_with_torch(), script(training())}, {.deadline_s = 200});
  auto variables = hook_variables(folder_ / "hook", folder_ / "bad.json", folder_, "");
  const auto hooked =
      run_process({python_with_torch(), script(training())}, {.deadline_s = 200, .environment = variables});
  ASSERT_TRUE(plain.ok() && hooked.ok());
  EXPECT_EQ(hooked->exit_code, 0);
  EXPECT_EQ(hooked->out, plain->out);
  EXPECT_EQ(hooked->err, plain->err);
}

TEST_F(HookTest, a_failing_program_fails_as_it_would) {
  WM_NEEDS_TORCH();
  const auto hooked = run_script(training("#AFTER", "raise SystemExit(3)"));
  EXPECT_EQ(hooked.output.exit_code, 3);
  const auto hanging =
      run_hooked({.words = {python_with_torch(), "-c", "import time\ntime.sleep(1000)"}, .deadline_s = 2},
                 folder_ / "hook", folder_ / "scratch");
  ASSERT_TRUE(hanging.ok());
  EXPECT_EQ(hanging->ending, Ending::timed_out);
}

}  // namespace
}  // namespace warpmark::workers
