#include "device/nvml/nvml.h"

#include <unistd.h>

#include "device/nvml/api.h"
#include "device/nvml/queries.h"

namespace warpmark::device::nvml {
namespace {

/// Loaded by the first question; a driver does not come or go while we run.
const Result<Api>& library() {
  static const Result<Api> api = load_api();
  return api;
}

}  // namespace

Support available() {
  const auto& api = library();
  return api.ok() ? Support::yes() : Support::no(api.error().what, api.error().hint);
}

Result<Conditions> conditions_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, library());
  return conditions_of(api, uuid, {.own_pid = static_cast<unsigned>(getpid())});
}

Result<GpuFacts> facts_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, library());
  return facts_of(api, uuid);
}

Result<GpuActivity> activity_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, library());
  return activity_of(api, uuid);
}

Result<PcieBytes> pcie_bytes_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, library());
  return pcie_bytes_of(api, uuid);
}

Result<std::vector<GpuFacts>> gpu_list() {
  WM_ASSIGN(const Api api, library());
  return gpu_list(api);
}

Result<std::vector<GpuLink>> topology() {
  WM_ASSIGN(const Api api, library());
  return topology(api);
}

Result<Versions> versions() {
  WM_ASSIGN(const Api api, library());
  return versions(api);
}

}  // namespace warpmark::device::nvml
