#include "device/nvml/vendor_thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/clock.h"

namespace warpmark::device::nvml {

struct VendorThread::State {
  std::mutex lock;
  std::condition_variable changed;
  std::function<void()> call;  ///< empty: none is under way
  std::int64_t began_ns = 0;
  bool ending = false;
  std::thread thread;

  void run() {
    std::unique_lock guard(lock);
    while (true) {
      // wait() itself asks for a newer libstdc++ than the distribution may.
      while (!changed.wait_for(guard, std::chrono::minutes(1), [this] { return ending || call; })) {
      }
      if (!call) return;
      guard.unlock();
      call();
      guard.lock();
      call = nullptr;
      changed.notify_all();
    }
  }
};

VendorThread::~VendorThread() {
  if (state_ == nullptr) return;
  bool left_behind = false;
  {
    const std::lock_guard guard(state_->lock);
    state_->ending = true;
    left_behind = static_cast<bool>(state_->call);
  }
  state_->changed.notify_all();
  if (left_behind) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

Status VendorThread::start(std::function<void()> call) {
  const bool fresh = state_ == nullptr;
  if (fresh) state_ = std::make_shared<State>();
  {
    const std::lock_guard guard(state_->lock);
    WM_CHECK(!state_->call);
    state_->call = std::move(call);
    state_->began_ns = monotonic_ns();
  }
  if (!fresh) return state_->changed.notify_all(), Status();
  try {
    state_->thread = std::thread([state = state_] { state->run(); });
  } catch (const std::system_error& exception) {
    state_.reset();
    return environment_error(std::string("no thread to ask the GPU driver: ") + exception.what(),
                             "raise the limit of processes (ulimit -u)");
  }
  return {};
}

bool VendorThread::busy() const { return waiting_s() > 0; }

bool VendorThread::wait_until(std::int64_t monotonic) {
  if (state_ == nullptr) return true;
  std::unique_lock guard(state_->lock);
  const auto left = std::chrono::nanoseconds(std::max<std::int64_t>(0, monotonic - monotonic_ns()));
  return state_->changed.wait_for(guard, left, [this] { return !state_->call; });
}

double VendorThread::waiting_s() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard guard(state_->lock);
  return state_->call ? std::max(1e-9, static_cast<double>(monotonic_ns() - state_->began_ns) * 1e-9) : 0;
}

}  // namespace warpmark::device::nvml
