#include <array>

#include "base/text.h"
#include "device/cpu/backend.h"
#include "device/cuda/backend.h"
#include "device/device.h"

namespace warpmark::device {
namespace {

constexpr std::array<const Backend*, 2> kBackends{&kCpuBackend, &kCudaBackend};

/// Ids of every device that can be used now, for messages and suggestions.
std::vector<std::string> usable_selectors() {
  std::vector<std::string> ids;
  for (const Backend* backend : kBackends) {
    if (!backend->available().available) continue;
    const auto devices = backend->devices();
    if (!devices.ok()) continue;
    for (const auto& device : *devices) ids.push_back(device.id);
  }
  return ids;
}

Error no_such_device(const std::string& selector) {
  const auto usable = usable_selectors();
  auto words = usable;
  words.insert(words.end(), {"cuda", "all"});
  const auto meant = nearest(selector, words);
  std::string hint = meant.empty() ? "" : "did you mean '" + meant + "'? ";
  hint += "devices here: " + join(usable, ", ") + "; 'all' means every one";
  return usage_error("there is no device '" + selector + "'", hint);
}

Result<std::vector<DeviceInfo>> devices_of(const Backend& backend) {
  const Support support = backend.available();
  if (!support.available) {
    return environment_error(std::string("no ") + backend.id + " device can be used: " + support.reason, support.hint);
  }
  return backend.devices();
}

Result<std::vector<DeviceInfo>> all_devices() {
  std::vector<DeviceInfo> all;
  for (const Backend* backend : kBackends) {
    if (!backend->available().available) continue;
    WM_ASSIGN(auto devices, backend->devices());
    for (auto& device : devices) all.push_back(std::move(device));
  }
  return all;
}

}  // namespace

Catalog<Backend> backends() { return kBackends; }

Result<std::vector<DeviceInfo>> select_devices(const std::string& selector) {
  if (selector == "all") return all_devices();
  const Backend* backend = find_in(backends(), selector.substr(0, selector.find(':')));
  if (backend == nullptr) return no_such_device(selector);
  WM_ASSIGN(auto devices, devices_of(*backend));
  if (selector == backend->id) return devices;
  for (auto& device : devices) {
    if (device.id == selector) return std::vector<DeviceInfo>{std::move(device)};
  }
  return no_such_device(selector);
}

Result<std::unique_ptr<Device>> open_device(const std::string& id) {
  const Backend* backend = find_in(backends(), id.substr(0, id.find(':')));
  if (backend == nullptr) return no_such_device(id);
  WM_ASSIGN(const auto devices, devices_of(*backend));
  if (id == backend->id && !devices.empty()) return backend->open(0);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].id == id) return backend->open(static_cast<int>(i));
  }
  return no_such_device(id);
}

}  // namespace warpmark::device
