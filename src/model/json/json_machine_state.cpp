#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/machine_state.h"

namespace warpmark {
namespace {

constexpr const char* kBytesPerSecond = "Bytes a second, by the GPU; over 20 ms, as its counters wrap.";

constexpr Field kHostStateFields[] = {
    field<&HostState::name>("name"),
    field<&HostState::cpus>("cpus", "Hardware threads.").within(kNonNegative),
    field<&HostState::utilization>("utilization", "Of all CPUs' time.").within(kShare),
    field<&HostState::cpu_utilization>("cpu_utilization", "The same for each CPU; absent at the first look.")
        .within(kShare)
        .unless_empty(),
    field<&HostState::load_average>("load_average", "Of one minute.").within(kNonNegative),
    field<&HostState::memory_bytes>("memory_bytes").within(kNonNegative),
    field<&HostState::memory_used_bytes>("memory_used_bytes", "What programs cannot get.").within(kNonNegative),
};
constexpr RecordOf<HostState> kHostState{"host", "", kHostStateFields};

constexpr Field kGpuStateFields[] = {
    field<&GpuState::index>("index").within(kNonNegative),
    field<&GpuState::name>("name"),
    field<&GpuState::utilization>("utilization", "Of the time that any kernel ran; a driver's sample period.")
        .within(kShare),
    field<&GpuState::memory_utilization>("memory_utilization", "Of the time that memory was read or written.")
        .within(kShare),
    field<&GpuState::memory_bytes>("memory_bytes").within(kNonNegative),
    field<&GpuState::memory_used_bytes>("memory_used_bytes").within(kNonNegative),
    field<&GpuState::sm_clock_hz>("sm_clock_hz"),
    field<&GpuState::memory_clock_hz>("memory_clock_hz"),
    field<&GpuState::power_w>("power_w"),
    field<&GpuState::power_limit_w>("power_limit_w"),
    field<&GpuState::temperature_c>("temperature_c"),
    field<&GpuState::pcie_sent>("pcie_sent", kBytesPerSecond).within(kNonNegative),
    field<&GpuState::pcie_received>("pcie_received", kBytesPerSecond).within(kNonNegative),
    field<&GpuState::nvlink_sent>("nvlink_sent", "Bytes a second; mean since the look before.").within(kNonNegative),
    field<&GpuState::nvlink_received>("nvlink_received", "Bytes a second.").within(kNonNegative),
    field<&GpuState::problem>("problem", "Why the GPU does not answer.").unless_empty(),
    field<&GpuState::slowed_by>("slowed_by", "Reasons that hold the clock down, in NVML's terms."),
};
constexpr RecordOf<GpuState> kGpuState{"gpu", "What this GPU or driver does not report has no key.", kGpuStateFields};

constexpr Field kGpuUseFields[] = {
    field<&GpuUse::gpu>("gpu").within(kNonNegative),
    field<&GpuUse::memory_bytes>("memory_bytes").within(kNonNegative),
};
constexpr RecordOf<GpuUse> kGpuUse{"gpu_use", "", kGpuUseFields};

constexpr auto is_seen = [](const ProcessState& process) { return process.threads > 0; };

constexpr Field kProcessStateFields[] = {
    field<&ProcessState::id>("id").within(kNonNegative),
    field<&ProcessState::command>("command",
                                  "With its arguments; absent where a GPU names a process that is not seen from here.")
        .unless_empty(),
    field<&ProcessState::cores>("cores", "CPU time per time; mean since the look before.").within(kNonNegative),
    field<&ProcessState::memory_bytes>("memory_bytes", "Resident.").within(kNonNegative).when(is_seen),
    field<&ProcessState::threads>("threads").within(kAtLeastOne).when(is_seen),
    field<&ProcessState::gpus>("gpus", "", kGpuUse),
};
constexpr RecordOf<ProcessState> kProcessState{"process", "", kProcessStateFields};

constexpr Field kMachineStateFields[] = {
    field<&MachineState::time_ns>("time_s", "Since the Unix epoch.").scaled(1e-9),
    field<&MachineState::host>("host", "", kHostState),
    field<&MachineState::gpus>("gpus", "", kGpuState),
    field<&MachineState::gpu_problem>("gpu_problem", "Why no GPU is listed.").unless_empty(),
    field<&MachineState::processes>("processes", "Users of GPUs first, then by CPU time.", kProcessState),
};

}  // namespace

constexpr RecordOf<MachineState> kMachineState{"machine_state",
                                               "One line of `warpmark monitor --jsonl`: what a machine is doing at one "
                                               "moment. Rates are means since the look before "
                                               "and absent at the first one; unknown values have no key.",
                                               kMachineStateFields, kMonitorSchema};

Json to_json(const MachineState& state) { return write(kMachineState, state); }

}  // namespace warpmark
