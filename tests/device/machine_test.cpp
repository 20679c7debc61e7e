#include "device/machine.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

Machine some_machine() {
  Machine machine;
  machine.hostname = "node1";
  machine.cpu = "Test CPU";
  machine.kernel = "6.1.0";
  DeviceInfo cpu;
  cpu.backend = "cpu";
  cpu.compute_units = 8;
  DeviceInfo gpu;
  gpu.backend = "cuda";
  gpu.name = "H100";
  machine.devices = {cpu, gpu};
  machine.software = {{"NVIDIA driver", "580.65.06"}, {"CUDA driver", "13.0"}, {"cuDNN", "9.1"}};
  return machine;
}

TEST(Fingerprint, has_16_digits_and_is_the_same_for_equal_machines) {
  const auto print = fingerprint_of(some_machine());
  EXPECT_EQ(print.size(), 16U);
  EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos);
  auto renamed = some_machine();
  renamed.hostname = "node2";
  renamed.memory_bytes = 5;
  renamed.software[2].second = "9.2";
  EXPECT_EQ(fingerprint_of(renamed), print);
}

TEST(Fingerprint, changes_with_what_decides_speed) {
  const auto print = fingerprint_of(some_machine());
  const auto changed = [&](auto change) {
    auto machine = some_machine();
    change(machine);
    return fingerprint_of(machine) != print;
  };
  EXPECT_TRUE(changed([](Machine& machine) { machine.cpu = "Other CPU"; }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.kernel = "6.2.0"; }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.devices[0].compute_units = 4; }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.devices[1].name = "H200"; }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.devices.push_back(machine.devices[1]); }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.software[0].second = "570.00"; }));
  EXPECT_TRUE(changed([](Machine& machine) { machine.software[1].second = "12.8"; }));
}

TEST(Hypervisor, is_known_by_its_signature) {
  EXPECT_EQ(hypervisor_name("KVMKVMKVM"), "kvm");
  EXPECT_EQ(hypervisor_name("Microsoft Hv"), "hyper-v");
  EXPECT_EQ(hypervisor_name("NewNewNew"), "NewNewNew");
  EXPECT_EQ(hypervisor_name(""), "unknown hypervisor");
}

TEST(Container, is_known_by_its_marks) {
  EXPECT_EQ(read_container(test::FakeTree().root()), "");
  EXPECT_EQ(read_container(test::FakeTree().file(".dockerenv", "").root()), "docker");
  EXPECT_EQ(read_container(test::FakeTree().file("run/.containerenv", "").root()), "podman");
  EXPECT_EQ(read_container(test::FakeTree().file("run/secrets/kubernetes.io/x", "").root()), "kubernetes");
  EXPECT_EQ(read_container(test::FakeTree().file("proc/1/cgroup", "12:cpu:/lxc/box\n").root()), "lxc");
  EXPECT_EQ(read_container(test::FakeTree().file("proc/1/cgroup", "0::/init.scope\n").root()), "");
  const char* wsl = "5.15.90.1-microsoft-standard-WSL2\n";
  EXPECT_EQ(read_container(test::FakeTree().file("proc/sys/kernel/osrelease", wsl).root()), "wsl");
}

TEST(VirtualizationText, joins_machine_and_container) {
  EXPECT_EQ(virtualization_text("", ""), "none");
  EXPECT_EQ(virtualization_text("kvm", ""), "kvm");
  EXPECT_EQ(virtualization_text("", "docker"), "docker");
  EXPECT_EQ(virtualization_text("kvm", "docker"), "docker in kvm");
}

TEST(MachineFacts, describe_this_machine) {
  const auto machine = machine_facts();
  EXPECT_FALSE(machine.hostname.empty());
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_FALSE(machine.virtualization.empty());
  EXPECT_GT(machine.memory_bytes, 0);
  ASSERT_FALSE(machine.devices.empty());
  EXPECT_EQ(machine.devices[0].id, "cpu");
  EXPECT_EQ(machine.fingerprint, machine_facts().fingerprint);
}

}  // namespace
}  // namespace warpmark::device
