// futex(2) is called directly: std::atomic::wait and condition variables spin or take locks first, and how long they do
// is the library's choice, not the machine's speed.
#include "workloads/launch/wakeup.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/clock.h"

namespace warpmark::workloads {
namespace {

constexpr std::int64_t kDeadlineNs = 1'000'000'000;
constexpr std::int64_t kCheckNs = 100'000'000;  // the sleeper looks this often whether it shall stop

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// Sleeps while `word` has `value`, at most `nanoseconds`; may return earlier.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t nanoseconds) {
  const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void wake_one(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

SleepingThread::SleepingThread() : thread_([this] { answer_until_stopped(); }) {}

SleepingThread::~SleepingThread() {
  stop_.store(true);
  question_.fetch_add(1);
  wake_one(question_);
  thread_.join();
}

Status SleepingThread::ask() {
  const std::uint32_t number = question_.fetch_add(1) + 1;
  wake_one(question_);
  const std::int64_t deadline = monotonic_ns() + kDeadlineNs;
  for (;;) {
    const std::uint32_t answer = answer_.load();
    if (answer == number) return {};
    const std::int64_t left = deadline - monotonic_ns();
    if (left <= 0) {
      return environment_error("a thread that was woken did not answer within 1 s",
                               "the machine is overloaded or this process is frozen; measure again on a quiet machine");
    }
    sleep_on(answer_, answer, left);
  }
}

void SleepingThread::answer_until_stopped() {
  std::uint32_t answered = 0;
  while (!stop_.load()) {
    const std::uint32_t question = question_.load();
    if (question == answered) {
      sleep_on(question_, question, kCheckNs);
      continue;
    }
    answered = question;
    answer_.store(answered);
    wake_one(answer_);
  }
}

}  // namespace warpmark::workloads
