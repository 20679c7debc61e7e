#include "device/pci_numa.h"

#include "base/files.h"
#include "device/cpu/proc.h"

namespace warpmark::device {

std::optional<int> numa_node_of(const std::string& pci_bus_id, const std::filesystem::path& devices) {
  const std::string name = pci_name(pci_bus_id);
  if (name.empty()) return std::nullopt;
  const auto node = leading_number(first_line(devices / name / "numa_node"));  // -1: the machine has none
  if (!node || *node < 0) return std::nullopt;
  return static_cast<int>(*node);
}

std::string pci_name(const std::string& pci_bus_id) {
  constexpr std::size_t kLength = 12;
  if (pci_bus_id.size() < kLength) return {};
  std::string name = pci_bus_id.substr(pci_bus_id.size() - kLength);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return name;
}

}  // namespace warpmark::device
