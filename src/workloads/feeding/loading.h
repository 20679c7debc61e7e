// Batches made of samples by threads that work ahead of who takes them, as the processes of a DataLoader do, and copied
// to a device by who takes them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "measure/workload.h"
#include "workloads/feeding/samples.h"

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

struct LoadingPlan {
  std::size_t batch = 1;    ///< samples of a batch
  std::size_t workers = 0;  ///< threads; 0: who takes a batch makes it
  std::uint64_t seed = 0;   ///< of the order of the samples
};

/// Batches in order, each in one of some slots; a slot is filled again when its batch was taken and, with copies, its
/// copy is done. A copy is waited for when the next one has been enqueued.
class Loading {
 public:
  /// `files` and `copies` must outlive it; without copies batches stay where they were made.
  Loading(const SampleFiles& files, const SampleShape& shape, const LoadingPlan& plan, BatchCopies* copies = nullptr);
  /// Makes the slots. Before all else.
  Status prepare();

  /// All samples once. Seconds from the first batch that is begun to the last one that is taken, and copied.
  Status pass(double& seconds);

  /// Over the batches that the slots still hold, the last ones: sum of SampleFiles::difference, and its mean.
  struct Difference {
    double sum = 0, mean = 0;
  };
  [[nodiscard]] Difference difference() const;
  /// Bytes of these batches that are others on the device; 0 without copies.
  [[nodiscard]] Result<double> different_on_device();
  [[nodiscard]] std::size_t batches() const { return order_.size() / plan_.batch; }
  /// Of the copies of each pass, the warm-up's first.
  [[nodiscard]] const std::vector<double>& copy_seconds() const { return copy_seconds_; }

 private:
  Status fill(SampleReader& reader, std::size_t batch);
  void work(SampleReader& reader);
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, Done done);
  Status take_all();
  Status copy(std::size_t batch);
  void release(std::size_t taken);
  void fail(const Error& error);

  const SampleFiles& files_;
  std::size_t sample_bytes_;
  LoadingPlan plan_;
  BatchCopies* copies_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::byte>> own_;
  std::vector<std::span<std::byte>> slots_;
  std::vector<double> copy_seconds_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::size_t taken_ = 0;
  std::vector<bool> ready_;
  std::optional<Error> fault_;
};

}  // namespace warpmark::workloads
