// attention on the GPU: inputs, outputs and the check, for whichever implementation is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "device/cuda/module/library_loader.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/attention/implementation.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

/// Queries are uniform in [-3, 3), keys and values in [-1, 1): scores then have a standard deviation of 1, as with
/// normally distributed inputs, and the softmax is far from uniform.
constexpr float kQueryScale = 3;
/// Multiply-adds of the fp64 reference; above it, fewer heads are compared.
constexpr double kMostCheckedProducts = 4e11;

struct Request {
  AttentionProblem problem;
  std::string impl;
};

Result<Request> request_of(const Params& params) {
  Request request;
  AttentionProblem& problem = request.problem;
  problem = {.batch = params.integer("batch"),
             .heads = params.integer("heads"),
             .sequence = params.integer("seq"),
             .dimension = params.integer("dim"),
             .causal = params.text("causal") == "yes",
             .type = AttentionType::f32};
  if (params.text("dtype") == "f16") problem.type = AttentionType::f16;
  if (params.text("dtype") == "bf16") problem.type = AttentionType::bf16;
  request.impl = params.text("impl");
  const bool positive = std::min({problem.batch, problem.heads, problem.sequence, problem.dimension}) > 0;
  const bool countable = positive && static_cast<double>(problem.matrices()) * static_cast<double>(problem.sequence) <
                                         std::numeric_limits<std::int32_t>::max();
  if (!countable) {
    return usage_error(
        fmt::format("attention: batch={} heads={} seq={} dim={}: every size must be at least 1 and "
                    "batch * heads * seq below 2^31",
                    problem.batch, problem.heads, problem.sequence, problem.dimension));
  }
  return request;
}

ElementType element_of(const std::string& dtype) { return storage_of(dtype).value_or(ElementType::f32); }

/// Relative Frobenius error that correct arithmetic stays under. Weights and output are rounded to 11 bits (f16) or 8
/// (bf16), standard rounds the scores too, which exp() turns into relative errors of the weights of up to |score| times
/// the rounding; sums are fp32 in all.
double tolerance_of(AttentionType type) {
  switch (type) {
    case AttentionType::f16: return 2e-3;
    case AttentionType::bf16: return 1.6e-2;
    case AttentionType::f32: break;
  }
  return 1e-5;
}

/// Heads to compare: of the first and the last batch row, spread evenly where those are too many.
std::vector<std::int64_t> checked_matrices(const AttentionProblem& problem) {
  std::vector<std::int64_t> all;
  for (std::int64_t head = 0; head < problem.heads; ++head) all.push_back(head);
  for (std::int64_t head = 0; problem.batch > 1 && head < problem.heads; ++head) {
    all.push_back((problem.batch - 1) * problem.heads + head);
  }
  const double products_each = 2.0 * static_cast<double>(problem.sequence) * static_cast<double>(problem.sequence) *
                               static_cast<double>(problem.dimension);
  const auto most = static_cast<std::size_t>(std::clamp(kMostCheckedProducts / products_each, 2.0, 1e6));
  if (all.size() <= most) return all;
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

class PreparedAttention final : public measure::Prepared {
 public:
  PreparedAttention(device::Device& device, const AttentionProblem& problem, ElementType element)
      : device_(device), problem_(problem), element_(element) {}

  Status create(const measure::PrepareOptions& options, const std::string& impl) {
    for (std::size_t set = 0; set < options.sets; ++set) WM_TRY(add_set(options.seed));
    const AttentionInputs inputs{device_, problem_, sets_};
    if (impl == "standard") {
      WM_ASSIGN(implementation_, make_standard_attention(inputs));
    } else if (impl == "cudnn") {
      WM_ASSIGN(implementation_, make_cudnn_attention(inputs));
    } else {
      WM_ASSIGN(implementation_, make_flash_attention(inputs));
    }
    return device_.synchronize();
  }

  Status launch(device::Stream stream, std::size_t set) override { return implementation_->launch(stream, set); }

  Status poison() override {
    for (const AttentionSet& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.output));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t set) override;

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return implementation_->notes();
  }

 private:
  Status add_set(std::uint64_t seed) {
    const std::size_t index = sets_.size();
    AttentionSet& set = sets_.emplace_back();
    unsigned array = 0;
    for (DeviceArray* tensor : {&set.query, &set.key, &set.value, &set.output}) {
      WM_ASSIGN(*tensor, DeviceArray::make(device_, problem_.elements(), element_));
      if (tensor == &set.output) continue;
      WM_TRY(fill_uniform(device_.stream(), *tensor, {.seed = seed, .set = index, .array = array++}));
    }
    WM_CUDA(
        launch_scale(problem_.type, set.query.data(), set.query.count(), kQueryScale, cuda_stream(device_.stream())));
    return {};
  }

  device::Device& device_;
  AttentionProblem problem_;
  ElementType element_;
  std::vector<AttentionSet> sets_;
  std::unique_ptr<AttentionImplementation> implementation_;
};

Result<ErrorCheck> PreparedAttention::check(std::size_t set) {
  const std::vector<std::int64_t> matrices = checked_matrices(problem_);
  const std::int64_t each = problem_.sequence * problem_.dimension;
  const auto total = static_cast<std::int64_t>(matrices.size()) * each;
  const std::int64_t rows = std::min<std::int64_t>(problem_.sequence, kReferenceBlocks);
  WM_ASSIGN(const auto expected, DeviceArray::make(device_, total, ElementType::f64));
  WM_ASSIGN(const auto actual, DeviceArray::make(device_, total, element_));
  WM_ASSIGN(const auto scratch, DeviceArray::make(device_, rows * problem_.sequence, ElementType::f64));
  const AttentionSet& tensors = sets_[set];
  const cudaStream_t stream = cuda_stream(device_.stream());
  const std::size_t bytes_each = static_cast<std::size_t>(each) * size_of(element_);
  std::size_t place = 0;
  for (const std::int64_t matrix : matrices) {
    const std::size_t offset = static_cast<std::size_t>(matrix) * bytes_each;
    const ReferenceArguments arguments{.query = tensors.query.as<std::byte>() + offset,
                                       .key = tensors.key.as<std::byte>() + offset,
                                       .value = tensors.value.as<std::byte>() + offset,
                                       .output = expected.as<double>() + place * static_cast<std::size_t>(each),
                                       .scratch = scratch.as<double>(),
                                       .sequence = static_cast<int>(problem_.sequence),
                                       .dimension = static_cast<int>(problem_.dimension),
                                       .causal = problem_.causal};
    WM_CUDA(launch_attention_reference(problem_.type, arguments, stream));
    WM_CUDA(cudaMemcpyAsync(actual.as<std::byte>() + place * bytes_each, tensors.output.as<std::byte>() + offset,
                            bytes_each, cudaMemcpyDeviceToDevice, stream));
    ++place;
  }
  WM_ASSIGN(double error, relative_error(device_, actual, expected));
  WM_ASSIGN(const double unwritten, count_different(device_, tensors.output, tensors.output));
  if (unwritten > 0) error = kInfiniteError;  // NaN alone differs from itself
  return ErrorCheck{.value = error,
                    .tolerance = tolerance_of(problem_.type),
                    .norm = "relative Frobenius norm (1e300 if any output is NaN)",
                    .reference = fmt::format("softmax(Q K^T / sqrt(dim)) V in fp64 on the GPU, {} of {} heads, from "
                                             "the first and last batch rows",
                                             matrices.size(), problem_.matrices())};
}

Result<std::unique_ptr<measure::Prepared>> prepare_attention(const measure::PrepareOptions& options) {
  WM_ASSIGN(const Request request, request_of(options.params));
  auto prepared =
      std::make_unique<PreparedAttention>(options.device, request.problem, element_of(options.params.text("dtype")));
  WM_TRY(prepared->create(options, request.impl));
  return {std::move(prepared)};
}

device::Support supports_library(device::LibraryId id) {
  const auto library = device::load_library(id);
  return library.ok() ? device::Support::yes() : device::Support::no(library.error().what, library.error().hint);
}

device::Support supports_attention(const DeviceInfo& device, const Params& params) {
  const std::string& impl = params.text("impl");
  const std::string& dtype = params.text("dtype");
  const std::int64_t dimension = params.integer("dim");
  if (dtype != "f32" && dtype != "f16" && dtype != "bf16") {
    return device::Support::no("attention on the GPU has no dtype=" + dtype, "use f16, bf16 or f32");
  }
  if (impl == "standard") return supports_library(device::LibraryId::cublaslt);
  if (impl == "flash") {
    if (dimension != 64 && dimension != 128) {
      return device::Support::no(fmt::format("attention impl=flash on the GPU has no dim={}", dimension),
                                 "use dim=64 or dim=128, or impl=standard");
    }
    const bool old = device.architecture.starts_with("sm_7") || device.architecture.starts_with("sm_6");
    if (old) {
      return device::Support::no("attention impl=flash needs compute capability 8.0; this is " + device.architecture,
                                 "use impl=standard");
    }
    return device::Support::yes();
  }
  if (dtype == "f32") {
    return device::Support::no("cuDNN's fused attention has no f32", "use dtype=f16 or bf16, or impl=flash");
  }
  if (dimension % 8 != 0 || dimension > 256) {
    return device::Support::no(fmt::format("cuDNN's fused attention has no dim={}", dimension),
                               "use a multiple of 8 up to 256");
  }
  return supports_library(device::LibraryId::cudnn);
}

}  // namespace

extern const CudaImplementation kCudaAttention{"attention", supports_attention, prepare_attention};

}  // namespace warpmark::workloads
