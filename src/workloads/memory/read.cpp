// read: the sum of a. Size bytes; the sums of blocks of 16384 elements are kept, so that the reads cannot be optimized
// away and a block that was skipped is found.
#include <algorithm>
#include <array>
#include <cmath>

#include "stats/error_norm.h"
#include "workloads/memory/stream.h"
#include "workloads/random_inputs.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
constexpr StreamWork kWork{.arrays = 1, .flops_per_element = 1};
// A block is at most 1024 f32 additions deep. One element left out changes its block's sum by 3e-5 at least, as all are
// at least a half.
constexpr double kTolerance = 1e-5;
enum Array : std::size_t { kFrom, kSums };

class ReadOnCpu final : public measure::Prepared {
 public:
  ReadOnCpu(StreamPlan plan, SetMemory memory) : plan_(plan), memory_(std::move(memory)) {}

  Status launch(Stream /*stream*/, std::size_t set) override {
    const float* from = memory_.array<float>(set, kFrom).data();
    float* sums = memory_.array<float>(set, kSums).data();
    on_parts(plan_, [&](Part part) { sum_blocks(from, sums, part); });
    return {};
  }

  Status poison() override {
    memory_.poison(kSums);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto from = memory_.array<float>(set, kFrom);
    const auto sums = memory_.array<float>(set, kSums);
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

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return notes_of(plan_, false);
  }

 private:
  /// `part` begins at a block.
  void sum_blocks(const float* from, float* sums, Part part) const {
    const std::size_t end = part.begin + part.count;
    for (std::size_t begin = part.begin; begin < end; begin += kSumBlock) {
      sums[begin / kSumBlock] = plan_.kernels.sum(from + begin, std::min(kSumBlock, end - begin));
    }
  }

  StreamPlan plan_;
  SetMemory memory_;
};

Result<std::unique_ptr<measure::Prepared>> prepare_cpu(const measure::PrepareOptions& options) {
  const StreamPlan plan = plan_stream(options, kWork.arrays);
  const std::size_t blocks = (plan.elements + kSumBlock - 1) / kSumBlock;
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets,
                                         std::array{plan.elements * sizeof(float), blocks * sizeof(float)}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    fill_random(memory.array<float>(set, kFrom), array_seed(options.seed, set, kFrom), 0.5F, 1.5F);
  }
  memory.poison(kSums);
  return std::unique_ptr<measure::Prepared>(std::make_unique<ReadOnCpu>(plan, std::move(memory)));
}

}  // namespace

extern constinit const measure::Workload kRead =
    stream_workload<kWork, prepare_cpu>("read", "memory bandwidth of reading: the sum of a");

}  // namespace warpmark::workloads
