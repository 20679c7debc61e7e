// gemm on the GPU: C = A B, row-major, by cuBLASLt. The library's heuristic proposes algorithms, each is timed on the
// inputs in the rotation of the mode, the best is kept and measured anew by the engine (the best of noisy times is too
// good: the winner's curse). Large products run into the power limit, where the clock that one algorithm gets depends
// on what ran before it: the finalists are therefore timed in short bursts, each after a rest.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "device/device.h"
#include "model/run.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/gemm/cublaslt.h"
#include "workloads/module/gemm/reference_kernels.h"

namespace warpmark::workloads {
namespace {

struct MatmulArrays {
  const DeviceArray& a;  ///< [m, k]
  const DeviceArray& b;  ///< [k, n], or [n, k] if b_transposed
  const DeviceArray& c;  ///< [m, n]
  bool b_transposed = false;
};

constexpr double kFullProducts = 2048.0 * 2048.0 * 2048.0;     ///< multiplications of a full reference, at most
constexpr std::int64_t kFullElements = std::int64_t{1} << 25;  ///< and its elements: 256 MiB
constexpr std::int64_t kSampledRows = 64;
constexpr std::uint64_t kProjections = 2;

MatrixView view_of(const DeviceArray& array, std::int64_t rows, std::int64_t columns, bool transposed = false) {
  return {{array.data(), array.type()}, rows, columns, transposed};
}

/// All elements in fp64 where that is affordable; for larger products whole rows in fp64, and random projections
/// C x = A (B x) over everything else (Freivalds, "Probabilistic machines can use less running time", IFIP 1977). For
/// independent rounding errors E and x of random signs, ||E x|| / ||C x|| estimates ||E|| / ||C||.
class MatmulCheck {
 public:
  MatmulCheck(device::Device& device, const MatmulArrays& arrays, const MatmulShape& shape, bool exact)
      : device_(device),
        stream_(device::cuda_stream(device.stream())),
        a_(view_of(arrays.a, shape.m, shape.k)),
        b_(view_of(arrays.b, shape.k, shape.n, arrays.b_transposed)),
        c_(view_of(arrays.c, shape.m, shape.n)),
        exact_(exact) {}

  /// All of the chosen rows, element by element.
  Result<double> rows(const RowChoice& choice) {
    const std::int64_t count = choice.rows * c_.columns;
    WM_ASSIGN(const auto expected, DeviceArray::make(device_, count, ElementType::f64));
    WM_ASSIGN(const auto actual, DeviceArray::make(device_, count, ElementType::f64));
    WM_CUDA(launch_product_rows(stream_, a_, b_, choice, expected.as<double>()));
    WM_CUDA(launch_gather_rows(stream_, c_, choice, actual.as<double>()));
    return compare(actual, expected);
  }

  /// C x against A (B x) for random signs x. Exact for integers: every sum stays below 2^53.
  Result<double> projection(std::uint64_t key) {
    WM_ASSIGN(const auto inner, DeviceArray::make(device_, b_.rows, ElementType::f64));
    WM_ASSIGN(const auto expected, DeviceArray::make(device_, a_.rows, ElementType::f64));
    WM_ASSIGN(const auto actual, DeviceArray::make(device_, a_.rows, ElementType::f64));
    WM_CUDA(launch_matrix_vector(stream_, b_, nullptr, key, inner.as<double>()));
    WM_CUDA(launch_matrix_vector(stream_, a_, inner.as<double>(), 0, expected.as<double>()));
    WM_CUDA(launch_matrix_vector(stream_, c_, nullptr, key, actual.as<double>()));
    return compare(actual, expected);
  }

 private:
  Result<double> compare(const DeviceArray& actual, const DeviceArray& expected) {
    return exact_ ? count_different(device_, actual, expected) : relative_error(device_, actual, expected);
  }

  device::Device& device_;
  cudaStream_t stream_;
  MatrixView a_;
  MatrixView b_;
  MatrixView c_;
  bool exact_;
};

/// value: the relative error, or for tolerance 0 the number of elements (and of projected rows) that differ.
Result<ErrorCheck> check_matmul(device::Device& device, const MatmulArrays& arrays, const MatmulShape& shape,
                                double tolerance) {
  const bool exact = tolerance == 0;
  MatmulCheck check(device, arrays, shape, exact);
  ErrorCheck result;
  result.tolerance = tolerance;
  const double products = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  if (products <= kFullProducts && shape.m * shape.n <= kFullElements) {
    WM_ASSIGN(result.value, check.rows({.rows = shape.m, .first = 0, .step = 1}));
    result.norm = exact ? "elements that differ" : "relative Frobenius norm (1e300 stands for NaN)";
    result.reference = "all elements in fp64 on the GPU";
    return result;
  }
  const std::int64_t rows = std::min(kSampledRows, shape.m);
  const std::int64_t step = shape.m / rows;
  // From the last row backwards, evenly spread: the ends of tiles are where products go wrong.
  WM_ASSIGN(result.value, check.rows({.rows = rows, .first = shape.m - 1 - (rows - 1) * step, .step = step}));
  for (std::uint64_t key = 1; key <= kProjections; ++key) {
    WM_ASSIGN(const double error, check.projection(key));
    result.value = exact ? result.value + error : std::max(result.value, error);
  }
  result.norm = exact ? "elements of the sampled rows and projected rows that differ"
                      : "largest relative norm of sampled rows and projections (1e300 stands for NaN)";
  result.reference = fmt::format(
      "{} whole rows in fp64 and {} random projections C x = A (B x) of everything "
      "(Freivalds 1977) in fp64, on the GPU",
      rows, kProjections);
  return result;
}

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

device::Support supports_gemm(const DeviceInfo& device, const Params& params) {
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

Result<std::unique_ptr<measure::Prepared>> prepare_gemm(const measure::PrepareOptions& options) {
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

extern const CudaImplementation kCudaGemm{"gemm", supports_gemm, prepare_gemm};

}  // namespace warpmark::workloads
