#include "device/cpu/memory.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

using test::FakeTree;

constexpr std::int64_t kMiB = 1 << 20;
constexpr const char* kMeminfo =
    "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 1048576 kB\nSwapFree: 1047552 kB\n";

/// A process in /app/job of a version 2 hierarchy.
void add_version_2(FakeTree& tree, const char* path = "/app/job") {
  tree.file("proc/self/cgroup", std::string("0::") + path + "\n");
  tree.file("proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
}

TEST(CgroupLimits, are_absent_without_control_groups) {
  const FakeTree tree;
  const auto limits = read_cgroup_limits(tree.root());
  EXPECT_FALSE(limits.cpus.has_value());
  EXPECT_FALSE(limits.memory_bytes.has_value());
  EXPECT_FALSE(limits.memory_left_bytes.has_value());
}

TEST(CgroupLimits, take_the_tightest_level_of_version_2) {
  FakeTree tree;
  add_version_2(tree);
  tree.file("sys/fs/cgroup/app/job/cpu.max", "max 100000\n");
  tree.file("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  tree.file("sys/fs/cgroup/app/job/memory.max", std::to_string(512 * kMiB));
  tree.file("sys/fs/cgroup/app/job/memory.current", std::to_string(200 * kMiB));
  tree.file("sys/fs/cgroup/app/job/memory.stat", "anon 1\ninactive_file " + std::to_string(50 * kMiB) + "\n");
  tree.file("sys/fs/cgroup/app/memory.max", "max\n");
  const auto limits = read_cgroup_limits(tree.root());
  EXPECT_DOUBLE_EQ(limits.cpus.value(), 1.5);
  EXPECT_EQ(limits.memory_bytes, 512 * kMiB);
  EXPECT_EQ(limits.memory_left_bytes, (512 - 150) * kMiB);
}

TEST(CgroupLimits, use_the_mount_where_a_container_hides_the_path) {
  FakeTree tree;
  add_version_2(tree, "/../../other");
  tree.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(read_cgroup_limits(tree.root()).cpus.value(), 2.0);
}

TEST(CgroupLimits, read_version_1_with_a_container_prefix) {
  FakeTree tree;
  tree.file("proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n");
  tree.file("proc/self/mountinfo",
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(64 * kMiB));
  tree.file("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(16 * kMiB));
  const auto limits = read_cgroup_limits(tree.root());
  EXPECT_DOUBLE_EQ(limits.cpus.value(), 0.5);
  EXPECT_EQ(limits.memory_bytes, 64 * kMiB);
  EXPECT_EQ(limits.memory_left_bytes, 48 * kMiB);
}

TEST(CgroupLimits, know_how_version_1_writes_no_limit) {
  FakeTree tree;
  tree.file("proc/self/cgroup", "4:memory:/\n2:cpu:/\n");
  tree.file("proc/self/mountinfo",
            "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
  tree.file("cg/cpu/cpu.cfs_quota_us", "-1\n").file("cg/cpu/cpu.cfs_period_us", "100000\n");
  tree.file("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const auto limits = read_cgroup_limits(tree.root());
  EXPECT_FALSE(limits.cpus.has_value());
  EXPECT_FALSE(limits.memory_bytes.has_value());
}

TEST(Memory, is_the_machines_without_limits) {
  FakeTree tree;
  tree.file("proc/meminfo", kMeminfo);
  const auto memory = read_memory(tree.root());
  EXPECT_EQ(memory.total_bytes, 16384 * kMiB);
  EXPECT_EQ(memory.available_bytes, 8192 * kMiB);
  EXPECT_EQ(memory.swap_total_bytes, 1024 * kMiB);
  EXPECT_EQ(memory.swap_used_bytes, kMiB);
}

TEST(Memory, is_cut_down_by_the_control_group) {
  FakeTree tree;
  add_version_2(tree);
  tree.file("proc/meminfo", kMeminfo);
  tree.file("sys/fs/cgroup/app/job/memory.max", std::to_string(512 * kMiB));
  tree.file("sys/fs/cgroup/app/job/memory.current", std::to_string(12 * kMiB));
  const auto memory = read_memory(tree.root());
  EXPECT_EQ(memory.total_bytes, 512 * kMiB);
  EXPECT_EQ(memory.available_bytes, 500 * kMiB);
}

}  // namespace
}  // namespace warpmark::device
