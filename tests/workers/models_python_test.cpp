// The models' Python against real PyTorch: gradients, caches and shapes (models_check.py).
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "support/python_with_torch.h"

namespace warpmark::workers {
namespace {

class ModelsInPython : public testing::TestWithParam<const char*> {};

TEST_P(ModelsInPython, hold) {
  WM_NEEDS_TORCH();
  const std::string root = WARPMARK_SOURCE_DIR;
  const auto ran = run_process({"env", "OMP_NUM_THREADS=1", testing_support::python_with_torch(),
                                root + "/tests/workers/models_check.py", root, GetParam()},
                               {.deadline_s = 280});
  ASSERT_TRUE(ran.ok()) << ran.error().what;
  EXPECT_EQ(ran->exit_code, 0) << ran->out << ran->err;
}

INSTANTIATE_TEST_SUITE_P(All, ModelsInPython,
                         testing::Values("checkpointing", "accumulation", "ranks", "decoding", "shapes", "knobs",
                                         "loader", "quality", "recipe", "data", "serving"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace warpmark::workers
