#include "device/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

using testing::HasSubstr;

/// A machine that a benchmark could wish for.
HealthFacts quiet_machine() {
  HealthFacts facts;
  facts.cpu.cores = facts.cpu.threads = facts.cpu.usable_threads = facts.cpu.usable_cores = 2;
  facts.cpu.usable = {0, 1};
  facts.cpu.max_clock_hz = 3e9;
  facts.cpu.nodes = {{0, {0, 1}, 0}};
  facts.memory = {.total_bytes = 1000, .available_bytes = 900};
  facts.settings.governors = {"performance"};
  facts.settings.turbo = false;
  facts.settings.smt_active = false;
  facts.settings.transparent_hugepages = "madvise";
  facts.settings.address_randomization = 2;
  facts.settings.perf_event_paranoid = 2;
  facts.settings.clock_source = "tsc";
  facts.settings.throttle_events = 0;
  facts.invariant_tsc = true;
  facts.load_average = 0.1;
  facts.steal = 0;
  facts.temperature_c = 50;
  facts.core_clock_hz = 2.9e9;
  facts.cuda = facts.nvml = facts.cuda_module = Support::no("no NVIDIA driver");
  return facts;
}

HealthFacts gpu_machine(int count = 1) {
  auto facts = quiet_machine();
  facts.cuda = facts.nvml = facts.cuda_module = Support::yes();
  facts.versions = {"580.65.06", "13.0"};
  facts.cuda_libraries = {{"cuBLASLt", "13.0.1 /usr/lib"}, {"cuDNN", "not found: libcudnn.so.9"}};
  for (int i = 0; i < count; ++i) {
    GpuHealth gpu;
    gpu.facts.index = i;
    gpu.facts.name = "H100";
    gpu.facts.power_limit_w = gpu.facts.default_power_limit_w = 700;
    gpu.facts.ecc_enabled = true;
    gpu.facts.mig_enabled = false;
    gpu.facts.persistence_enabled = true;
    gpu.facts.pcie_generation = gpu.facts.pcie_max_generation = 5;
    gpu.facts.pcie_width = gpu.facts.pcie_max_width = 16;
    gpu.facts.nvlinks = gpu.facts.nvlinks_active = 18;
    gpu.now.sensors = {{"sm_clock", "Hz", 345e6}, {"temperature", "degC", 40}, {"ecc_uncorrected", "1", 0}};
    gpu.now.throttle_reasons = {"gpu_idle"};
    facts.gpus.push_back(gpu);
    facts.gpu_numa_nodes.push_back(0);
    for (int other = 0; other < i; ++other) facts.gpu_links.push_back({other, i, true, "NVLink"});
  }
  return facts;
}

HealthCheck find_check(const HealthFacts& facts, const std::string& id) {
  for (const auto& check : health_checks(facts)) {
    if (check.id == id) return check;
  }
  ADD_FAILURE() << "no check " << id;
  return {};
}

/// The check goes from good to `state` by the change, and then says how to fix it.
template <typename Change>
void expect_change(const HealthFacts& healthy, const std::string& id, HealthState state, Change change) {
  EXPECT_EQ(find_check(healthy, id).state, HealthState::good) << id;
  auto facts = healthy;
  change(facts);
  const auto check = find_check(facts, id);
  EXPECT_EQ(check.state, state) << id << ": " << check.found;
  EXPECT_FALSE(check.found.empty()) << id;
  EXPECT_EQ(check.fix.empty(), state == HealthState::unknown || state == HealthState::good) << id << ": " << check.fix;
}

TEST(HealthChecks, find_nothing_on_a_quiet_machine) {
  for (const auto& check : system_checks(quiet_machine())) {
    const bool is_fact = check.id == "aslr";  // on, as everywhere: nothing to fix
    EXPECT_EQ(check.state, is_fact ? HealthState::info : HealthState::good) << check.id << ": " << check.found;
    EXPECT_TRUE(check.fix.empty()) << check.id;
  }
}

TEST(HealthChecks, have_unique_ids_a_title_a_finding_and_a_reason) {
  std::set<std::string> ids;
  for (const auto& check : health_checks(gpu_machine(2))) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_FALSE(check.title.empty()) << check.id;
    EXPECT_FALSE(check.found.empty()) << check.id;
    EXPECT_FALSE(check.why.empty()) << check.id;
  }
}

TEST(HealthChecks, see_what_disturbs_the_cpu) {
  const auto quiet = quiet_machine();
  using enum HealthState;
  expect_change(quiet, "governor", warning, [](HealthFacts& facts) { facts.settings.governors = {"powersave"}; });
  expect_change(quiet, "turbo", warning, [](HealthFacts& facts) { facts.settings.turbo = true; });
  expect_change(quiet, "core_clock", warning, [](HealthFacts& facts) { facts.core_clock_hz = 1.2e9; });
  expect_change(quiet, "smt", warning, [](HealthFacts& facts) { facts.settings.smt_active = true; });
  expect_change(quiet, "affinity", warning, [](HealthFacts& facts) { facts.cpu.threads = 8; });
  expect_change(quiet, "cpu_quota", bad, [](HealthFacts& facts) { facts.cpu.quota_cpus = 1.5; });
  expect_change(quiet, "hypervisor", warning, [](HealthFacts& facts) { facts.hypervisor = "kvm"; });
  expect_change(quiet, "steal", warning, [](HealthFacts& facts) { facts.steal = 0.02; });
  expect_change(quiet, "steal", bad, [](HealthFacts& facts) { facts.steal = 0.2; });
  expect_change(quiet, "load", warning, [](HealthFacts& facts) { facts.load_average = 1; });
  expect_change(quiet, "load", bad, [](HealthFacts& facts) { facts.load_average = 4; });
  expect_change(quiet, "power_supply", bad, [](HealthFacts& facts) { facts.settings.on_battery = true; });
  expect_change(quiet, "temperature", warning, [](HealthFacts& facts) { facts.temperature_c = 90; });
  expect_change(quiet, "temperature", warning, [](HealthFacts& facts) { facts.settings.throttle_events = 3; });
  expect_change(quiet, "clock_source", warning, [](HealthFacts& facts) { facts.settings.clock_source = "hpet"; });
  expect_change(quiet, "counters", warning, [](HealthFacts& facts) { facts.settings.perf_event_paranoid = 3; });
}

TEST(HealthChecks, see_what_disturbs_the_memory) {
  const auto quiet = quiet_machine();
  using enum HealthState;
  expect_change(quiet, "memory", warning, [](HealthFacts& facts) { facts.memory.available_bytes = 100; });
  expect_change(quiet, "memory", bad, [](HealthFacts& facts) { facts.memory.available_bytes = 10; });
  expect_change(quiet, "swap", warning, [](HealthFacts& facts) {
    facts.memory.swap_total_bytes = 500;
    facts.memory.swap_used_bytes = 200;
  });
  expect_change(quiet, "hugepages", warning, [](HealthFacts& f) { f.settings.transparent_hugepages = "never"; });
  expect_change(quiet, "numa", warning, [](HealthFacts& facts) {
    facts.cpu.nodes.push_back({1, {}, 0});
    facts.settings.numa_balancing = true;
  });
}

TEST(HealthChecks, do_not_guess_what_cannot_be_read) {
  HealthFacts nothing;
  for (const char* id : {"governor", "turbo", "core_clock", "smt", "steal", "load", "memory", "hugepages", "numa",
                         "counters", "clock_source", "temperature"}) {
    EXPECT_EQ(find_check(nothing, id).state, HealthState::unknown) << id;
  }
}

TEST(HealthChecks, take_a_pinned_and_isolated_process_for_good) {
  auto facts = quiet_machine();
  facts.cpu.threads = 8;
  facts.settings.isolated_cpus = {0, 1};
  EXPECT_EQ(find_check(facts, "affinity").state, HealthState::good);
}

TEST(GpuChecks, find_only_the_missing_library_on_a_healthy_machine) {
  for (const auto& check : gpu_checks(gpu_machine(4))) {
    const bool missing = check.id == "library_cudnn";
    EXPECT_EQ(check.state, missing ? HealthState::warning : HealthState::good) << check.id << ": " << check.found;
  }
  EXPECT_THAT(find_check(gpu_machine(), "library_cudnn").fix, HasSubstr("install cuDNN"));
}

TEST(GpuChecks, see_what_holds_a_gpu_down) {
  const auto healthy = gpu_machine();
  using enum HealthState;
  const auto change = [&](const char* id, HealthState state, auto edit) {
    expect_change(healthy, std::string("gpu0_") + id, state, [&](HealthFacts& facts) { edit(facts.gpus[0]); });
  };
  change("persistence", warning, [](GpuHealth& gpu) { gpu.facts.persistence_enabled = false; });
  change("ecc", warning, [](GpuHealth& gpu) { gpu.facts.ecc_enabled = false; });
  change("ecc", bad, [](GpuHealth& gpu) { gpu.now.sensors[2].value = 1; });
  change("mig", warning, [](GpuHealth& gpu) { gpu.facts.mig_enabled = true; });
  change("power_cap", warning, [](GpuHealth& gpu) { gpu.facts.power_limit_w = 500; });
  change("temperature", bad, [](GpuHealth& gpu) { gpu.now.sensors[1].value = 90; });
  change("clocks", warning, [](GpuHealth& gpu) { gpu.now.throttle_reasons = {"sw_power_cap"}; });
  change("clocks", warning, [](GpuHealth& gpu) { gpu.now.throttle_reasons = {"applications_clocks_setting"}; });
  change("pcie", bad, [](GpuHealth& gpu) { gpu.facts.pcie_width = 8; });
  change("pcie", warning, [](GpuHealth& gpu) { gpu.facts.pcie_generation = 1; });
  change("processes", bad, [](GpuHealth& gpu) { gpu.now.other_processes = {"7 python"}; });
  change("nvlink", bad, [](GpuHealth& gpu) { gpu.facts.nvlinks_active = 17; });
}

TEST(GpuChecks, tell_a_missing_gpu_from_a_missing_driver_and_module) {
  auto facts = quiet_machine();
  EXPECT_EQ(find_check(facts, "gpu_driver").state, HealthState::info);
  EXPECT_EQ(find_check(facts, "cuda_module").state, HealthState::info);
  facts.settings.nvidia_pci_device = true;
  EXPECT_EQ(find_check(facts, "gpu_driver").state, HealthState::bad);
  facts = gpu_machine();
  facts.cuda_module = facts.cuda = Support::no("module not found", "build it");
  EXPECT_EQ(find_check(facts, "cuda_module").state, HealthState::bad);
  EXPECT_EQ(find_check(facts, "cuda_module").fix, "build it");
  facts = quiet_machine();
  facts.nvml_hangs = true;
  facts.cuda_module = Support::no("module not found", "build it");
  EXPECT_EQ(find_check(facts, "cuda_module").found, "module not found") << "whether there is a GPU is not known";
}

TEST(GpuChecks, tell_a_driver_and_a_gpu_that_do_not_answer) {
  auto facts = gpu_machine(2);
  facts.gpus[1].fault = "GPU is lost";
  EXPECT_EQ(find_check(facts, "gpu1_answer").state, HealthState::bad);
  EXPECT_EQ(find_check(facts, "gpu1_answer").found, "GPU is lost");
  EXPECT_EQ(find_check(facts, "gpu0_ecc").state, HealthState::good);
  facts = quiet_machine();
  facts.nvml = Support::no("the NVIDIA driver has not answered for 20 s");
  facts.nvml_hangs = true;
  EXPECT_EQ(find_check(facts, "gpu_driver").state, HealthState::bad);
}

TEST(GpuChecks, hint_at_the_fabric_manager_where_links_do_not_join_gpus) {
  auto facts = gpu_machine(4);
  facts.gpu_links[2] = {0, 2, false, "across NUMA nodes"};
  const auto check = find_check(facts, "gpu_fabric");
  EXPECT_EQ(check.state, HealthState::warning);
  EXPECT_THAT(check.found, HasSubstr("5 of 6 pairs"));
  EXPECT_THAT(check.fix, HasSubstr("nvidia-fabricmanager"));
}

TEST(GpuTopology, is_a_symmetric_table) {
  auto facts = gpu_machine(2);
  facts.gpu_numa_nodes = {0, -1};
  const auto table = gpu_topology(facts);
  ASSERT_EQ(table.rows.size(), 2U);
  ASSERT_EQ(table.columns.size(), table.rows[0].size());
  EXPECT_EQ(table.rows[0][1].text, "-");
  EXPECT_EQ(table.rows[0][2].text, "NVLink");
  EXPECT_EQ(table.rows[1][1].text, "NVLink");
  EXPECT_EQ(table.rows[0][3].text, "0");
  EXPECT_EQ(table.rows[1][3].text, "-");
  EXPECT_TRUE(gpu_topology(quiet_machine()).rows.empty());
}

TEST(SystemSettings, are_read_from_the_tree) {
  test::FakeTree tree;
  tree.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  tree.file("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  tree.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
  tree.file("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  tree.file("sys/devices/system/cpu/smt/active", "1\n").file("sys/devices/system/cpu/isolated", "1\n");
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  tree.file("proc/sys/kernel/numa_balancing", "1\n").file("proc/sys/kernel/perf_event_paranoid", "-1\n");
  tree.file("sys/class/power_supply/BAT0/type", "Battery\n")
      .file("sys/class/power_supply/BAT0/status", "Discharging\n");
  tree.file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  tree.file("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  const std::vector<int> usable{0, 1};
  const auto settings = read_system_settings(tree.root(), usable);
  EXPECT_EQ(settings.governors, (std::vector<std::string>{"powersave"}));
  EXPECT_EQ(settings.turbo, true);
  EXPECT_EQ(settings.smt_active, true);
  EXPECT_EQ(settings.isolated_cpus, (std::vector<int>{1}));
  EXPECT_EQ(settings.transparent_hugepages, "never");
  EXPECT_EQ(settings.numa_balancing, true);
  EXPECT_EQ(settings.perf_event_paranoid, -1);
  EXPECT_EQ(settings.on_battery, true);
  EXPECT_DOUBLE_EQ(settings.throttle_events.value(), 4);
  EXPECT_TRUE(settings.nvidia_pci_device);
}

TEST(SystemSettings, stay_absent_where_nothing_is_told) {
  const test::FakeTree tree;
  const std::vector<int> usable{0};
  const auto settings = read_system_settings(tree.root(), usable);
  EXPECT_TRUE(settings.governors.empty());
  EXPECT_FALSE(settings.turbo.has_value());
  EXPECT_FALSE(settings.smt_active.has_value());
  EXPECT_FALSE(settings.on_battery.has_value());
  EXPECT_FALSE(settings.throttle_events.has_value());
  EXPECT_FALSE(settings.nvidia_pci_device);
}

TEST(HealthFacts, are_gathered_here) {
  const auto facts = gather_health_facts();
  EXPECT_FALSE(facts.cpu.model.empty());
  EXPECT_GT(facts.memory.total_bytes, 0);
  EXPECT_TRUE(facts.steal.has_value());
  for (const auto& check : health_checks(facts)) EXPECT_FALSE(check.found.empty()) << check.id;
}

}  // namespace
}  // namespace warpmark::device
