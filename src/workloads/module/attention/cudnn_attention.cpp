// impl=cudnn: cuDNN's fused attention. The graph API has no single attention node with a causal mask before 9.21, so
// the graph spells attention out - two products with scale, mask and softmax between them, everything between the
// inputs and the output virtual - and cuDNN's engines recognize the pattern (cuDNN documentation, "Attention").

#include <cmath>
#include <limits>
#include <utility>

#include "workloads/module/attention/implementation.h"
#include "workloads/module/dnn/plan_runner.h"

namespace warpmark::workloads {
namespace {

using dnn::Descriptor;
using dnn::Dimensions;

/// The ids of tensors that need an address; virtual tensors are numbered from kFirstVirtual.
constexpr std::int64_t kQuery = 1, kKey = 2, kValue = 3, kOutput = 4, kScale = 5, kMinusInfinity = 6;
constexpr std::int64_t kFirstVirtual = 100;

/// Collects the operations of one attention graph.
class GraphBuilder {
 public:
  GraphBuilder(const dnn::Cudnn& cudnn, const AttentionProblem& problem) : cudnn_(cudnn), problem_(problem) {}

  [[nodiscard]] Result<Descriptor> build();

 private:
  using Tensor = Result<Descriptor>;

  [[nodiscard]] cudnnDataType_t element() const {
    return problem_.type == AttentionType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
  }
  [[nodiscard]] Tensor input(std::int64_t id, bool transposed);
  [[nodiscard]] Tensor scalar(std::int64_t id);
  [[nodiscard]] Tensor inner(cudnnDataType_t type, bool row_statistic = false);

  Status product(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  Status reduce(cudnnReduceTensorOp_t mode, const Descriptor& x, const Descriptor& y);
  struct Pointwise {
    cudnnPointwiseMode_t mode;
    const Descriptor& x;
    const Descriptor* b = nullptr;
    const Descriptor* condition = nullptr;
    const Descriptor& y;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    std::int64_t axis = -1;  ///< of CUDNN_POINTWISE_GEN_INDEX
  };
  Status pointwise(const Pointwise& operation);
  [[nodiscard]] Tensor masked(const Descriptor& scores);
  Status softmax(const Descriptor& scores, const Descriptor& weights);

  const dnn::Cudnn& cudnn_;
  const AttentionProblem& problem_;
  std::vector<Descriptor> operations_;
  std::int64_t next_virtual_ = kFirstVirtual;
};

Result<Descriptor> GraphBuilder::input(std::int64_t id, bool transposed) {
  Dimensions dimensions{problem_.batch, problem_.heads, problem_.sequence, problem_.dimension};
  Dimensions strides = dnn::contiguous_strides(dimensions);
  if (transposed) {
    std::swap(dimensions[2], dimensions[3]);
    std::swap(strides[2], strides[3]);
  }
  return dnn::make_tensor(cudnn_, {.id = id, .type = element(), .dimensions = dimensions, .strides = strides});
}

Result<Descriptor> GraphBuilder::scalar(std::int64_t id) {
  return dnn::make_tensor(
      cudnn_,
      {.id = id, .type = CUDNN_DATA_FLOAT, .dimensions = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .is_by_value = true});
}

Result<Descriptor> GraphBuilder::inner(cudnnDataType_t type, bool row_statistic) {
  const Dimensions dimensions{problem_.batch, problem_.heads, problem_.sequence, row_statistic ? 1 : problem_.sequence};
  return dnn::make_tensor(cudnn_, {.id = next_virtual_++,
                                   .type = type,
                                   .dimensions = dimensions,
                                   .strides = dnn::contiguous_strides(dimensions),
                                   .is_virtual = true});
}

Status GraphBuilder::product(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
  WM_ASSIGN(auto matmul, Descriptor::make(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
  WM_TRY(matmul.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT));
  WM_TRY(matmul.finalize());
  WM_ASSIGN(auto operation, Descriptor::make(cudnn_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul));
  WM_TRY(operation.finalize());
  operations_.push_back(std::move(operation));
  return {};
}

Status GraphBuilder::reduce(cudnnReduceTensorOp_t mode, const Descriptor& x, const Descriptor& y) {
  WM_ASSIGN(auto reduction, Descriptor::make(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
  WM_TRY(reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode));
  WM_TRY(reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  WM_TRY(reduction.finalize());
  WM_ASSIGN(auto operation, Descriptor::make(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction));
  WM_TRY(operation.finalize());
  operations_.push_back(std::move(operation));
  return {};
}

Status GraphBuilder::pointwise(const Pointwise& request) {
  WM_ASSIGN(auto kind, Descriptor::make(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  WM_TRY(kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &request.mode));
  WM_TRY(kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, request.compute));
  if (request.axis >= 0) WM_TRY(kind.set(CUDNN_ATTR_POINTWISE_AXIS, request.axis));
  WM_TRY(kind.finalize());
  WM_ASSIGN(auto operation, Descriptor::make(cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, request.x));
  if (request.b != nullptr) WM_TRY(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *request.b));
  if (request.condition != nullptr) WM_TRY(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *request.condition));
  WM_TRY(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, request.y));
  WM_TRY(operation.finalize());
  operations_.push_back(std::move(operation));
  return {};
}

/// Keeps scores whose row index is at least their column index; the others become -infinity.
Result<Descriptor> GraphBuilder::masked(const Descriptor& scores) {
  WM_ASSIGN(const Descriptor row, inner(CUDNN_DATA_INT32));
  WM_ASSIGN(const Descriptor column, inner(CUDNN_DATA_INT32));
  WM_ASSIGN(const Descriptor visible, inner(CUDNN_DATA_BOOLEAN));
  WM_ASSIGN(const Descriptor minus_infinity, scalar(kMinusInfinity));
  WM_ASSIGN(Descriptor result, inner(CUDNN_DATA_FLOAT));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = scores, .y = row, .compute = CUDNN_DATA_INT32, .axis = 2}));
  WM_TRY(
      pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = scores, .y = column, .compute = CUDNN_DATA_INT32, .axis = 3}));
  WM_TRY(
      pointwise({.mode = CUDNN_POINTWISE_CMP_GE, .x = row, .b = &column, .y = visible, .compute = CUDNN_DATA_BOOLEAN}));
  WM_TRY(pointwise(
      {.mode = CUDNN_POINTWISE_BINARY_SELECT, .x = scores, .b = &minus_infinity, .condition = &visible, .y = result}));
  return result;
}

Status GraphBuilder::softmax(const Descriptor& scores, const Descriptor& weights) {
  WM_ASSIGN(const Descriptor maximum, inner(CUDNN_DATA_FLOAT, true));
  WM_ASSIGN(const Descriptor shifted, inner(CUDNN_DATA_FLOAT));
  WM_ASSIGN(const Descriptor exponential, inner(CUDNN_DATA_FLOAT));
  WM_ASSIGN(const Descriptor sum, inner(CUDNN_DATA_FLOAT, true));
  WM_TRY(reduce(CUDNN_REDUCE_TENSOR_MAX, scores, maximum));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_SUB, .x = scores, .b = &maximum, .y = shifted}));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_EXP, .x = shifted, .y = exponential}));
  WM_TRY(reduce(CUDNN_REDUCE_TENSOR_ADD, exponential, sum));
  // The row statistics that training would keep; the engines expect them in the pattern even where they are virtual.
  WM_ASSIGN(const Descriptor logarithm, inner(CUDNN_DATA_FLOAT, true));
  WM_ASSIGN(const Descriptor statistics, inner(CUDNN_DATA_FLOAT, true));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_LOG, .x = sum, .y = logarithm}));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_ADD, .x = maximum, .b = &logarithm, .y = statistics}));
  return pointwise({.mode = CUDNN_POINTWISE_DIV, .x = exponential, .b = &sum, .y = weights});
}

Result<Descriptor> GraphBuilder::build() {
  WM_ASSIGN(const Descriptor query, input(kQuery, false));
  WM_ASSIGN(const Descriptor key, input(kKey, true));
  WM_ASSIGN(const Descriptor value, input(kValue, false));
  WM_ASSIGN(const Descriptor output, input(kOutput, false));
  WM_ASSIGN(const Descriptor scale, scalar(kScale));
  WM_ASSIGN(const Descriptor products, inner(CUDNN_DATA_FLOAT));
  WM_ASSIGN(Descriptor scores, inner(CUDNN_DATA_FLOAT));
  WM_ASSIGN(const Descriptor weights, inner(element()));
  WM_TRY(product(query, key, products));
  WM_TRY(pointwise({.mode = CUDNN_POINTWISE_MUL, .x = products, .b = &scale, .y = scores}));
  if (problem_.causal) {
    WM_ASSIGN(scores, masked(scores));
  }
  WM_TRY(softmax(scores, weights));
  WM_TRY(product(weights, value, output));
  return dnn::make_graph(cudnn_, operations_);
}

class CudnnAttention final : public AttentionImplementation {
 public:
  Status create(const AttentionInputs& inputs) {
    const AttentionProblem& problem = inputs.problem;
    scale_ = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.dimension)));
    WM_ASSIGN(cudnn_, dnn::Cudnn::open());
    WM_ASSIGN(const Descriptor graph, GraphBuilder(*cudnn_, problem).build());
    dnn::PlanRunnerOptions options{.ids = {kQuery, kKey, kValue, kOutput, kScale}, .sets = {}, .excluded = {}};
    if (problem.causal) options.ids.push_back(kMinusInfinity);
    for (const AttentionSet& set : inputs.sets) {
      dnn::Pointers pointers{set.query.data(), set.key.data(), set.value.data(), set.output.data(), &scale_};
      if (problem.causal) pointers.push_back(&minus_infinity_);
      options.sets.push_back(std::move(pointers));
    }
    WM_ASSIGN(runner_, dnn::PlanRunner::create(inputs.device, *cudnn_, graph, options));
    return {};
  }

  Status launch(device::Stream stream, std::size_t set) override { return runner_.launch(stream, set); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override { return runner_.notes(); }

 private:
  float scale_ = 1;  ///< cuDNN reads both scalars at every launch
  float minus_infinity_ = -std::numeric_limits<float>::infinity();
  std::unique_ptr<dnn::Cudnn> cudnn_;  ///< outlives runner_
  dnn::PlanRunner runner_;
};

}  // namespace

MadeAttention make_cudnn_attention(const AttentionInputs& inputs) {
  auto attention = std::make_unique<CudnnAttention>();
  WM_TRY(attention->create(inputs));
  return MadeAttention(std::move(attention));
}

}  // namespace warpmark::workloads
