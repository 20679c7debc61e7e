// triad: a = b + s * c with s = 3. STREAM's Triad, 3 * size bytes and 2 FLOPs an element.
#include <array>

#include "stats/error_norm.h"
#include "workloads/memory/stream.h"
#include "workloads/random_inputs.h"

namespace warpmark::workloads {
namespace {

using device::Stream;
constexpr StreamWork kWork{.arrays = 3, .flops_per_element = 2};
constexpr float kFactor = 3;
constexpr double kTolerance = 1e-6;  // two roundings of 2^-24, with or without a fused multiply-add
enum Array : std::size_t { kB, kC, kTo };

class TriadOnCpu final : public measure::Prepared {
 public:
  TriadOnCpu(StreamPlan plan, SetMemory memory) : plan_(plan), memory_(std::move(memory)) {}

  Status launch(Stream /*stream*/, std::size_t set) override {
    const auto triad = plan_.past_cache ? plan_.kernels.triad_past_cache : plan_.kernels.triad;
    const float* b = memory_.array<float>(set, kB).data();
    const float* c = memory_.array<float>(set, kC).data();
    float* to = memory_.array<float>(set, kTo).data();
    on_parts(plan_, [&](Part part) { triad(to + part.begin, b + part.begin, c + part.begin, kFactor, part.count); });
    return {};
  }

  Status poison() override {
    memory_.poison(kTo);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const auto b = memory_.array<float>(set, kB);
    const auto c = memory_.array<float>(set, kC);
    const auto out = memory_.array<float>(set, kTo);
    stats::ErrorNorm total;
#pragma omp parallel
    {
      stats::ErrorNorm mine;
#pragma omp for schedule(static) nowait
      for (std::size_t i = 0; i < out.size(); ++i) {
        mine.add(static_cast<double>(out[i]),
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
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, std::array{bytes, bytes, bytes}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    for (const std::size_t array : {kB, kC}) {
      fill_random(memory.array<float>(set, array), array_seed(options.seed, set, array));
    }
  }
  memory.poison(kTo);
  return std::unique_ptr<measure::Prepared>(std::make_unique<TriadOnCpu>(plan, std::move(memory)));
}

}  // namespace

extern constinit const measure::Workload kTriad =
    stream_workload<kWork, prepare_cpu>("triad", "memory bandwidth of a = b + s * c");

}  // namespace warpmark::workloads
