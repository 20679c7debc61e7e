// The breakdown against an independent, plain and slow oracle: every nanosecond is looked at alone, with linear
// searches.
#include "analyze/replay/breakdown.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::TimelineScene;

/// One host thread with nested ranges, calls and launches, and three streams, at random.
Timeline random_timeline(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  TimelineScene scene;
  std::int64_t host = 100;
  std::map<std::uint32_t, std::int64_t> end;
  const char* kernels[] = {"gemm", "softmax_kernel", "elementwise_kernel", "ncclDevKernel_AllReduce", "batch_norm"};
  const char* ranges[] = {"aten::add", "enumerate(DataLoader)", "Optimizer.step#Adam", "python glue", "aten::item"};
  std::uint32_t correlation = 0;
  for (int i = 0; i < 14; ++i) {
    const std::int64_t range_start = host;
    const auto which = below(5);
    for (int k = 0; k < 3; ++k) {
      host += below(15);
      const auto what = below(10);
      const std::int64_t call = 2 + below(20);
      const std::uint32_t track = scene.stream(7 + below(3));
      if (what < 6) {
        const std::uint32_t id = below(12) == 0 ? 0 : ++correlation;  // some launches are not recorded
        scene.add({EventKind::runtime_api, host, call, "cudaLaunchKernel", 0, id});
        const std::int64_t start = std::max(host + below(30), end[track]);
        const std::int64_t length = below(60);
        const EventKind kind = below(8) == 0 ? EventKind::memset : EventKind::kernel;
        scene.add({kind, start, length, kernels[below(5)], track, id});
        end[track] = start + length;
      } else if (what < 8) {
        const std::uint32_t id = ++correlation;
        const bool up = below(2) == 0;
        scene.add({EventKind::runtime_api, host, call, "cudaMemcpyAsync", 0, id});
        const std::int64_t start = std::max(host + below(10), end[track]);
        scene.add({EventKind::memcpy, start, call, "Memcpy", track, id, up || below(2) == 0 ? 1 << 20 : 8,
                   copy_detail(up ? CopyKind::host_to_device : CopyKind::device_to_host, HostMemory::pageable)});
        end[track] = start + call;
      } else {
        scene.add(
            {EventKind::runtime_api, host, call, what == 8 ? "cudaDeviceSynchronize" : "cudaFree", 0, ++correlation});
      }
      host += call;
    }
    if (below(3) != 0) {
      const EventKind kind = which % 4 == 0 ? EventKind::op : EventKind::annotation;
      scene.add({kind, range_start, host - range_start, ranges[which], 0});
    }
    host += below(40);
  }
  return scene.build();
}

class Oracle {
 public:
  Oracle(const Timeline& timeline, const WorkList& list, const std::vector<std::int64_t>& wait_until)
      : timeline_(timeline), list_(list), wait_until_(wait_until) {}

  std::array<std::int64_t, kParts> run(std::int64_t from, std::int64_t to) {
    std::array<std::int64_t, kParts> ns{};
    gap_start_ = -1;
    from_ = from;
    for (std::int64_t t = from; t < to; ++t) ns[static_cast<std::size_t>(part_at(t))] += 1;
    return ns;
  }

 private:
  using E = const EventColumns&;

  Part part_at(std::int64_t t) {
    const int order[] = {0, 1, 2, 3};  // compute, communication, copies, memsets
    for (const int layer : order) {
      for (std::size_t i = 0; i < list_.works.size(); ++i) {
        const GpuWork& work = list_.works[i];
        if (work.start <= t && t < work.end && layer_of(work.category) == layer) {
          gap_start_ = -1;
          return busy_part(i, t);
        }
      }
    }
    if (gap_start_ < 0) gap_start_ = t;
    return idle_part(t);
  }

  static int layer_of(Category category) {
    if (category == Category::communication) return 1;
    if (category == Category::memset) return 3;
    return category >= Category::copy_to_device ? 2 : 0;
  }

  Part busy_part(std::size_t i, std::int64_t t) const {
    switch (list_.works[i].category) {
      case Category::communication:
        return i < wait_until_.size() && t < wait_until_[i] ? Part::idle_waiting_for_rank : Part::exposed_communication;
      case Category::copy_to_device: return Part::exposed_copy_to_device;
      case Category::copy_to_host: return Part::exposed_copy_to_host;
      case Category::copy_on_device: return Part::exposed_copy_on_device;
      case Category::memset: return Part::exposed_memset;
      default: return static_cast<Part>(list_.works[i].category);
    }
  }

  Part idle_part(std::int64_t t) {
    const GpuWork* next = nullptr;
    for (const GpuWork& work : list_.works) {
      if (work.start > t && work.end > work.start && (next == nullptr || work.start < next->start)) next = &work;
    }
    // The first of the works that begin at that instant, also one without duration, ends the stretch.
    for (const GpuWork& work : list_.works) {
      if (next != nullptr && work.start == next->start) {
        next = &work;
        break;
      }
    }
    if (next == nullptr) return host_part(t, false);
    if (next->launch == kNoEvent) return Part::idle_unknown;
    E events = timeline_.events;
    const std::int64_t launch = events.start[next->launch];
    const Part launching = next->in_optimizer ? Part::idle_optimizer : Part::idle_launch;
    if (launch <= gap_start_) return events.end(next->launch) > gap_start_ ? launching : Part::idle_kernel_gap;
    if (t >= launch) return launching;
    return host_part(t, next->category == Category::communication);
  }

  Part host_part(std::int64_t t, bool exchanges) {
    for (; next_call_ < calls().size() && calls()[next_call_].end <= t; ++next_call_) {
      const Call& call = calls()[next_call_];
      if (call.end < from_) continue;  // waits before the steps took no lead away that the steps could miss
      for (; next_border_ < borders_.size() && borders_[next_border_] <= call.end; ++next_border_) {
        for (int k = 0; k < 3; ++k) lead_[k] = std::min(lead_[k], std::exchange(waited_[k], 0));
      }
      lead_[call.kind] += call.waited;
      waited_[call.kind] += call.waited;
    }
    const HostCause cause = cause_at(t);
    switch (exchanges && cause == HostCause::optimizer ? HostCause::dispatch : cause) {
      case HostCause::data_loading: return Part::idle_data_loading;
      case HostCause::allocation: return Part::idle_allocation;
      case HostCause::transfer: return Part::idle_host_transfer;
      case HostCause::optimizer: return Part::idle_optimizer;
      case HostCause::sync: return Part::idle_sync;
      case HostCause::reading: return Part::idle_sync;
      default: break;
    }
    const Part lost[] = {Part::idle_sync, Part::idle_host_transfer, Part::idle_allocation};
    for (int k = 0; k < 3; ++k) {
      if (lead_[k] > 0) {
        --lead_[k];
        return lost[k];
      }
    }
    return Part::idle_launch;
  }

  HostCause own_cause(EventIndex i) const {
    const std::string_view name = timeline_.name_of(i);
    if (name == "cudaDeviceSynchronize" && release_follows(i)) return HostCause::allocation;
    if (name == "cudaDeviceSynchronize") return in_copying_operator(i) ? HostCause::transfer : HostCause::sync;
    if (name == "cudaFree") return HostCause::allocation;
    if (name == "enumerate(DataLoader)") return HostCause::data_loading;
    if (name == "Optimizer.step#Adam") return HostCause::optimizer;
    if (name == "python glue") return HostCause::none;
    if (name == "aten::item") return HostCause::reading;
    if (name == "cudaMemcpyAsync") {
      for (const GpuWork& work : list_.works) {
        if (work.launch != i) continue;
        if (work.category == Category::copy_on_device) return HostCause::dispatch;
        return work.category == Category::copy_to_host && !work.downloads ? HostCause::sync : HostCause::transfer;
      }
    }
    return HostCause::dispatch;
  }

  /// The thread's next call gives memory back.
  bool release_follows(EventIndex wait) const {
    E events = timeline_.events;
    for (EventIndex i = wait + 1; i < events.size(); ++i) {
      if (events.kind[i] != EventKind::runtime_api || events.track[i] != events.track[wait]) continue;
      return timeline_.name_of(i) == "cudaFree";
    }
    return false;
  }

  /// A wait in an operator that itself launched a copy of data between host and GPU.
  bool in_copying_operator(EventIndex wait) const {
    const EventIndex around = list_.parent[wait];
    if (around == kNoEvent || timeline_.events.kind[around] != EventKind::op) return false;
    for (const GpuWork& work : list_.works) {
      const bool copies = work.category == Category::copy_to_device || work.category == Category::copy_to_host;
      if (copies && timeline_.events.value[work.event] > (64 << 10) && work.launch != kNoEvent &&
          list_.parent[work.launch] == around)
        return true;
    }
    return false;
  }

  /// Ranges around `t` from the outside in.
  HostCause cause_at(std::int64_t t) const {
    E events = timeline_.events;
    HostCause cause = HostCause::none;
    for (EventIndex i = 0; i < events.size(); ++i) {
      if (is_gpu_work(events.kind[i]) || events.start[i] > t || events.end(i) <= t) continue;
      const HostCause own = own_cause(i);
      if (cause == HostCause::data_loading) continue;
      if (own == HostCause::none) {
        if (cause == HostCause::none) cause = HostCause::other;
      } else if (own == HostCause::reading
                     ? cause != HostCause::optimizer
                     : own != HostCause::dispatch || (cause != HostCause::optimizer && cause != HostCause::reading)) {
        cause = own;
      }
    }
    return cause;
  }

  struct Call {
    std::int64_t end;
    int kind;
    std::int64_t waited;
  };
  const std::vector<Call>& calls() {
    if (!calls_.empty()) return calls_;
    E events = timeline_.events;
    for (EventIndex i = 0; i < events.size(); ++i) {
      if (events.kind[i] != EventKind::runtime_api) continue;
      const HostCause cause = cause_at(events.start[i]);
      const int kind = cause == HostCause::sync ? 0 : cause == HostCause::transfer ? 1 : 2;
      if (kind == 2 && cause != HostCause::allocation) continue;
      std::int64_t waited = 0;
      for (std::int64_t t = events.start[i]; t < events.end(i); ++t) {
        for (const GpuWork& work : list_.works) {
          const int layer = layer_of(work.category);
          if (layer != 2 && work.start <= t && t < work.end) {
            ++waited;
            break;
          }
        }
      }
      calls_.push_back({events.end(i), kind, waited});
    }
    std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.end < b.end; });
    return calls_;
  }

  const Timeline& timeline_;
  const WorkList& list_;
  const std::vector<std::int64_t>& wait_until_;
  std::vector<Call> calls_;
  std::size_t next_call_ = 0;
  std::int64_t lead_[3] = {0, 0, 0};
  std::int64_t from_ = 0;
  std::int64_t gap_start_ = -1;
  std::int64_t waited_[3] = {0, 0, 0};
  const std::vector<std::int64_t> borders_ = {150, 700};
  std::size_t next_border_ = 0;
};

TEST(Breakdown, agrees_with_the_slow_oracle_to_the_nanosecond) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Timeline timeline = random_timeline(seed);
    const WorkList list = list_work(timeline);
    std::vector<std::int64_t> wait_until(list.works.size(), 0);
    for (std::size_t i = 0; i < list.works.size(); i += 2)
      wait_until[i] = (list.works[i].start + list.works[i].end) / 2;
    Steps steps;
    steps.analyzed = {{150, 700}, {700, 1400}};
    const Coverage computing(busy_intervals(list, [](const GpuWork& work) { return !is_copy(work.category); }));
    const HostActivity host(timeline, list, computing);
    const Breakdown breakdown = break_down({timeline, list, steps, host, wait_until, {}, false});
    ASSERT_EQ(breakdown.total(), 1250) << "seed " << seed;
    Oracle oracle(timeline, list, wait_until);
    const auto expected = oracle.run(150, 1400);
    for (std::size_t i = 0; i < kParts; ++i) {
      ASSERT_EQ(breakdown.ns[i], expected[i]) << part_id(static_cast<Part>(i)) << ", seed " << seed;
    }
  }
}

TEST(Breakdown, gives_the_cost_of_recording_its_own_part_and_still_sums_exactly) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Timeline timeline = random_timeline(seed);
    timeline.metadata.clear();
    const WorkList list = list_work(timeline);
    Steps steps;
    steps.analyzed = {{150, 1400}};
    const HostActivity host(timeline, list, Coverage());
    const std::vector<std::int64_t> none;
    EXPECT_EQ(break_down({timeline, list, steps, host, none, {}, true}).total(), 1250);
  }
}

TEST(Breakdown, names_and_groups_every_part) {
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    const std::string group = part_group(part);
    EXPECT_TRUE(group == "compute" || group == "communication" || group == "copy" || group == "idle");
    EXPECT_EQ(std::string(part_id(part)).starts_with("idle_"), group == "idle") << part_id(part);
  }
}

/// A graph that the driver hands to the GPU kernel by kernel, within its call.
TEST(Breakdown, gaps_between_the_kernels_of_a_graph_are_no_launches) {
  TimelineScene scene;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t begin = 1'000'000 + step * 10'000'000LL;
    scene.add({EventKind::annotation, begin, 9'990'000, "ProfilerStep#" + std::to_string(step)});
    scene.add({EventKind::runtime_api, begin + 5'000, 9'900'000, "hipGraphLaunch", TimelineScene::kHost, step + 1});
    for (int i = 0; i < 600; ++i)
      scene.add({EventKind::kernel, begin + 20'000 + i * 16'000, 12'000, "gemm", scene.stream(7), step + 1});
  }
  const Analysis analysis = testing_support::of(scene.build());
  const auto share = [&](const char* id) {
    const auto part = std::ranges::find(analysis.breakdown, id, &BreakdownPart::id);
    return part == analysis.breakdown.end() ? 0 : part->share;
  };
  EXPECT_GT(share("idle_kernel_gap"), 0.2);
  EXPECT_LT(share("idle_launch"), 0.05);
}

}  // namespace
}  // namespace warpmark::analyze
