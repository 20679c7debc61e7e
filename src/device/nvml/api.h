// Our own declarations of the few functions of NVIDIA's management library that are used, all of them queries. Names,
// types and values are those of nvml.h as of CUDA 12.x and 13.0; functions with a version suffix never change their
// signature, and libnvidia-ml.so.1 keeps old ones (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api).
#pragma once

#include "base/result.h"
#include "device/nvml/api_types.h"

namespace warpmark::device::nvml {

/// A null pointer means that this driver's library lacks the function.
struct Api {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*cuda_driver_version)(int*) = nullptr;  ///< 1000 * major + 10 * minor
  Return (*device_count)(unsigned*) = nullptr;
  Return (*handle_by_index)(unsigned, Handle*) = nullptr;
  Return (*handle_by_uuid)(const char*, Handle*) = nullptr;
  Return (*name)(Handle, char*, unsigned) = nullptr;
  Return (*uuid)(Handle, char*, unsigned) = nullptr;
  Return (*index)(Handle, unsigned*) = nullptr;
  Return (*pci_info)(Handle, PciInfo*) = nullptr;
  Return (*memory)(Handle, Memory*) = nullptr;
  Return (*clock)(Handle, int, unsigned*) = nullptr;      ///< MHz
  Return (*max_clock)(Handle, int, unsigned*) = nullptr;  ///< MHz
  Return (*temperature)(Handle, int, unsigned*) = nullptr;
  Return (*power)(Handle, unsigned*) = nullptr;                         ///< mW
  Return (*energy)(Handle, unsigned long long*) = nullptr;              ///< mJ since the driver was loaded
  Return (*power_limit)(Handle, unsigned*) = nullptr;                   ///< mW, enforced
  Return (*power_default_limit)(Handle, unsigned*) = nullptr;           ///< mW
  Return (*power_set_limit)(Handle, unsigned*) = nullptr;               ///< mW, as it was set
  Return (*power_constraints)(Handle, unsigned*, unsigned*) = nullptr;  ///< mW, least and most that can be set
  Return (*set_power_limit)(Handle, unsigned) = nullptr;                ///< mW
  Return (*clock_event_reasons)(Handle, unsigned long long*) = nullptr;
  Return (*ecc_errors)(Handle, int, int, unsigned long long*) = nullptr;
  Return (*ecc_mode)(Handle, int*, int*) = nullptr;            ///< now, after the next reboot
  Return (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;  ///< now, pending
  Return (*persistence_mode)(Handle, int*) = nullptr;
  Return (*utilization)(Handle, Utilization*) = nullptr;
  Return (*field_values)(Handle, int, FieldValue*) = nullptr;
  Return (*processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
  Return (*pcie_generation)(Handle, unsigned*) = nullptr;
  Return (*pcie_width)(Handle, unsigned*) = nullptr;
  Return (*pcie_max_generation)(Handle, unsigned*) = nullptr;
  Return (*pcie_max_width)(Handle, unsigned*) = nullptr;
  Return (*nvlink_state)(Handle, unsigned, int*) = nullptr;
  Return (*nvlink_version)(Handle, unsigned, unsigned*) = nullptr;
  Return (*p2p_status)(Handle, Handle, int, int*) = nullptr;
  Return (*pcie_replays)(Handle, unsigned*) = nullptr;
  Return (*remapped_rows)(Handle, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Return (*make_events)(EventSet*) = nullptr;
  Return (*free_events)(EventSet) = nullptr;
  Return (*register_events)(Handle, unsigned long long, EventSet) = nullptr;
  Return (*next_event)(EventSet, EventData*, unsigned) = nullptr;  ///< waits at most so many ms
  Return (*gpm_support)(Handle, GpmSupport*) = nullptr;
  Return (*make_gpm_sample)(GpmSample*) = nullptr;
  Return (*free_gpm_sample)(GpmSample) = nullptr;
  Return (*read_gpm_sample)(Handle, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetrics*) = nullptr;
  Return (*common_ancestor)(Handle, Handle, int*) = nullptr;  ///< nvmlGpuTopologyLevel_t
};

/// Loads libnvidia-ml.so.1 and initializes it; it stays for the life of the process. Environment error with the reason.
[[nodiscard]] Result<Api> load_api();

}  // namespace warpmark::device::nvml
