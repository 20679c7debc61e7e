// The most memory that a piece of work holds at once, counted by the allocation hooks of the sanitizers' runtime. In a
// build without sanitizers there are no hooks: nothing is counted, and every bound holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*)) __attribute__((weak));
std::size_t __sanitizer_get_allocated_size(const volatile void* memory) __attribute__((weak));
}

namespace warpmark::fuzz {

/// Counts from its making on, in all threads. One at a time.
class PeakMemory {
 public:
  PeakMemory() {
    Counts& counts = PeakMemory::counts();
    if (!counts.installed && __sanitizer_install_malloc_and_free_hooks != nullptr) {
      counts.installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
    }
    counts.live = 0;
    counts.peak = 0;
    counts.counting = true;
  }
  ~PeakMemory() { counts().counting = false; }
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  [[nodiscard]] std::int64_t bytes() const { return counts().peak; }

  /// Ends the process if the work held more than `times` its input and `buffers`, which it needs for any input.
  void require_at_most(std::size_t times, std::size_t input_bytes, std::size_t buffers) const {
    const auto most = static_cast<std::int64_t>(times * input_bytes + buffers);
    if (bytes() <= most) return;
    std::fprintf(stderr, "%lld bytes of memory for %zu bytes of input; %lld are allowed\n",
                 static_cast<long long>(bytes()), input_bytes, static_cast<long long>(most));
    std::abort();
  }

 private:
  struct Counts {
    bool installed = false;
    std::atomic<bool> counting = false;
    std::atomic<std::int64_t> live = 0;
    std::atomic<std::int64_t> peak = 0;
  };
  static Counts& counts() {
    static Counts counts;
    return counts;
  }

  static void on_malloc(const volatile void* /*memory*/, std::size_t size) {
    Counts& counts = PeakMemory::counts();
    if (!counts.counting) return;
    const std::int64_t live = counts.live += static_cast<std::int64_t>(size);
    std::int64_t peak = counts.peak;
    while (live > peak && !counts.peak.compare_exchange_weak(peak, live)) {
    }
  }
  static void on_free(const volatile void* memory) {
    Counts& counts = PeakMemory::counts();
    if (memory == nullptr || !counts.counting) return;
    counts.live -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(memory));
  }
};

}  // namespace warpmark::fuzz
