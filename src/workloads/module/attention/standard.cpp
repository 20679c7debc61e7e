// impl=standard: scores = Q K^T with cuBLASLt, softmax in place, output = scores V with cuBLASLt. The scores of all
// heads, sequence x sequence each, lie in memory: the baseline that fused attention is measured against.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "device/cuda/module/cuda_check.h"
#include "device/cuda/module/cuda_device.h"
#include "workloads/module/attention/batched_product.h"
#include "workloads/module/attention/implementation.h"

namespace warpmark::workloads {
namespace {

class StandardAttention final : public AttentionImplementation {
 public:
  explicit StandardAttention(const AttentionInputs& inputs) : problem_(inputs.problem), sets_(inputs.sets) {}

  Status create(device::Device& device) {
    const ElementType type = sets_.front().query.type();
    WM_TRY(allocate(device, type));
    const std::int64_t s = problem_.sequence, d = problem_.dimension;
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    // Row-major [s, d] is column-major d x s: column i of the scores is row i, so scores = K^T Q with K and Q of d x s.
    WM_ASSIGN(scores_product_, BatchedProduct::make(device, {.a = {d, s},
                                                             .b = {d, s},
                                                             .c = {s, s},
                                                             .transpose_a = true,
                                                             .scale = scale,
                                                             .batch = problem_.matrices(),
                                                             .type = type}));
    WM_ASSIGN(output_product_, BatchedProduct::make(device, {.a = {d, s},
                                                             .b = {s, s},
                                                             .c = {d, s},
                                                             .transpose_a = false,
                                                             .scale = 1,
                                                             .batch = problem_.matrices(),
                                                             .type = type}));
    return {};
  }

  Status launch(device::Stream stream, std::size_t set) override {
    const AttentionSet& tensors = sets_[set];
    WM_TRY(scores_product_->enqueue(stream, {tensors.key.data(), tensors.query.data(), scores_.data()}));
    const SoftmaxArguments softmax{.scores = scores_.data(),
                                   .rows = problem_.matrices() * problem_.sequence,
                                   .columns = static_cast<int>(problem_.sequence),
                                   .causal = problem_.causal,
                                   .scale_log2 = std::numbers::log2e_v<float>};  // 1 / sqrt(dim) is in the scores
    WM_CUDA(launch_softmax(problem_.type, softmax, device::cuda_stream(stream)));
    return output_product_->enqueue(stream, {tensors.value.data(), scores_.data(), tensors.output.data()});
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"kernel", "cuBLASLt, softmax, cuBLASLt"}, {"scores_bytes", std::to_string(scores_.bytes())}};
  }

 private:
  Status allocate(device::Device& device, ElementType type) {
    const std::int64_t count = problem_.matrices() * problem_.sequence * problem_.sequence;
    const auto needed = static_cast<std::int64_t>(size_of(type)) * count;
    WM_ASSIGN(const std::int64_t free_bytes, device.free_memory());
    if (needed > free_bytes) {
      return environment_error(
          fmt::format("attention impl=standard needs {} bytes for {} x {} scores of {} heads; {} bytes are free",
                      needed, problem_.sequence, problem_.sequence, problem_.matrices(), free_bytes),
          "use impl=flash, or a smaller batch or seq");
    }
    WM_ASSIGN(scores_, DeviceArray::make(device, count, type));
    return {};
  }

  AttentionProblem problem_;
  const std::vector<AttentionSet>& sets_;
  std::optional<BatchedProduct> scores_product_;
  std::optional<BatchedProduct> output_product_;
  DeviceArray scores_;
};

}  // namespace

MadeAttention make_standard_attention(const AttentionInputs& inputs) {
  auto attention = std::make_unique<StandardAttention>(inputs);
  WM_TRY(attention->create(inputs.device));
  return MadeAttention(std::move(attention));
}

}  // namespace warpmark::workloads
