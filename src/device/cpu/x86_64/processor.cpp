// CPUID (Intel SDM vol. 2A; AMD64 Architecture Programmer's Manual vol. 3, appendix E).
#include "device/cpu/processor.h"

#include <cpuid.h>

#include <array>
#include <cstring>

#include "base/text.h"

namespace warpmark::device {

const char* const kProcessorArchitecture = "x86-64";

/// Brand string, leaves 0x80000002..4 (Intel SDM vol. 2A, CPUID).
std::string processor_model() {
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* const leaf = words.data() + std::size_t{4} * i;
    if (__get_cpuid(0x80000002U + i, leaf, leaf + 1, leaf + 2, leaf + 3) == 0) return "";
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  return std::string(trim(text.data()));
}

/// Leaf 0x16: processor frequency in MHz, EBX is the maximum. Often 0 in virtual machines.
double processor_max_clock_hz() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0x16, &eax, &ebx, &ecx, &edx) == 0) return 0;
  return static_cast<double>(ebx & 0xFFFFU) * 1e6;
}

/// Leaf 1, ECX bit 31: a hypervisor is present, and leaf 0x40000000 has its name.
std::string hypervisor_signature() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx >> 31 & 1U) == 0) return "";
  std::array<unsigned, 3> words{};
  __cpuid(0x40000000, eax, words[0], words[1], words[2]);
  std::array<char, sizeof(words) + 1> signature{};
  std::memcpy(signature.data(), words.data(), sizeof(words));
  return signature.data();
}

bool has_invariant_tsc() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool invariant = __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 8 & 1U) != 0;
  const bool rdtscp = __get_cpuid(0x80000001U, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 27 & 1U) != 0;
  return invariant && rdtscp;
}

bool multiplies_bf16() { return __builtin_cpu_supports("avx512bf16") != 0; }

/// Leaf 7, EDX bit 24: AMX-TILE.
bool has_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && ((edx >> 24) & 1U) != 0;
}

}  // namespace warpmark::device
