// The module loads and answers on any machine, with a GPU or without one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "device/cuda/backend.h"
#include "workloads/cuda_bridge.h"

namespace warpmark {
namespace {

namespace fs = std::filesystem;

/// The built module, or nullptr where it was not built.
const device::CudaModule* module_or_skip(std::string& why) {
  const auto module = device::cuda_module();
  if (module.ok()) return *module;
  why = module.error().what;
  return nullptr;
}

#define MODULE_OR_SKIP(module)                        \
  std::string why_no_module;                          \
  const auto* module = module_or_skip(why_no_module); \
  if (module == nullptr) GTEST_SKIP() << why_no_module

TEST(CudaModule, exports_its_entry_and_nothing_else) {
  MODULE_OR_SKIP(module);
  EXPECT_EQ(module->abi, device::kCudaModuleAbi);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(module), &info), 0);
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(dlsym(library, device::kCudaModuleSymbol), nullptr);
  // A function of the shared folders: were it exported, it could replace the executable's own copy.
  EXPECT_EQ(dlsym(library, "_ZN8warpmark12check_failedEPKcS1_i"), nullptr);
  EXPECT_EQ(dlsym(library, "cudaMalloc"), nullptr);
  dlclose(library);
}

TEST(CudaModule, says_quickly_whether_there_is_a_gpu) {
  MODULE_OR_SKIP(module);
  const auto start = std::chrono::steady_clock::now();
  const device::Support support = module->available();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (support.available) {
    EXPECT_TRUE(support.reason.empty());
    return;  // initializing a driver takes as long as it takes
  }
  EXPECT_FALSE(support.reason.empty());
  EXPECT_FALSE(support.hint.empty());
  EXPECT_LT(elapsed.count(), 0.1);
}

TEST(CudaModule, reports_a_missing_driver_as_an_error_everywhere) {
  MODULE_OR_SKIP(module);
  if (module->available().available) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(module->devices().ok());
  const auto device = module->open(0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().kind, ErrorKind::environment);
}

TEST(CudaModule, refuses_a_device_that_is_not_there) {
  MODULE_OR_SKIP(module);
  if (!module->available().available) GTEST_SKIP() << module->available().reason;
  const auto device = module->open(1000);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().kind, ErrorKind::usage);
  EXPECT_NE(device.error().what.find("cuda:1000"), std::string::npos) << device.error().what;
}

TEST(CudaModule, offers_the_workloads_by_id) {
  MODULE_OR_SKIP(module);
  for (const char* id :
       {"copy", "triad", "read", "write", "transfer", "launch", "gemm", "conv2d", "attention", "fused_texture",
        "patch_scores", "top_k_patches", "opponent_balance", "embedding", "embedding_cache", "loader"}) {
    const auto* found = static_cast<const workloads::CudaImplementation*>(module->workload(id));
    ASSERT_NE(found, nullptr) << id;
    EXPECT_STREQ(found->id, id);
    EXPECT_NE(found->supports, nullptr);
    EXPECT_NE(found->prepare, nullptr);
  }
  EXPECT_EQ(module->workload("no such workload"), nullptr);
}

TEST(CudaModule, names_each_library_with_its_version_or_why_it_is_missing) {
  MODULE_OR_SKIP(module);
  std::set<std::string> names;
  for (const auto& [name, text] : module->libraries()) {
    names.insert(name);
    const bool found = text.find(".so") != std::string::npos && text.find('/') != std::string::npos;
    const bool missing = text.find("not found") == 0 || text.find("cannot be loaded") == 0;
    EXPECT_TRUE(found || missing) << name << ": " << text;
  }
  EXPECT_EQ(names, (std::set<std::string>{"cuBLASLt", "cuDNN", "NCCL", "CUPTI"}));
}

}  // namespace
}  // namespace warpmark
