// relevance_pipeline: what a relevance model does to a batch of images before its network sees them: texture, scores of
// its patches, relevance with its token budget, and the most relevant patches. Each stage takes what the one before it
// made, where that one put it, all on one queue; and each stage is timed alone.
#include "workloads/vision/relevance_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/round.h"
#include "stats/summary.h"
#include "workloads/catalog.h"
#include "workloads/shape.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using measure::Prepared;
using measure::Workload;

constexpr std::int64_t kPatchSide = vision::ScoreShape::kPatchSide;
constexpr int kStageSamples = 21;        // their median counts
constexpr double kStageSample_s = 2e-3;  // least length of one

constexpr ParamSpec kRelevancePipelineParams[] = {
    {"batch", ParamKind::integer, "64", "images"},
    {"side", ParamKind::integer, "224", "of an image in pixels, a multiple of 16: patches are 16 x 16"},
    {"d", ParamKind::integer, "512", "features a patch"},
    {"k", ParamKind::integer, "64", "patches kept"},
    {"budget", ParamKind::integer, "39200", "tokens an image, at least 64 a patch"},
    {"dtype", ParamKind::text, "f32", "type of the features; all else is f32", "f32|bf16"},
};

/// A workload of ours with its parameters.
struct Stage {
  const char* name;
  const Workload* workload;
  Params params;
};

Result<Stage> stage_of(const char* name, const char* id, const Overrides& overrides) {
  const auto* workload = find_in(catalog(), std::string_view(id));
  WM_CHECK(workload != nullptr);
  WM_ASSIGN(Params params, resolve_params(workload->params, overrides));
  return Stage{name, workload, std::move(params)};
}

Result<std::vector<Stage>> stages_of(const Params& params) {
  WM_TRY(require_at_least(params, 1, {"batch", "side", "d", "k", "budget"}));
  const std::int64_t side = params.integer("side");
  if (side % kPatchSide != 0 || side > 16384) {
    return usage_error(fmt::format("side is {}, but must divide by {} and be up to 16384", side, kPatchSide));
  }
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const auto batch = text(params.integer("batch")), pixels = text(side);
  const auto patches = text((side / kPatchSide) * (side / kPatchSide));
  std::vector<Stage> stages;
  WM_ASSIGN(auto texture, stage_of("texture", "fused_texture", {{"n", batch}, {"h", pixels}, {"w", pixels}}));
  WM_ASSIGN(auto scores, stage_of("scores", "patch_scores", {{"batch", batch}, {"side", pixels}}));
  WM_ASSIGN(auto balance, stage_of("balance", "opponent_balance",
                                   {{"batch", batch}, {"n", patches}, {"budget", text(params.integer("budget"))}}));
  WM_ASSIGN(auto top_k, stage_of("top_k", "top_k_patches",
                                 {{"batch", batch},
                                  {"n", patches},
                                  {"d", text(params.integer("d"))},
                                  {"k", text(params.integer("k"))},
                                  {"dtype", params.text("dtype")}}));
  stages.push_back(std::move(texture));
  stages.push_back(std::move(scores));
  stages.push_back(std::move(balance));
  stages.push_back(std::move(top_k));
  return stages;
}

/// What one stage writes and the next reads: the texture, the scores of the patches, and their relevance.
std::int64_t stage_output_bytes(const Params& params) {
  const auto shape = vision::score_shape(params);
  const std::size_t patches = shape.n() * static_cast<std::size_t>(shape.batch);
  return static_cast<std::int64_t>(sizeof(float) *
                                   (vision::kTextureOutputs * shape.pixels() + (vision::kPerspectives + 1) * patches));
}

/// Sums over the stages, in whose memory what is handed on is once.
Result<Cost> relevance_pipeline_cost(const Workload& /*self*/, const Params& params) {
  WM_ASSIGN(const auto stages, stages_of(params));
  Cost all{.flops = 0, .bytes = 0, .footprint_bytes = 0, .flop_type = "f32", .link = {}};
  for (const auto& stage : stages) {
    WM_ASSIGN(const Cost one, stage.workload->cost(*stage.workload, stage.params));
    all.flops += one.flops;
    all.bytes += one.bytes;
    all.footprint_bytes += one.footprint_bytes;
  }
  all.footprint_bytes -= stage_output_bytes(params);
  return all;
}

device::Support supports_relevance_pipeline(const Workload& /*self*/, const DeviceInfo& device, const Params& params) {
  const auto stages = stages_of(params);
  if (!stages.ok()) return device::Support::no(stages.error().what, stages.error().hint);
  for (const auto& stage : *stages) {
    auto one = stage.workload->supports(*stage.workload, device, stage.params);
    if (!one.available) return one;
  }
  return device::Support::yes();
}

class Pipeline final : public Prepared {
 public:
  static Result<std::unique_ptr<Prepared>> make(const measure::PrepareOptions& options) {
    WM_ASSIGN(const auto stages, stages_of(options.params));
    auto pipeline = std::make_unique<Pipeline>();
    std::vector<std::span<std::byte>> given;
    for (const auto& stage : stages) {
      WM_ASSIGN(auto prepared, stage.workload->prepare(
                                   *stage.workload, {options.device, stage.params, options.sets, options.seed, given}));
      given.clear();
      for (std::size_t set = 0; set < options.sets; ++set) given.push_back(prepared->stage_output(set));
      pipeline->parts_.push_back(std::move(prepared));
    }
    return std::unique_ptr<Prepared>(std::move(pipeline));
  }

  Status launch(device::Stream stream, std::size_t set) override {
    for (const auto& part : parts_) WM_TRY(part->launch(stream, set));
    return {};
  }
  Status poison() override {
    for (const auto& part : parts_) WM_TRY(part->poison());
    return {};
  }
  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override { return parts_.back()->stage_output(set); }
  /// Each stage by its own reference, from what the stage before put out; the worst of them, as a share of what it may
  /// be off.
  Result<ErrorCheck> check(std::size_t set) override {
    ErrorCheck worst{0, 1, "error of the worst stage over its tolerance", "that of each stage"};
    for (const auto& part : parts_) {
      WM_ASSIGN(const ErrorCheck one, part->check(set));
      const double share = one.tolerance > 0 ? one.value / one.tolerance : (one.value > 0 ? 2.0 : 0.0);
      if (!(share <= worst.value)) worst.value = share;
    }
    return worst;
  }

 private:
  std::vector<std::unique_ptr<Prepared>> parts_;
};

/// Median time of a launch of one stage alone.
Result<double> stage_seconds(const Stage& stage, device::Device& device, std::uint64_t seed) {
  WM_ASSIGN(const auto prepared, stage.workload->prepare(*stage.workload, {device, stage.params, 1, seed}));
  device::SequenceOptions options{.mode = Mode::hot};
  WM_ASSIGN(auto sequence, device.sequence(*prepared, options));
  double once = 0;
  for (int i = 0; i < 3; ++i) {
    WM_ASSIGN(once, sequence->time(0));
  }
  const double launches = std::clamp(std::ceil(kStageSample_s / std::max(once, 1e-9)), 1.0, 1e4);
  options.launches = static_cast<std::size_t>(launches);
  WM_ASSIGN(sequence, device.sequence(*prepared, options));
  std::vector<double> samples;
  for (int i = 0; i < kStageSamples; ++i) {
    WM_ASSIGN(const double seconds, sequence->time(0));
    samples.push_back(seconds / launches);
  }
  std::nth_element(samples.begin(), samples.begin() + kStageSamples / 2, samples.end());
  return samples[kStageSamples / 2];
}

Status measure_pipeline(const measure::Case& what, device::Device& device, const measure::RoundOptions& options,
                        Run& run) {
  Workload stages_in_turn = *what.workload;  // measured as any workload is
  stages_in_turn.measure = nullptr;
  stages_in_turn.prepare = [](const Workload&, const measure::PrepareOptions& wanted) {
    return prepare_relevance_pipeline(wanted);
  };
  Run whole = measure::measure_round({&stages_in_turn, what.device, what.params, what.mode}, device, options);
  std::swap(run, whole);
  if (run.outcome == Outcome::unsupported || run.outcome == Outcome::error || run.metrics.empty()) return {};
  const auto rate = static_cast<double>(what.params.integer("batch"));
  std::vector<double> rates;
  for (const double seconds : run.metrics.front().samples) rates.push_back(rate / seconds);
  run.metrics.push_back(stats::sampled_metric("samples_rate", "1/s", Better::higher, std::move(rates)));
  WM_ASSIGN(const auto stages, stages_of(what.params));
  for (const auto& stage : stages) {
    if (options.interrupted != nullptr && options.interrupted->load()) break;
    WM_ASSIGN(const double seconds, stage_seconds(stage, device, options.seed));
    run.metrics.push_back(stats::sampled_metric(std::string("stage.") + stage.name, "s", Better::lower, {seconds}));
  }
  return {};
}

std::vector<Overrides> relevance_pipeline_cases(const Workload& /*self*/, const DeviceInfo& /*device*/) { return {{}}; }

}  // namespace

Result<std::unique_ptr<Prepared>> prepare_relevance_pipeline(const measure::PrepareOptions& options) {
  return Pipeline::make(options);
}

extern const Workload kRelevancePipeline{
    .id = "relevance_pipeline",
    .summary =
        "texture, scores, relevance with its token budget, and top-k patches of a batch, each from the one before",
    .params = kRelevancePipelineParams,
    .cost = relevance_pipeline_cost,
    .supports = supports_relevance_pipeline,
    .prepare = nullptr,
    .cases = relevance_pipeline_cases,
    .default_mode = Mode::hot,
    .measure = measure_pipeline,
};

}  // namespace warpmark::workloads
