// Times CUDA calls in callbacks of our own, those of the runtime and the driver that the recorder is called back for: a
// record of CUPTI's for each call costs several times as much, which tells on programs that are bound by their
// launches. Every thread writes into a ring of its own, and one reader empties them.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace warpmark::profile::module {

struct CallRecord {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t call = 0;         ///< CUPTI's callback id
  std::uint32_t correlation = 0;  ///< joins the call and the GPU work it started
  bool runtime = true;            ///< of the runtime, else of the driver
  std::int64_t gap_ns = 0;        ///< since the thread's call before, if it was off the processor in it
  std::int64_t blocked_ns = 0;    ///< of the gap, off the processor
};

/// One writer, one reader.
class CallRing {
 public:
  explicit CallRing(std::int64_t thread) : thread_(thread), records_(kRecords) {}

  /// False if the ring is full: the record is lost, and counted by the caller.
  bool push(const CallRecord& record) {
    const auto head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) >= kRecords) return false;
    records_[head % kRecords] = record;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  template <typename Take>
  void drain(Take&& take) {
    auto tail = tail_.load(std::memory_order_relaxed);
    const auto head = head_.load(std::memory_order_acquire);
    for (; tail != head; ++tail) take(thread_, records_[tail % kRecords]);
    tail_.store(tail, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kRecords = std::uint64_t{1} << 14;
  std::int64_t thread_;
  std::vector<CallRecord> records_;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> tail_{0};
};

class CallLog {
 public:
  /// From any thread. The first call of a thread makes its ring.
  void add(const CallRecord& record);
  [[nodiscard]] std::int64_t lost() const { return lost_.load(); }

  /// Calls take(thread id, record) for all records so far, in each thread's order. From one thread only.
  template <typename Take>
  void drain(Take&& take) {
    std::vector<CallRing*> rings;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& ring : rings_) rings.push_back(ring.get());
    }
    for (CallRing* ring : rings) ring->drain(take);
  }

 private:
  [[nodiscard]] CallRing& ring_of_this_thread();

  std::mutex mutex_;                              ///< guards the list, not the rings
  std::vector<std::unique_ptr<CallRing>> rings_;  ///< kept until the end: a thread may end before it was drained
  std::atomic<std::int64_t> lost_{0};
};

/// Ids of the runtime's calls that launch kernels and graphs.
[[nodiscard]] std::span<const CUpti_CallbackId> launch_calls();
/// Ids of the runtime's calls that move data, wait or allocate: with the launches, all that an analysis asks for.
/// Recording every call of the runtime costs several times as much.
[[nodiscard]] std::span<const CUpti_CallbackId> other_calls();
/// Ids of the driver's calls that launch.
[[nodiscard]] std::span<const CUpti_CallbackId> driver_launches();
/// Ids of those that move data, wait or allocate. A driver call within a call of the runtime is not recorded, so these
/// are of programs that call the driver themselves.
[[nodiscard]] std::span<const CUpti_CallbackId> other_driver_calls();

/// cudaProfilerStart and cudaProfilerStop, of the runtime and of the driver: what a program marks by.
[[nodiscard]] std::span<const CUpti_CallbackId> profiler_calls();
[[nodiscard]] std::span<const CUpti_CallbackId> driver_profiler_calls();
enum class ProfilerCall { none, start, stop };
[[nodiscard]] ProfilerCall profiler_call(CUpti_CallbackDomain domain, CUpti_CallbackId id);

[[nodiscard]] bool is_launch(CUpti_CallbackDomain domain, CUpti_CallbackId id);
/// A number that is the same whenever the same kernel or graph is launched.
[[nodiscard]] std::uint64_t what_is_launched(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                             const CUpti_CallbackData& call);

class Recorder;

/// CUPTI keeps plain function pointers, so the recorder stands where such a function can find it.
[[nodiscard]] Recorder*& current_recorder();

/// Times the call, tells the recorder of launches, and follows the marks of cudaProfilerStart and cudaProfilerStop.
void CUPTIAPI on_call(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

}  // namespace warpmark::profile::module
