// How many workers the advice on loading gives, by running what it tells to write on machines that are pretended.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "base/text.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::TimelineScene;

/// `left_by` is a name that only this framework leaves in a profile.
std::string loading_advice(const char* left_by) {
  const Analysis analysis = testing_support::of(testing_support::stepped(6, [left_by](TimelineScene& scene) {
    (void)scene.timeline().names.intern(left_by);
    scene.range("load_batch", 4'000'000);
    for (int i = 0; i < 10; ++i) scene.launch(testing_support::kTensorGemm, 100'000);
  }));
  const Finding* finding = testing_support::find(analysis, "data_loading");
  EXPECT_NE(finding, nullptr);
  return finding == nullptr ? "" : finding->recommendations.front().snippet;
}

/// The libraries that the advice names, on a machine of so many cores and GPUs, which print the workers asked for.
constexpr const char* kPlayed = R"py(
import os, types
os.sched_getaffinity = lambda process: set(range({cores}))
torch = types.SimpleNamespace(cuda=types.SimpleNamespace(device_count=lambda: {gpus}))
jax = types.SimpleNamespace(local_device_count=lambda: {gpus})
grain = types.SimpleNamespace(MultiprocessingOptions=lambda num_workers: print(num_workers))
dataset = types.SimpleNamespace(mp_prefetch=lambda options: None)
dataset.to_iter_dataset = lambda: dataset
B = 8
def DataLoader(dataset, batch_size, num_workers, pin_memory, persistent_workers, prefetch_factor):
    print(num_workers)
)py";

std::string workers_on(const std::string& advice, int cores, int gpus) {
  const auto program = fmt::format(fmt::runtime(kPlayed), fmt::arg("cores", cores), fmt::arg("gpus", gpus)) + advice;
  const auto output = run_process({"python3", "-c", program}, {.deadline_s = 60});
  EXPECT_TRUE(output.ok()) << output.error().what;
  if (!output.ok()) return "";
  EXPECT_EQ(output->exit_code, 0) << output->err << program;
  return std::string(trim(output->out));
}

TEST(LoaderWorkers, are_as_many_as_cores_a_gpu_of_the_machine_that_runs_the_advice) {
  for (const char* left_by : {"aten::add", "TSL:XlaModule:#hlo_module=jit_step#"}) {
    const std::string advice = loading_advice(left_by);
    ASSERT_NE(advice.find("num_workers="), std::string::npos) << advice;
    EXPECT_EQ(workers_on(advice, 64, 8), "8");
    EXPECT_EQ(workers_on(advice, 16, 1), "16");
    EXPECT_EQ(workers_on(advice, 104, 8), "13");
    EXPECT_EQ(workers_on(advice, 2, 4), "1") << "no worker at all would be an error beside persistent ones";
  }
}

}  // namespace
}  // namespace warpmark::analyze
