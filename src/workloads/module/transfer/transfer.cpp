// transfer: cudaMemcpyAsync between host and device, both directions at once, and within the device. Pageable memory is
// staged by the driver on the calling thread, so its time is the host's; pinned copies are the copy engines' own time.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

/// Host memory of either kind.
class HostBytes {
 public:
  Status create(std::size_t bytes, bool pinned) {
    bytes_ = bytes;
    if (pinned) return pinned_.create(bytes);
    pageable_.reset(new (std::nothrow) unsigned char[bytes]);
    if (pageable_ != nullptr) return {};
    return with_code(
        environment_error(fmt::format("not enough host memory for {} bytes", bytes), "choose a smaller size"),
        ErrorCode::out_of_memory);
  }

  [[nodiscard]] unsigned char* data() const {
    return pageable_ ? pageable_.get() : static_cast<unsigned char*>(pinned_.data());
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(data()), bytes_}; }

 private:
  std::size_t bytes_ = 0;
  device::PinnedMemory pinned_;
  std::unique_ptr<unsigned char[]> pageable_;
};

/// One copy: from -> to, of which one may be on the host.
struct Copy {
  std::unique_ptr<device::Buffer> device_from;
  std::unique_ptr<device::Buffer> device_to;
  HostBytes host_from;
  HostBytes host_to;
  HostBytes expected;

  [[nodiscard]] const void* from() const { return device_from ? device_from->data() : host_from.data(); }
  [[nodiscard]] void* to() const { return device_to ? device_to->data() : host_to.data(); }
};

enum class Direction { h2d, d2h, both, d2d };

Direction direction_of(const std::string& text) {
  if (text == "h2d") return Direction::h2d;
  if (text == "d2h") return Direction::d2h;
  return text == "both" ? Direction::both : Direction::d2d;
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 8 random bytes a step.
void fill_random(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t x = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
    std::memcpy(bytes.data() + i, &x, std::min<std::size_t>(8, bytes.size() - i));
  }
}

class PreparedTransfer final : public measure::Prepared {
 public:
  explicit PreparedTransfer(const measure::PrepareOptions& options)
      : device_(options.device),
        bytes_(static_cast<std::size_t>(options.params.integer("size"))),
        direction_(direction_of(options.params.text("direction"))),
        pinned_(options.params.text("memory") == "pinned" || direction_ == Direction::d2d) {}

  Status create(const measure::PrepareOptions& options) {
    const double arrays = direction_ == Direction::h2d || direction_ == Direction::d2h ? 1 : 2;
    WM_TRY(require_memory(device_, {.sets = options.sets, .set_bytes = arrays * static_cast<double>(bytes_)}));
    WM_TRY(second_stream_.create());
    WM_TRY(fork_.create(cudaEventDisableTiming));
    WM_TRY(join_.create(cudaEventDisableTiming));
    for (std::size_t set = 0; set < options.sets; ++set) {
      const std::uint64_t seed = options.seed * 1000003 + set * 2;
      if (direction_ == Direction::both) {
        WM_TRY(add_copy(Direction::h2d, seed));
        WM_TRY(add_copy(Direction::d2h, seed + 1));
      } else {
        WM_TRY(add_copy(direction_, seed));
      }
    }
    return device_.synchronize();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    if (direction_ != Direction::both) return enqueue(copies_[set], cuda_stream(stream));
    // The second direction runs on a stream of its own between two events of the timed one.
    WM_CUDA(cudaEventRecord(fork_.get(), cuda_stream(stream)));
    WM_CUDA(cudaStreamWaitEvent(second_stream_.get(), fork_.get(), 0));
    WM_TRY(enqueue(copies_[set * 2], cuda_stream(stream)));
    WM_TRY(enqueue(copies_[set * 2 + 1], second_stream_.get()));
    WM_CUDA(cudaEventRecord(join_.get(), second_stream_.get()));
    WM_CUDA(cudaStreamWaitEvent(cuda_stream(stream), join_.get(), 0));
    return {};
  }

  Status poison() override {
    for (Copy& copy : copies_) {
      if (copy.device_to) WM_TRY(device_.fill(*copy.device_to, 0, bytes_, 0xFF));
      if (!copy.device_to) std::memset(copy.host_to.data(), 0xFF, bytes_);
    }
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    double different = 0;
    const std::size_t per_set = direction_ == Direction::both ? 2 : 1;
    for (std::size_t i = 0; i < per_set; ++i) {
      WM_ASSIGN(const double found, different_bytes(copies_[set * per_set + i]));
      different += found;
    }
    return ErrorCheck{.value = different,
                      .tolerance = 0,
                      .norm = "bytes that differ",
                      .reference = "the random bytes that were sent"};
  }

  [[nodiscard]] bool host_clock() const override { return !pinned_; }

 private:
  Status add_copy(Direction direction, std::uint64_t seed) {
    Copy& copy = copies_.emplace_back();
    WM_TRY(copy.expected.create(bytes_, false));
    fill_random(copy.expected.bytes(), seed);
    if (direction == Direction::h2d) {
      WM_TRY(copy.host_from.create(bytes_, pinned_));
      std::memcpy(copy.host_from.data(), copy.expected.data(), bytes_);
    } else {
      WM_ASSIGN(copy.device_from, device_.allocate(bytes_));
      WM_TRY(device_.write(*copy.device_from, 0, copy.expected.bytes()));
    }
    if (direction == Direction::d2h) {
      WM_TRY(copy.host_to.create(bytes_, pinned_));
      std::memset(copy.host_to.data(), 0xFF, bytes_);  // the pages must exist before they are timed
    } else {
      WM_ASSIGN(copy.device_to, device_.allocate(bytes_));
    }
    return {};
  }

  Status enqueue(const Copy& copy, cudaStream_t stream) const {
    WM_CUDA(cudaMemcpyAsync(copy.to(), copy.from(), bytes_, cudaMemcpyDefault, stream));
    return {};
  }

  Result<double> different_bytes(const Copy& copy) {
    HostBytes received;
    std::span<const std::byte> actual = copy.host_to.bytes();
    if (copy.device_to) {
      WM_TRY(received.create(bytes_, false));
      WM_TRY(device_.read(*copy.device_to, 0, received.bytes()));
      actual = received.bytes();
    }
    const std::span<const std::byte> expected = copy.expected.bytes();
    std::size_t different = 0;
    for (std::size_t i = 0; i < bytes_; ++i) different += actual[i] == expected[i] ? 0U : 1U;
    return static_cast<double>(different);
  }

  device::Device& device_;
  std::size_t bytes_;
  Direction direction_;
  bool pinned_;
  device::OwnedStream second_stream_;
  device::Event fork_;
  device::Event join_;
  std::vector<Copy> copies_;  ///< one a set; two a set for both directions at once
};

device::Support supports_transfer(const DeviceInfo&, const Params& params) {
  if (params.text("direction") == "both" && params.text("memory") == "pageable") {
    return device::Support::no("pageable copies occupy the calling thread, so two of them do not run at once",
                               "choose memory=pinned");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaTransfer{"transfer", supports_transfer, prepare_created<PreparedTransfer>};

}  // namespace warpmark::workloads
