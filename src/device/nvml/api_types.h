// Types and values of nvml.h that are used, under names of our own (as of CUDA 12.x and 13.0).
#pragma once

namespace warpmark::device::nvml {

using Return = int;  ///< nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;

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

struct EventSetTag;
using EventSet = EventSetTag*;  ///< nvmlEventSet_t
struct EventData {              ///< nvmlEventData_t
  Handle gpu;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned long long kXidEvent = 8;  ///< nvmlEventTypeXidCriticalError
inline constexpr unsigned kMemoryTemperature = 82;  ///< NVML_FI_DEV_MEMORY_TEMP, degC
inline constexpr unsigned kNvlinkSentKib = 138;  ///< NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, since the driver was loaded
inline constexpr unsigned kNvlinkReceivedKib = 139;
inline constexpr unsigned kPcieSentBytes = 197;  ///< NVML_FI_DEV_PCIE_COUNT_TX_BYTES; wraps at 4 GiB
inline constexpr unsigned kPcieReceivedBytes = 198;
inline constexpr unsigned kAllLinks = 0xFFFFFFFF;  ///< scope of a field: the sum over all links

struct GpmSampleTag;
using GpmSample = GpmSampleTag*;  ///< nvmlGpmSample_t
struct GpmMetric {                ///< nvmlGpmMetric_t
  unsigned id = 0;
  Return code = 0;
  double value = 0;
  const char* names[3] = {};
};
struct GpmMetrics {  ///< nvmlGpmMetricsGet_t; the library reads and writes the first `count` metrics
  unsigned version = 1;
  unsigned count = 0;
  GpmSample before = nullptr, now = nullptr;
  GpmMetric metrics[16];
};
struct GpmSupport {  ///< nvmlGpmSupport_t
  unsigned version = 1, supported = 0;
};

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

}  // namespace warpmark::device::nvml
