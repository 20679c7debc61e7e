// How long a thread was off the processor between two of its CUDA calls. Frameworks wait for the GPU in ways that CUDA
// does not see: XLA has the GPU call a function of the host that wakes the thread, which waits on a condition variable.
// The thread's own processor time tells such a wait from work. Reading it is a system call (0.2 to 0.3 us), so it is
// read only at the end of gaps and of long calls.
#pragma once

#include <algorithm>
#include <cstdint>

namespace warpmark::profile::module {

/// One a thread.
class BlockedTime {
 public:
  struct Gap {
    std::int64_t length_ns = 0;
    std::int64_t blocked_ns = 0;  ///< of it; 0 if below 20 us, or the gap below 40
  };

  /// A call begins. `processor_ns()` reads the thread's processor time.
  template <typename Clock>
  Gap call_begins(std::int64_t now_ns, Clock&& processor_ns) {
    const std::int64_t gap = last_end_ns_ == 0 ? 0 : now_ns - last_end_ns_;
    if (gap < kLeastNs) return {};
    const std::int64_t processor = processor_ns();
    const std::int64_t off = (now_ns - since_ns_) - (processor - processor_then_ns_);
    const bool known = since_ns_ != 0;
    since_ns_ = now_ns;
    processor_then_ns_ = processor;
    return {gap, known && off >= kLeastBlockedNs ? std::min(off, gap) : 0};
  }

  template <typename Clock>
  void call_ends(std::int64_t begin_ns, std::int64_t now_ns, Clock&& processor_ns) {
    last_end_ns_ = now_ns;
    if (now_ns - begin_ns < kLeastNs) return;  // a call this short did not block
    since_ns_ = now_ns;
    processor_then_ns_ = processor_ns();
  }

 private:
  static constexpr std::int64_t kLeastNs = 40'000;
  static constexpr std::int64_t kLeastBlockedNs = 20'000;  // less is an interrupt

  std::int64_t last_end_ns_ = 0;
  std::int64_t since_ns_ = 0;  ///< when the processor time was read last
  std::int64_t processor_then_ns_ = 0;
};

}  // namespace warpmark::profile::module
