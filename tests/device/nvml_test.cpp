#include "device/nvml/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "device/nvml/counters.h"
#include "support/fake_tree.h"

namespace warpmark::device::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A GPU that NVML would describe; handles are pointers to it.
struct FakeGpu {
  std::string uuid = "GPU-0";
  std::string name = "Fake H100";
  unsigned long long reasons = 0;
  std::vector<unsigned> pids;
  int links = 0;
  int active_links = 0;
  bool has_energy = true;
};

/// What the functions below, which cannot carry state, look at. Set by each test.
std::vector<FakeGpu>* fake_gpus = nullptr;

FakeGpu& gpu_of(Handle handle) { return *reinterpret_cast<FakeGpu*>(handle); }
Return copy_text(const std::string& text, char* to, unsigned size) {
  std::snprintf(to, size, "%s", text.c_str());
  return kSuccess;
}

Api fake_api() {
  Api api;
  api.error_string = [](Return) { return "Not Found"; };
  api.driver_version = [](char* text, unsigned size) { return copy_text("580.65.06", text, size); };
  api.cuda_driver_version = [](int* version) { return *version = 13010, kSuccess; };
  api.device_count = [](unsigned* count) { return *count = static_cast<unsigned>(fake_gpus->size()), kSuccess; };
  api.handle_by_index = [](unsigned index, Handle* handle) {
    *handle = reinterpret_cast<Handle>(&fake_gpus->at(index));
    return kSuccess;
  };
  api.handle_by_uuid = [](const char* uuid, Handle* handle) {
    for (auto& gpu : *fake_gpus) {
      if (gpu.uuid != uuid) continue;
      *handle = reinterpret_cast<Handle>(&gpu);
      return kSuccess;
    }
    return kNotFound;
  };
  api.name = [](Handle gpu, char* text, unsigned size) { return copy_text(gpu_of(gpu).name, text, size); };
  api.uuid = [](Handle gpu, char* text, unsigned size) { return copy_text(gpu_of(gpu).uuid, text, size); };
  api.clock = [](Handle, int type, unsigned* megahertz) { return *megahertz = type == 1 ? 1980 : 2619, kSuccess; };
  api.temperature = [](Handle, int, unsigned* celsius) { return *celsius = 45, kSuccess; };
  api.power = [](Handle, unsigned* milliwatts) { return *milliwatts = 350'500, kSuccess; };
  api.energy = [](Handle gpu, unsigned long long* millijoules) {
    *millijoules = 123'456'789;
    return gpu_of(gpu).has_energy ? kSuccess : kNotSupported;
  };
  api.clock_event_reasons = [](Handle gpu, unsigned long long* bits) { return *bits = gpu_of(gpu).reasons, kSuccess; };
  api.ecc_errors = [](Handle, int type, int, unsigned long long* n) {
    return *n = type == kCorrected ? 3 : 0, kSuccess;
  };
  api.memory = [](Handle, Memory* memory) { return *memory = {80'000, 30'000, 50'000}, kSuccess; };
  api.utilization = [](Handle, Utilization* use) { return *use = {75, 10}, kSuccess; };
  api.processes = [](Handle gpu, unsigned* count, ProcessInfo* infos) {
    const auto& pids = gpu_of(gpu).pids;
    const bool fits = *count >= pids.size();
    *count = static_cast<unsigned>(pids.size());
    if (!fits) return kInsufficientSize;
    for (std::size_t i = 0; i < pids.size(); ++i) infos[i] = {pids[i], 1000, 0, 0};
    return kSuccess;
  };
  api.nvlink_state = [](Handle gpu, unsigned link, int* active) {
    if (static_cast<int>(link) >= gpu_of(gpu).links) return kNotSupported;
    *active = static_cast<int>(link) < gpu_of(gpu).active_links;
    return kSuccess;
  };
  api.nvlink_version = [](Handle, unsigned, unsigned* version) { return *version = 5, kSuccess; };
  return api;
}

class Nvml : public testing::Test {
 protected:
  Nvml() { fake_gpus = &gpus_; }
  ~Nvml() override { fake_gpus = nullptr; }

  Conditions conditions(const ProcessView& view = {}) {
    auto read = conditions_of(fake_api(), "GPU-0", view);
    WM_CHECK(read.ok());
    return std::move(read).value();
  }
  static std::optional<double> sensor(const Conditions& conditions, const std::string& id) {
    for (const auto& sensor : conditions.sensors) {
      if (sensor.id == id) return sensor.value;
    }
    ADD_FAILURE() << "no sensor " << id;
    return std::nullopt;
  }

  std::vector<FakeGpu> gpus_{1};
};

TEST_F(Nvml, converts_every_sensor_to_si_units) {
  const auto now = conditions();
  EXPECT_DOUBLE_EQ(sensor(now, "sm_clock").value(), 1980e6);
  EXPECT_DOUBLE_EQ(sensor(now, "memory_clock").value(), 2619e6);
  EXPECT_DOUBLE_EQ(sensor(now, "temperature").value(), 45);
  EXPECT_DOUBLE_EQ(sensor(now, "power").value(), 350.5);
  EXPECT_DOUBLE_EQ(sensor(now, "energy").value(), 123456.789);
  EXPECT_DOUBLE_EQ(sensor(now, "ecc_corrected").value(), 3);
  EXPECT_DOUBLE_EQ(sensor(now, "ecc_uncorrected").value(), 0);
  EXPECT_DOUBLE_EQ(sensor(now, "utilization").value(), 0.75);
  EXPECT_DOUBLE_EQ(sensor(now, "memory_used").value(), 50'000);
}

TEST_F(Nvml, leaves_out_what_the_gpu_or_library_does_not_offer) {
  gpus_[0].has_energy = false;
  auto api = fake_api();
  api.power = nullptr;
  const auto now = conditions_of(api, "GPU-0", {});
  ASSERT_TRUE(now.ok());
  EXPECT_FALSE(sensor(*now, "energy").has_value());
  EXPECT_FALSE(sensor(*now, "power").has_value());
  EXPECT_TRUE(sensor(*now, "temperature").has_value());
}

TEST_F(Nvml, fails_for_an_unknown_gpu) {
  const auto now = conditions_of(fake_api(), "GPU-7", {});
  ASSERT_FALSE(now.ok());
  EXPECT_EQ(now.error().kind, ErrorKind::environment);
  EXPECT_THAT(now.error().what, HasSubstr("GPU-7"));
}

TEST_F(Nvml, decodes_every_set_reason) {
  gpus_[0].reasons = 0x1 | 0x4 | 0x40 | 0x400;
  EXPECT_THAT(conditions().throttle_reasons,
              ElementsAre("gpu_idle", "sw_power_cap", "hw_thermal_slowdown", "unknown_0x400"));
  EXPECT_THAT(
      clock_event_reasons(0x1FF),
      ElementsAre("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
                  "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting"));
  EXPECT_TRUE(clock_event_reasons(0).empty());
}

TEST_F(Nvml, tells_settings_from_what_slows) {
  for (const char* setting : {"gpu_idle", "applications_clocks_setting", "display_clock_setting", "sync_boost"}) {
    EXPECT_FALSE(clock_event_reason_slows(setting)) << setting;
  }
  for (const char* cause : {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown",
                            "hw_power_brake_slowdown", "unknown_0x400"}) {
    EXPECT_TRUE(clock_event_reason_slows(cause)) << cause;
  }
}

TEST_F(Nvml, names_other_processes_and_not_this_one) {
  test::FakeTree tree;
  tree.file("proc/42/comm", "python\n");
  gpus_[0].pids = {41, 42, 43};
  const auto now = conditions({.root = tree.root(), .own_pid = 41});
  EXPECT_THAT(now.other_processes, ElementsAre("42 python", "43 (not visible from here)"));
}

TEST_F(Nvml, does_not_take_this_process_seen_from_outside_its_container_for_another) {
  const test::FakeTree tree;
  gpus_[0].pids = {90001};
  EXPECT_TRUE(conditions({.root = tree.root(), .own_pid = 41}).other_processes.empty());
  gpus_[0].pids = {90001, 90002};
  EXPECT_THAT(conditions({.root = tree.root(), .own_pid = 41}).other_processes,
              ElementsAre("90002 (not visible from here)"));
}

TEST_F(Nvml, asks_again_when_there_are_many_processes) {
  const test::FakeTree tree;
  gpus_[0].pids = {1};
  for (unsigned pid = 100; pid < 200; ++pid) gpus_[0].pids.push_back(pid);
  EXPECT_EQ(conditions({.root = tree.root(), .own_pid = 1}).other_processes.size(), 100U);
}

TEST_F(Nvml, counts_links_and_keeps_the_unknown_absent) {
  gpus_[0].links = 18;
  gpus_[0].active_links = 17;
  const auto facts = facts_of(fake_api(), "GPU-0");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->name, "Fake H100");
  EXPECT_EQ(facts->nvlinks, 18);
  EXPECT_EQ(facts->nvlinks_active, 17);
  EXPECT_EQ(facts->nvlink_version, 5);
  EXPECT_EQ(facts->memory_bytes, 80'000);
  EXPECT_FALSE(facts->power_limit_w.has_value());
  EXPECT_FALSE(facts->ecc_enabled.has_value());
}

TEST_F(Nvml, reads_settings) {
  auto api = fake_api();
  api.ecc_mode = [](Handle, int* now, int* later) { return *now = 1, *later = 0, kSuccess; };
  api.mig_mode = [](Handle, unsigned* now, unsigned* later) { return *now = 0, *later = 1, kSuccess; };
  api.persistence_mode = [](Handle, int* on) { return *on = 1, kSuccess; };
  api.power_limit = [](Handle, unsigned* milliwatts) { return *milliwatts = 500'000, kSuccess; };
  api.pcie_max_generation = [](Handle, unsigned* generation) { return *generation = 5, kSuccess; };
  const auto facts = facts_of(api, "GPU-0");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->ecc_enabled, true);
  EXPECT_EQ(facts->mig_enabled, false);
  EXPECT_EQ(facts->persistence_enabled, true);
  EXPECT_DOUBLE_EQ(facts->power_limit_w.value(), 500);
  EXPECT_EQ(facts->pcie_max_generation, 5);
}

TEST_F(Nvml, tells_what_a_gpu_does_with_its_byte_counters) {
  gpus_[0].reasons = 0x4;
  gpus_[0].pids = {41, 42};
  auto api = fake_api();
  api.field_values = [](Handle, int count, FieldValue* fields) {
    for (int i = 0; i < count; ++i) {
      fields[i].code = fields[i].field == kNvlinkReceivedKib ? kNotSupported : kSuccess;
      fields[i].type = fields[i].field == kPcieSentBytes ? kUnsignedInt : kUnsignedLongLong;
      fields[i].value = 0xFF'0000'0010ULL;  // the upper half belongs to the long types alone
      if (fields[i].field == kMemoryTemperature) continue;
      const bool of_links = fields[i].field == kNvlinkSentKib || fields[i].field == kNvlinkReceivedKib;
      EXPECT_EQ(fields[i].scope, of_links ? kAllLinks : 0U);
    }
    return kSuccess;
  };
  const auto now = activity_of(api, "GPU-0");
  ASSERT_TRUE(now.ok());
  EXPECT_DOUBLE_EQ(now->utilization.value(), 0.75);
  EXPECT_DOUBLE_EQ(now->memory_utilization.value(), 0.1);
  EXPECT_DOUBLE_EQ(now->power_w.value(), 350.5);
  EXPECT_DOUBLE_EQ(now->sm_clock_hz.value(), 1980e6);
  EXPECT_EQ(now->memory_used_bytes, 50'000);
  EXPECT_FALSE(now->nvlink_received_bytes.has_value());
  const auto pcie = pcie_bytes_of(api, "GPU-0");
  ASSERT_TRUE(pcie.ok());
  EXPECT_EQ(pcie->sent, 0x10U);
  EXPECT_EQ(pcie->received, 0x10U) << "modulo 4 GiB, however wide the driver's number is";
  EXPECT_EQ(now->nvlink_sent_bytes, 0xFF'0000'0010ULL * 1024);
  EXPECT_THAT(now->clock_event_reasons.value(), ElementsAre("sw_power_cap"));
  ASSERT_EQ(now->processes.size(), 2U);
  EXPECT_EQ(now->processes[1].id, 42);
  EXPECT_EQ(now->processes[1].memory_bytes, 1000);
  EXPECT_FALSE(activity_of(fake_api(), "GPU-0")->nvlink_sent_bytes.has_value()) << "an older library";
  EXPECT_FALSE(pcie_bytes_of(fake_api(), "GPU-0").ok());
  EXPECT_FALSE(activity_of(api, "GPU-7").ok());
}

TEST(PcieTraffic, is_told_by_readings_that_are_close) {
  const PcieBytes before{0xFFFFFFF0U, 100}, now{0x10U, 100 + 64'000};
  const auto traffic = pcie_traffic(before, now, 0.02);
  ASSERT_TRUE(traffic);
  EXPECT_DOUBLE_EQ(traffic->sent, 32 / 0.02) << "it wrapped";
  EXPECT_DOUBLE_EQ(traffic->received, 64'000 / 0.02);
  EXPECT_FALSE(pcie_traffic(before, now, 0.06)) << "it may have wrapped more than once";
  EXPECT_FALSE(pcie_traffic(before, now, 0));
}

TEST_F(Nvml, tells_how_gpus_reach_one_another) {
  gpus_.resize(3);
  fake_gpus = &gpus_;
  gpus_[2].name = "far";
  auto api = fake_api();
  api.p2p_status = [](Handle, Handle b, int, int* status) {
    return *status = gpu_of(b).name == "far" ? 5 : 0, kSuccess;
  };
  api.common_ancestor = [](Handle, Handle, int* level) { return *level = 50, kSuccess; };
  const auto links = topology(api);
  ASSERT_TRUE(links.ok());
  ASSERT_EQ(links->size(), 3U);
  EXPECT_TRUE((*links)[0].nvlink);
  EXPECT_EQ((*links)[0].path, "NVLink");
  EXPECT_FALSE((*links)[1].nvlink);
  EXPECT_EQ((*links)[1].path, "across NUMA nodes");
  EXPECT_EQ((*links)[2].a, 1);
  EXPECT_EQ((*links)[2].b, 2);
}

TEST_F(Nvml, tells_the_versions) {
  const auto found = versions(fake_api());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->driver, "580.65.06");
  EXPECT_EQ(found->cuda, "13.1");
  EXPECT_FALSE(versions(Api{}).ok());
}

TEST(NvmlLibrary, says_what_is_missing_or_answers_for_every_gpu) {
  const auto support = available();
  if (!support.available) {
    EXPECT_FALSE(support.reason.empty());
    EXPECT_FALSE(support.hint.empty());
    EXPECT_FALSE(gpu_list().ok());
    GTEST_SKIP() << support.reason;
  }
  const auto gpus = gpu_list();
  ASSERT_TRUE(gpus.ok());
  for (const auto& gpu : *gpus) {
    const auto now = conditions_of(gpu.uuid);
    ASSERT_TRUE(now.ok()) << now.error().what;
    EXPECT_EQ(now->sensors.size(), 9U);
    EXPECT_GT(gpu.memory_bytes, 0);
  }
}

}  // namespace
}  // namespace warpmark::device::nvml
