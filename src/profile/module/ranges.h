// Ranges and marks that the program names itself, through NVTX 3: the header that programs are compiled with loads the
// library that NVTX_INJECTION64_PATH names and lets it put its own functions into a table (nvtx3/nvtxDetail). CUPTI
// offers the same as records, at several times the price and with crashes in CUDA 13.0.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "profile/module/capture.h"

namespace warpmark::profile::module {

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
