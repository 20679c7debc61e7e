#include "profile/join_kernels.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace warpmark::profile {
namespace {

struct Launch {
  int rank = 0;
  EventIndex event = 0;
};

struct Candidates {
  std::vector<Launch> all;
  std::map<std::string, std::vector<Launch>> by_spelling;  ///< of the whole name, without blanks
};

std::string without_blanks(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ') plain += c;
  }
  return plain;
}

std::string text_of(const std::uint32_t (&size)[3]) {
  return "(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " + std::to_string(size[2]) + ")";
}

/// "ns::gemm (256, 1, 1) (128, 1, 1)".
std::string key_of(std::string_view name, const std::string& grid, const std::string& block) {
  return qualified_name(name) + " " + grid + " " + block;
}

/// The launches of the first rank whose kernels appear in `wanted`, in order of time.
std::map<std::string, Candidates> candidates_in(const ProfileSession& session,
                                                const std::map<std::string, Candidates>& wanted) {
  std::map<std::string, Candidates> found;
  for (std::size_t rank = 0; rank < session.ranks.size() && found.empty(); ++rank) {
    const Timeline& timeline = session.ranks[rank];
    std::map<std::pair<NameId, std::uint32_t>, std::string> keys;  // programs launch few different kernels
    for (EventIndex i = 0; i < timeline.events.size(); ++i) {
      if (timeline.events.kind[i] != EventKind::kernel) continue;
      const std::uint32_t shape = timeline.events.detail[i];
      const auto [key, is_new] = keys.try_emplace({timeline.events.name[i], shape}, "");
      if (is_new && shape < timeline.launch_shapes.size()) {
        const LaunchShape& launch = timeline.launch_shapes[shape];
        key->second = key_of(timeline.name_of(i), text_of(launch.grid), text_of(launch.block));
        if (!wanted.contains(key->second)) key->second.clear();
      }
      if (key->second.empty()) continue;
      Candidates& launches = found[key->second];
      launches.all.push_back({static_cast<int>(rank), i});
      launches.by_spelling[without_blanks(timeline.name_of(i))].push_back(launches.all.back());
    }
  }
  return found;
}

bool is_same_launch(const KernelProfile& a, const KernelProfile& b) {
  return a.id == b.id && a.name == b.name && a.grid == b.grid && a.block == b.block && a.stream == b.stream;
}

std::set<std::string_view> metrics_of(const KernelProfile& kernel) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kernel.metrics.size(); ++i) ids.insert(kernel.metrics[i].id);
  return ids;
}

/// Equal metrics of several processes are of ranks that launch the same.
bool is_other_page(const KernelProfile& a, const KernelProfile& b) {
  return a.process == b.process || metrics_of(a) != metrics_of(b);
}

void add_missing(KernelProfile& to, KernelProfile& from) {
  const std::set<std::string_view> known = metrics_of(to);
  std::vector<KernelMetric> missing;
  for (std::size_t i = 0; i < from.metrics.size(); ++i) {
    if (!known.contains(from.metrics[i].id)) missing.push_back(from.metrics[i]);
  }
  for (const KernelMetric& one : missing) to.metrics.add(one.id, one.unit, one.value);
  if (to.rules.empty()) to.rules = std::move(from.rules);
}

}  // namespace

void join_pages(ProfileSession& session, std::vector<KernelProfile>& kernels) {
  if (kernels.empty()) return;
  auto known =
      std::search(session.kernels.begin(), session.kernels.end(), kernels.begin(), kernels.end(), is_same_launch);
  if (known == session.kernels.end() || !is_other_page(*known, kernels.front())) return;
  for (KernelProfile& one : kernels) add_missing(*known++, one);
  kernels.clear();
}

std::string qualified_name(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  // An unnamed namespace is a part of the name; any other parenthesis or angle bracket ends it.
  constexpr std::string_view kUnnamed[] = {"(anonymous namespace)", "<unnamed>"};  // of GCC's and NVIDIA's demanglers
  std::string name;
  while (!kernel.empty()) {
    const auto unnamed =
        std::find_if(std::begin(kUnnamed), std::end(kUnnamed), [&](auto text) { return kernel.starts_with(text); });
    if (unnamed != std::end(kUnnamed)) {
      name += kUnnamed[0];
      kernel.remove_prefix(unnamed->size());
    } else if (kernel.front() == '(' || kernel.front() == '<') {
      break;
    } else {
      name += kernel.front();
      kernel.remove_prefix(1);
    }
  }
  return name;
}

void join_kernels(ProfileSession& session) {
  if (session.kernels.empty() || session.ranks.empty()) return;
  std::map<std::string, Candidates> wanted;
  for (const KernelProfile& kernel : session.kernels) wanted[key_of(kernel.name, kernel.grid, kernel.block)];
  const auto found = candidates_in(session, wanted);
  for (KernelProfile& kernel : session.kernels) {
    const auto fits = found.find(key_of(kernel.name, kernel.grid, kernel.block));
    if (fits == found.end() || kernel.ordinal < 0) continue;
    // Tools spell template arguments differently; where they agree, another instance of the template is not meant.
    const auto same = fits->second.by_spelling.find(without_blanks(kernel.name));
    const auto& launches = same != fits->second.by_spelling.end() ? same->second : fits->second.all;
    const Launch& launch = launches[static_cast<std::size_t>(kernel.ordinal) % launches.size()];
    kernel.rank = launch.rank;
    kernel.event = launch.event;
  }
}

}  // namespace warpmark::profile
