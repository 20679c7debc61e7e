#include "device/cpu/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

using test::FakeTree;

void add_cache(FakeTree& tree, int cpu, int index, int level, const char* type, const char* size, const char* shared) {
  const auto folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
  tree.file(folder + "level", std::to_string(level) + "\n").file(folder + "type", std::string(type) + "\n");
  tree.file(folder + "size", std::string(size) + "\n").file(folder + "shared_cpu_list", std::string(shared) + "\n");
}

/// Two sockets of two cores of two hardware threads. CPU n and n + 4 share a core; cores 0, 1 are socket 0.
void add_two_sockets(FakeTree& tree) {
  tree.file("sys/devices/system/cpu/online", "0-7\n");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    const auto folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    const auto siblings = std::to_string(core) + "," + std::to_string(core + 4);
    const char* socket = core < 2 ? "0-1,4-5" : "2-3,6-7";
    tree.file(folder + "topology/core_cpus_list", siblings + "\n");
    tree.file(folder + "topology/physical_package_id", core < 2 ? "0\n" : "1\n");
    tree.file(folder + "cpufreq/cpuinfo_max_freq", "3900000\n");
    add_cache(tree, cpu, 0, 1, "Data", "48K", siblings.c_str());
    add_cache(tree, cpu, 1, 1, "Instruction", "32K", siblings.c_str());
    add_cache(tree, cpu, 2, 2, "Unified", "2048K", siblings.c_str());
    add_cache(tree, cpu, 3, 3, "Unified", "30M", socket);
  }
  tree.file("sys/devices/system/node/online", "0-1\n");
  tree.file("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  tree.file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 1 kB\n");
  tree.file("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  tree.file("proc/cpuinfo",
            "processor : 0\nvendor_id : GenuineIntel\nmodel name : Test CPU\nflags : avx2 avx512f amx_bf16\n");
}

TEST(Topology, counts_sockets_cores_threads_and_nodes) {
  FakeTree tree;
  add_two_sockets(tree);
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto topology = read_topology(tree.root(), all, std::nullopt);
  EXPECT_EQ(topology.model, "Test CPU");
  EXPECT_EQ(topology.sockets, 2);
  EXPECT_EQ(topology.cores, 4);
  EXPECT_EQ(topology.threads, 8);
  EXPECT_EQ(topology.usable_cores, 4);
  EXPECT_DOUBLE_EQ(topology.max_clock_hz, 3.9e9);
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[1].cpus, (std::vector<int>{2, 3, 6, 7}));
  EXPECT_EQ(topology.nodes[0].memory_bytes, 1024 * 1024);
}

TEST(Topology, lists_data_and_unified_caches_and_adds_up_the_last_level) {
  FakeTree tree;
  add_two_sockets(tree);
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto topology = read_topology(tree.root(), all, std::nullopt);
  ASSERT_EQ(topology.caches.size(), 3U);
  EXPECT_EQ(topology.caches[0].level, 1);
  EXPECT_EQ(topology.caches[0].kind, "data");
  EXPECT_EQ(topology.caches[0].bytes, 48 * 1024);
  EXPECT_EQ(topology.caches[1].shared_by, 2);
  EXPECT_EQ(topology.caches[2].shared_by, 4);
  EXPECT_EQ(topology.last_level_cache_bytes, 2 * (std::int64_t{30} << 20));
}

TEST(Topology, keeps_to_the_affinity_mask) {
  FakeTree tree;
  add_two_sockets(tree);
  const std::vector<int> one_core{2, 6};
  const auto topology = read_topology(tree.root(), one_core, std::nullopt);
  EXPECT_EQ(topology.threads, 8);
  EXPECT_EQ(topology.usable_threads, 2);
  EXPECT_EQ(topology.usable_cores, 1);
  EXPECT_EQ(topology.last_level_cache_bytes, std::int64_t{30} << 20);  // the other socket's cache is out of reach
}

TEST(Topology, keeps_to_the_quota_but_to_one_core_at_least) {
  FakeTree tree;
  add_two_sockets(tree);
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(read_topology(tree.root(), all, 2.5).usable_cores, 2);
  EXPECT_EQ(read_topology(tree.root(), all, 0.5).usable_cores, 1);
  EXPECT_EQ(read_topology(tree.root(), all, 64.0).usable_cores, 4);
}

TEST(Topology, stands_a_machine_that_tells_nothing) {
  const FakeTree tree;
  const std::vector<int> usable{0, 1};
  const auto topology = read_topology(tree.root(), usable, std::nullopt);
  EXPECT_EQ(topology.sockets, 1);
  EXPECT_EQ(topology.usable_cores, 2);
  EXPECT_TRUE(topology.caches.empty());
  EXPECT_DOUBLE_EQ(topology.max_clock_hz, 0);
}

TEST(CpuDeviceInfo, names_the_numeric_instruction_sets) {
  FakeTree tree;
  add_two_sockets(tree);
  const std::vector<int> usable{0};
  const auto info = cpu_device_info(read_topology(tree.root(), usable, 1.0), {.total_bytes = 4096});
  EXPECT_EQ(info.id, "cpu");
  EXPECT_EQ(info.name, "Test CPU");
  EXPECT_EQ(info.architecture, "x86-64 avx2 avx512f amx_bf16");
  EXPECT_EQ(info.memory_bytes, 4096);
  EXPECT_EQ(info.compute_units, 1);
}

TEST(ThisTopology, knows_this_machine) {
  const auto topology = this_topology();
  EXPECT_FALSE(topology.model.empty());
  EXPECT_GE(topology.usable_cores, 1);
  EXPECT_LE(topology.usable_cores, topology.threads);
  EXPECT_EQ(topology.last_level_cache_bytes > 0, !topology.caches.empty());
  if (read_file("/sys/devices/system/cpu/cpu0/cache/index0/size").ok()) {
    EXPECT_FALSE(topology.caches.empty());
  }
  // Containers may hide it. "fpu" is a flag of x86-64, "fp" one of Armv8.
  if (read_file("/proc/cpuinfo").ok()) {
    EXPECT_THAT(topology.flags, testing::AnyOf(testing::Contains("fpu"), testing::Contains("fp")));
  }
}

}  // namespace
}  // namespace warpmark::device
