// What looks like a step or an aid of the program and is none: what a loader's workers compute, and what compilers do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace warpmark::workers
