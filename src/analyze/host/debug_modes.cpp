// Launches are asynchronous: the call returns while its kernel still waits for the GPU or runs, as handing it over
// takes about 4 us, longer than what is left of the call. With CUDA_LAUNCH_BLOCKING=1 it returns afterwards, always
// (CUDA C++ Programming Guide, "Concurrent Execution between Host and Device"). Of 140 recordings without it none had
// more than 3 of 100 such calls, the one with it had all.
//
// Anomaly mode does two things (PyTorch 2.11): after each function of the backward pass the engine reads back whether
// an output holds a NaN, `isnan(output)._is_any_true().item<bool>()` (torch/csrc/autograd/engine.cpp, call_function);
// and each operator that records such a function saves the Python stack before it starts to work (the constructor of
// Node in torch/csrc/autograd/function.h; torch/csrc/autograd/python_anomaly_mode.cpp, store_stack).
#include "analyze/host/debug_modes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/operators.h"
#include "analyze/names/words.h"
#include "analyze/recorded/order_statistics.h"

namespace warpmark::analyze {

namespace {

constexpr double kFewestLaunches = 20;
constexpr double kMostLaunches = 0.9;  // that block: others may be of a library with its own context or of a tool
constexpr double kFewestFunctions = 8;
constexpr double kMostFunctions = 0.8;  // that are checked: some have no output
// Formatting a stack takes some 10 us a frame and is the first that such an operator does. What takes ten times as long
// to call another operator or the GPU as nine of ten operators of the backward pass, in which no stack is saved, saves
// one. More than 3 ms is no stack.
constexpr std::int64_t kTimesOrdinary = 10;
constexpr std::int64_t kLongestStackNs = 3'000'000;

void find_blocking_launches(const Timeline& timeline, const WorkList& list, DebugModes& modes) {
  const EventColumns& events = timeline.events;
  const NameSet launches(timeline.names, is_launch_call);
  std::unordered_map<EventIndex, std::int64_t> last_end;
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent || !launches.contains(events.name[work.launch])) continue;
    const bool clocks_agree = work.start >= events.start[work.launch];
    std::int64_t& end = last_end[work.launch];
    end = std::max(end, clocks_agree ? work.end : INT64_MAX);
  }
  double blocking = 0;
  for (const auto& [call, end] : last_end) blocking += outlasts(events.end(call), end);
  const auto all = static_cast<double>(last_end.size());
  modes.blocking_share = all > 0 ? blocking / all : 0;
  modes.launches_block = all >= kFewestLaunches && modes.blocking_share >= kMostLaunches;
}

class AnomalyFinder {
 public:
  AnomalyFinder(const Timeline& timeline, const WorkList& list)
      : timeline_(timeline), list_(list), roles_(told_by_names(timeline.names, anomaly_role)) {}

  void run(DebugModes& modes) {
    if (std::ranges::find(roles_, AnomalyRole::function) == roles_.end()) return;
    if (std::ranges::find(roles_, AnomalyRole::finds_nan) == roles_.end()) return;
    find_checks(modes);
    if (modes.anomaly_mode) {
      find_stacks(modes);
    } else {
      modes.checks.clear();
    }
  }

 private:
  AnomalyRole role(EventIndex i) const {
    return timeline_.events.kind[i] == EventKind::op ? roles_[timeline_.events.name[i]] : AnomalyRole::none;
  }

  void find_checks(DebugModes& modes) {
    struct Seen {
      bool finds_nan = false;
      bool reads = false;
    };
    std::unordered_map<EventIndex, Seen> functions;
    for (EventIndex i = 0; i < timeline_.events.size(); ++i) {
      const AnomalyRole own = role(i);
      if (own == AnomalyRole::function) functions.try_emplace(i);
      const EventIndex around = list_.parent[i];
      if (own == AnomalyRole::none || own == AnomalyRole::function || around == kNoEvent) continue;
      if (role(around) != AnomalyRole::function) continue;
      modes.checks.insert(i);
      functions[around].finds_nan |= own == AnomalyRole::finds_nan;
      functions[around].reads |= own == AnomalyRole::reads;
    }
    double checked = 0;
    for (const auto& [function, seen] : functions) checked += seen.finds_nan && seen.reads;
    const auto all = static_cast<double>(functions.size());
    modes.checked_share = all > 0 ? checked / all : 0;
    modes.anomaly_mode = all >= kFewestFunctions && modes.checked_share >= kMostFunctions;
  }

  /// What an operator below the one that saved a stack does is not recorded for the backward pass again.
  void find_stacks(DebugModes& modes) const {
    const std::vector<std::int64_t> alone = alone_ns();
    std::vector<bool> backward(alone.size()), checking(alone.size());
    std::vector<std::int64_t> ordinary;
    for (EventIndex i = 0; i < alone.size(); ++i) {
      const EventIndex around = list_.parent[i];
      if (around != kNoEvent) {
        backward[i] = backward[around] || role(around) == AnomalyRole::function;
        checking[i] = checking[around];
      }
      if (modes.checks.contains(i)) checking[i] = true;
      if (alone[i] >= 0 && backward[i] && !checking[i]) ordinary.push_back(alone[i]);
    }
    if (ordinary.empty()) return;
    const std::int64_t slow = value_of_rank(ordinary, ordinary.size() * 9 / 10);
    std::vector<bool> saved(alone.size());  // in it, or around it
    for (EventIndex i = 0; i < alone.size(); ++i) {
      const EventIndex around = list_.parent[i];
      if (around != kNoEvent) saved[i] = saved[around];
      if (backward[i] || saved[i] || alone[i] <= kTimesOrdinary * slow || alone[i] > kLongestStackNs) continue;
      saved[i] = true;
      modes.stacks.emplace(i, alone[i] - slow);
    }
  }

  /// Of each operator, what passes before it calls another one or the GPU, ns; -1 for other events.
  std::vector<std::int64_t> alone_ns() const {
    const EventColumns& events = timeline_.events;
    std::vector<std::int64_t> alone(events.size(), -1);
    for (EventIndex i = 0; i < events.size(); ++i) {
      const EventIndex around = list_.parent[i];
      if (around != kNoEvent) alone[around] = std::min(alone[around], events.start[i] - events.start[around]);
      if (events.kind[i] == EventKind::op) alone[i] = events.duration[i];
    }
    return alone;
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::vector<AnomalyRole> roles_;  // by NameId
};

}  // namespace

DebugModes find_debug_modes(const Timeline& timeline, const WorkList& list) {
  DebugModes modes;
  find_blocking_launches(timeline, list, modes);
  AnomalyFinder(timeline, list).run(modes);
  return modes;
}

}  // namespace warpmark::analyze
