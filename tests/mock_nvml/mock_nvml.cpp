// NVML for tests: two GPUs that are busy and never change, in a library that stands in for libnvidia-ml.so.1. Names and
// signatures are NVML's; src/device/nvml/api.h says which ones are asked. With WARPMARK_TEST_NVML=FILE it is sick as
// the words in the file say, while they are there: "hang" (no call returns), "hang 1" (none about GPU 1), "lost 1" (GPU
// 1 answers with an error), "missing 1" (GPU 1 is not listed), "xid 1" (XID 79 is reported, once); one a line.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "device/nvml/api.h"

namespace {

using warpmark::device::nvml::FieldValue;
using warpmark::device::nvml::Handle;
using warpmark::device::nvml::kNotFound;
using warpmark::device::nvml::kNotSupported;
using warpmark::device::nvml::kSuccess;
using warpmark::device::nvml::kUnsignedLongLong;
using warpmark::device::nvml::Memory;
using warpmark::device::nvml::PciInfo;
using warpmark::device::nvml::ProcessInfo;
using warpmark::device::nvml::Return;
using warpmark::device::nvml::Utilization;

constexpr unsigned kGpus = 2;
constexpr const char* kUuids[kGpus] = {"GPU-11111111", "GPU-22222222"};

/// Handles point into this.
char (&places())[kGpus] {
  static char bytes[kGpus];
  return bytes;
}
unsigned index_of(Handle gpu) { return static_cast<unsigned>(reinterpret_cast<char*>(gpu) - places()); }
Handle handle_of(unsigned index) { return reinterpret_cast<Handle>(&places()[index]); }

Return put(const char* text, char* to, unsigned size) {
  std::snprintf(to, size, "%s", text);
  return kSuccess;
}

constexpr Return kGpuIsLost = 15;

bool is_sick(const char* how, int gpu) {
  const char* name = std::getenv("WARPMARK_TEST_NVML");
  std::FILE* file = name == nullptr ? nullptr : std::fopen(name, "r");
  if (file == nullptr) return false;
  bool sick = false;
  for (char text[64]; !sick && std::fgets(text, sizeof text, file) != nullptr;) {
    char word[32] = "";
    int which = -1;
    if (std::sscanf(text, "%31s %d", word, &which) < 1) continue;
    sick = std::strcmp(word, how) == 0 && (which == gpu || which < 0);
  }
  std::fclose(file);
  return sick;
}

/// What every question about a GPU begins with.
Return enter(Handle gpu) {
  const int index = static_cast<int>(index_of(gpu));
  while (is_sick("hang", index)) usleep(10'000);
  return is_sick("lost", index) ? kGpuIsLost : kSuccess;
}
void enter() {
  while (is_sick("hang", -1)) usleep(10'000);
}
constexpr unsigned kUsualLimit = 700'000;  // mW
constexpr Return kNoPermission = 4;

const char* power_folder() { return std::getenv("WARPMARK_TEST_POWER"); }
std::FILE* power_file(Handle gpu, const char* mode) {
  if (power_folder() == nullptr) return nullptr;
  return std::fopen((std::string(power_folder()) + "/" + kUuids[index_of(gpu)]).c_str(), mode);
}

/// With WARPMARK_TEST_GPU_WORK=FILE a program is at work on the first GPU while FILE is there, with as many bytes of
/// memory as it says.
std::optional<unsigned long long> bytes_of_work(Handle gpu) {
  const char* name = std::getenv("WARPMARK_TEST_GPU_WORK");
  std::FILE* file = name != nullptr && index_of(gpu) == 0 ? std::fopen(name, "r") : nullptr;
  if (file == nullptr) return std::nullopt;
  unsigned long long bytes = 0;
  if (std::fscanf(file, "%llu", &bytes) != 1) bytes = 0;
  std::fclose(file);
  return bytes;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() { return enter(), kSuccess; }
Return nvmlShutdown() { return enter(), kSuccess; }
const char* nvmlErrorString(Return code) {
  return code == kNoPermission ? "Insufficient Permissions" : code == kGpuIsLost ? "GPU is lost" : "Not Found";
}
Return nvmlSystemGetDriverVersion(char* text, unsigned size) { return put("580.65.06", text, size); }
Return nvmlDeviceGetCount_v2(unsigned* count) { return enter(), *count = kGpus, kSuccess; }
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* gpu) {
  enter();
  return *gpu = handle_of(index), is_sick("missing", static_cast<int>(index)) ? kNotFound : kSuccess;
}
Return nvmlDeviceGetHandleByUUID(const char* uuid, Handle* gpu) {
  for (unsigned i = 0; i < kGpus; ++i) {
    if (std::strcmp(uuid, kUuids[i]) != 0 || is_sick("missing", static_cast<int>(i))) continue;
    return *gpu = handle_of(i), kSuccess;
  }
  return kNotFound;
}
Return nvmlDeviceGetName(Handle, char* text, unsigned size) { return put("NVIDIA H100 80GB HBM3", text, size); }
Return nvmlDeviceGetUUID(Handle gpu, char* text, unsigned size) { return put(kUuids[index_of(gpu)], text, size); }
Return nvmlDeviceGetIndex(Handle gpu, unsigned* index) { return *index = index_of(gpu), kSuccess; }
Return nvmlDeviceGetMemoryInfo(Handle gpu, Memory* memory) {
  if (const Return code = enter(gpu); code != kSuccess) return code;
  *memory = {85'520'809'984, 0, index_of(gpu) == 0 ? 53'687'091'200ULL : 1'073'741'824ULL};
  memory->used += bytes_of_work(gpu).value_or(0);
  memory->free = memory->total - memory->used;
  return kSuccess;
}
Return nvmlDeviceGetClockInfo(Handle gpu, int type, unsigned* megahertz) {
  if (const Return code = enter(gpu); code != kSuccess) return code;
  return *megahertz = type == warpmark::device::nvml::kClockSm ? 1755 : 2619, kSuccess;
}
Return nvmlDeviceGetTemperature(Handle gpu, int, unsigned* celsius) { return *celsius = 63, enter(gpu); }
Return nvmlDeviceGetPowerUsage(Handle gpu, unsigned* milliwatts) {
  return *milliwatts = index_of(gpu) == 0 ? 698'000 : 118'000, enter(gpu);
}
/// With WARPMARK_TEST_POWER=FOLDER limits can be set, and are files there that processes share; GPUs draw their limit.
Return nvmlDeviceGetPowerManagementLimit(Handle gpu, unsigned* milliwatts) {
  *milliwatts = kUsualLimit;
  if (std::FILE* file = power_file(gpu, "r")) {
    if (std::fscanf(file, "%u", milliwatts) != 1) *milliwatts = kUsualLimit;
    std::fclose(file);
  }
  return power_folder() == nullptr ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetPowerManagementDefaultLimit(Handle, unsigned* milliwatts) {
  return *milliwatts = kUsualLimit, power_folder() == nullptr ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetPowerManagementLimitConstraints(Handle, unsigned* least, unsigned* most) {
  return *least = 200'000, *most = kUsualLimit, power_folder() == nullptr ? kNotSupported : kSuccess;
}
Return nvmlDeviceSetPowerManagementLimit(Handle gpu, unsigned milliwatts) {
  if (power_folder() == nullptr) return kNotSupported;
  if (std::getenv("WARPMARK_TEST_POWER_FORBIDDEN") != nullptr) return kNoPermission;
  std::FILE* file = power_file(gpu, "w");
  if (file == nullptr) return kNoPermission;
  std::fprintf(file, "%u\n", milliwatts);
  std::fclose(file);
  return kSuccess;
}
Return nvmlDeviceGetTotalEnergyConsumption(Handle gpu, unsigned long long* millijoules) {
  unsigned limit = 0;
  if (nvmlDeviceGetPowerManagementLimit(gpu, &limit) != kSuccess) return kNotSupported;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  // Right for differences while the limit stays, as in a run.
  *millijoules = static_cast<unsigned long long>(
      (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)) * limit);
  return kSuccess;
}
Return nvmlDeviceGetEnforcedPowerLimit(Handle, unsigned* milliwatts) { return *milliwatts = 700'000, kSuccess; }
Return nvmlDeviceGetCurrentClocksEventReasons(Handle gpu, unsigned long long* bits) {
  return *bits = index_of(gpu) == 0 ? 0x4 : 0x1, enter(gpu);  // power cap, idle
}
Return nvmlDeviceGetUtilizationRates(Handle gpu, Utilization* use) {
  *use = index_of(gpu) == 0 ? Utilization{97, 41} : Utilization{3, 0};
  return enter(gpu);
}
/// Byte counters that grow by the same at every question.
Return nvmlDeviceGetFieldValues(Handle, int count, FieldValue* fields) {
  static unsigned long long asked = 0;
  ++asked;
  for (int i = 0; i < count; ++i) {
    fields[i].type = kUnsignedLongLong;
    fields[i].code = kSuccess;
    fields[i].value = asked * 1'000'000;
  }
  return kSuccess;
}
Return nvmlDeviceGetPciInfo_v3(Handle gpu, PciInfo* pci) {
  *pci = {};
  return put(index_of(gpu) == 0 ? "00000000:1B:00.0" : "00000000:AC:00.0", pci->bus_id, sizeof(pci->bus_id));
}
/// PCIe 5 x16, of which the second GPU has half of the lanes.
Return nvmlDeviceGetCurrPcieLinkGeneration(Handle, unsigned* generation) { return *generation = 5, kSuccess; }
Return nvmlDeviceGetMaxPcieLinkGeneration(Handle, unsigned* generation) { return *generation = 5, kSuccess; }
Return nvmlDeviceGetCurrPcieLinkWidth(Handle gpu, unsigned* lanes) {
  return *lanes = index_of(gpu) == 0 ? 16 : 8, kSuccess;
}
Return nvmlDeviceGetMaxPcieLinkWidth(Handle, unsigned* lanes) { return *lanes = 16, kSuccess; }
/// 18 NVLinks of the fourth generation, between the two.
Return nvmlDeviceGetNvLinkState(Handle, unsigned link, int* active) {
  return *active = 1, link < 18 ? kSuccess : kNotSupported;
}
Return nvmlDeviceGetNvLinkVersion(Handle, unsigned, unsigned* version) { return *version = 6, kSuccess; }
Return nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) { return *status = 0, kSuccess; }
Return nvmlDeviceGetPcieReplayCounter(Handle gpu, unsigned* count) { return *count = 4, enter(gpu); }
Return nvmlDeviceGetRemappedRows(Handle gpu, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                                 unsigned* failed) {
  *correctable = 2, *uncorrectable = 1, *pending = 1, *failed = 0;
  return enter(gpu);
}
Return nvmlEventSetCreate(Handle* events) { return *events = handle_of(0), kSuccess; }
Return nvmlEventSetFree(Handle) { return kSuccess; }
Return nvmlDeviceRegisterEvents(Handle, unsigned long long, Handle) { return kSuccess; }
Return nvmlEventSetWait_v2(Handle, warpmark::device::nvml::EventData* event, unsigned) {
  static bool reported = false;
  constexpr Return kTimeout = 10;
  if (!is_sick("xid", 1) || reported) return kTimeout;
  reported = true;
  *event = {handle_of(1), warpmark::device::nvml::kXidEvent, 79, 0, 0};
  return kSuccess;
}
Return nvmlGpmQueryDeviceSupport(Handle, warpmark::device::nvml::GpmSupport* support) {
  return support->supported = 1, kSuccess;
}
Return nvmlGpmSampleAlloc(Handle* sample) { return *sample = handle_of(0), kSuccess; }
Return nvmlGpmSampleFree(Handle) { return kSuccess; }
Return nvmlGpmSampleGet(Handle gpu, Handle) { return enter(gpu); }
Return nvmlGpmMetricsGet(warpmark::device::nvml::GpmMetrics* asked) {
  for (unsigned i = 0; i < asked->count; ++i) {
    asked->metrics[i].value = asked->metrics[i].id == 5 ? 62.5 : 50;  // 5: tensor
    asked->metrics[i].code = asked->metrics[i].id == 11 ? kNotSupported : kSuccess;
  }
  return kSuccess;
}
/// This process uses the first GPU; so does one that cannot be seen from here, and the program at work.
Return nvmlDeviceGetComputeRunningProcesses_v3(Handle gpu, unsigned* count, ProcessInfo* processes) {
  *count = 0;
  if (index_of(gpu) != 0) return kSuccess;
  processes[0] = {static_cast<unsigned>(getpid()), 21'474'836'480ULL, 0, 0};
  processes[1] = {4'000'000'000U, 1'073'741'824ULL, 0, 0};
  *count = 2;
  if (const auto bytes = bytes_of_work(gpu)) processes[(*count)++] = {4'000'000'001U, *bytes, 0, 0};
  return kSuccess;
}

}  // extern "C"
