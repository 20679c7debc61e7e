// Programs in which a knob that helps elsewhere does harm: each is refused, and the reason is the right one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/cli_fixture.h"
#include "support/python_with_torch.h"
#include "support/two_ranks.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using testing_support::python_with_torch;

class Traps : public Cli {
 protected:
  /// A training whose samples come from ITEM, an expression of `index` and `info` (of the worker; None without).
  Json tried(const std::string& item, const std::string& knob, const std::vector<std::string>& more = {}) {
    write("trap.py",
          "import time, torch\nfrom torch import nn\n"
          "def stop(text):\n    raise RuntimeError(text)\n"
          "class Data(torch.utils.data.Dataset):\n"
          "    def __len__(self): return 400\n"
          "    def __getitem__(self, index):\n"
          "        info = torch.utils.data.get_worker_info()\n"
          "        " +
              item +
              "\n"
              "        return torch.full((8,), index / 400), index % 2\n"
              "torch.manual_seed(0)\n"
              "model = nn.Linear(8, 2)\n"
              "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
              "for epoch in range(2):\n"
              "    for x, y in torch.utils.data.DataLoader(Data(), batch_size=4):\n"
              "        optimizer.zero_grad()\n"
              "        nn.functional.cross_entropy(model(x), y).backward()\n"
              "        optimizer.step()\n");
    std::vector<std::string> words{kExecutable,    "optimize",   "--alpha",  "0.5",
                                   "--rounds",     "6",          "--effect", "10%",
                                   "--asked-only", "--try",      knob,       "--steps",
                                   "80",           "--no-store", "--json",   path("optimization.json")};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", python_with_torch(), path("trap.py")});
    const auto output = run_process(
        words, {.deadline_s = 600, .directory = folder_.string(), .environment = {{"OMP_NUM_THREADS", "1"}}});
    EXPECT_TRUE(output.ok()) << output.error().what;
    EXPECT_EQ(output.ok() ? output->exit_code : -1, 1) << output->err;
    const auto optimization = json("optimization.json");
    EXPECT_TRUE(optimization["plan"].empty());
    return optimization["steps"].empty() ? Json() : optimization["steps"][0];
  }
};

TEST_F(Traps, data_in_memory_gains_nothing_from_workers) {
  WM_NEEDS_TORCH();
  const auto step = tried("pass", "loader.workers=4");
  EXPECT_EQ(step["outcome"], "slower") << step.dump();
}

TEST_F(Traps, out_of_memory_late_in_the_run_is_an_outcome) {
  WM_NEEDS_TORCH();
  const auto step =
      tried("if info and index >= 200: stop('CUDA out of memory. Tried to allocate 2 GiB')", "loader.workers=2");
  EXPECT_EQ(step["outcome"], "failed");
  EXPECT_EQ(step["reason"], "ran out of memory");
}

TEST_F(Traps, workers_that_hang_are_ended_and_named) {
  WM_NEEDS_TORCH();
  const auto step = tried("time.sleep(10000 if info else 0)", "loader.workers=2", {"--timeout", "40s"});
  EXPECT_EQ(step["outcome"], "failed");
  EXPECT_THAT(step["reason"].get<std::string>(), HasSubstr("did not end within"));
}

TEST_F(Traps, a_knob_that_the_program_cannot_take_is_not_in_force) {
  WM_NEEDS_TORCH();
  const auto step = tried("pass", "ddp.static_graph=on");
  EXPECT_EQ(step["outcome"], "failed");
  EXPECT_THAT(step["reason"].get<std::string>(), HasSubstr("not in force"));
}

/// Every second step leaves a part of the model out.
constexpr const char* kSteps = R"(
for step in range(400):
    optimizer.zero_grad()
    model(torch.randn(4, 8), step % 2 == 0).square().mean().backward()
    optimizer.step()
)";

TEST_F(Traps, static_graph_on_a_changing_graph_of_two_ranks_is_not_kept) {
  WM_NEEDS_TORCH();
  write("ranks.py", testing_support::model_of_two_ranks(true) + kSteps);
  write("ranks.sh", testing_support::start_two_ranks(python_with_torch(), "ranks.py") + "\n");
  const auto output =
      run_process({kExecutable,
                   "optimize",
                   "--alpha",
                   "0.5",
                   "--rounds",
                   "4",
                   "--effect",
                   "10%",
                   "--asked-only",
                   "--try",
                   "ddp.static_graph=on",
                   "--steps",
                   "40",
                   "--budget",
                   "9m",
                   "--no-store",
                   "--json",
                   path("optimization.json"),
                   "--",
                   "sh",
                   "ranks.sh"},
                  {.deadline_s = 600, .directory = folder_.string(), .environment = {{"OMP_NUM_THREADS", "1"}}});
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->exit_code == 1 || output->exit_code == 4) << output->exit_code << output->err;
  const auto optimization = json("optimization.json");
  EXPECT_EQ(optimization["ranks"], 2);
  EXPECT_TRUE(optimization["plan"].empty());
  ASSERT_FALSE(optimization["steps"].empty()) << output->err;
  const auto outcome = optimization["steps"][0]["outcome"];
  EXPECT_TRUE(outcome == "failed" || outcome == "rejected") << optimization["steps"][0].dump();
}

}  // namespace
}  // namespace warpmark::apps
