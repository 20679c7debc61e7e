// Who measured: the facts of this machine that every session keeps beside its results.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model/machine.h"

namespace warpmark::device {

/// Names of the driver versions in Machine::software; a machine with a GPU that lacks them could not tell.
inline constexpr const char* kDriverSoftware = "NVIDIA driver";
inline constexpr const char* kCudaDriverSoftware = "CUDA driver";

/// Gathers everything, all available devices included. With a GPU this starts its driver: up to a second.
[[nodiscard]] Machine machine_facts();

/// 16 hexadecimal digits (FNV-1a, 64 bits) over what decides speed: GPUs with driver and CUDA version, CPU model,
/// usable cores, kernel release. Equal digits mean that results can be compared. Pure.
[[nodiscard]] std::string fingerprint_of(const Machine& machine);

/// The hypervisor that CPUID leaf 0x40000000 names ("kvm", "vmware", "hyper-v", ...); empty on bare metal.
[[nodiscard]] std::string this_hypervisor();
/// The name for a signature like "KVMKVMKVM"; the signature itself if it is not known.
[[nodiscard]] std::string hypervisor_name(std::string_view signature);

/// The container that the process runs in ("docker", "podman", "kubernetes", "lxc", "apptainer", "wsl"), by the marks
/// that each leaves under `root`; empty outside one. The same marks as systemd-detect-virt(1) uses, and a few more.
[[nodiscard]] std::string read_container(const std::filesystem::path& root);

/// "none", "kvm", "docker", or "docker in kvm".
[[nodiscard]] std::string virtualization_text(std::string_view hypervisor, std::string_view container);

/// As gethostname(2) tells it; empty where the kernel refuses. Any thread.
[[nodiscard]] std::string host_name();

}  // namespace warpmark::device
