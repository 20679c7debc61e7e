#include "workloads/feeding/loading.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "base/clock.h"

namespace warpmark::workloads {
namespace {

constexpr std::size_t kAhead = 2;  // batches of a worker that wait to be taken, as DataLoader's prefetch_factor

}  // namespace

Loading::Loading(const SampleFiles& files, const SampleShape& shape, const LoadingPlan& plan, BatchCopies* copies)
    : files_(files), sample_bytes_(shape.sample_bytes()), plan_(plan), copies_(copies), order_(shape.samples) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::shuffle(order_.begin(), order_.end(), std::mt19937_64(plan.seed));
}

Status Loading::prepare() {
  const std::size_t count = std::min(batches(), std::max<std::size_t>(1, kAhead * plan_.workers));
  if (copies_ != nullptr) WM_TRY(copies_->allocate(count, plan_.batch * sample_bytes_));
  for (std::size_t i = 0; i < count; ++i) {
    if (copies_ == nullptr) own_.emplace_back(plan_.batch * sample_bytes_);
    slots_.push_back(copies_ == nullptr ? std::span(own_.back()) : copies_->slot(i));
  }
  return {};
}

Status Loading::pass(double& seconds) {
  for (auto& slot : slots_) std::fill(slot.begin(), slot.end(), std::byte{0xFF});
  if (copies_ != nullptr) WM_TRY(copies_->poison());
  next_ = taken_ = 0;
  ready_.assign(batches(), false);
  fault_.reset();
  copy_seconds_.push_back(0);
  std::vector<std::unique_ptr<SampleReader>> readers;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, plan_.workers); ++i) {
    WM_ASSIGN(auto reader, files_.reader());
    readers.push_back(std::move(reader));
  }
  const std::int64_t begin = monotonic_ns();
  if (plan_.workers == 0) {
    for (std::size_t batch = 0; batch < batches(); ++batch) {
      WM_TRY(fill(*readers.front(), batch));
      WM_TRY(copy(batch));
      if (copies_ == nullptr) continue;
      WM_ASSIGN(const double took, copies_->wait(batch % slots_.size()));
      copy_seconds_.back() += took;
    }
  } else {
    std::vector<std::thread> threads;
    for (auto& reader : readers) threads.emplace_back([this, &reader] { work(*reader); });
    if (const Status taken = take_all(); !taken.ok()) fail(taken.error());
    for (auto& thread : threads) thread.join();
  }
  seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
  if (fault_) return *fault_;
  return {};
}

Loading::Difference Loading::difference() const {
  Difference difference;
  std::size_t count = 0;
  for (std::size_t batch = batches() - slots_.size(); batch < batches(); ++batch) {
    for (std::size_t i = 0; i < plan_.batch; ++i, ++count) {
      const std::span<const std::byte> whole = slots_[batch % slots_.size()];
      difference.sum +=
          files_.difference(order_[batch * plan_.batch + i], whole.subspan(i * sample_bytes_, sample_bytes_));
    }
  }
  difference.mean = difference.sum / static_cast<double>(count);
  return difference;
}

Result<double> Loading::different_on_device() {
  double different = 0;
  for (std::size_t slot = 0; copies_ != nullptr && slot < slots_.size(); ++slot) {
    WM_ASSIGN(const ErrorCheck check, copies_->check(slot));
    different += check.value;
  }
  return different;
}

Status Loading::fill(SampleReader& reader, std::size_t batch) {
  const std::span<std::byte> slot = slots_[batch % slots_.size()];
  for (std::size_t i = 0; i < plan_.batch; ++i) {
    WM_TRY(reader.read(order_[batch * plan_.batch + i], slot.subspan(i * sample_bytes_, sample_bytes_)));
  }
  return {};
}

void Loading::work(SampleReader& reader) {
  for (std::size_t batch = next_++; batch < batches(); batch = next_++) {
    {
      std::unique_lock lock(mutex_);
      wait(lock, [&] { return fault_ || batch < taken_ + slots_.size(); });
      if (fault_) return;
    }
    const Status filled = fill(reader, batch);
    const std::lock_guard lock(mutex_);
    if (!filled.ok()) fault_ = filled.error();
    ready_[batch] = true;
    changed_.notify_all();
  }
}

/// condition_variable::wait is in newer C++ libraries only.
template <typename Done>
void Loading::wait(std::unique_lock<std::mutex>& lock, Done done) {
  while (!changed_.wait_for(lock, std::chrono::seconds(1), done)) {
  }
}

/// With copies the slot of a batch is free when its copy is done: one batch later.
Status Loading::take_all() {
  for (std::size_t batch = 0; batch < batches(); ++batch) {
    {
      std::unique_lock lock(mutex_);
      wait(lock, [&] { return fault_ || ready_[batch]; });
      if (fault_) return {};
    }
    WM_TRY(copy(batch));
    if (copies_ == nullptr) {
      release(batch + 1);
    } else if (batch > 0) {
      WM_ASSIGN(const double took, copies_->wait((batch - 1) % slots_.size()));
      copy_seconds_.back() += took;
      release(batch);
    }
  }
  if (copies_ == nullptr) return {};
  WM_ASSIGN(const double took, copies_->wait((batches() - 1) % slots_.size()));
  copy_seconds_.back() += took;
  return {};
}

Status Loading::copy(std::size_t batch) {
  return copies_ == nullptr ? Status() : copies_->launch({}, batch % slots_.size());
}

void Loading::release(std::size_t taken) {
  const std::lock_guard lock(mutex_);
  taken_ = taken;
  changed_.notify_all();
}

void Loading::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = error;
  changed_.notify_all();
}

}  // namespace warpmark::workloads
