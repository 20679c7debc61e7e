#include "analyze/verdicts_without_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace warpmark::analyze {
namespace {

bool has_any(const ProfileSession& session, std::initializer_list<std::string_view> ids) {
  return std::ranges::any_of(session.counters, [&](const CounterSeries& series) {
    return std::ranges::find(ids, std::string_view(series.id)) != ids.end();
  });
}

}  // namespace

bool is_of_unknown_kinds(const ProfileSession& session) {
  std::size_t all = 0, unknown = 0;
  for (const Timeline& timeline : session.ranks) {
    all += timeline.events.size();
    for (EventIndex i = 0; i < timeline.events.size(); ++i) unknown += timeline.events.kind[i] == EventKind::other;
  }
  return all > 0 && unknown * 2 > all;
}

std::string unknown_kinds_verdict(const ProfileSession& session) {
  for (const Timeline& timeline : session.ranks) {
    for (const auto& [key, value] : timeline.metadata) {
      if (key != "unknown_categories") continue;
      return fmt::format(
          "The event categories of this trace are not known: {}. GPU work is recognized by the categories of the "
          "PyTorch "
          "profiler: kernel, gpu_memcpy, gpu_memset, cuda_runtime. Nothing is reported about the GPU.",
          value);
    }
  }
  return "This trace has no event categories, so GPU and host work cannot be separated. Nothing is reported about "
         "the GPU.";
}

std::string counters_verdict(const ProfileSession& session, std::size_t gpus) {
  const bool throttling = has_any(session, {"throttle_reasons", "power_violation_time", "thermal_violation_time"});
  const bool link = has_any(session, {"pcie_rx", "pcie_tx", "pcie_rx_utilization", "pcie_tx_utilization"});
  const bool busy = has_any(session, {"gpu_utilization", "graphics_active", "sm_active"});
  const std::string of = gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus);
  const char* idle = busy ? "" : "; whether it is busy was not reported";
  if (throttling || link) {
    return fmt::format("Counters alone, of {}: no sign of {} in them{}; no program was recorded.", of,
                       throttling && link ? "throttling or of a full link"
                       : throttling       ? "throttling"
                                          : "a full link",
                       idle);
  }
  std::set<std::string> names;
  for (const CounterSeries& series : session.counters) {
    std::string name = series.id;
    std::ranges::replace(name, '_', ' ');
    names.insert(name);
  }
  return fmt::format(
      "Counters alone, of {} ({}): they do not show throttling or the load of a link{}; no program was recorded.", of,
      join(std::vector<std::string>(names.begin(), names.end()), ", "), idle);
}

}  // namespace warpmark::analyze
