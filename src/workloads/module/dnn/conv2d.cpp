// conv2d on the GPU: cuDNN's graph API, one convolution operation, the fastest of the plans that its heuristics
// propose. f32 means fp32 arithmetic throughout: engines that use the tensor cores (tf32) or narrow their inputs are
// left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "device/cuda/module/library_loader.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/dnn/convolution.h"
#include "workloads/module/dnn/plan_runner.h"

namespace warpmark::workloads {
namespace {

using dnn::Convolution;
using dnn::Descriptor;
using dnn::Pass;

constexpr std::int64_t kX = 1, kWeights = 2, kY = 3;  ///< tensor ids
constexpr double kMostConvProducts = 4e10;            ///< of the reference; above it, outputs are sampled
constexpr double kMostCheckedOutputs = 3.2e7;

struct Problem {
  Convolution convolution;
  Pass pass;
  std::string dtype;

  [[nodiscard]] ElementType type() const { return *storage_of(dtype); }
};

std::string shape_text(const Convolution& c) {
  return fmt::format("n={} c={} h={} w={} k={} r={} stride={} pad={}", c.n, c.c, c.h, c.w, c.k, c.r, c.stride, c.pad);
}

Result<Problem> problem_of(const Params& params) {
  Problem problem;
  Convolution& c = problem.convolution;
  c = {.n = params.integer("n"),
       .c = params.integer("c"),
       .h = params.integer("h"),
       .w = params.integer("w"),
       .k = params.integer("k"),
       .r = params.integer("r"),
       .stride = params.integer("stride"),
       .pad = params.integer("pad"),
       .channels_last = params.text("layout") == "nhwc"};
  if (c.pad < 0) c.pad = c.r / 2;
  const std::string& pass = params.text("pass");
  problem.pass = pass == "backward_data"      ? Pass::backward_data
                 : pass == "backward_weights" ? Pass::backward_weights
                                              : Pass::forward;
  problem.dtype = params.text("dtype");
  const bool positive = std::min({c.n, c.c, c.h, c.w, c.k, c.r, c.stride}) > 0;
  if (!positive || c.h + 2 * c.pad < c.r || c.w + 2 * c.pad < c.r) {
    return usage_error("conv2d: " + shape_text(c) + " has no output", "every size must be at least 1 and r must fit");
  }
  return problem;
}

cudnnDataType_t cudnn_type(ElementType type) {
  switch (type) {
    case ElementType::f16: return CUDNN_DATA_HALF;
    case ElementType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// Relative Frobenius error that arithmetic of this kind stays under. f32: rounding of fp32 sums, a random walk of
/// `terms` steps of up to 2^-24 each, twice that for Winograd's transforms; tf32: factors of 11 bits, and sums that the
/// tensor cores cut rather than round; f16, bf16: rounding of the output to 11 and 8 bits, with fp32 sums.
double tolerance_of(const Problem& problem) {
  const Convolution& c = problem.convolution;
  const std::int64_t terms = problem.pass == Pass::forward         ? c.c * c.r * c.r
                             : problem.pass == Pass::backward_data ? c.k * c.r * c.r
                                                                   : c.n * c.y_h() * c.y_w();
  const double walk = std::sqrt(static_cast<double>(terms));
  if (problem.dtype == "f32") return std::max(1e-5, 0x1p-23 * walk);
  if (problem.dtype == "tf32") return std::max(1e-3, 0x1p-18 * walk);
  return problem.dtype == "f16" ? 2e-3 : 1e-2;
}

std::span<const cudnnBackendNumericalNote_t> excluded_notes(const std::string& dtype) {
  static constexpr std::array kNotes{CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                                     CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
                                     CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  return std::span(kNotes).first(dtype == "f32" ? 3 : 2);
}

Result<Descriptor> convolution_descriptor(const dnn::Cudnn& cudnn, const Convolution& c) {
  WM_ASSIGN(auto descriptor, Descriptor::make(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  const std::array<std::int64_t, 2> dilations{1, 1}, strides{c.stride, c.stride}, pads{c.pad, c.pad};
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2}));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span<const std::int64_t>(dilations)));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span<const std::int64_t>(strides)));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span<const std::int64_t>(pads)));
  WM_TRY(descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span<const std::int64_t>(pads)));
  WM_TRY(descriptor.finalize());
  return descriptor;
}

struct OperationNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha, beta, convolution, weights, x, y;
};

OperationNames operation_names(Pass pass) {
  switch (pass) {
    case Pass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case Pass::backward_weights:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
    case Pass::forward: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
}

Result<Descriptor> convolution_graph(const dnn::Cudnn& cudnn, const Problem& problem) {
  const Convolution& c = problem.convolution;
  const auto tensor = [&](std::int64_t id, const dnn::Dimensions& dimensions) {
    return dnn::make_tensor(
        cudnn,
        {.id = id, .type = cudnn_type(problem.type()), .dimensions = dimensions, .strides = c.strides(dimensions)});
  };
  WM_ASSIGN(const Descriptor x, tensor(kX, c.x_dimensions()));
  WM_ASSIGN(const Descriptor weights, tensor(kWeights, c.weights_dimensions()));
  WM_ASSIGN(const Descriptor y, tensor(kY, c.y_dimensions()));
  WM_ASSIGN(const Descriptor convolution, convolution_descriptor(cudnn, c));
  const OperationNames names = operation_names(problem.pass);
  std::vector<Descriptor> operations;
  WM_ASSIGN(auto operation, Descriptor::make(cudnn, names.operation));
  WM_TRY(operation.set(names.convolution, convolution));
  WM_TRY(operation.set(names.x, x));
  WM_TRY(operation.set(names.weights, weights));
  WM_TRY(operation.set(names.y, y));
  WM_TRY(operation.set_float(names.alpha, 1));
  WM_TRY(operation.set_float(names.beta, 0));
  WM_TRY(operation.finalize());
  operations.push_back(std::move(operation));
  return dnn::make_graph(cudnn, operations);
}

struct ConvolutionSet {
  DeviceArray x, weights, y;
};

class PreparedConvolution final : public measure::Prepared {
 public:
  PreparedConvolution(device::Device& device, Problem problem) : device_(device), problem_(std::move(problem)) {}

  Status create(const measure::PrepareOptions& options) {
    seed_ = options.seed;
    for (std::size_t set = 0; set < options.sets; ++set) WM_TRY(add_set());
    WM_ASSIGN(cudnn_, dnn::Cudnn::open());
    WM_ASSIGN(const Descriptor graph, convolution_graph(*cudnn_, problem_));
    dnn::PlanRunnerOptions runner{.ids = {kX, kWeights, kY}, .sets = {}, .excluded = excluded_notes(problem_.dtype)};
    for (const ConvolutionSet& set : sets_) {
      runner.sets.push_back({set.x.data(), set.weights.data(), set.y.data()});
    }
    WM_ASSIGN(runner_, dnn::PlanRunner::create(device_, *cudnn_, graph, runner));
    return device_.synchronize();
  }

  Status launch(device::Stream stream, std::size_t set) override { return runner_.launch(stream, set); }

  Status poison() override {
    for (ConvolutionSet& set : sets_) WM_TRY(workloads::poison(device_.stream(), output(set)));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t set) override;

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override { return runner_.notes(); }

 private:
  Status add_set() {
    const Convolution& c = problem_.convolution;
    const std::size_t index = sets_.size();
    ConvolutionSet& set = sets_.emplace_back();
    WM_ASSIGN(set.x, DeviceArray::make(device_, dnn::elements(c.x_dimensions()), problem_.type()));
    WM_ASSIGN(set.weights, DeviceArray::make(device_, dnn::elements(c.weights_dimensions()), problem_.type()));
    WM_ASSIGN(set.y, DeviceArray::make(device_, dnn::elements(c.y_dimensions()), problem_.type()));
    unsigned array = 0;
    for (const DeviceArray* in : {&set.x, &set.weights, &set.y}) {
      if (in != &output(set)) {
        WM_TRY(fill_uniform(device_.stream(), *in, {.seed = seed_, .set = index, .array = array}));
      }
      ++array;
    }
    return {};
  }

  [[nodiscard]] DeviceArray& output(ConvolutionSet& set) const {
    switch (problem_.pass) {
      case Pass::backward_data: return set.x;
      case Pass::backward_weights: return set.weights;
      case Pass::forward: break;
    }
    return set.y;
  }

  device::Device& device_;
  Problem problem_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<dnn::Cudnn> cudnn_;  ///< outlives runner_
  dnn::PlanRunner runner_;
  std::vector<ConvolutionSet> sets_;
};

Result<ErrorCheck> PreparedConvolution::check(std::size_t set) {
  const Convolution& c = problem_.convolution;
  const DeviceArray& out = output(sets_[set]);
  const double products = static_cast<double>(dnn::elements(c.y_dimensions())) * static_cast<double>(c.c * c.r * c.r);
  const double share =
      std::min({1.0, kMostConvProducts / products, kMostCheckedOutputs / static_cast<double>(out.count())});
  const auto samples = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(out.count())));
  WM_ASSIGN(const auto actual, DeviceArray::make(device_, samples, ElementType::f64));
  WM_ASSIGN(const auto expected, DeviceArray::make(device_, samples, ElementType::f64));
  const dnn::ConvolutionCheck request{.convolution = c,
                                      .pass = problem_.pass,
                                      .type = problem_.type(),
                                      .x = sets_[set].x.data(),
                                      .weights = sets_[set].weights.data(),
                                      .y = sets_[set].y.data(),
                                      .actual = actual.as<double>(),
                                      .expected = expected.as<double>(),
                                      .samples = samples,
                                      .outputs = out.count(),
                                      .seed = seed_};
  WM_CUDA(launch_convolution_check(request, device::cuda_stream(device_.stream())));
  WM_ASSIGN(double error, relative_error(device_, actual, expected));
  WM_ASSIGN(const double unwritten, count_different(device_, out, out));  // NaN alone differs from itself
  if (unwritten > 0) error = kInfiniteError;
  return ErrorCheck{.value = error,
                    .tolerance = tolerance_of(problem_),
                    .norm = "relative Frobenius norm (1e300 if any output is NaN)",
                    .reference = fmt::format("direct convolution in fp64 on the GPU, {} of {} outputs{}", samples,
                                             out.count(), samples == out.count() ? "" : " chosen at random")};
}

Result<std::unique_ptr<measure::Prepared>> prepare_conv2d(const measure::PrepareOptions& options) {
  WM_ASSIGN(auto problem, problem_of(options.params));
  auto prepared = std::make_unique<PreparedConvolution>(options.device, std::move(problem));
  WM_TRY(prepared->create(options));
  return {std::move(prepared)};
}

device::Support supports_conv2d(const DeviceInfo&, const Params& params) {
  const std::string& dtype = params.text("dtype");
  constexpr std::array kTypes{"f32", "tf32", "f16", "bf16"};
  if (std::ranges::find(kTypes, dtype) == kTypes.end()) {
    return device::Support::no("conv2d on the GPU has no dtype=" + dtype, "use f32, tf32, f16 or bf16");
  }
  const auto library = device::load_library(device::LibraryId::cudnn);
  if (!library.ok()) return device::Support::no(library.error().what, library.error().hint);
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaConv2d{"conv2d", supports_conv2d, prepare_conv2d};

}  // namespace warpmark::workloads
