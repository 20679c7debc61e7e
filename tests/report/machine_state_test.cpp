// What monitor shows in a terminal.
#include "report/results/machine_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/golden.h"
#include "support/text_measures.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GpuState gpu(int index, double utilization) {
  GpuState gpu;
  gpu.index = index;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.utilization = utilization;
  gpu.memory_bytes = 85'520'809'984;
  gpu.memory_used_bytes = index == 0 ? 81'000'000'000 : 1'073'741'824;
  gpu.sm_clock_hz = 1755e6;
  gpu.power_w = 698;
  gpu.power_limit_w = 700;
  gpu.temperature_c = 63;
  gpu.pcie_sent = 345e6;
  gpu.pcie_received = 12.1e9;
  gpu.nvlink_sent = 101e9;
  gpu.nvlink_received = 99e9;
  if (index == 0) gpu.slowed_by = {"sw_power_cap"};
  return gpu;
}

ProcessState process(std::int64_t id, double cores) {
  return {
      .id = id,
      .command = "python train.py --config configs/a_long_name_of_a_configuration.yaml --seed " + std::to_string(id),
      .cores = cores,
      .memory_bytes = 3'000'000'000,
      .threads = 40,
      .gpus = {}};
}

MachineState machine() {
  MachineState state;
  state.time_ns = 1'800'000'000'000'000'000;
  state.host = {.name = "node7",
                .cpus = 64,
                .utilization = 0.42,
                .cpu_utilization = {},
                .load_average = 12.5,
                .memory_bytes = std::int64_t{512} << 30,
                .memory_used_bytes = std::int64_t{100} << 30};
  state.gpus = {gpu(0, 0.97), gpu(1, 0.03)};
  state.processes = {process(4242, 1.5), process(77, 0.031)};
  state.processes[0].gpus = {{0, 53'687'091'200}, {1, 1'073'741'824}};
  ProcessState hidden;
  hidden.id = 999;
  hidden.gpus = {{0, std::nullopt}};
  state.processes.insert(state.processes.begin() + 1, hidden);
  return state;
}

MachineState laptop() {
  MachineState state = machine();
  state.gpus.clear();
  state.gpu_problem = "NVML (libnvidia-ml.so.1) was not found";
  for (auto& process : state.processes) process.gpus.clear();
  return state;
}

UtilizationHistory history() {
  UtilizationHistory history;
  for (int i = 0; i < 40; ++i) {
    MachineState state = machine();
    state.host.utilization = i / 40.0;
    state.gpus[0].utilization = i % 2;
    history.add(state);
  }
  return history;
}

TEST(MachineStateView, is_as_in_the_golden_files) {
  const std::string wide = render_machine_state(machine(), history(), {.width = 160, .unicode = true}, 0);
  const std::string narrow = render_machine_state(machine(), history(), {.width = 80, .unicode = true}, 0);
  const std::string no_gpu = render_machine_state(laptop(), history(), {.width = 80, .unicode = false}, 0);
  testing_support::expect_golden("report/golden/monitor.txt", wide + "\n" + narrow + "\n" + no_gpu);
}

TEST(MachineStateView, stays_within_any_width_and_height) {
  for (const bool unicode : {true, false}) {
    for (const int width : {40, 60, 80, 120, 200}) {
      for (const auto& state : {machine(), laptop()}) {
        const auto text = render_machine_state(state, history(), {.width = width, .unicode = unicode}, 14);
        EXPECT_LE(test::widest_line(text), static_cast<std::size_t>(width)) << text;
      }
    }
  }
  for (const int lines : {5, 8, 12, 30}) {
    const auto text = render_machine_state(machine(), history(), {.width = 80, .unicode = true}, lines);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), lines);
  }
}

TEST(MachineStateView, names_programs_without_their_folders) {
  MachineState state = laptop();
  state.processes[0].command = "/usr/lib/a/python3 /home/a/train.py";
  EXPECT_THAT(render_machine_state(state, {}, {.width = 80}, 0), HasSubstr("  python3 /home/a/train.py\n"));
}

TEST(MachineStateView, says_why_no_gpu_is_shown) {
  const auto text = render_machine_state(laptop(), history(), {.width = 100}, 0);
  EXPECT_THAT(text, HasSubstr("no GPU: NVML (libnvidia-ml.so.1) was not found"));
  EXPECT_THAT(text, Not(HasSubstr("SM clock")));
}

TEST(MachineStateView, breaks_its_heading_between_words) {
  for (const int width : {40, 80}) {
    const auto text = render_machine_state(laptop(), history(), {.width = width, .unicode = true}, 0);
    for (const char* part : {"node7", "load 12.5", "no GPU: NVML (libnvidia-ml.so.1) was not"}) {
      EXPECT_THAT(text, HasSubstr(part)) << width;
    }
    EXPECT_THAT(text, HasSubstr(width == 40 ? "not\nfound\n" : "not found\n"));
  }
}

TEST(MachineStateView, shows_what_is_not_known_as_a_dash) {
  MachineState state;
  state.gpus.push_back({.index = 0, .name = "Lost"});
  const auto text = render_machine_state(state, {}, {.width = 120}, 0);
  EXPECT_THAT(text, ::testing::ContainsRegex("GPU 0 +-"));
}

}  // namespace
}  // namespace warpmark::report
