// copy, triad, read and write on the CPU: memory bandwidth as STREAM measures it (stream.h).
#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/error_norm.h"
#include "stats/random.h"
#include "workloads/memory/stream.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {
namespace {

/// One of them, with its arrays; the last one is written.
class StreamOnCpu : public measure::Prepared {
 public:
  StreamOnCpu(const StreamPlan& plan, SetMemory memory, std::size_t out)
      : plan_(plan), memory_(std::move(memory)), out_(out) {}

  Status poison() override {
    memory_.poison(out_);
    return {};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return notes_of(plan_, has_stores());
  }

  /// Makes the inputs of a set.
  virtual void fill(std::size_t set, std::uint64_t seed) = 0;

 protected:
  [[nodiscard]] virtual bool has_stores() const { return true; }
  [[nodiscard]] std::span<float> array(std::size_t set, std::size_t index) const {
    return memory_.array<float>(set, index);
  }
  [[nodiscard]] std::span<float> out(std::size_t set) const { return array(set, out_); }
  void fill_array(std::size_t set, std::size_t index, std::uint64_t seed, float low = -1, float high = 1) const {
    fill_random(array(set, index), array_seed(seed, set, index), low, high);
  }

  StreamPlan plan_;

 private:
  SetMemory memory_;
  std::size_t out_;
};

template <typename OnCpu>
Result<std::unique_ptr<measure::Prepared>> prepare_memory_cpu(const measure::PrepareOptions& options) {
  const StreamPlan plan = plan_stream(options, OnCpu::kWork.arrays);
  const std::vector<std::size_t> bytes = OnCpu::array_bytes(plan.elements);
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, bytes));
  auto prepared = std::make_unique<OnCpu>(plan, std::move(memory), bytes.size() - 1);
  for (std::size_t set = 0; set < options.sets; ++set) prepared->fill(set, options.seed);
  WM_TRY(prepared->poison());
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

/// b = a. STREAM's Copy, 2 * size bytes.
class CopyOnCpu final : public StreamOnCpu {
 public:
  static constexpr StreamWork kWork{.arrays = 2, .flops_per_element = 0};
  using StreamOnCpu::StreamOnCpu;
  static std::vector<std::size_t> array_bytes(std::size_t elements) {
    return {elements * sizeof(float), elements * sizeof(float)};
  }

  void fill(std::size_t set, std::uint64_t seed) override { fill_array(set, 0, seed); }

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const auto copy = plan_.past_cache ? plan_.kernels.copy_past_cache : plan_.kernels.copy;
    const float* from = array(set, 0).data();
    float* to = out(set).data();
    on_parts(plan_, [&](Part part) { copy(to + part.begin, from + part.begin, part.count); });
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return ErrorCheck{.value = count_different(out(set), array(set, 0)),
                      .tolerance = 0,
                      .norm = "elements that differ",
                      .reference = "the input, all elements"};
  }
};

/// a = b + s * c with s = 3. STREAM's Triad, 3 * size bytes and 2 FLOPs an element.
class TriadOnCpu final : public StreamOnCpu {
 public:
  static constexpr StreamWork kWork{.arrays = 3, .flops_per_element = 2};
  using StreamOnCpu::StreamOnCpu;
  static std::vector<std::size_t> array_bytes(std::size_t elements) {
    return {elements * sizeof(float), elements * sizeof(float), elements * sizeof(float)};
  }

  void fill(std::size_t set, std::uint64_t seed) override {
    for (const std::size_t index : {0U, 1U}) fill_array(set, index, seed);
  }

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const auto triad = plan_.past_cache ? plan_.kernels.triad_past_cache : plan_.kernels.triad;
    const float* b = array(set, 0).data();
    const float* c = array(set, 1).data();
    float* to = out(set).data();
    on_parts(plan_, [&](Part part) { triad(to + part.begin, b + part.begin, c + part.begin, kFactor, part.count); });
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto b = array(set, 0);
    const auto c = array(set, 1);
    const auto to = out(set);
    stats::ErrorNorm total;
#pragma omp parallel
    {
      stats::ErrorNorm mine;
#pragma omp for schedule(static) nowait
      for (std::size_t i = 0; i < to.size(); ++i) {
        mine.add(static_cast<double>(to[i]),
                 static_cast<double>(b[i]) + static_cast<double>(kFactor) * static_cast<double>(c[i]));
      }
#pragma omp critical(warpmark_triad_check)
      total.merge(mine);
    }
    return ErrorCheck{.value = total.value(),
                      .tolerance = kTolerance,
                      .norm = "relative Frobenius norm",
                      .reference = "fp64, all elements"};
  }

 private:
  static constexpr float kFactor = 3;
  static constexpr double kTolerance = 1e-6;  // two roundings of 2^-24, with or without a fused multiply-add
};

/// The sum of a. Size bytes; the sums of blocks of 16384 elements are kept, so that the reads cannot be optimized away
/// and a block that was skipped is found.
class ReadOnCpu final : public StreamOnCpu {
 public:
  static constexpr StreamWork kWork{.arrays = 1, .flops_per_element = 1};
  using StreamOnCpu::StreamOnCpu;
  static std::vector<std::size_t> array_bytes(std::size_t elements) {
    return {elements * sizeof(float), (elements + kSumBlock - 1) / kSumBlock * sizeof(float)};
  }

  void fill(std::size_t set, std::uint64_t seed) override { fill_array(set, 0, seed, 0.5F, 1.5F); }

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const float* from = array(set, 0).data();
    float* sums = out(set).data();
    on_parts(plan_, [&](Part part) { sum_blocks(from, sums, part); });
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto from = array(set, 0);
    const auto sums = out(set);
    double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (std::size_t block = 0; block < sums.size(); ++block) {
      const std::size_t begin = block * kSumBlock;
      double reference = 0;
      for (const float value : from.subspan(begin, std::min(kSumBlock, from.size() - begin))) {
        reference += static_cast<double>(value);
      }
      const double error = std::fabs(static_cast<double>(sums[block]) - reference) / reference;
      worst = std::max(worst, std::isfinite(error) ? error : stats::kFailedError);
    }
    return ErrorCheck{.value = worst,
                      .tolerance = kTolerance,
                      .norm = "largest relative error of a block's sum (1e300: not finite)",
                      .reference = "fp64 sums of all blocks of 16384 elements"};
  }

 private:
  // A block is at most 1024 f32 additions deep. One element left out changes its block's sum by 3e-5 at least, as all
  // are at least a half.
  static constexpr double kTolerance = 1e-5;

  [[nodiscard]] bool has_stores() const override { return false; }

  /// `part` begins at a block.
  void sum_blocks(const float* from, float* sums, Part part) const {
    const std::size_t end = part.begin + part.count;
    for (std::size_t begin = part.begin; begin < end; begin += kSumBlock) {
      sums[begin / kSumBlock] = plan_.kernels.sum(from + begin, std::min(kSumBlock, end - begin));
    }
  }
};

/// a = s. One array stored to and nothing read, size bytes.
class WriteOnCpu final : public StreamOnCpu {
 public:
  static constexpr StreamWork kWork{.arrays = 1, .flops_per_element = 0};
  using StreamOnCpu::StreamOnCpu;
  static std::vector<std::size_t> array_bytes(std::size_t elements) { return {elements * sizeof(float)}; }

  void fill(std::size_t set, std::uint64_t seed) override {
    values_.push_back(static_cast<float>(stats::random_unit(array_seed(seed, set, 0), 0)));
  }

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const auto write = plan_.past_cache ? plan_.kernels.write_past_cache : plan_.kernels.write;
    float* to = out(set).data();
    const float value = values_[set];
    on_parts(plan_, [&](Part part) { write(to + part.begin, value, part.count); });
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto to = out(set);
    const auto expected = std::bit_cast<std::uint32_t>(values_[set]);
    std::int64_t different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different)
    for (std::size_t i = 0; i < to.size(); ++i) different += std::bit_cast<std::uint32_t>(to[i]) != expected ? 1 : 0;
    return ErrorCheck{.value = static_cast<double>(different),
                      .tolerance = 0,
                      .norm = "elements that differ",
                      .reference = "the value written, all elements"};
  }

 private:
  std::vector<float> values_;  ///< of each set
};

/// The descriptor of a workload that reads or writes arrays of `size` bytes.
template <typename OnCpu>
constexpr auto stream_workload(const char* id, const char* summary) {
  return measure::Workload{
      .id = id,
      .summary = summary,
      .params = kStreamParams,
      .cost = [](const measure::Workload&, const Params& params) { return stream_cost(params, OnCpu::kWork); },
      .supports = supports_by_backend<supports_every_cpu>,
      .prepare = prepare_by_backend<prepare_memory_cpu<OnCpu>>,
      .cases = [](const measure::Workload&,
                  const DeviceInfo& device) { return stream_cases(device, OnCpu::kWork.arrays); },
      .default_mode = Mode::cold};
}

}  // namespace

extern constinit const measure::Workload kCopy = stream_workload<CopyOnCpu>("copy", "memory bandwidth of b = a");
extern constinit const measure::Workload kTriad =
    stream_workload<TriadOnCpu>("triad", "memory bandwidth of a = b + s * c");
extern constinit const measure::Workload kRead =
    stream_workload<ReadOnCpu>("read", "memory bandwidth of reading: the sum of a");
extern constinit const measure::Workload kWrite = stream_workload<WriteOnCpu>("write", "memory bandwidth of a = s");

}  // namespace warpmark::workloads
