// An Armv8 processor (Grace, Graviton, Ampere): it tells programs nothing by itself, the kernel does in /proc/cpuinfo.
#include "device/cpu/processor.h"

#include <sys/utsname.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::device {
namespace {

/// Names of Arm's and Ampere's parts, by "CPU implementer" and "CPU part" (Arm, Main ID Register of each core's
/// manual).
struct Part {
  std::string_view implementer;
  std::string_view part;
  const char* name;
};
constexpr std::array kParts{
    Part{"0x41", "0xd0c", "Neoverse N1"}, Part{"0x41", "0xd40", "Neoverse V1"}, Part{"0x41", "0xd49", "Neoverse N2"},
    Part{"0x41", "0xd4f", "Neoverse V2"}, Part{"0x41", "0xd84", "Neoverse V3"}, Part{"0xc0", "0xac3", "Ampere-1"},
};

/// The value of the first line "key : value".
std::string value_of(std::string_view text, std::string_view key) {
  for (const auto& line : split(std::string(text), '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) != key) continue;
    return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

}  // namespace

const char* const kProcessorArchitecture = "aarch64";

std::string processor_model() {
  const auto text = read_file("/proc/cpuinfo", 1 << 26);
  if (!text.ok()) return "";
  const auto implementer = value_of(*text, "CPU implementer");
  const auto part = value_of(*text, "CPU part");
  for (const auto& known : kParts) {
    if (known.implementer == implementer && known.part == part) return known.name;
  }
  return implementer.empty() ? "" : "implementer " + implementer + " part " + part;
}

double processor_max_clock_hz() { return 0; }

std::string hypervisor_signature() { return ""; }

bool has_invariant_tsc() { return false; }

bool multiplies_bf16() { return false; }

bool has_amx() { return false; }

}  // namespace warpmark::device
