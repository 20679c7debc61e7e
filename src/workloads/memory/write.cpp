// write: a = s. One array stored to and nothing read, size bytes.
#include <array>
#include <bit>

#include "stats/random.h"
#include "workloads/memory/stream.h"
#include "workloads/random_inputs.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
constexpr StreamWork kWork{.arrays = 1, .flops_per_element = 0};
enum Array : std::size_t { kTo };

class WriteOnCpu final : public measure::Prepared {
 public:
  WriteOnCpu(StreamPlan plan, SetMemory memory, std::vector<float> values)
      : plan_(plan), memory_(std::move(memory)), values_(std::move(values)) {}

  Status launch(Stream /*stream*/, std::size_t set) override {
    const auto write = plan_.past_cache ? plan_.kernels.write_past_cache : plan_.kernels.write;
    float* to = memory_.array<float>(set, kTo).data();
    const float value = values_[set];
    on_parts(plan_, [&](Part part) { write(to + part.begin, value, part.count); });
    return {};
  }

  Status poison() override {
    memory_.poison(kTo);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto out = memory_.array<float>(set, kTo);
    const auto expected = std::bit_cast<std::uint32_t>(values_[set]);
    std::int64_t different = 0;
#pragma omp parallel for schedule(static) reduction(+ : different)
    for (std::size_t i = 0; i < out.size(); ++i) different += std::bit_cast<std::uint32_t>(out[i]) != expected ? 1 : 0;
    return ErrorCheck{.value = static_cast<double>(different),
                      .tolerance = 0,
                      .norm = "elements that differ",
                      .reference = "the value written, all elements"};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return notes_of(plan_, true);
  }

 private:
  StreamPlan plan_;
  SetMemory memory_;
  std::vector<float> values_;  ///< of each set
};

Result<std::unique_ptr<measure::Prepared>> prepare_cpu(const measure::PrepareOptions& options) {
  const StreamPlan plan = plan_stream(options, kWork.arrays);
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, std::array{plan.elements * sizeof(float)}));
  std::vector<float> values;
  for (std::size_t set = 0; set < options.sets; ++set) {
    values.push_back(static_cast<float>(stats::random_unit(array_seed(options.seed, set, kTo), 0)));
  }
  memory.poison(kTo);
  return std::unique_ptr<measure::Prepared>(std::make_unique<WriteOnCpu>(plan, std::move(memory), std::move(values)));
}

}  // namespace

extern constinit const measure::Workload kWrite =
    stream_workload<kWork, prepare_cpu>("write", "memory bandwidth of a = s");

}  // namespace warpmark::workloads
