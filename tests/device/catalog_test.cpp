#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/backend.h"
#include "device/device.h"
#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

using testing::HasSubstr;

bool cuda_available() { return find_in(backends(), "cuda")->available().available; }

TEST(Backends, are_cpu_and_cuda) { EXPECT_EQ(ids_of(backends()), (std::vector<std::string>{"cpu", "cuda"})); }

TEST(SelectDevices, finds_the_cpu_alone_and_among_all) {
  const auto cpu = select_devices("cpu");
  ASSERT_TRUE(cpu.ok());
  ASSERT_EQ(cpu->size(), 1U);
  EXPECT_EQ((*cpu)[0].id, "cpu");
  const auto all = select_devices("all");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[0].id, "cpu");
}

TEST(SelectDevices, lists_the_devices_and_suggests_for_a_wrong_name) {
  const auto devices = select_devices("cpx");
  ASSERT_FALSE(devices.ok());
  EXPECT_EQ(devices.error().kind, ErrorKind::usage);
  EXPECT_THAT(devices.error().what, HasSubstr("'cpx'"));
  EXPECT_THAT(devices.error().hint, HasSubstr("did you mean 'cpu'?"));
  EXPECT_FALSE(select_devices("").ok());
  EXPECT_FALSE(select_devices("cpu:1").ok());
}

TEST(SelectDevices, says_why_cuda_cannot_be_used) {
  if (cuda_available()) GTEST_SKIP() << "there is a GPU here";
  for (const char* selector : {"cuda", "cuda:0"}) {
    const auto devices = select_devices(selector);
    ASSERT_FALSE(devices.ok());
    EXPECT_EQ(devices.error().kind, ErrorKind::environment);
    EXPECT_FALSE(devices.error().hint.empty());
  }
}

TEST(SelectDevices, finds_each_gpu_by_number) {
  if (!cuda_available()) GTEST_SKIP() << find_in(backends(), "cuda")->available().reason;
  const auto all = select_devices("cuda");
  ASSERT_TRUE(all.ok());
  for (const auto& device : *all) {
    const auto one = select_devices(device.id);
    ASSERT_TRUE(one.ok());
    EXPECT_EQ((*one)[0].uuid, device.uuid);
  }
  EXPECT_FALSE(select_devices("cuda:99").ok());
}

TEST(OpenDevice, opens_the_cpu_and_refuses_the_unknown) {
  const auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().id, "cpu");
  EXPECT_FALSE(open_device("tpu").ok());
}

TEST(CudaModule, is_looked_for_beside_above_and_in_the_installation) {
  const auto places = cuda_module_candidates("/opt/wm/bin/warpmark", nullptr);
  EXPECT_EQ(places,
            (std::vector<std::filesystem::path>{"/opt/wm/bin/libwarpmark_cuda.so", "/opt/wm/libwarpmark_cuda.so",
                                                "/opt/wm/lib/warpmark/libwarpmark_cuda.so"}));
  EXPECT_EQ(cuda_module_candidates("/opt/wm/bin/warpmark", "/x.so"), (std::vector<std::filesystem::path>{"/x.so"}));
}

TEST(CudaModule, says_where_it_was_looked_for) {
  const std::vector<std::filesystem::path> places{"/nowhere/a.so", "/nowhere/b.so"};
  const auto module = load_cuda_module(places);
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().what, HasSubstr("/nowhere/a.so, /nowhere/b.so"));
}

TEST(CudaModule, refuses_a_file_that_is_no_library) {
  test::FakeTree tree;
  tree.file("libwarpmark_cuda.so", "not a library");
  const std::vector<std::filesystem::path> places{tree.root() / "libwarpmark_cuda.so"};
  const auto module = load_cuda_module(places);
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().what, HasSubstr("cannot be loaded"));
}

TEST(CudaSupport, names_the_first_missing_part) {
  EXPECT_TRUE(cuda_support({.driver = true, .gpu = true}).available);
  EXPECT_THAT(cuda_support({.driver = false, .gpu = false}).reason, HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(cuda_support({.driver = false, .gpu = true}).hint, HasSubstr("--gpus all"));
  EXPECT_THAT(cuda_support({.driver = true, .gpu = false}).reason, HasSubstr("no GPU"));
  const Error missing = environment_error("the module was not found", "build it");
  const auto support = cuda_support({.driver = true, .gpu = true, .no_module = &missing});
  EXPECT_FALSE(support.available);
  EXPECT_EQ(support.reason, "the module was not found");
}

}  // namespace
}  // namespace warpmark::device
