#include "profile/readers/rocprof/rocprof_kinds.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace warpmark::profile {

CopyKind rocprof_copy_kind(std::string_view name) {
  std::string letters = ascii_lower(name);
  std::erase(letters, '_');
  if (letters.ends_with("hosttodevice")) return CopyKind::host_to_device;
  if (letters.ends_with("devicetohost")) return CopyKind::device_to_host;
  if (letters.ends_with("devicetodevice")) return CopyKind::device_to_device;
  if (letters.ends_with("hosttohost")) return CopyKind::host_to_host;
  return letters.ends_with("peertopeer") ? CopyKind::peer_to_peer : CopyKind::unknown;
}

EventKind rocprof_call_kind(std::string_view domain) {
  if (domain.starts_with("HIP")) return EventKind::runtime_api;
  if (domain.starts_with("HSA")) return EventKind::driver_api;
  if (domain.starts_with("MARKER")) return EventKind::annotation;
  return domain.starts_with("RCCL") ? EventKind::op : EventKind::other;
}

LaunchShape rocprof_shape(const std::array<std::int64_t, 3>& grid, const std::array<std::int64_t, 3>& block,
                          std::int64_t shared_bytes) {
  const auto to_count = [](std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
  };
  LaunchShape shape;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::int64_t rest = block[i] > 0 && grid[i] > 0 && grid[i] % block[i] != 0 ? 1 : 0;
    shape.block[i] = to_count(block[i]);
    shape.grid[i] = to_count(block[i] > 0 ? grid[i] / block[i] + rest : grid[i]);
  }
  shape.shared_bytes = to_count(shared_bytes);
  return shape;
}

}  // namespace warpmark::profile
