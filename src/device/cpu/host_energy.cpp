#include "device/cpu/host_energy.h"

#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::device {
namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  const auto value = parse_integer(trim(first_line(path)));
  if (!value.ok() || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

}  // namespace

HostEnergy::HostEnergy(const std::filesystem::path& root) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    // "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it.
    const auto name = entry->path().filename().string();
    if (split(name, ':').size() != 2 || !first_line(entry->path() / "name").starts_with("package")) continue;
    const auto counter = entry->path() / "energy_uj";
    const auto range = number_in(entry->path() / "max_energy_range_uj");
    if (!number_in(counter) || !range) {  // a sum without one would be taken for the whole
      packages_.clear();
      return;
    }
    packages_.push_back({counter, *range});
  }
}

std::optional<HostEnergy::Reading> HostEnergy::read() const {
  if (packages_.empty()) return std::nullopt;
  Reading reading;
  for (const auto& package : packages_) {
    const auto value = number_in(package.counter);
    if (!value) return std::nullopt;
    reading.microjoules.push_back(*value);
  }
  return reading;
}

std::optional<double> HostEnergy::counted_joules() const {
  const auto now = read();
  if (!now) return std::nullopt;
  double sum = 0;
  for (const auto microjoules : now->microjoules) sum += static_cast<double>(microjoules) * 1e-6;
  return sum;
}

double HostEnergy::joules(const Reading& before, const Reading& after) const {
  double sum = 0;
  for (std::size_t i = 0; i < packages_.size() && i < before.microjoules.size() && i < after.microjoules.size(); ++i) {
    const auto from = before.microjoules[i], to = after.microjoules[i];
    sum += static_cast<double>(to >= from ? to - from : packages_[i].range - from + to);
  }
  return sum * 1e-6;
}

}  // namespace warpmark::device
