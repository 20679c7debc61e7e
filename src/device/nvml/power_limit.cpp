#include "device/nvml/power_limit.h"

#include <fmt/format.h>

#include <cmath>

#include "device/nvml/api.h"

namespace warpmark::device::nvml {
namespace {

const Result<Api>& power_library() {
  static const Result<Api> api = load_api();
  return api;
}

Result<Handle> handle_of(const Api& api, const std::string& uuid) {
  Handle gpu{};
  if (api.handle_by_uuid == nullptr || api.handle_by_uuid(uuid.c_str(), &gpu) != kSuccess) {
    return environment_error("there is no GPU " + uuid);
  }
  return gpu;
}

}  // namespace

Result<PowerLimits> power_limits_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, power_library());
  WM_ASSIGN(const Handle gpu, handle_of(api, uuid));
  unsigned now = 0, usual = 0, least = 0, most = 0;
  const bool told = api.power_set_limit != nullptr && api.power_default_limit != nullptr &&
                    api.power_constraints != nullptr && api.power_set_limit(gpu, &now) == kSuccess &&
                    api.power_default_limit(gpu, &usual) == kSuccess &&
                    api.power_constraints(gpu, &least, &most) == kSuccess;
  if (!told) return environment_error("the driver does not report the power limits of " + uuid);
  return PowerLimits{now * 1e-3, usual * 1e-3, least * 1e-3, most * 1e-3};
}

Status set_power_limit(const std::string& uuid, double watts) {
  WM_ASSIGN(const Api api, power_library());
  WM_ASSIGN(const Handle gpu, handle_of(api, uuid));
  if (api.set_power_limit == nullptr) return environment_error("this driver's library cannot set power limits");
  const Return code = api.set_power_limit(gpu, static_cast<unsigned>(std::lround(watts * 1e3)));
  if (code == kSuccess) return {};
  const char* text = api.error_string != nullptr ? api.error_string(code) : nullptr;
  return environment_error(
      fmt::format("the power limit of {} cannot be set to {:.0f} W: {}", uuid, watts, text != nullptr ? text : "?"),
      "only root may set it; virtual machines and containers often cannot");
}

}  // namespace warpmark::device::nvml
