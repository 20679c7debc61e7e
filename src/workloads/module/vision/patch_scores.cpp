// patch_scores on the GPU: one kernel. The check computes the scores in fp64 on the CPU.
#include <fmt/format.h>

#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/vision/vision_inputs.h"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;
using vision::ScoreShape;

class ScoresOnGpu final : public measure::Prepared {
 public:
  explicit ScoresOnGpu(const measure::PrepareOptions& options)
      : device_(options.device), shape_(vision::score_shape(options.params)) {}

  Status create(const measure::PrepareOptions& options) {
    const double set_bytes = 4.0 * static_cast<double>(texture_count() + scores_count());
    WM_TRY(require_memory(device_,
                          {.sets = options.sets, .set_bytes = set_bytes - static_cast<double>(options.given_bytes())}));
    for (std::size_t i = 0; i < options.sets; ++i) WM_TRY(add_set(options));
    return poison();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    WM_CUDA(vision::launch_patch_scores(cuda_stream(stream), shape_, sets_[set].buffers));
    return {};
  }

  Status poison() override {
    for (const Set& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.scores));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t index) override {
    WM_ASSIGN(const auto texture, vision::download<float>(device_, sets_[index].texture));
    WM_ASSIGN(const auto scores, vision::download<float>(device_, sets_[index].scores));
    return vision::patch_scores_check(shape_, {.texture = texture, .scores_out = scores});
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override { return sets_[set].scores.span(); }

 private:
  struct Set {
    DeviceArray texture;
    DeviceArray scores;
    vision::ScoreBuffers buffers{};
  };

  [[nodiscard]] std::int64_t texture_count() const {
    return static_cast<std::int64_t>(vision::kTextureOutputs * shape_.pixels());
  }
  [[nodiscard]] std::int64_t scores_count() const {
    return vision::kPerspectives * shape_.batch * static_cast<std::int64_t>(shape_.n());
  }

  Status add_set(const measure::PrepareOptions& options) {
    const std::size_t index = sets_.size();
    Set& set = sets_.emplace_back();
    WM_ASSIGN(set.scores, DeviceArray::make(device_, scores_count(), ElementType::f32));
    WM_ASSIGN(set.texture,
              DeviceArray::given_or_made(device_, options.given, index, texture_count(), ElementType::f32));
    set.buffers = {.texture = set.texture.as<float>(), .scores = set.scores.as<float>()};
    if (!options.given.empty()) return {};
    std::vector<float> values(static_cast<std::size_t>(texture_count()));
    stats::fill_uniform(std::span(values), vision::array_seed(options.seed, index, 0), -100.0F, 100.0F);
    return vision::upload(device_, set.texture, std::as_bytes(std::span(values)));
  }

  device::Device& device_;
  ScoreShape shape_;
  std::vector<Set> sets_;
};

device::Support supports_patch_scores(const DeviceInfo& /*device*/, const Params& params) {
  const ScoreShape shape = vision::score_shape(params);
  if (static_cast<double>(shape.n()) * static_cast<double>(shape.batch) > 2147483647.0) {
    return device::Support::no(
        fmt::format("batch={} side={} are more blocks than one launch can have", shape.batch, shape.side),
        "choose a smaller batch");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaPatchScores{"patch_scores", supports_patch_scores, prepare_created<ScoresOnGpu>};

}  // namespace warpmark::workloads
