// Copies of batches from the host to a device, on a stream of their own, as a DataLoader's batches are brought to a GPU
// while it works on the one before.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "measure/workload.h"

namespace warpmark::workloads {

/// launch(stream, s) enqueues the copy of slot s, on the copies' own stream whatever `stream` is; poison() fills what
/// the device has; check(s) compares that with the slot, byte by byte. One thread.
class BatchCopies : public measure::Prepared {
 public:
  /// Slots in the host's memory of the kind that was asked for, and as many on the device. Once, before all else.
  virtual Status allocate(std::size_t slots, std::size_t bytes) = 0;
  [[nodiscard]] virtual std::span<std::byte> slot(std::size_t index) = 0;
  /// Until the slot's copy is done, and the slot may be filled again. Seconds that it took, as the stream saw them.
  virtual Result<double> wait(std::size_t slot) = 0;
};

}  // namespace warpmark::workloads
