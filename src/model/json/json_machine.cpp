// Machine, Build and HealthCheck as JSON.
#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
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

}  // namespace warpmark
