// The "cpu" backend: the machine's processors as a device, always available.
#pragma once

#include "device/device.h"

namespace warpmark::device {

extern const Backend kCpuBackend;

}  // namespace warpmark::device
