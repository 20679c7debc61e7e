// Builds small timelines for tests. Either event by event (add), or as a program: a host that dispatches in order and
// streams that work first in first out, so that starts, waits and idle time come out consistent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/profile/profile_session.h"
#include "model/profile/timeline.h"

namespace warpmark::testing_support {

class TimelineScene {
 public:
  struct Event {
    EventKind kind = EventKind::other;
    std::int64_t start = 0;
    std::int64_t duration = 0;
    std::string name;
    std::uint32_t track = 0;
    std::uint32_t correlation = 0;
    std::int64_t value = 0;
    std::uint32_t detail = 0;
  };

  TimelineScene() {
    timeline_.source = "scene";
    timeline_.format = "scene";
    timeline_.metadata = {{"warpmark_inflation_corrected", "1"}};  // no recording costs are taken off
    timeline_.launch_shapes.push_back({});
    timeline_.gpus.push_back({0, "Test GPU", 80'000'000'000, 132, 9, 0, 2048});
    timeline_.tracks.push_back({TrackKind::cpu_thread, 1, 1, -1, "main"});
  }

  static constexpr std::uint32_t kHost = 0;
  std::uint32_t stream(std::int64_t number) {
    for (std::uint32_t i = 0; i < timeline_.tracks.size(); ++i) {
      if (timeline_.tracks[i].kind == TrackKind::gpu_stream && timeline_.tracks[i].thread == number) return i;
    }
    timeline_.tracks.push_back({TrackKind::gpu_stream, 1, number, 0, ""});
    return static_cast<std::uint32_t>(timeline_.tracks.size() - 1);
  }
  void add(Event event) { events_.push_back(std::move(event)); }

  // The program. Times in ns; the host's clock is now().
  [[nodiscard]] std::int64_t now() const { return now_; }
  std::int64_t dispatch_ns = 5'000;  ///< host time around a launch
  bool launches_block = false;       ///< CUDA_LAUNCH_BLOCKING=1: a launch call ends 4 us after its kernel

  void idle_host(std::int64_t ns) { now_ += ns; }
  /// A host range that lasts `ns`, or as long as `body` takes.
  void range(const std::string& name, std::int64_t ns, EventKind kind = EventKind::annotation) {
    add({kind, now_, ns, name});
    now_ += ns;
  }
  template <typename Body>
  void within(const std::string& name, EventKind kind, Body body, const std::string& shapes = "") {
    const std::int64_t start = now_;
    body();
    add({kind, start, now_ - start, name, kHost, 0, 0, shapes.empty() ? 0 : timeline_.names.intern(shapes)});
  }
  void launch(const std::string& kernel, std::int64_t ns, std::uint32_t blocks = 1024, std::int64_t on = 7) {
    const std::uint32_t track = stream(on);
    const std::uint32_t id = ++correlation_;
    const std::int64_t start = std::max(now_ + 4'000, end_[track]);
    const std::int64_t waited = launches_block ? start + ns + 4'000 - now_ - 2'000 : 0;
    add({EventKind::runtime_api, now_, 2'000 + waited, "cudaLaunchKernel", kHost, id});
    LaunchShape shape;
    shape.grid[0] = blocks;
    shape.grid[1] = shape.grid[2] = 1;
    shape.block[0] = 256;
    shape.block[1] = shape.block[2] = 1;
    timeline_.launch_shapes.push_back(shape);
    add({EventKind::kernel, start, ns, kernel, track, id, 0,
         static_cast<std::uint32_t>(timeline_.launch_shapes.size() - 1)});
    end_[track] = start + ns;
    now_ += waited + dispatch_ns;
  }
  /// A CUDA graph of these kernels, one after another on stream 7: one call launches all.
  void replay(const std::vector<std::string>& kernels, std::int64_t ns_each) {
    const std::uint32_t track = stream(7);
    const std::uint32_t id = ++correlation_;
    add({EventKind::runtime_api, now_, 6'000, "cudaGraphLaunch", kHost, id});
    std::int64_t start = std::max(now_ + 8'000, end_[track]);
    for (const std::string& kernel : kernels) {
      add({EventKind::kernel, start, ns_each, kernel, track, id});
      start += ns_each;
    }
    end_[track] = start;
    now_ += dispatch_ns;
  }
  /// A copy on stream 7; `blocks_host`: the call returns when it is done (pageable memory).
  void copy(CopyKind kind, HostMemory memory, std::int64_t bytes, std::int64_t ns, bool blocks_host) {
    const std::uint32_t track = stream(7);
    const std::uint32_t id = ++correlation_;
    const std::int64_t start = std::max(now_ + 4'000, end_[track]);
    const std::int64_t call = blocks_host ? start + ns + 2'000 - now_ : 2'000;
    add({EventKind::runtime_api, now_, call, "cudaMemcpyAsync", kHost, id});
    const char* name = kind == CopyKind::host_to_device ? "Memcpy HtoD" : "Memcpy DtoH";
    add({EventKind::memcpy, start, ns, name, track, id, bytes, copy_detail(kind, memory)});
    end_[track] = start + ns;
    now_ += call + dispatch_ns;
  }
  void api(const std::string& name, std::int64_t ns) {
    add({EventKind::runtime_api, now_, ns, name, kHost, ++correlation_});
    now_ += ns;
  }
  void synchronize() {
    std::int64_t done = now_;
    for (const auto& [track, end] : end_) done = std::max(done, end);
    api("cudaStreamSynchronize", done + 3'000 - now_);
  }

  [[nodiscard]] Timeline& timeline() { return timeline_; }
  /// The finished timeline; the scene is used up.
  Timeline build() {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.start != b.start ? a.start < b.start : a.duration > b.duration;
    });
    for (const Event& one : events_) {
      timeline_.events.start.push_back(one.start);
      timeline_.events.duration.push_back(one.duration);
      timeline_.events.value.push_back(one.value);
      timeline_.events.name.push_back(timeline_.names.intern(one.name));
      timeline_.events.track.push_back(one.track);
      timeline_.events.correlation.push_back(one.correlation);
      timeline_.events.link.push_back(0);
      timeline_.events.detail.push_back(one.detail);
      timeline_.events.kind.push_back(one.kind);
    }
    return std::move(timeline_);
  }

 private:
  Timeline timeline_;
  std::vector<Event> events_;
  std::map<std::uint32_t, std::int64_t> end_;
  std::int64_t now_ = 1'000'000;
  std::uint32_t correlation_ = 0;
};

inline constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
inline constexpr const char* kTensorGemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64";

/// A program of annotated steps, each by `body(scene)`, and a wait at the end.
template <typename Body>
Timeline stepped(int steps, Body body) {
  TimelineScene scene;
  for (int i = 0; i < steps; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] { body(scene); });
  }
  scene.synchronize();
  return scene.build();
}

/// The same in a program that is not PyTorch's.
template <typename Body>
Timeline iterated(int steps, Body body) {
  TimelineScene scene;
  for (int i = 0; i < steps; ++i) {
    scene.within("iteration " + std::to_string(i), EventKind::annotation, [&] { body(scene); });
  }
  scene.synchronize();
  return scene.build();
}

/// Ranks that take the same steps, each by `body(scene, rank)`.
template <typename Body>
ProfileSession on_ranks(int ranks, int steps, Body body) {
  ProfileSession session;
  for (int rank = 0; rank < ranks; ++rank) {
    Timeline timeline = stepped(steps, [&](TimelineScene& scene) { body(scene, rank); });
    timeline.rank = rank;
    timeline.world_size = ranks;
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}
template <typename Body>
ProfileSession on_two_ranks(int steps, Body body) {
  return on_ranks(2, steps, std::move(body));
}

/// Of one rank.
inline ProfileSession session_of(Timeline timeline) {
  ProfileSession session;
  session.ranks.push_back(std::move(timeline));
  return session;
}

}  // namespace warpmark::testing_support
