// What only the running processor itself can tell. x86_64/ asks it by CPUID; portable/ knows what the kernel says.
#pragma once

#include <string>

namespace warpmark::device {

/// "x86-64", "aarch64".
extern const char* const kProcessorArchitecture;

/// Marketing name; empty if the processor does not tell.
[[nodiscard]] std::string processor_model();

/// 0 if the processor does not tell, as often in virtual machines.
[[nodiscard]] double processor_max_clock_hz();

/// What the hypervisor calls itself, such as "KVMKVMKVM"; empty outside a virtual machine or if unknown.
[[nodiscard]] std::string hypervisor_signature();

/// Whether it has a time stamp counter of constant rate that can be read with ordering (invariant TSC and RDTSCP).
[[nodiscard]] bool has_invariant_tsc();

/// Whether it multiplies bf16 natively, and in oneDNN's kernels.
[[nodiscard]] bool multiplies_bf16();

/// Whether it has Intel's tiles (AMX).
[[nodiscard]] bool has_amx();

}  // namespace warpmark::device
