// top_k_patches: the k most relevant patches of each image, sorted, with their features. On the CPU an image is one
// task: its scores become 64-bit keys whose order is the wanted one (ties included), a selection finds the k first, a
// sort orders them, and rows are copied.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "workloads/cuda_bridge.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"
#include "workloads/vision/image_loop.h"
#include "workloads/vision/inputs.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/score_order.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using measure::Prepared;
using vision::PatchShape;

constexpr ParamSpec kTopKPatchesParams[] = {
    {"batch", ParamKind::integer, "64", "images"},
    {"n", ParamKind::integer, "196", "patches an image"},
    {"d", ParamKind::integer, "512", "features a patch"},
    {"k", ParamKind::integer, "64", "patches kept, at most n"},
    {"dtype", ParamKind::text, "f32", "type of the features; scores are f32", "f32|bf16"},
};

enum TopKPatchesArray : std::size_t {
  kTopKPatchesScores,
  kTopKPatchesFeatures,
  kTopKPatchesIndicesOut,
  kTopKPatchesFeaturesOut
};

class PatchesOnCpu final : public Prepared {
 public:
  PatchesOnCpu(const PatchShape& shape, SetMemory memory)
      : shape_(shape), memory_(std::move(memory)), images_(shape.n) {}

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    images_.run(shape_.batch, [&](std::size_t image, vision::PatchKeys& keys) { select(set, image, keys); });
    return {};
  }

  Status poison() override {
    memory_.poison(kTopKPatchesIndicesOut);
    memory_.poison(kTopKPatchesFeaturesOut);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return vision::top_k_check(shape_, {.scores = memory_.array<const float>(set, kTopKPatchesScores),
                                        .features = memory_.bytes(set, kTopKPatchesFeatures),
                                        .indices_out = memory_.array<const std::int32_t>(set, kTopKPatchesIndicesOut),
                                        .features_out = memory_.bytes(set, kTopKPatchesFeaturesOut)});
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override {
    return memory_.bytes(set, kTopKPatchesIndicesOut);
  }

 private:
  void select(std::size_t set, std::size_t image, vision::PatchKeys& keys) const {
    const auto n = static_cast<std::size_t>(shape_.n);
    const auto k = static_cast<std::size_t>(shape_.k);
    const std::size_t row = shape_.row_bytes();
    const float* scores = memory_.array<float>(set, kTopKPatchesScores).data() + image * n;
    const std::byte* features = memory_.bytes(set, kTopKPatchesFeatures).data() + image * n * row;
    std::int32_t* indices_out = memory_.array<std::int32_t>(set, kTopKPatchesIndicesOut).data() + image * k;
    std::byte* features_out = memory_.bytes(set, kTopKPatchesFeaturesOut).data() + image * k * row;
    for (std::size_t i = 0; i < n; ++i) keys[i] = vision::relevance_key(scores[i], static_cast<std::uint32_t>(i));
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(k);
    if (k < n) std::nth_element(keys.begin(), end, keys.end());
    std::sort(keys.begin(), end);
    for (std::size_t rank = 0; rank < k; ++rank) {
      const auto patch = static_cast<std::uint32_t>(keys[rank]);
      indices_out[rank] = static_cast<std::int32_t>(patch);
      std::memcpy(features_out + rank * row, features + patch * row, row);
    }
  }

  PatchShape shape_;
  SetMemory memory_;
  vision::ImageLoop images_;
};

// Selecting does comparisons, no floating-point arithmetic. Only the rows that are kept need be read.
Result<Cost> top_k_patches_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"batch", "n", "d", "k"}));
  const PatchShape shape = vision::patch_shape(params);
  if (shape.k > shape.n) {
    return usage_error(fmt::format("k is {}, but an image has only n={} patches", shape.k, shape.n),
                       fmt::format("set k to {} or less, or n to {} or more", shape.n, shape.k));
  }
  if (shape.n > INT32_MAX) {
    return usage_error(fmt::format("n is {}, but indices are int32", shape.n), "set n to 2147483647 or less");
  }
  WM_ASSIGN(const std::int64_t features, product_of({{"batch", shape.batch},
                                                     {"n", shape.n},
                                                     {"d", shape.d},
                                                     {"bytes of a feature", shape.element_bytes},
                                                     {"in and out", 2}}));
  const std::size_t kept = shape.indices() * shape.row_bytes();
  const std::size_t small = (shape.scores() + shape.indices()) * 4;  // f32 scores, int32 indices
  return Cost{.flops = 0,
              .bytes = static_cast<double>(small) + 2 * static_cast<double>(kept),
              .footprint_bytes = features / 2 + static_cast<std::int64_t>(kept + small),
              .flop_type = {},
              .link = {}};
}

Result<std::unique_ptr<Prepared>> prepare_top_k_patches_cpu(const measure::PrepareOptions& options) {
  const PatchShape shape = vision::patch_shape(options.params);
  const std::array bytes{shape.scores() * sizeof(float), shape.scores() * shape.row_bytes(),
                         shape.indices() * sizeof(std::int32_t), shape.indices() * shape.row_bytes()};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, bytes, options.given));
  for (std::size_t set = 0; set < options.sets; ++set) {
    if (options.given.empty()) {
      vision::fill_scores_with_ties(memory.array<float>(set, kTopKPatchesScores),
                                    array_seed(options.seed, set, kTopKPatchesScores));
    }
    vision::fill_features(memory.bytes(set, kTopKPatchesFeatures), shape.element_bytes,
                          array_seed(options.seed, set, kTopKPatchesFeatures));
  }
  memory.poison(kTopKPatchesIndicesOut);
  memory.poison(kTopKPatchesFeaturesOut);
  return std::unique_ptr<Prepared>(std::make_unique<PatchesOnCpu>(shape, std::move(memory)));
}

std::vector<Overrides> top_k_patches_cases(const measure::Workload& /*self*/, const DeviceInfo& /*device*/) {
  return {{}, {{"dtype", "bf16"}}};
}

}  // namespace

extern const measure::Workload kTopKPatches{
    .id = "top_k_patches",
    .summary = "the k most relevant patches of each image, sorted by relevance, and their features",
    .params = kTopKPatchesParams,
    .cost = top_k_patches_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = prepare_by_backend<prepare_top_k_patches_cpu>,
    .cases = top_k_patches_cases,
    .default_mode = Mode::cold,
};

}  // namespace warpmark::workloads
