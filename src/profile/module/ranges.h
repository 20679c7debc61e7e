// Ranges and marks that the program names itself, through NVTX 3: the header that programs are compiled with loads the
// library that NVTX_INJECTION64_PATH names and lets it put its own functions into a table (nvtx3/nvtxDetail). CUPTI
// offers the same as records, at several times the price and with crashes in CUDA 13.0.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace warpmark::profile::module {

// A part of the program to record that the program itself marks: ranges of one name (NVTX, and PyTorch's
// record_function where the Python hook passes them on), or what lies between cudaProfilerStart and cudaProfilerStop.

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

struct NamedRange {
  std::int64_t start_ns = 0;  ///< since the Unix epoch
  std::int64_t end_ns = 0;    ///< as start_ns for marks
  std::int64_t thread = 0;    ///< that ended it
  std::string name;
};

/// From any thread.
class RangeLog {
 public:
  /// The one of this process: NVTX calls plain functions, maybe before CUDA is first used.
  static RangeLog& instance();

  void set_recording(bool on) { recording_.store(on, std::memory_order_relaxed); }
  [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_relaxed); }
  /// Whether to count the steps that the program names, from now on.
  void set_counting(bool on) { counting_.store(on, std::memory_order_relaxed); }
  /// Outermost ranges that have ended and are called a step or an iteration; else those of the commonest name, or none
  /// if they have to be called so.
  [[nodiscard]] std::int64_t steps(bool called_so);
  /// Somebody reads the names: making them up can be left out otherwise.
  [[nodiscard]] bool wants_names() const {
    return recording() || counting_.load(std::memory_order_relaxed) || Capture::instance().is_on();
  }

  /// Level of the range in its thread, as NVTX returns it.
  int push(const void* domain, const char* name);
  int pop(const void* domain);
  std::uint64_t start(const char* name);
  void end(std::uint64_t id);
  void mark(const char* name);

  /// All that ended by now.
  [[nodiscard]] std::vector<NamedRange> take();
  [[nodiscard]] std::int64_t lost() const { return lost_.load(); }

 private:
  void keep(NamedRange range);
  void count(const std::string& name);

  std::atomic<bool> recording_{false};
  std::atomic<bool> counting_{false};
  std::atomic<std::uint64_t> ids_{0};
  std::atomic<std::int64_t> lost_{0};
  std::mutex mutex_;
  std::vector<NamedRange> ended_;
  std::unordered_map<std::string, std::int64_t> counts_;  ///< of outermost ranges, by name without digits
  std::unordered_set<std::uint64_t> captured_;          ///< of ranges that may end in another thread, those to capture
  std::unordered_map<std::uint64_t, NamedRange> open_;  ///< ranges that may end in another thread
};

}  // namespace warpmark::profile::module
