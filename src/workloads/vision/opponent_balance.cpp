// opponent_balance: three perspectives' scores of each patch, standardized, opposed in three pairs and balanced into
// one relevance, by which a token budget is split over the patches. Formulas: docs/workloads.md. On the CPU an image is
// one task.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "workloads/cuda_bridge.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/image_loop.h"
#include "workloads/vision/inputs.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"
#include "workloads/vision/simd_kernels.h"
#include "workloads/vision/token_split.h"

namespace warpmark::workloads {
namespace {

using measure::Prepared;
using vision::BalanceShape;

constexpr ParamSpec kOpponentBalanceParams[] = {
    {"batch", ParamKind::integer, "64", "images"},
    {"n", ParamKind::integer, "196", "patches an image"},
    {"budget", ParamKind::integer, "39200", "tokens an image, at least 64 n; above 400 n they stay unused"},
};

// A patch: 3 x 4 for mean and variance, 3 x 2 to standardize, 3 x 6 for w . z + b, 3 tanh, 3 exponentials, and 3
// multiplications, 4 additions and a division for the balance. tanh and exponential count 1 each; the split of the
// tokens is integer arithmetic.
constexpr double kFlopsPerPatch = 12 + 6 + 18 + 3 + 3 + 8;

enum OpponentBalanceArray : std::size_t { kOpponentBalanceScores, kOpponentBalanceRelevance, kOpponentBalanceTokens };

class BalanceOnCpu final : public Prepared {
 public:
  BalanceOnCpu(const BalanceShape& shape, SetMemory memory)
      : shape_(shape), memory_(std::move(memory)), images_(shape.n) {}

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    images_.run(shape_.batch, [&](std::size_t image, vision::PatchKeys& keys) { balance(set, image, keys); });
    return {};
  }

  Status poison() override {
    memory_.poison(kOpponentBalanceRelevance);
    memory_.poison(kOpponentBalanceTokens);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return vision::balance_check(shape_,
                                 {.scores = memory_.array<const float>(set, kOpponentBalanceScores),
                                  .relevance_out = memory_.array<const float>(set, kOpponentBalanceRelevance),
                                  .tokens_out = memory_.array<const std::int32_t>(set, kOpponentBalanceTokens)});
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override {
    return memory_.bytes(set, kOpponentBalanceRelevance);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"instructions", kernels_.target}};
  }

 private:
  void balance(std::size_t set, std::size_t image, vision::PatchKeys& keys) const {
    const auto n = static_cast<std::size_t>(shape_.n);
    const float* scores = memory_.array<float>(set, kOpponentBalanceScores).data() + image * n * vision::kPerspectives;
    vision::RelevanceRow row{};
    for (std::size_t p = 0; p < vision::kPerspectives; ++p) {
      double mean = 0;
      double variance = 0;
      kernels_.moments({.values = scores + p * n, .count = n, .mean = &mean, .variance = &variance});
      row.scores[p] = scores + p * n;
      row.mean[p] = static_cast<float>(mean);
      row.scale[p] = static_cast<float>(1.0 / std::sqrt(variance + vision::kVarianceEpsilon));
    }
    row.relevance = memory_.array<float>(set, kOpponentBalanceRelevance).data() + image * n;
    row.count = n;
    kernels_.relevance(row);
    vision::split_tokens_fast({row.relevance, n}, shape_.budget, keys,
                              memory_.array<std::int32_t>(set, kOpponentBalanceTokens).subspan(image * n, n));
  }

  BalanceShape shape_;
  SetMemory memory_;
  const vision::SimdKernels& kernels_ = vision::simd_kernels().front();
  vision::ImageLoop images_;
};

Result<Cost> opponent_balance_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"batch", "n"}));
  const BalanceShape shape = vision::balance_shape(params);
  if (shape.n > INT32_MAX) {
    return usage_error(fmt::format("n is {}, but patches are counted in 31 bits", shape.n),
                       "set n to 2147483647 or less");
  }
  const std::int64_t least = vision::kMinTokens * shape.n;
  if (shape.budget < least) {
    return usage_error(fmt::format("budget is {} tokens, but {} patches need at least {} each: {}", shape.budget,
                                   shape.n, vision::kMinTokens, least),
                       fmt::format("set budget to {} or more, or n so that 64 n is at most the budget", least));
  }
  constexpr std::int64_t kPatchBytes = (vision::kPerspectives + 1) * sizeof(float) + sizeof(std::int32_t);
  WM_ASSIGN(const std::int64_t bytes,
            product_of({{"batch", shape.batch}, {"n", shape.n}, {"bytes of a patch", kPatchBytes}}));
  return Cost{.flops = kFlopsPerPatch * static_cast<double>(shape.patches()),
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = bytes,
              .flop_type = "f32",
              .link = {}};
}

Result<std::unique_ptr<Prepared>> prepare_opponent_balance_cpu(const measure::PrepareOptions& options) {
  const BalanceShape shape = vision::balance_shape(options.params);
  const std::array bytes{vision::kPerspectives * shape.patches() * sizeof(float), shape.patches() * sizeof(float),
                         shape.patches() * sizeof(std::int32_t)};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, bytes, options.given));
  for (std::size_t set = 0; set < options.sets && options.given.empty(); ++set) {
    vision::fill_perspectives(memory.array<float>(set, kOpponentBalanceScores), static_cast<std::size_t>(shape.n),
                              array_seed(options.seed, set, kOpponentBalanceScores));
  }
  memory.poison(kOpponentBalanceRelevance);
  memory.poison(kOpponentBalanceTokens);
  return std::unique_ptr<Prepared>(std::make_unique<BalanceOnCpu>(shape, std::move(memory)));
}

std::vector<Overrides> opponent_balance_cases(const measure::Workload& /*self*/, const DeviceInfo& /*device*/) {
  return {{}};
}

}  // namespace

extern const measure::Workload kOpponentBalance{
    .id = "opponent_balance",
    .summary = "three opposed relevance scores a patch balanced into one, and a token budget split by it",
    .params = kOpponentBalanceParams,
    .cost = opponent_balance_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = prepare_by_backend<prepare_opponent_balance_cpu>,
    .cases = opponent_balance_cases,
    .default_mode = Mode::cold,
};

}  // namespace warpmark::workloads
