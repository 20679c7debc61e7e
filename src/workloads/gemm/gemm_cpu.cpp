// gemm on the CPU: makes the matrices and picks the library.
#include "workloads/gemm/gemm_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/clock.h"
#include "workloads/gemm/gemm_check.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

GemmShape shape_of(const Params& params) {
  return {params.integer("m"), params.integer("n"), params.integer("k"), params.text("dtype")};
}

class GemmOnCpu final : public measure::Prepared {
 public:
  GemmOnCpu(GemmShape shape, std::uint64_t seed, SetMemory memory)
      : shape_(std::move(shape)), seed_(seed), memory_(std::move(memory)) {}

  /// Makes the library that `impl` names; "auto" times those that support the shape and keeps the fastest.
  Status choose(const std::string& impl);

  Status launch(device::Stream /*stream*/, std::size_t set) override { return library_->multiply(set); }

  Status poison() override {
    memory_.poison(kGemmC);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const GemmArrays arrays{memory_.bytes(set, kGemmA), memory_.bytes(set, kGemmB), memory_.bytes(set, kGemmC)};
    return check_gemm(shape_, arrays, array_seed(seed_, set, 3));
  }

  [[nodiscard]] Notes notes() const override { return notes_; }

 private:
  GemmShape shape_;
  std::uint64_t seed_;
  SetMemory memory_;
  std::unique_ptr<GemmLibrary> library_;  ///< refers to memory_
  Notes notes_;
};

/// Seconds of the fastest of a few products, after one that is not counted.
Result<double> trial_seconds(GemmLibrary& library) {
  constexpr int kTrials = 3;
  constexpr std::int64_t kLongEnoughNs = 20'000'000;
  WM_TRY(library.multiply(0));
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = monotonic_ns();
  for (int i = 0; i < kTrials || monotonic_ns() - begin < kLongEnoughNs; ++i) {
    const std::int64_t start = monotonic_ns();
    WM_TRY(library.multiply(0));
    best = std::min(best, monotonic_ns() - start);
  }
  return static_cast<double>(best) * 1e-9;
}

Status GemmOnCpu::choose(const std::string& impl) {
  std::vector<std::unique_ptr<GemmLibrary>> candidates;
  if (impl != "onednn" && openblas_supports(shape_).available) {
    WM_ASSIGN(auto library, make_openblas_gemm(shape_, memory_));
    candidates.push_back(std::move(library));
  }
  if (impl != "openblas" && onednn_supports(shape_).available) {
    WM_ASSIGN(auto library, make_onednn_gemm(shape_, memory_));
    candidates.push_back(std::move(library));
  }
  WM_CHECK(!candidates.empty());  // supports() said yes
  std::size_t chosen = 0;
  if (candidates.size() > 1) {
    std::string tried;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      WM_ASSIGN(const double seconds, trial_seconds(*candidates[i]));
      tried += fmt::format("{}{} {:.3g} s", tried.empty() ? "" : ", ", candidates[i]->name(), seconds);
      if (seconds < best) {
        best = seconds;
        chosen = i;
      }
    }
    notes_.emplace_back("tried", tried);
  }
  library_ = std::move(candidates[chosen]);
  notes_.emplace_back("library", library_->name());
  notes_.emplace_back("algorithm", library_->details());
  notes_.emplace_back("threads", std::to_string(omp_get_max_threads()));
  return {};
}

void fill_inputs(const GemmShape& shape, const SetMemory& memory, std::uint64_t seed) {
  for (std::size_t set = 0; set < memory.sets(); ++set) {
    for (const std::size_t array : {kGemmA, kGemmB}) {
      const std::uint64_t array_s = array_seed(seed, set, array);
      if (shape.dtype == "f64") fill_random(memory.array<double>(set, array), array_s);
      if (shape.dtype == "f32") fill_random(memory.array<float>(set, array), array_s);
      if (shape.dtype == "bf16") fill_random_bf16(memory.array<std::uint16_t>(set, array), array_s);
      if (shape.dtype == "int8") fill_random(memory.array<std::int8_t>(set, array), array_s);
    }
  }
}

}  // namespace

Support gemm_supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const GemmShape shape = shape_of(params);
  const std::string& impl = params.text("impl");
  if (impl == "openblas") return openblas_supports(shape);
  if (impl == "onednn") return onednn_supports(shape);
  if (impl == "cublaslt") return Support::no("cuBLASLt runs on NVIDIA GPUs", "use impl=auto, openblas or onednn");
  if (openblas_supports(shape).available) return Support::yes();
  return onednn_supports(shape);
}

Result<std::unique_ptr<measure::Prepared>> gemm_prepare_cpu(const measure::PrepareOptions& options) {
  const GemmShape shape = shape_of(options.params);
  const auto bytes_of = [](std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return static_cast<std::size_t>(rows * columns * element);
  };
  const std::int64_t input = element_bytes(shape.dtype);
  const std::array sizes{bytes_of(shape.m, shape.k, input), bytes_of(shape.k, shape.n, input),
                         bytes_of(shape.m, shape.n, gemm_output_bytes(shape.dtype))};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, sizes));
  fill_inputs(shape, memory, options.seed);
  memory.poison(kGemmC);
  auto prepared = std::make_unique<GemmOnCpu>(shape, options.seed, std::move(memory));
  WM_TRY(prepared->choose(options.params.text("impl")));
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

}  // namespace warpmark::workloads
