// Machine, Build and HealthCheck as JSON.
#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/machine_state.h"
#include "model/names.h"

namespace warpmark {

struct Doctor {
  const Machine& machine;
  std::vector<HealthCheck> checks;
};

namespace {

constexpr Field kCacheFields[] = {
    field<&CacheLevel::level>("level").within(kNonNegative).added_later(),
    field<&CacheLevel::kind>("kind", "data, unified").added_later(),
    field<&CacheLevel::bytes>("bytes", "Of one instance.").within(kNonNegative),
    field<&CacheLevel::shared_by>("shared_by", "Hardware threads that share one instance.")
        .within(kNonNegative)
        .added_later(),
};
constexpr RecordOf<CacheLevel> kCache{"cache", "", kCacheFields};

constexpr Field kDeviceFields[] = {
    field<&DeviceInfo::id>("id", "cpu, cuda:0, ...").within(kAtLeastOne),
    field<&DeviceInfo::backend>("backend", "cpu, cuda").within(kAtLeastOne),
    field<&DeviceInfo::name>("name", "As its vendor names it."),
    field<&DeviceInfo::uuid>("uuid").unless_empty(),
    field<&DeviceInfo::memory_bytes>("memory_bytes").within(kNonNegative).unless_empty(),
    field<&DeviceInfo::last_level_cache_bytes>("last_level_cache_bytes",
                                               "All instances that one launch can use, together.")
        .within(kNonNegative)
        .unless_empty(),
    field<&DeviceInfo::caches>("caches", "Smallest first.", kCache).added_later(),
    field<&DeviceInfo::compute_units>("compute_units", "Cores usable by the process, or multiprocessors.")
        .within(kNonNegative)
        .unless_empty(),
    field<&DeviceInfo::max_clock_hz>("max_clock_hz").unless_empty(),
    field<&DeviceInfo::architecture>("architecture", "x86-64 avx512f amx_bf16, sm_90").unless_empty(),
    field<&DeviceInfo::details>("details", "Further facts.", kNamedText).unless_empty(),
};
constexpr RecordOf<DeviceInfo> kDevice{"device", "One place where work can run.", kDeviceFields};

constexpr Field kNamedTextFields[] = {
    field<&NamedText::first>("name", "May repeat."),
    field<&NamedText::second>("text"),
};

constexpr Field kMachineFields[] = {
    field<&Machine::hostname>("hostname"),
    field<&Machine::os>("os").unless_empty(),
    field<&Machine::kernel>("kernel").unless_empty(),
    field<&Machine::cpu>("cpu").unless_empty(),
    field<&Machine::virtualization>("virtualization", "kvm, docker, ... or none").unless_empty(),
    field<&Machine::memory_bytes>("memory_bytes").within(kNonNegative).unless_empty(),
    field<&Machine::devices>("devices", "", kDevice).added_later(),
    field<&Machine::software>("software", "Versions of drivers and libraries.", kNamedText).unless_empty(),
    field<&Machine::fingerprint>("fingerprint", "Over the facts that decide speed: GPU, driver, CUDA, CPU, kernel.")
        .unless_empty(),
};

constexpr Field kBuildFields[] = {
    field<&Build::version>("version"),
    field<&Build::git_sha>("git_sha").unless_empty(),
    field<&Build::git_dirty>("git_dirty").added_later(),
    field<&Build::compiler>("compiler").unless_empty(),
    field<&Build::type>("type").unless_empty(),
    field<&Build::features>("features").added_later(),
};

constexpr Field kHealthCheckFields[] = {
    field<&HealthCheck::id>("id", "cpu_governor, gpu0_ecc, ...: stable.").within(kAtLeastOne),
    field<&HealthCheck::title>("title").within(kAtLeastOne),
    field<&HealthCheck::state>("state"),
    field<&HealthCheck::found>("found", "What was read, with numbers and units.").unless_empty(),
    field<&HealthCheck::why>("why", "What it does to measurements.").unless_empty(),
    field<&HealthCheck::fix>("fix", "A command or a sentence.").unless_empty(),
};
constexpr RecordOf<HealthCheck> kHealthCheck{"check", "", kHealthCheckFields};

constexpr Field kDoctorFields[] = {
    derived("machine", "", kMachine, [](const Doctor& doctor) -> const Machine& { return doctor.machine; }),
    field<&Doctor::checks>("checks", "", kHealthCheck),
};

}  // namespace

constexpr RecordOf<NamedText> kNamedText{"named_text", "A fact.", kNamedTextFields};
constexpr RecordOf<Machine> kMachine{"machine", "", kMachineFields};
constexpr RecordOf<Build> kBuild{"build", "How the executable was made.", kBuildFields};
constexpr RecordOf<Doctor> kDoctor{
    "doctor", "What `warpmark doctor --json` writes: the machine, and what will disturb measurements on it.",
    kDoctorFields, kDoctorSchema};

Json to_json(const Machine& machine) { return write(kMachine, machine); }
Json to_json(const Build& build) { return write(kBuild, build); }

Json doctor_json(const Machine& machine, std::span<const HealthCheck> checks) {
  return write(kDoctor, Doctor{machine, {checks.begin(), checks.end()}});
}

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

namespace {

constexpr Field kExtentFields[] = {
    field<&Extent::least>("min"),
    field<&Extent::mean>("mean"),
    field<&Extent::most>("max"),
    field<&Extent::polls>("polls", "At which the figure was reported.").within(kAtLeastOne),
};
constexpr RecordOf<Extent> kExtent{"extent", "", kExtentFields};

/// A figure that was told at a look, at least.
template <auto kMember>
constexpr Field extent(const char* key, const char* meaning) {
  using Owner = typename fields::Path<kMember>::Owner;
  return field<kMember>(key, meaning, kExtent).when([](const Owner& owner) { return (owner.*kMember).polls != 0; });
}

constexpr auto was_lost = [](const GpuSummary& gpu) { return gpu.lost_polls > 0; };

constexpr Field kGpuSummaryFields[] = {
    field<&GpuSummary::index>("index"),
    field<&GpuSummary::name>("name"),
    field<&GpuSummary::memory_bytes>("memory", "B that it has.").when([](const GpuSummary& gpu) {
      return gpu.memory_bytes > 0;
    }),
    extent<&GpuSummary::utilization>("utilization", "Ratio."),
    extent<&GpuSummary::memory_used>("memory_used", "B."),
    extent<&GpuSummary::power>("power", "W."),
    extent<&GpuSummary::sm_clock>("sm_clock", "Hz."),
    extent<&GpuSummary::temperature>("temperature", "Degrees Celsius."),
    field<&GpuSummary::lost_polls>("lost_polls", "At which it did not answer.").within(kAtLeastOne).when(was_lost),
    field<&GpuSummary::problem>("problem", "Why it did not answer, the last time.").when(was_lost),
    field<&GpuSummary::slowed_polls>("slowed_polls", "At which power, heat or the like held its clock down.")
        .within(kNonNegative),
};
constexpr RecordOf<GpuSummary> kGpuSummary{"gpu", "", kGpuSummaryFields};

constexpr Field kMachineSummaryFields[] = {
    field<&MachineSummary::polls>("polls").within(kNonNegative),
    field<&MachineSummary::seconds>("seconds", "From the first look to the last."),
    extent<&MachineSummary::host_utilization>("host_utilization", "Ratio."),
    extent<&MachineSummary::host_memory_used>("host_memory_used", "B."),
    field<&MachineSummary::gpus>("gpus", "", kGpuSummary),
    field<&MachineSummary::gpu_problem>("gpu_problem", "Why no GPU is listed.").unless_empty(),
};

}  // namespace

constexpr RecordOf<MachineSummary> kMachineSummary{"machine_summary",
                                                   "What `warpmark monitor --json` writes at its end: min, mean and "
                                                   "max of each figure. Units are SI without prefixes; "
                                                   "utilization is a ratio.",
                                                   kMachineSummaryFields, kMonitorSummarySchema};

Json to_json(const MachineSummary& summary) { return write(kMachineSummary, summary); }

}  // namespace warpmark
