// A thread that sleeps in the kernel until it is asked, and answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/result.h"

namespace warpmark::workloads {

/// One asking thread. Both sides sleep on a futex, with deadlines.
class SleepingThread {
 public:
  SleepingThread();
  ~SleepingThread();
  SleepingThread(const SleepingThread&) = delete;
  SleepingThread& operator=(const SleepingThread&) = delete;

  /// Wakes the thread, sleeps, and is woken by its answer: two wake-ups one after the other. Environment error if no
  /// answer came within a second.
  [[nodiscard]] Status ask();

  [[nodiscard]] std::uint32_t asked() const { return question_.load(); }
  [[nodiscard]] std::uint32_t answered() const { return answer_.load(); }
  void forget_answer() { answer_.store(0xFFFFFFFFU); }

 private:
  void answer_until_stopped();

  alignas(64) std::atomic<std::uint32_t> question_{0};
  alignas(64) std::atomic<std::uint32_t> answer_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace warpmark::workloads
