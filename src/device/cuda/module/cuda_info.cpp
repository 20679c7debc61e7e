// Which CUDA devices there are and what they are. Needs a driver only from the first call on: without one every
// function says so within milliseconds.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::device {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// As NVML writes it: "GPU-8-4-4-4-12".
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int attribute(cudaDeviceAttr id, int index) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, id, index) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return value;
}

std::vector<std::pair<std::string, std::string>> details_of(const cudaDeviceProp& properties, int index) {
  std::vector<std::pair<std::string, std::string>> details;
  int driver = 0;
  int runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  details.emplace_back("CUDA driver", version_text(driver));
  details.emplace_back("CUDA runtime", version_text(runtime));
  const double memory_clock_hz = attribute(cudaDevAttrMemoryClockRate, index) * 1e3;
  details.emplace_back("memory bus", fmt::format("{} bit", properties.memoryBusWidth));
  if (memory_clock_hz > 0) {
    details.emplace_back("memory clock", fmt::format("{:.0f} MHz", memory_clock_hz * 1e-6));
    // Double data rate: two transfers a clock.
    details.emplace_back("theoretical memory bandwidth",
                         fmt::format("{:.0f} GB/s", 2 * memory_clock_hz * properties.memoryBusWidth / 8 * 1e-9));
  }
  details.emplace_back("ECC", properties.ECCEnabled != 0 ? "on" : "off");
  details.emplace_back(
      "PCI", fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID));
  details.emplace_back("copy engines", std::to_string(properties.asyncEngineCount));
  details.emplace_back("shared memory per multiprocessor",
                       fmt::format("{} KiB", properties.sharedMemPerMultiprocessor / 1024));
  if (std::string_view(properties.name).find("MIG") != std::string_view::npos) details.emplace_back("MIG", "instance");
  return details;
}

}  // namespace

Support cuda_available() {
  int count = 0;
  const Status status = cuda_status(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (!status.ok()) {
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    if (driver == 0) {
      return Support::no("no NVIDIA driver on this machine (libcuda.so.1 cannot be used)",
                         "install the driver, or start the container with --gpus all");
    }
    return Support::no(status.error().what, status.error().hint);
  }
  if (count == 0) return Support::no("the NVIDIA driver shows no GPU", "check nvidia-smi and CUDA_VISIBLE_DEVICES");
  return Support::yes();
}

Result<std::vector<DeviceInfo>> cuda_devices() {
  int count = 0;
  WM_CUDA(cudaGetDeviceCount(&count));
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    WM_ASSIGN(auto info, cuda_device_info(index));
    devices.push_back(std::move(info));
  }
  return devices;
}

Result<DeviceInfo> cuda_device_info(int index) {
  cudaDeviceProp properties{};
  WM_CUDA(cudaGetDeviceProperties(&properties, index));
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", index);
  info.backend = "cuda";
  info.name = properties.name;
  info.uuid = uuid_text(properties.uuid);
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.last_level_cache_bytes = properties.l2CacheSize;
  info.caches = {{.level = 2,
                  .kind = "unified",
                  .bytes = properties.l2CacheSize,
                  .shared_by = properties.multiProcessorCount * properties.maxThreadsPerMultiProcessor}};
  info.compute_units = properties.multiProcessorCount;
  info.max_clock_hz = attribute(cudaDevAttrClockRate, index) * 1e3;
  info.architecture = fmt::format("sm_{}{}", properties.major, properties.minor);
  info.details = details_of(properties, index);
  return info;
}

}  // namespace warpmark::device
