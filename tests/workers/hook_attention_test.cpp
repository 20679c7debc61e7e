// The hook and how a program attends: what it switched off is told, and put on again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::python_with_torch;

class HookAttention : public HookedText {};

TEST_F(HookAttention, eager_attention_of_transformers_becomes_fused_where_the_model_has_it) {
  WM_NEEDS_TORCH();
  // What the library's classes have in common since 4.36, and nothing else of it.
  std::filesystem::create_directory(folder_ / "transformers");
  ASSERT_TRUE(write_file(folder_ / "transformers" / "__init__.py", "").ok());
  ASSERT_TRUE(write_file(folder_ / "transformers" / "modeling_utils.py",
                         "import torch\n"
                         "class PreTrainedModel(torch.nn.Module):\n"
                         "    _supports_sdpa = False\n"
                         "    def __init__(self, config):\n"
                         "        super().__init__()\n"
                         "        self.config = config\n")
                  .ok());
  const std::string program = R"(
import torch, types
from transformers.modeling_utils import PreTrainedModel
class Model(PreTrainedModel):
    _supports_sdpa = SUPPORTED
    def __init__(self, config):
        super().__init__(config)
        self.a = torch.nn.Linear(8, 2)
    def forward(self, x): return self.a(x)
model = Model(types.SimpleNamespace(_attn_implementation="eager"))
with torch.no_grad():
    for i in range(3): model(torch.ones(4, 8))
print(model.config._attn_implementation)
)";
  for (const bool supported : {true, false}) {
    auto text = program;
    text.replace(text.find("SUPPORTED"), 9, supported ? "True" : "False");
    const auto hooked = run({python_with_torch()}, text, {.knobs = {{"attention.sdpa", "on"}}});
    EXPECT_EQ(hooked.output.out, supported ? "sdpa\n" : "eager\n") << hooked.output.err;
    ASSERT_EQ(knobs(hooked).size(), 1u);
    EXPECT_EQ(knobs(hooked).front().in_force, supported) << knobs(hooked).front().said;
  }
}

/// The torch of Debian 12 has no such switches: the program brings some of its own.
TEST_F(HookAttention, ways_of_attention_that_the_program_switched_off_are_told_and_put_on_again) {
  WM_NEEDS_TORCH();
  const std::string program =
      "import torch\n"
      "on = {'flash': True, 'mem_efficient': True, 'cudnn': True}\n"
      "for name in on:\n"
      "    setattr(torch.backends.cuda, name + '_sdp_enabled', lambda name=name: on[name])\n"
      "    setattr(torch.backends.cuda, 'enable_%s_sdp' % name, lambda to, name=name: on.update({name: to}))\n"
      "torch.backends.cuda.enable_flash_sdp(False)\n"
      "model = torch.nn.Linear(4, 2)\n"
      "for step in range(8): model(torch.ones(1, 4))\n"
      "print(on)\n";
  const HookPlan plan{.warmup_steps = 1};
  const auto plain = run({python_with_torch()}, program, plan);
  EXPECT_EQ(main_of(plain).attention_off, (std::vector<std::string>{"flash"}));
  auto all = plan;
  all.knobs = {{"attention.backend", "all"}};
  const auto changed = run({python_with_torch()}, program, all);
  EXPECT_THAT(changed.output.out, HasSubstr("'flash': True"));
  ASSERT_EQ(main_of(changed).knobs.size(), 1U);
  EXPECT_TRUE(main_of(changed).knobs[0].in_force) << main_of(changed).knobs[0].said;
  EXPECT_TRUE(main_of(changed).attention_off.empty());
}

TEST_F(HookAttention, a_forward_without_any_fused_attention_is_told_and_given_it) {
  WM_NEEDS_TORCH();
  const std::string program = R"(
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.end = torch.nn.Linear(4, 2)
    def forward(self, x):
        with torch.backends.cuda.sdp_kernel(enable_flash=False, **MORE):
            print("flash" if torch.backends.cuda.flash_sdp_enabled() else "unfused")
            return self.end(x)
import inspect
MORE = {"enable_mem_efficient": False, "enable_cudnn": False}
has = inspect.signature(torch.backends.cuda.sdp_kernel).parameters
MORE = {name: value for name, value in MORE.items() if name in has}
model = Net()
for step in range(8): model(torch.ones(1, 4))
)";
  const HookPlan plan{.warmup_steps = 1};
  const auto plain = run({python_with_torch()}, program, plan);
  EXPECT_THAT(plain.output.out, Not(HasSubstr("flash")));
  EXPECT_EQ(main_of(plain).attention_off, (std::vector<std::string>{"flash", "mem_efficient", "cudnn"}));
  auto all = plan;
  all.knobs = {{"attention.backend", "all"}};
  const auto changed = run({python_with_torch()}, program, all);
  EXPECT_THAT(changed.output.out, Not(HasSubstr("unfused")));
  ASSERT_EQ(main_of(changed).knobs.size(), 1U);
  EXPECT_TRUE(main_of(changed).knobs[0].in_force) << main_of(changed).knobs[0].said;
  EXPECT_TRUE(main_of(changed).attention_off.empty());
}

TEST_F(HookAttention, ways_of_attention_switched_off_in_every_step_are_on_in_each_forward) {
  WM_NEEDS_TORCH();
  const std::string switches =
      "import torch\n"
      "on = {'flash': True, 'mem_efficient': True, 'cudnn': True}\n"
      "for name in on:\n"
      "    setattr(torch.backends.cuda, name + '_sdp_enabled', lambda name=name: on[name])\n"
      "    setattr(torch.backends.cuda, 'enable_%s_sdp' % name, lambda to, name=name: on.update({name: to}))\n"
      "class Model(torch.nn.Linear):\n"
      "    def forward(self, x):\n"
      "        print(on['flash'])\n"
      "        if inside: torch.backends.cuda.enable_flash_sdp(False)\n"
      "        return super().forward(x)\n"
      "model = Model(4, 2)\n";
  const std::string steps =
      "for step in range(8):\n"
      "    torch.backends.cuda.enable_flash_sdp(False)\n"
      "    model(torch.ones(1, 4))\n";
  const HookPlan plan{.knobs = {{"attention.backend", "all"}}, .warmup_steps = 1};
  const auto before = run({python_with_torch()}, switches + "inside = False\n" + steps, plan);
  EXPECT_EQ(before.output.out.find("False"), std::string::npos) << before.output.out;
  ASSERT_EQ(main_of(before).knobs.size(), 1U);
  EXPECT_TRUE(main_of(before).knobs[0].in_force) << main_of(before).knobs[0].said;
  EXPECT_EQ(main_of(before).knobs[0].places, 8);
  const auto within = run({python_with_torch()}, switches + "inside = True\n" + steps, plan);
  ASSERT_EQ(main_of(within).knobs.size(), 1U);
  EXPECT_FALSE(main_of(within).knobs[0].in_force);
  EXPECT_THAT(main_of(within).knobs[0].said, HasSubstr("within its forward"));
}

}  // namespace
}  // namespace warpmark::workers
