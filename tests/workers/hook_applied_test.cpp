// Knobs in runs that nobody times, as `optimize --apply` starts them: those that go by steps act there, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/two_ranks.h"
#include "workers/hooked_fixture.h"

namespace warpmark::workers {
namespace {

using ::testing::HasSubstr;
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

/// In each step two gradients are added; the exchanges that rank 0 asks for are counted.
constexpr const char* kAdding = R"(
exchanges = 0
for step in range(12):
    for part in range(2):
        loss = model(torch.randn(4, 8), True).square().mean()
        exchanges += model.require_backward_grad_sync
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
if dist.get_rank() == 0: print("exchanges", exchanges)
)";

class HookApplied : public HookedText {
 protected:
  static HookPlan untimed(const NamedValues& knobs) { return {.knobs = knobs, .measure = false}; }

  std::string printed(const HookPlan& plan, const char* program) {
    const auto run = this->run({python_with_torch()}, program, plan);
    EXPECT_EQ(run.output.exit_code, 0) << run.output.err;
    EXPECT_TRUE(main_of(run).steps.empty()) << "nothing is measured";
    return run.output.out;
  }
};

TEST_F(HookApplied, the_cache_is_left_and_objects_are_frozen_though_nobody_times) {
  WM_NEEDS_TORCH();
  EXPECT_THAT(printed(untimed({}), kEmptying), HasSubstr("looks 40 frozen False"));
  EXPECT_THAT(printed(untimed({{"memory.no_empty_cache", "on"}}), kEmptying), HasSubstr("looks 0 frozen False"));
  EXPECT_THAT(printed(untimed({{"python.gc_freeze", "on"}}), kEmptying), HasSubstr("looks 40 frozen True"));
}

TEST_F(HookApplied, ranks_that_accumulate_exchange_once_a_step_though_nobody_times) {
  WM_NEEDS_TORCH();
  const std::string program = testing_support::model_of_two_ranks(false) + kAdding;
  const std::string launcher = testing_support::start_two_ranks(python_with_torch(), "\"$0\"");
  const auto exchanges = [&](const HookPlan& plan) {
    const auto ran = run({"sh", "-c", launcher}, program, plan);
    EXPECT_EQ(ran.output.exit_code, 0) << ran.output.err;
    return ran.output.out;
  };
  EXPECT_THAT(exchanges(untimed({})), HasSubstr("exchanges 24"));
  EXPECT_THAT(exchanges(untimed({{"ddp.no_sync", "on"}})), HasSubstr("exchanges 14")) << "two steps are for learning";
}

}  // namespace
}  // namespace warpmark::workers
