#include "profile/module/call_log.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace warpmark::profile::module {

CallRing& CallLog::ring_of_this_thread() {
  thread_local CallRing* ring = nullptr;  // there is one log in a process
  if (ring == nullptr) {
    auto made = std::make_unique<CallRing>(syscall(SYS_gettid));
    ring = made.get();
    const std::lock_guard lock(mutex_);
    rings_.push_back(std::move(made));
  }
  return *ring;
}

void CallLog::add(const CallRecord& record) {
  if (!ring_of_this_thread().push(record)) lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace warpmark::profile::module
