// The kinds of events that a timeline holds, and what the two spare columns mean for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace warpmark {

enum class EventKind : std::uint8_t {
  op,              ///< framework operator on a CPU thread (aten::linear)
  annotation,      ///< a user's range on a CPU thread: NVTX, record_function, ProfilerStep#N
  runtime_api,     ///< CUDA runtime call
  driver_api,      ///< CUDA driver call
  os_call,         ///< operating system call of a CPU thread (read, pthread_cond_wait)
  python,          ///< Python function
  cpu_sample,      ///< interval for which a thread was seen running or blocked; value 1 = running, 0 = blocked
  overhead,        ///< the profiler's own work
  allocation,      ///< instant: value = bytes, negative when freed; detail 1 = device memory, 0 = host memory
  mark,            ///< any other instant
  gpu_annotation,  ///< a CPU range projected onto a stream
  kernel,          ///< detail = index into Timeline::launch_shapes
  memcpy,          ///< value = bytes; detail = CopyKind
  memset,          ///< value = bytes
  graph,           ///< a whole graph launch without records of its nodes: counts as GPU work
  sync_record,     ///< a wait as the GPU profiler recorded it; detail = SyncKind, value = awaited stream or -1
  other,
};

enum class CopyKind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer_to_peer,
  host_to_host
};
enum class SyncKind : std::uint8_t { unknown, event, stream_wait_event, stream, context };
/// Host side of a copy, where the format tells.
enum class HostMemory : std::uint8_t { unknown, pageable, pinned, managed };

/// Packs and unpacks the `detail` of a memcpy.
[[nodiscard]] constexpr std::uint32_t copy_detail(CopyKind kind, HostMemory memory) {
  return static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(memory) << 8;
}
[[nodiscard]] constexpr CopyKind copy_kind(std::uint32_t detail) { return static_cast<CopyKind>(detail & 0xFF); }
[[nodiscard]] constexpr HostMemory host_memory(std::uint32_t detail) {
  return static_cast<HostMemory>(detail >> 8 & 0xFF);
}

/// True for what occupies a stream: kernels, copies, memsets, graphs.
[[nodiscard]] constexpr bool is_gpu_work(EventKind kind) {
  return kind == EventKind::kernel || kind == EventKind::memcpy || kind == EventKind::memset ||
         kind == EventKind::graph;
}

enum class TrackKind : std::uint8_t { cpu_thread, gpu_stream, other };

// A growing array of plain values for columns of millions of events. Unlike std::vector it grows in place where the
// system can (realloc moves large blocks by remapping pages, and pages not yet written cost no memory), so that a
// column that is being filled never needs twice its size.

/// Owns its memory; moves, never copies. Throws std::bad_alloc when memory is out, as std::vector does.
template <typename T>
class EventColumn {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static constexpr std::size_t kFirst = 16;  // a file may hold thousands of processes with a few events each

 public:
  EventColumn() = default;
  EventColumn(EventColumn&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  EventColumn& operator=(EventColumn&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  EventColumn(const EventColumn&) = delete;
  EventColumn& operator=(const EventColumn&) = delete;
  ~EventColumn() { std::free(data_); }

  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ + capacity_ / 2 + kFirst);
    data_[size_++] = value;
  }
  void append(std::span<const T> values) {
    if (size_ + values.size() > capacity_) reserve(size_ + values.size() + size_ / 4);
    for (const T& value : values) data_[size_++] = value;
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    void* grown = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (grown == nullptr) (void)std::pmr::null_memory_resource()->allocate(1);  // throws std::bad_alloc
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }
  void clear() { size_ = 0; }
  /// Forgets the elements from `size` on.
  void shrink_to(std::size_t size) { WM_CHECK(size <= size_), size_ = size; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t i) { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }
  [[nodiscard]] T& back() { return WM_CHECK(size_ > 0), data_[size_ - 1]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace warpmark
