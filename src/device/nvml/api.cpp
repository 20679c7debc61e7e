#include "device/nvml/api.h"

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace warpmark::device::nvml {
namespace {

/// The first of the names that the library has; else null stays.
template <typename Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* symbol = dlsym(library, name)) {
      function = reinterpret_cast<Function>(symbol);
      return;
    }
  }
}

Api find_functions(void* library) {
  Api api;
  find(library, api.init, {"nvmlInit_v2"});
  find(library, api.shutdown, {"nvmlShutdown"});
  find(library, api.error_string, {"nvmlErrorString"});
  find(library, api.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, api.cuda_driver_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find(library, api.device_count, {"nvmlDeviceGetCount_v2"});
  find(library, api.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  find(library, api.handle_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  find(library, api.name, {"nvmlDeviceGetName"});
  find(library, api.uuid, {"nvmlDeviceGetUUID"});
  find(library, api.index, {"nvmlDeviceGetIndex"});
  find(library, api.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(library, api.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, api.clock, {"nvmlDeviceGetClockInfo"});
  find(library, api.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(library, api.temperature, {"nvmlDeviceGetTemperature"});
  find(library, api.power, {"nvmlDeviceGetPowerUsage"});
  find(library, api.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, api.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(library, api.power_default_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  find(library, api.power_set_limit, {"nvmlDeviceGetPowerManagementLimit"});
  find(library, api.power_constraints, {"nvmlDeviceGetPowerManagementLimitConstraints"});
  find(library, api.set_power_limit, {"nvmlDeviceSetPowerManagementLimit"});
  // Renamed with driver 535; the bits are the same.
  find(library, api.clock_event_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, api.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(library, api.ecc_mode, {"nvmlDeviceGetEccMode"});
  find(library, api.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, api.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  find(library, api.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, api.field_values, {"nvmlDeviceGetFieldValues"});
  find(library, api.processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(library, api.pcie_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  find(library, api.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  find(library, api.pcie_max_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(library, api.pcie_max_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(library, api.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  find(library, api.nvlink_version, {"nvmlDeviceGetNvLinkVersion"});
  find(library, api.p2p_status, {"nvmlDeviceGetP2PStatus"});
  find(library, api.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  find(library, api.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  find(library, api.make_events, {"nvmlEventSetCreate"});
  find(library, api.free_events, {"nvmlEventSetFree"});
  find(library, api.register_events, {"nvmlDeviceRegisterEvents"});
  find(library, api.next_event, {"nvmlEventSetWait_v2"});
  find(library, api.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  find(library, api.make_gpm_sample, {"nvmlGpmSampleAlloc"});
  find(library, api.free_gpm_sample, {"nvmlGpmSampleFree"});
  find(library, api.read_gpm_sample, {"nvmlGpmSampleGet"});
  find(library, api.gpm_metrics, {"nvmlGpmMetricsGet"});
  find(library, api.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  return api;
}

}  // namespace

Result<Api> load_api() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return environment_error("NVML (libnvidia-ml.so.1) was not found", "it comes with the NVIDIA driver");
  }
  const Api api = find_functions(library);
  if (api.init == nullptr || api.handle_by_uuid == nullptr || api.device_count == nullptr) {
    dlclose(library);
    return environment_error("libnvidia-ml.so.1 lacks the functions that every NVML has", "reinstall the driver");
  }
  if (const Return code = api.init(); code != kSuccess) {
    const std::string why = api.error_string == nullptr ? std::to_string(code) : api.error_string(code);
    dlclose(library);
    return environment_error("NVML cannot start: " + why, "check that nvidia-smi works");
  }
  return api;
}

}  // namespace warpmark::device::nvml
