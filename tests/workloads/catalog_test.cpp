// The catalog as a whole: complete, unambiguous, and every case it proposes is one it accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

TEST(WorkloadCatalog, has_unique_ids_and_full_descriptors) {
  std::set<std::string> ids;
  for (const auto* workload : catalog()) {
    SCOPED_TRACE(workload->id);
    EXPECT_TRUE(ids.insert(workload->id).second);
    EXPECT_NE(std::string(workload->summary), "");
    EXPECT_NE(workload->cost, nullptr);
    EXPECT_NE(workload->supports, nullptr);
    EXPECT_NE(workload->prepare == nullptr, workload->measure == nullptr) << "one of the two";
    EXPECT_NE(workload->cases, nullptr);
    for (const auto& param : workload->params) {
      EXPECT_NE(std::string(param.name), "mode") << "the engine's own";
      EXPECT_TRUE(parse_param(param, param.default_text).ok()) << param.name;
    }
  }
}

TEST(WorkloadCatalog, accepts_its_own_cases_and_none_twice) {
  DeviceInfo gpu;
  gpu.backend = "cuda";
  gpu.last_level_cache_bytes = 50 << 20;
  gpu.compute_units = 132;
  gpu.caches = {{2, "unified", 50 << 20, 132}};
  for (const auto* workload : catalog()) {
    for (const DeviceInfo& device : {test::small_cpu().info(), gpu}) {
      SCOPED_TRACE(std::string(workload->id) + " on " + device.backend);
      const auto cases = workload->cases(*workload, device);
      const auto plain = resolve_params(workload->params, {});
      const bool available = workload->supports(*workload, device, *plain).available;
      // Without the CUDA module nothing is available on a GPU, and has cases all the same.
      const bool may_be_empty = !available && (workload->prepare == nullptr || device.backend == "cuda");
      EXPECT_TRUE(!cases.empty() || may_be_empty);
      EXPECT_FALSE(!cases.empty() && !available && device.backend == "cpu" && workload->prepare == nullptr);
      std::set<std::string> seen;
      for (Overrides overrides : cases) {
        std::erase_if(overrides, [](const auto& item) { return item.first == "mode"; });
        const auto params = resolve_params(workload->params, overrides);
        ASSERT_TRUE(params.ok()) << params.error().what;
        EXPECT_TRUE(workload->cost(*workload, *params).ok()) << to_text(*params);
        EXPECT_TRUE(seen.insert(to_text(*params)).second) << to_text(*params) << " is listed twice";
      }
    }
  }
}

TEST(WorkloadCatalog, is_documented) {
  const auto document = read_file(std::filesystem::path(WARPMARK_SOURCE_DIR) / "docs" / "workloads.md");
  ASSERT_TRUE(document.ok()) << document.error().what;
  for (const auto* workload : catalog()) {
    EXPECT_THAT(*document, testing::HasSubstr("\n## " + std::string(workload->id) + "\n"));
  }
}

}  // namespace
}  // namespace warpmark::workloads
