// A thread for calls into a driver, which may never return: the caller waits until a deadline and goes on without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"

namespace warpmark::device::nvml {

/// Used by one thread at a time.
class VendorThread {
 public:
  VendorThread() = default;
  /// A call that has not returned is left behind: its thread ends when the call does.
  ~VendorThread();
  VendorThread(VendorThread&&) noexcept = default;
  VendorThread& operator=(VendorThread&&) noexcept = default;

  /// Starts the call; there must be none under way. What it captures has to live until it returns, so it owns it.
  /// Environment error if there is no thread to be had.
  [[nodiscard]] Status start(std::function<void()> call);
  [[nodiscard]] bool busy() const;
  /// Waits for the end of the call, at most until this monotonic time. True if none is under way.
  bool wait_until(std::int64_t monotonic_ns);
  /// For how long the call has been under way; 0 if there is none.
  [[nodiscard]] double waiting_s() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace warpmark::device::nvml
