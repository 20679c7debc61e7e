#include "device/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu/memory.h"
#include "device/cpu/proc.h"
#include "device/cpu/processor.h"
#include "device/cuda/backend.h"
#include "device/device.h"
#include "device/nvml/nvml.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

std::string os_name() {
  const auto text = read_file("/etc/os-release", 1 << 16);
  return text.ok() ? parse_key_value(*text, "PRETTY_NAME") : "";
}

void add_devices(Machine& machine) {
  for (const Backend* backend : backends()) {
    if (!backend->available().available) continue;
    auto devices = backend->devices();
    if (!devices.ok()) continue;  // a backend that breaks here reports its fault when it is asked to run
    for (auto& device : *devices) machine.devices.push_back(std::move(device));
  }
}

/// Versions of what the GPU results depend on. The module's libraries are loaded only where a GPU can use them.
void add_gpu_software(Machine& machine) {
  if (!find_in(backends(), "cuda")->available().available) return;
  if (const auto versions = nvml::versions(); versions.ok()) {
    machine.software.emplace_back(kDriverSoftware, versions->driver);
    machine.software.emplace_back(kCudaDriverSoftware, versions->cuda);
  }
  const auto module = cuda_module();
  if (!module.ok()) return;
  for (auto& library : (*module)->libraries()) machine.software.push_back(std::move(library));
}

std::string software_version(const Machine& machine, std::string_view name) {
  for (const auto& [known, version] : machine.software) {
    if (known == name) return version;
  }
  return "";
}

bool has(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

Machine machine_facts() {
  Machine machine;
  utsname system{};
  if (uname(&system) == 0) machine.kernel = system.release;
  machine.hostname = host_name();
  machine.os = os_name();
  machine.virtualization = virtualization_text(this_hypervisor(), read_container("/"));
  machine.memory_bytes = read_memory("/").total_bytes;
  add_devices(machine);
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") machine.cpu = device.name;
  }
  add_gpu_software(machine);
  machine.fingerprint = fingerprint_of(machine);
  return machine;
}

std::string fingerprint_of(const Machine& machine) {
  std::string text = machine.cpu + '\n' + machine.kernel + '\n';
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") text += std::to_string(device.compute_units) + '\n';
    if (device.backend != "cpu") text += device.name + '\n';
  }
  text += software_version(machine, kDriverSoftware) + '\n' + software_version(machine, kCudaDriverSoftware) + '\n';
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 1099511628211ULL;
  }
  return fmt::format("{:016x}", hash);
}

std::string this_hypervisor() {
  const std::string signature = hypervisor_signature();
  return signature.empty() ? "" : hypervisor_name(signature);
}

std::string hypervisor_name(std::string_view signature) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> kKnown{{
      {"KVMKVMKVM", "kvm"},
      {"Linux KVM Hv", "kvm"},
      {"Microsoft Hv", "hyper-v"},
      {"VMwareVMware", "vmware"},
      {"XenVMMXenVMM", "xen"},
      {"TCGTCGTCGTCG", "qemu"},
      {"VBoxVBoxVBox", "virtualbox"},
      {"bhyve bhyve ", "bhyve"},
  }};
  for (const auto& [known, name] : kKnown) {
    if (signature == known) return name;
  }
  const auto text = trim(signature);
  return text.empty() ? "unknown hypervisor" : std::string(text);
}

std::string read_container(const fs::path& root) {
  if (first_line(root / "proc/sys/kernel/osrelease").find("icrosoft") != std::string::npos) return "wsl";
  if (has(root / "run/secrets/kubernetes.io") || has(root / "var/run/secrets/kubernetes.io")) return "kubernetes";
  if (has(root / "run/.containerenv")) return "podman";
  if (has(root / ".dockerenv")) return "docker";
  if (has(root / ".singularity.d")) return "apptainer";
  const auto text = read_file(root / "proc/1/cgroup", 1 << 16);
  const std::string groups = text.ok() ? *text : "";
  constexpr std::array<std::pair<const char*, const char*>, 5> kMarks{{{"kubepods", "kubernetes"},
                                                                       {"docker", "docker"},
                                                                       {"libpod", "podman"},
                                                                       {"containerd", "containerd"},
                                                                       {"lxc", "lxc"}}};
  for (const auto& [mark, name] : kMarks) {
    if (groups.find(mark) != std::string::npos) return name;
  }
  return first_line(root / "run/systemd/container");  // "lxc", "systemd-nspawn", ...; usually absent
}

std::string virtualization_text(std::string_view hypervisor, std::string_view container) {
  if (container.empty()) return hypervisor.empty() ? "none" : std::string(hypervisor);
  if (hypervisor.empty()) return std::string(container);
  return std::string(container) + " in " + std::string(hypervisor);
}

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64 on Linux
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace warpmark::device
