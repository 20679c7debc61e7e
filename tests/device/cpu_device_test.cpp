#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "base/clock.h"
#include "base/files.h"
#include "device/cpu/backend.h"
#include "device/cpu/conditions.h"
#include "device/cpu/timer.h"
#include "device/reading_cost.h"
#include "support/fake_device.h"
#include "support/fake_tree.h"

namespace warpmark::device {
namespace {

std::unique_ptr<Device> open_cpu() {
  auto device = kCpuBackend.open(0);
  WM_CHECK(device.ok());
  return std::move(device).value();
}

/// Spins for a time and remembers its sets.
struct Spin final : Launchable {
  std::int64_t nanoseconds = 0;
  std::vector<std::size_t> sets;
  Status launch(Stream, std::size_t set) override {
    const auto begin = monotonic_ns();
    while (monotonic_ns() - begin < nanoseconds) {
    }
    sets.push_back(set);
    return {};
  }
};

struct Failing final : Launchable {
  Status launch(Stream, std::size_t) override { return data_error("broken on purpose"); }
};

TEST(CpuBackend, has_one_device) {
  EXPECT_TRUE(kCpuBackend.available().available);
  const auto devices = kCpuBackend.devices();
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ((*devices)[0].id, "cpu");
  EXPECT_FALSE(kCpuBackend.open(1).ok());
}

TEST(CpuDevice, gives_memory_that_is_aligned_writable_and_read_back) {
  const auto device = open_cpu();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{5} << 20}) {
    auto buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ((*buffer)->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*buffer)->data()) % (bytes >= 2 << 20 ? 2 << 20 : 4096), 0U);
    ASSERT_TRUE(device->fill(**buffer, 0, bytes, 0xAB).ok());
    const std::array<std::byte, 1> written{std::byte{7}};
    ASSERT_TRUE(device->write(**buffer, bytes - 1, written).ok());
    std::array<std::byte, 1> read{};
    ASSERT_TRUE(device->read(**buffer, bytes - 1, read).ok());
    EXPECT_EQ(read[0], std::byte{7});
    ASSERT_TRUE(device->read(**buffer, 0, read).ok());
    EXPECT_EQ(read[0], bytes == 1 ? std::byte{7} : std::byte{0xAB});
    EXPECT_TRUE(device->synchronize().ok());
  }
}

TEST(CpuDevice, refuses_more_memory_than_is_available_and_says_how_much) {
  const auto device = open_cpu();
  const auto buffer = device->allocate(std::size_t{1} << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::environment);
  EXPECT_THAT(buffer.error().what, testing::HasSubstr(std::to_string(std::size_t{1} << 50)));
  EXPECT_THAT(buffer.error().what, testing::HasSubstr("available"));
  EXPECT_THAT(buffer.error().hint, testing::HasSubstr("--set"));
}

TEST(CpuDevice, counts_memory_that_is_promised_but_not_yet_touched) {
  const auto device = open_cpu();
  const auto before = device->free_memory();
  ASSERT_TRUE(before.ok());
  const std::int64_t half = *before / 2;
  auto buffer = device->allocate(static_cast<std::size_t>(half));
  ASSERT_TRUE(buffer.ok());
  const auto during = device->free_memory();
  ASSERT_TRUE(during.ok());
  // Other programs move the figure too: a quarter of the request is far beyond their noise and far from half missing.
  EXPECT_LT(*during, *before - half + half / 2);
  EXPECT_FALSE(device->allocate(static_cast<std::size_t>(*before)).ok());
}

TEST(CpuSequence, rotates_the_sets_from_the_first) {
  const auto device = open_cpu();
  Spin work;
  const auto sequence = device->sequence(work, {.mode = Mode::cold, .launches = 4, .sets = 3});
  ASSERT_TRUE(sequence.ok());
  ASSERT_TRUE((*sequence)->time(2).ok());
  EXPECT_EQ(work.sets, (std::vector<std::size_t>{2, 0, 1, 2}));
}

TEST(CpuSequence, times_known_work) {
  const auto device = open_cpu();
  Spin work;
  work.nanoseconds = 200'000;
  const auto sequence = device->sequence(work, {.launches = 5});
  ASSERT_TRUE(sequence.ok());
  double fastest = 1;
  for (int i = 0; i < 20; ++i) {
    const auto seconds = (*sequence)->time(0);
    ASSERT_TRUE(seconds.ok());
    EXPECT_GE(*seconds, 0.999e-3);
    fastest = std::min(fastest, *seconds);
  }
  EXPECT_LT(fastest, 1.1e-3 + 10 * cost_of_reading_s());  // each of the five spins ends late by up to two readings
}

TEST(CpuSequence, never_reports_a_time_of_zero) {
  const auto device = open_cpu();
  Spin work;  // spins for 0 ns: two clock readings
  work.sets.reserve(2000);
  const auto sequence = device->sequence(work, {});
  ASSERT_TRUE(sequence.ok());
  for (int i = 0; i < 1000; ++i) {
    const auto seconds = (*sequence)->time(0);
    ASSERT_TRUE(seconds.ok());
    EXPECT_GE(*seconds, device->timer({}).resolution_s);
  }
}

TEST(CpuSequence, passes_on_the_error_of_a_launch) {
  const auto device = open_cpu();
  Failing work;
  const auto sequence = device->sequence(work, {});
  ASSERT_TRUE(sequence.ok());
  const auto seconds = (*sequence)->time(0);
  ASSERT_FALSE(seconds.ok());
  EXPECT_EQ(seconds.error().what, "broken on purpose");
}

TEST(CpuSequence, has_no_graph_mode) {
  const auto device = open_cpu();
  Spin work;
  const auto sequence = device->sequence(work, {.mode = Mode::graph});
  ASSERT_FALSE(sequence.ok());
  EXPECT_EQ(sequence.error().kind, ErrorKind::unsupported);
}

std::map<std::string, Sensor> by_id(const Conditions& conditions) {
  std::map<std::string, Sensor> sensors;
  for (const auto& sensor : conditions.sensors) sensors[sensor.id] = sensor;
  return sensors;
}

TEST(CpuConditions, have_the_agreed_sensors_and_units) {
  const auto conditions = open_cpu()->conditions();
  ASSERT_TRUE(conditions.ok());
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& sensor : conditions->sensors) found.emplace_back(sensor.id, sensor.unit);
  const std::vector<std::pair<std::string, std::string>> agreed{
      {"steal_time", "s"},       {"busy_time", "s"},      {"process_time", "s"},     {"involuntary_switches", "1"},
      {"major_faults", "1"},     {"load_average", "1"},   {"core_clock", "Hz"},      {"governor_clock", "Hz"},
      {"energy", "J"},           {"temperature", "degC"}, {"memory_available", "B"}, {"pressure_cpu", "ratio"},
      {"pressure_cpu_time", "s"}};
  EXPECT_EQ(found, agreed);
}

TEST(HostEnergy, reads_packages_and_their_wrap) {
  const test::FakeTree tree;
  const auto& root = tree.root();
  const auto write_package = [&](const std::string& name, const std::string& kind, const std::string& energy) {
    std::filesystem::create_directories(root / name);
    EXPECT_TRUE(write_file(root / name / "name", kind + "\n").ok());
    EXPECT_TRUE(write_file(root / name / "energy_uj", energy + "\n").ok());
    EXPECT_TRUE(write_file(root / name / "max_energy_range_uj", "1000000\n").ok());
  };
  write_package("intel-rapl:0", "package-0", "900000");
  write_package("intel-rapl:0:0", "core", "5");
  const HostEnergy energy(root);
  ASSERT_TRUE(energy.available());
  const auto before = energy.read();
  write_package("intel-rapl:0", "package-0", "100000");
  const auto after = energy.read();
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->microjoules.size(), 1U);
  EXPECT_NEAR(energy.joules(*before, *after), 0.2, 1e-9);
  EXPECT_FALSE(HostEnergy(root / "nothing").available());
}

TEST(CpuConditions, hold_the_energy_of_all_packages_where_it_may_be_read) {
  const test::FakeTree tree;
  EXPECT_EQ(by_id(read_cpu_conditions(tree.root()))["energy"].value, std::nullopt);
  const auto write_zone = [&](const std::string& name, const std::string& kind, const std::string& microjoules) {
    const auto folder = tree.root() / "sys/class/powercap" / name;
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file(folder / "name", kind + "\n").ok());
    ASSERT_TRUE(write_file(folder / "energy_uj", microjoules + "\n").ok());
    ASSERT_TRUE(write_file(folder / "max_energy_range_uj", "262143328850\n").ok());
  };
  write_zone("intel-rapl:0", "package-0", "1500000");
  write_zone("intel-rapl:0:0", "core", "900000");
  write_zone("intel-rapl:1", "package-1", "250000000000");
  write_zone("intel-rapl:2", "psys", "77000000");
  const auto energy = by_id(read_cpu_conditions(tree.root()))["energy"].value;
  ASSERT_TRUE(energy.has_value());
  EXPECT_NEAR(*energy, 250'001.5, 1e-6) << "packages, and neither their parts nor the whole platform";
  write_zone("intel-rapl:1", "package-1", "");
  EXPECT_EQ(by_id(read_cpu_conditions(tree.root()))["energy"].value, std::nullopt) << "not the sum of the others";
}

TEST(CpuConditions, count_this_process_as_it_works) {
  const auto device = open_cpu();
  const auto before = device->conditions();
  Spin work;
  work.nanoseconds = 50'000'000;
  ASSERT_TRUE(work.launch({}, 0).ok());
  const auto after = device->conditions();
  ASSERT_TRUE(before.ok() && after.ok());
  const double spent = by_id(*after)["process_time"].value.value() - by_id(*before)["process_time"].value.value();
  EXPECT_GT(spent, 5e-3);
  EXPECT_LT(spent, 2.0);
}

TEST(CpuConditions, read_what_the_tree_has_and_nothing_else) {
  test::FakeTree tree;
  tree.file("proc/stat", "cpu  100 0 0 0 0 0 0 300 0 0\n").file("proc/loadavg", "0.50 0.40 0.30 1/2 3\n");
  tree.file("sys/class/thermal/thermal_zone0/type", "acpitz\n").file("sys/class/thermal/thermal_zone0/temp", "20000\n");
  tree.file("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  tree.file("sys/class/thermal/thermal_zone1/temp", "61500\n");
  auto sensors = by_id(read_cpu_conditions(tree.root()));
  EXPECT_GT(sensors["steal_time"].value.value(), 0);
  EXPECT_DOUBLE_EQ(sensors["load_average"].value.value(), 0.5);
  EXPECT_DOUBLE_EQ(sensors["temperature"].value.value(), 61.5);
  EXPECT_FALSE(sensors["governor_clock"].value.has_value());
  EXPECT_FALSE(sensors["pressure_cpu"].value.has_value());
  EXPECT_FALSE(sensors["memory_available"].value.has_value());
}

TEST(CpuConditions, have_what_each_thread_waited_for_a_cpu) {
  test::FakeTree tree;
  tree.file("proc/self/task/10/schedstat", "5000000000 1500000000 120\n");
  tree.file("proc/self/task/11/schedstat", "0 2000000 3\n").file("proc/self/task/12/schedstat", "\n");
  const auto threads = read_cpu_conditions(tree.root()).threads;
  ASSERT_EQ(threads.size(), 2U) << "a thread that has ended tells nothing";
  EXPECT_EQ(threads[0].thread, 10);
  EXPECT_DOUBLE_EQ(threads[0].waited_s, 1.5);
  EXPECT_EQ(threads[0].scheduled, 120);
  EXPECT_DOUBLE_EQ(threads[1].waited_s, 2e-3);
  EXPECT_TRUE(read_cpu_conditions(test::FakeTree().root()).threads.empty());
}

TEST(CpuTemperature, is_that_of_the_hottest_package) {
  test::FakeTree tree;
  tree.file("sys/class/hwmon/hwmon0/name", "nvme\n").file("sys/class/hwmon/hwmon0/temp1_input", "90000\n");
  tree.file("sys/class/hwmon/hwmon1/name", "coretemp\n").file("sys/class/hwmon/hwmon1/temp1_input", "50000\n");
  tree.file("sys/class/hwmon/hwmon2/name", "coretemp\n").file("sys/class/hwmon/hwmon2/temp1_input", "55000\n");
  EXPECT_DOUBLE_EQ(read_cpu_temperature(tree.root()).value(), 55);
  EXPECT_FALSE(read_cpu_temperature(test::FakeTree().root()).has_value());
}

TEST(CoreClock, is_plausible) {
  const double clock_hz = measure_core_clock();
  EXPECT_GT(clock_hz, 0.4e9);
  EXPECT_LT(clock_hz, 7e9);
}

TEST(FakeDevice, launches_the_work_and_returns_the_scripted_time) {
  test::FakeDevice device;
  device.seconds_per_launch = [](std::size_t set) { return 1.0 + static_cast<double>(set); };
  Spin work;
  const auto sequence = device.sequence(work, {.launches = 3, .sets = 2});
  ASSERT_TRUE(sequence.ok());
  const auto seconds = (*sequence)->time(1);
  ASSERT_TRUE(seconds.ok());
  EXPECT_DOUBLE_EQ(*seconds, 2.0 + 1.0 + 2.0);
  EXPECT_EQ(work.sets, (std::vector<std::size_t>{1, 0, 1}));
  EXPECT_EQ(device.log().launched_sets, work.sets);
}

TEST(FakeDevice, has_as_much_memory_as_it_says) {
  test::FakeDevice device;
  device.device_info.memory_bytes = 100;
  auto first = device.allocate(60);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(device.allocate(60).ok());
  *first = nullptr;
  EXPECT_TRUE(device.allocate(60).ok());
}

}  // namespace
}  // namespace warpmark::device
