// Our own declarations of the few functions of NVIDIA's management library that are used, all of them queries. Names,
// types and values are those of nvml.h as of CUDA 12.x and 13.0; functions with a version suffix never change their
// signature, and libnvidia-ml.so.1 keeps old ones (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api).
#pragma once

#include "base/result.h"

namespace warpmark::device::nvml {

using Return = int;  ///< nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kFunctionNotFound = 13;

struct DeviceTag;
using Handle = DeviceTag*;  ///< nvmlDevice_t

inline constexpr int kClockSm = 1;  ///< nvmlClockType_t
inline constexpr int kClockMemory = 2;
inline constexpr int kTemperatureGpu = 0;  ///< nvmlTemperatureSensors_t
inline constexpr int kCorrected = 0;       ///< nvmlMemoryErrorType_t
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;   ///< nvmlEccCounterType_t: since the driver was loaded
inline constexpr int kP2pNvlink = 2;  ///< nvmlGpuP2PCapsIndex_t
inline constexpr int kP2pOk = 0;      ///< nvmlGpuP2PStatus_t

struct PciInfo {  ///< nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Memory {  ///< nvmlMemory_t
  unsigned long long total, free, used;
};
struct Utilization {  ///< nvmlUtilization_t, per cent of the last sample period
  unsigned gpu, memory;
};
struct ProcessInfo {  ///< nvmlProcessInfo_v2_t, also what the _v3 function fills
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance, compute_instance;
};

inline constexpr unsigned kNvlinkSentKib = 138;  ///< NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, since the driver was loaded
inline constexpr unsigned kNvlinkReceivedKib = 139;
inline constexpr unsigned kPcieSentBytes = 197;  ///< NVML_FI_DEV_PCIE_COUNT_TX_BYTES; wraps at 4 GiB
inline constexpr unsigned kPcieReceivedBytes = 198;
inline constexpr unsigned kAllLinks = 0xFFFFFFFF;  ///< scope of a field: the sum over all links

struct FieldValue {  ///< nvmlFieldValue_t
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp_us = 0;
  long long latency_us = 0;
  int type = 0;  ///< nvmlValueType_t
  Return code = 0;
  unsigned long long value = 0;  ///< nvmlValue_t, a union of 8 bytes
};
static_assert(sizeof(FieldValue) == 40);
inline constexpr int kUnsignedInt = 1;  ///< nvmlValueType_t
inline constexpr int kUnsignedLong = 2;
inline constexpr int kUnsignedLongLong = 3;

/// A null pointer means that this driver's library lacks the function.
struct Api {
  Return (*init)() = nullptr;
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
  Return (*common_ancestor)(Handle, Handle, int*) = nullptr;  ///< nvmlGpuTopologyLevel_t
};

/// Loads libnvidia-ml.so.1 and initializes it; it stays for the life of the process. Environment error with the reason.
[[nodiscard]] Result<Api> load_api();

}  // namespace warpmark::device::nvml
