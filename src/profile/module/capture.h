// A part of the program to record that the program itself marks: ranges of one name (NVTX, and PyTorch's
// record_function where the Python hook passes them on), or what lies between cudaProfilerStart and cudaProfilerStop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace warpmark::profile::module {

/// From any thread. Of ranges of that name within one another, and on several threads at once, the first that begins
/// and the last that ends count.
class Capture {
 public:
  /// The one of this process: ranges may come before CUDA is first used.
  static Capture& instance();

  /// Name and numbers as WARPMARK_RECORD_RANGE, ..._WARMUP_STEPS and ..._STEPS say: the first ranges that are passed
  /// over, and how many are recorded.
  Capture();
  Capture(std::string name, std::int64_t skipped, std::int64_t wanted);

  [[nodiscard]] bool is_on() const { return !name_.empty(); }
  [[nodiscard]] bool is_called(std::string_view name) const { return is_on() && name == name_; }
  [[nodiscard]] bool is_of_profiler_calls() const { return is_called(kProfilerCalls); }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// One of these ranges begins. Where it is the first to be recorded and there is a recorder, waits until records are
  /// taken, but not for ever: a caller in a callback of CUPTI's may hold what the recorder needs.
  void begins();
  void ends();

  [[nodiscard]] bool has_begun() const { return begun_.load(std::memory_order_acquire); }
  /// From now on nothing that starts belongs to the part.
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire); }

  // Of the recorder.
  /// There is one now. Without one (CUDA was not used yet) nobody waits.
  void serve();
  /// Returns when something began or ended, at the latest after a tick.
  void wait_for_news();
  /// Records are taken now; or never will be.
  void answer();

  static constexpr const char* kProfilerCalls = "cudaProfilerApi";

 private:
  std::string name_;
  std::int64_t skipped_ = 0;
  std::int64_t wanted_ = 1;
  std::mutex mutex_;
  std::condition_variable news_;
  std::condition_variable answered_;
  std::int64_t depth_ = 0;
  std::int64_t seen_ = 0;  ///< that have begun
  bool is_served_ = false;
  bool is_news_ = false;
  bool is_answered_ = false;
  std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace warpmark::profile::module
