// gemm on the GPU: C = A B, row-major, by cuBLASLt. The library's heuristic proposes algorithms, each is timed on the
// inputs in the rotation of the mode, the best is kept and measured anew by the engine (the best of noisy times is too
// good: the winner's curse). Large products run into the power limit, where the clock that one algorithm gets depends
// on what ran before it: the finalists are therefore timed in short bursts, each after a rest.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/text.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/gemm/matmul.h"
#include "workloads/module/gemm/reference.h"

namespace warpmark::workloads {
namespace {

constexpr int kFirstPasses = 3;
constexpr double kSample_s = 0.5e-3;  ///< a timed sequence lasts about this long
constexpr std::size_t kMostLaunches = 32;
constexpr double kFinalist = 1.1;  ///< of the best time of the first stage
constexpr std::size_t kFinalists = 3;
constexpr int kFinalRuns = 3;
constexpr double kFinalRun_s = 10e-3;
constexpr auto kRest = std::chrono::milliseconds(30);
constexpr std::size_t kLeastFinalSamples = 3;
constexpr double kTie = 1.005;  ///< times closer than this are noise: the library's own order decides

struct GemmSet {
  DeviceArray a;
  DeviceArray b;
  DeviceArray c;
};

/// The median; `samples` is not empty.
double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

class PreparedGemm final : public measure::Prepared {
 public:
  PreparedGemm(device::Device& device, const MatmulType& type, const MatmulShape& shape, Matmul matmul)
      : device_(device), type_(type), shape_(shape), matmul_(std::move(matmul)) {}

  Status make_inputs(const measure::PrepareOptions& options) {
    for (std::size_t set = 0; set < options.sets; ++set) {
      GemmSet& made = sets_.emplace_back();
      WM_ASSIGN(made.a, DeviceArray::make(device_, shape_.m * shape_.k, type_.input));
      WM_ASSIGN(made.b, DeviceArray::make(device_, shape_.k * shape_.n, type_.input));
      WM_ASSIGN(made.c, DeviceArray::make(device_, shape_.m * shape_.n, type_.output));
      WM_TRY(fill_uniform(device_.stream(), made.a, {.seed = options.seed, .set = set, .array = 0}));
      WM_TRY(fill_uniform(device_.stream(), made.b, {.seed = options.seed, .set = set, .array = 1}));
    }
    return device_.synchronize();
  }

  /// Every candidate in turns, so that a drift of the clocks meets all of them; then runs of the finalists.
  Status choose_algorithm() {
    std::vector<std::unique_ptr<Candidate>> candidates;
    for (std::size_t i = 0; i < matmul_.candidates(); ++i) {
      auto candidate = std::make_unique<Candidate>(*this, i);
      WM_TRY(candidate->start());
      if (candidate->runs()) candidates.push_back(std::move(candidate));
    }
    if (candidates.empty()) {
      return unsupported_error("none of cuBLASLt's algorithms for this shape and type runs on this GPU");
    }
    const std::size_t timed = candidates.size();
    for (int pass = 0; pass < kFirstPasses && timed > 1; ++pass) {
      for (const auto& candidate : candidates) WM_TRY(candidate->sample());
    }
    if (timed > 1) WM_TRY(keep_finalists(candidates));
    chosen_ = candidates.front()->index();
    algorithm_ = fmt::format("{}, best of {}", matmul_.describe(chosen_), timed);
    return {};
  }

  Status launch(device::Stream stream, std::size_t set) override { return enqueue(stream, set, chosen_); }

  Status poison() override {
    for (const GemmSet& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.c));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const GemmSet& arrays = sets_[set];
    return check_matmul(device_, {.a = arrays.a, .b = arrays.b, .c = arrays.c, .b_transposed = type_.b_transposed},
                        shape_, type_.tolerance);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> notes{{"algorithm", algorithm_}};
    if (type_.b_transposed) notes.emplace_back("layout", "B stored as [n, k], as cuBLASLt needs for this type");
    if (type_.input == ElementType::fp8) {
      notes.emplace_back("accumulation", "fast: partial sums of fp8 products in reduced precision; output bf16");
    }
    return notes;
  }

 private:
  /// One algorithm and its times.
  class Candidate final : public device::Launchable {
   public:
    Candidate(PreparedGemm& gemm, std::size_t index) : gemm_(gemm), index_(index) {}

    [[nodiscard]] std::size_t index() const { return index_; }
    [[nodiscard]] bool runs() const { return sequence_ != nullptr; }
    [[nodiscard]] double seconds() const { return median_of(samples_); }

    Status launch(device::Stream stream, std::size_t set) override { return gemm_.enqueue(stream, set, index_); }

    /// Finds how many launches make a sample. What the heuristic proposed may not run on this GPU: see runs().
    Status start() {
      auto made = make_sequence();
      if (!made.ok()) return made.error().kind == ErrorKind::unsupported ? Status{} : made.error();
      sequence_ = std::move(made).value();
      WM_ASSIGN(const double seconds, sequence_->time(0));
      const double wanted = seconds > 0 ? std::ceil(kSample_s / seconds) : kMostLaunches;
      launches_ = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostLaunches)));
      if (launches_ == 1) return {};
      WM_ASSIGN(sequence_, make_sequence());
      return {};
    }

    Status sample() {
      WM_ASSIGN(const double seconds, sequence_->time(next_set_));
      next_set_ = (next_set_ + launches_) % gemm_.sets_.size();
      samples_.push_back(seconds / static_cast<double>(launches_));
      return {};
    }

    /// Samples for kFinalRun_s, after a rest. What the first stage measured is forgotten.
    Status sample_burst(bool first) {
      if (first) samples_.clear();
      std::this_thread::sleep_for(kRest);
      double elapsed = 0;
      for (std::size_t taken = 0; elapsed < kFinalRun_s || taken < kLeastFinalSamples; ++taken) {
        WM_TRY(sample());
        elapsed += samples_.back() * static_cast<double>(launches_) + kLeastStep_s;
      }
      return {};
    }

   private:
    static constexpr double kLeastStep_s = 1e-6;  ///< a sample that reads as 0 must not make the loop endless

    Result<std::unique_ptr<device::TimedSequence>> make_sequence() {
      return gemm_.device_.sequence(*this, {.mode = Mode::cold, .launches = launches_, .sets = gemm_.sets_.size()});
    }

    PreparedGemm& gemm_;
    std::size_t index_;
    std::unique_ptr<device::TimedSequence> sequence_;
    std::vector<double> samples_;
    std::size_t launches_ = 1;
    std::size_t next_set_ = 0;
  };

  /// Leaves the finalists, the chosen one first.
  static Status keep_finalists(std::vector<std::unique_ptr<Candidate>>& candidates) {
    const auto faster = [](const auto& a, const auto& b) { return a->seconds() < b->seconds(); };
    std::sort(candidates.begin(), candidates.end(), faster);
    const double limit = candidates.front()->seconds() * kFinalist;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate->seconds() > limit; });
    if (candidates.size() > kFinalists) candidates.resize(kFinalists);
    if (candidates.size() == 1) return {};
    for (int run = 0; run < kFinalRuns; ++run) {
      for (const auto& candidate : candidates) WM_TRY(candidate->sample_burst(run == 0));
      std::reverse(candidates.begin(), candidates.end());
    }
    const double best = (*std::min_element(candidates.begin(), candidates.end(), faster))->seconds();
    const auto is_slower = [&](const auto& candidate) { return candidate->seconds() > best * kTie; };
    std::erase_if(candidates, is_slower);
    std::sort(candidates.begin(), candidates.end(),
              [](const auto& a, const auto& b) { return a->index() < b->index(); });
    return {};
  }

  Status enqueue(device::Stream stream, std::size_t set, std::size_t candidate) const {
    const GemmSet& arrays = sets_[set];
    return matmul_.enqueue(stream, {.a = arrays.a.data(), .b = arrays.b.data(), .c = arrays.c.data()}, candidate);
  }

  device::Device& device_;
  const MatmulType& type_;
  MatmulShape shape_;
  Matmul matmul_;
  std::vector<GemmSet> sets_;
  std::size_t chosen_ = 0;
  std::string algorithm_;
};

MatmulShape shape_of(const Params& params) {
  return {.m = params.integer("m"), .n = params.integer("n"), .k = params.integer("k")};
}

/// sm_80 -> 80.
int architecture_of(const DeviceInfo& device) {
  int number = 0;
  for (const char c : device.architecture) {
    if (is_digit(c)) number = number * 10 + (c - '0');
  }
  return number;
}

device::Support supports(const DeviceInfo& device, const Params& params) {
  const std::string& implementation = params.text("impl");
  if (implementation != "auto" && implementation != "cublaslt") {
    return device::Support::no(fmt::format("impl={} runs on the CPU only", implementation),
                               "choose impl=cublaslt, or --device cpu");
  }
  const std::string& dtype = params.text("dtype");
  const MatmulType* type = matmul_type(dtype);
  if (type == nullptr) return device::Support::no(fmt::format("dtype={} has no GPU implementation", dtype));
  if (dtype == "fp8" && architecture_of(device) < 89) {
    return device::Support::no(
        fmt::format("dtype=fp8 needs compute capability 8.9, {} is {}", device.name, device.architecture),
        "choose dtype=bf16 or int8");
  }
  const MatmulShape shape = shape_of(params);
  if (shape.m % type->multiple != 0 || shape.n % type->multiple != 0 || shape.k % type->multiple != 0) {
    return device::Support::no(fmt::format("dtype={} needs m, n and k to be multiples of {}, not {} x {} x {}", dtype,
                                           type->multiple, shape.m, shape.n, shape.k),
                               "round the shape up");
  }
  return device::Support::yes();
}

Result<std::unique_ptr<measure::Prepared>> prepare(const measure::PrepareOptions& options) {
  const MatmulType* type = matmul_type(options.params.text("dtype"));
  WM_CHECK(type != nullptr);
  const MatmulShape shape = shape_of(options.params);
  const double set_bytes =
      static_cast<double>(shape.m * shape.k + shape.k * shape.n) * static_cast<double>(size_of(type->input)) +
      static_cast<double>(shape.m * shape.n) * static_cast<double>(size_of(type->output));
  WM_TRY(require_memory(options.device, {.sets = options.sets, .set_bytes = set_bytes}));
  const auto candidates = static_cast<std::size_t>(std::max<std::int64_t>(1, options.params.integer("candidates")));
  WM_ASSIGN(auto matmul, Matmul::make(options.device, *type, shape, candidates));
  auto prepared = std::make_unique<PreparedGemm>(options.device, *type, shape, std::move(matmul));
  WM_TRY(prepared->make_inputs(options));
  WM_TRY(prepared->choose_algorithm());
  return {std::move(prepared)};
}

}  // namespace

extern const CudaImplementation kCudaGemm;
const CudaImplementation kCudaGemm{"gemm", supports, prepare};

}  // namespace warpmark::workloads
