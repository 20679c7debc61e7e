#include "device/cpu/memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu/proc.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  auto text = read_file(path, 1 << 22);
  return text.ok() ? std::move(text).value() : std::string();
}

/// A group's folder and the folder of its hierarchy's top.
struct Group {
  fs::path folder;
  fs::path top;
};

/// Where the hierarchy with this controller ("" for version 2) is mounted, and which of its groups is seen there. A
/// line of mountinfo: id parent major:minor ROOT MOUNTPOINT options... - TYPE source SUPEROPTIONS.
std::optional<std::pair<std::string, std::string>> find_mount(std::string_view mountinfo, std::string_view controller) {
  for (const auto& line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4) continue;
    const auto& type = dash[1];
    const auto options = split(dash[3], ',');
    const bool fits = controller.empty()
                          ? type == "cgroup2"
                          : type == "cgroup" && std::find(options.begin(), options.end(), controller) != options.end();
    if (fits) return std::pair(fields[3], fields[4]);
  }
  return std::nullopt;
}

/// This process's group in a hierarchy. A line of /proc/self/cgroup: id:controllers:path.
std::optional<std::string> find_path(std::string_view cgroup, std::string_view controller) {
  for (const auto& line : split(cgroup, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto names = split(line.substr(first + 1, second - first - 1), ',');
    const bool fits =
        controller.empty() ? names.empty() : std::find(names.begin(), names.end(), controller) != names.end();
    if (fits) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<Group> find_group(const fs::path& root, std::string_view controller) {
  const auto mount = find_mount(text_of(root / "proc/self/mountinfo"), controller);
  auto path = find_path(text_of(root / "proc/self/cgroup"), controller);
  if (!mount || !path) return std::nullopt;
  // In a container the mount shows only the container's part of the tree: its root is then a prefix of the path.
  if (mount->first != "/" && path->starts_with(mount->first)) path->erase(0, mount->first.size());
  const fs::path top = root / fs::path(mount->second).relative_path();
  const fs::path folder = top / fs::path(*path).relative_path();
  std::error_code ignored;
  const bool visible = path->find("..") == std::string::npos && fs::exists(folder, ignored);
  return Group{visible ? folder : top, top};
}

/// Calls `use` with the group's folder and each one above it, the top included.
template <typename Use>
void walk_up(const Group& group, Use use) {
  for (fs::path folder = group.folder;; folder = folder.parent_path()) {
    use(folder);
    if (folder == group.top || folder == folder.parent_path()) return;
  }
}

template <typename Number>
void lower(std::optional<Number>& limit, Number value) {
  if (!limit || value < *limit) limit = value;
}

void apply_memory(CgroupLimits& limits, std::optional<double> limit, std::optional<double> usage, double droppable) {
  constexpr double kUnlimited = 1LL << 60;  // version 1 writes nearly 2^63 for "none"
  if (!limit || *limit >= kUnlimited) return;
  lower(limits.memory_bytes, static_cast<std::int64_t>(*limit));
  if (!usage) return;
  const double left = std::max(0.0, *limit - std::max(0.0, *usage - droppable));
  lower(limits.memory_left_bytes, static_cast<std::int64_t>(left));
}

/// A number after its name in memory.stat, 0 if it is not there.
double statistic(const fs::path& file, std::string_view name) {
  for (const auto& line : split(text_of(file), '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return leading_number(std::string_view(line).substr(name.size())).value_or(0);
    }
  }
  return 0;
}

void read_version_2(const Group& group, CgroupLimits& limits) {
  walk_up(group, [&](const fs::path& folder) {
    const auto quota = split(first_line(folder / "cpu.max"), ' ');  // "max 100000" or "150000 100000"
    if (quota.size() == 2) {
      const auto time = leading_number(quota[0]);
      const auto period = leading_number(quota[1]);
      if (time && period && *time > 0 && *period > 0) lower(limits.cpus, *time / *period);
    }
    apply_memory(limits, leading_number(first_line(folder / "memory.max")),
                 leading_number(first_line(folder / "memory.current")),
                 statistic(folder / "memory.stat", "inactive_file"));
  });
}

void read_version_1(const fs::path& root, CgroupLimits& limits) {
  if (const auto group = find_group(root, "cpu")) {
    walk_up(*group, [&](const fs::path& folder) {
      const auto time = leading_number(first_line(folder / "cpu.cfs_quota_us"));  // -1: none
      const auto period = leading_number(first_line(folder / "cpu.cfs_period_us"));
      if (time && period && *time > 0 && *period > 0) lower(limits.cpus, *time / *period);
    });
  }
  if (const auto group = find_group(root, "memory")) {
    walk_up(*group, [&](const fs::path& folder) {
      apply_memory(limits, leading_number(first_line(folder / "memory.limit_in_bytes")),
                   leading_number(first_line(folder / "memory.usage_in_bytes")),
                   statistic(folder / "memory.stat", "total_inactive_file"));
    });
  }
}

/// What the kernel tells without /proc. It has no number for what could be had by giving up caches.
MemoryInfo without_proc() {
  MemoryInfo info;
  struct sysinfo now {};
  if (::sysinfo(&now) != 0) return info;
  const auto bytes = [&](unsigned long units) { return static_cast<std::int64_t>(units) * now.mem_unit; };
  info.total_bytes = bytes(now.totalram);
  info.available_bytes = bytes(now.freeram + now.bufferram);
  info.swap_total_bytes = bytes(now.totalswap);
  info.swap_free_bytes = bytes(now.freeswap);
  return info;
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  if (const auto group = find_group(root, "")) read_version_2(*group, limits);
  read_version_1(root, limits);
  return limits;
}

MemoryState read_memory(const fs::path& root) {
  MemoryInfo info = parse_meminfo(text_of(root / "proc/meminfo"));
  if (!info.total_bytes && root == "/") info = without_proc();  // as in a chroot
  const CgroupLimits limits = read_cgroup_limits(root);
  MemoryState state;
  state.total_bytes = info.total_bytes.value_or(0);
  state.available_bytes = info.available_bytes.value_or(0);
  if (limits.memory_bytes) state.total_bytes = std::min(state.total_bytes, *limits.memory_bytes);
  if (limits.memory_left_bytes) state.available_bytes = std::min(state.available_bytes, *limits.memory_left_bytes);
  state.swap_total_bytes = info.swap_total_bytes.value_or(0);
  state.swap_used_bytes = state.swap_total_bytes - info.swap_free_bytes.value_or(state.swap_total_bytes);
  return state;
}

}  // namespace warpmark::device
