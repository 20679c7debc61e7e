// copy: b = a. STREAM's Copy, 2 * size bytes.
#include <array>

#include "workloads/memory/stream.h"
#include "workloads/random_inputs.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
constexpr StreamWork kWork{.arrays = 2, .flops_per_element = 0};
enum Array : std::size_t { kFrom, kTo };

class CopyOnCpu final : public measure::Prepared {
 public:
  CopyOnCpu(StreamPlan plan, SetMemory memory) : plan_(plan), memory_(std::move(memory)) {}

  Status launch(Stream /*stream*/, std::size_t set) override {
    const auto copy = plan_.past_cache ? plan_.kernels.copy_past_cache : plan_.kernels.copy;
    const float* from = memory_.array<float>(set, kFrom).data();
    float* to = memory_.array<float>(set, kTo).data();
    on_parts(plan_, [&](Part part) { copy(to + part.begin, from + part.begin, part.count); });
    return {};
  }

  Status poison() override {
    memory_.poison(kTo);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return ErrorCheck{.value = count_different(memory_.array<float>(set, kTo), memory_.array<float>(set, kFrom)),
                      .tolerance = 0,
                      .norm = "elements that differ",
                      .reference = "the input, all elements"};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return notes_of(plan_, true);
  }

 private:
  StreamPlan plan_;
  SetMemory memory_;
};

Result<std::unique_ptr<measure::Prepared>> prepare_cpu(const measure::PrepareOptions& options) {
  const StreamPlan plan = plan_stream(options, kWork.arrays);
  const std::size_t bytes = plan.elements * sizeof(float);
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, std::array{bytes, bytes}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    fill_random(memory.array<float>(set, kFrom), array_seed(options.seed, set, kFrom));
  }
  memory.poison(kTo);
  return std::unique_ptr<measure::Prepared>(std::make_unique<CopyOnCpu>(plan, std::move(memory)));
}

}  // namespace

extern constinit const measure::Workload kCopy =
    stream_workload<kWork, prepare_cpu>("copy", "memory bandwidth of b = a");

}  // namespace warpmark::workloads
