// Plans: which layouts of a model fit on a cluster, how fast and for how many dollars; what fits to serve it; and data
// parallelism predicted from one GPU and a collective sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/command.h"
#include "warpmark/scaling/plan_job.h"
#include "warpmark/scaling/plan_options.h"
#include "warpmark/scaling/plan_report.h"
#include "warpmark/scaling/plan_steps.h"
#include "warpmark/scaling/serving_report.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using validate::PlannedLayout;
using validate::TrainingJob;

/// Of the plans that look at an option: of a model, and of a step that was measured on one GPU; others are for both.
constexpr OptionUse kOfModel = OptionUse().in("model"), kOfStep = OptionUse().in("step");

constexpr OptionSpec kPlanOptions[] = {
    {"--model", "NAME", "a published model: llama3-70b, mixtral-8x7b, gpt3-175b, ... (warpmark list models)", kOfModel,
     "<models>"},
    {"--config", "FILE", "config.json of a Hugging Face model instead", kOfModel},
    {"--gpu", "ID", "kind of GPU, by its datasheet: h100-sxm (default), a100-sxm-80gb; several compare",
     kOfModel.repeats(), "<datasheets>"},
    {"--gpus", "N,N,...", "number of GPUs (default 8, or as --layout says); of several the best layout of each",
     kOfModel},
    {"--per-node", "N", "GPUs of a node (default 8; with --step-time the ranks that a host had in the sweeps)"},
    {"--layout", "KEY=N,...",
     "a layout, or as much of one as is fixed: dp, tp, pp, cp, ep, shard, vp, mb, zero, recompute, offload, sp; "
     "several compare",
     kOfModel.repeats()},
    {"--sequence", "N", "tokens per sequence (default 2048)", kOfModel},
    {"--batch", "N", "sequences per step, over all GPUs (default: 4 to 16 M tokens); with --inference requests at once",
     kOfModel},
    {"--tokens", "N", "of the whole training (default 1e9)", kOfModel},
    {"--price", "GPU=DOLLARS", "dollars an hour of one GPU, as h100-sxm=2.50 or 2.50 for all", kOfModel.repeats()},
    {"--tune", "WHAT", "all parameters (default), lora[:RANK] or qlora[:RANK] (rank 16)", kOfModel, "all lora qlora"},
    {"--inference", "", "memory to serve the model: weights by quantization, KV cache by --sequence and --batch",
     kOfModel},
    {"--layers", "N", "a size of the model, or one that differs from --model or --config", kOfModel},
    {"--hidden", "N", "size of its hidden state; with --step-time for PowerSGD"},
    {"--heads", "N", "of attention", kOfModel},
    {"--kv-heads", "N", "key-value heads (default: as many)", kOfModel},
    {"--head-size", "N", "of one head (default hidden / heads)", kOfModel},
    {"--ffn", "N", "width of the feed-forward layer (default 4 x hidden)", kOfModel},
    {"--gated", "", "three matrices in it (SwiGLU), RMSNorm, no biases, rotary positions", kOfModel},
    {"--vocabulary", "N", "rows of the embedding (default 51200)", kOfModel},
    {"--untied", "", "the output layer has weights of its own", kOfModel},
    {"--positions", "N", "rows of learned positions (default: as the sequence; with --gated none)", kOfModel},
    {"--window", "N", "tokens that each layer sees at most (sliding window)", kOfModel},
    {"--experts", "N", "of a layer", kOfModel},
    {"--active-experts", "N", "of each token", kOfModel},
    {"--expert-ffn", "N", "width of one (default --ffn)", kOfModel},
    {"--utilization", "RATIO",
     "model FLOPs utilization (MFU) of the whole step, as measured or published: step times follow from it", kOfModel},
    {"--kernels", "RATIO",
     "share of the peak that kernels reach while they run (default 52% up to A100, 46% since H100, 38% in fp8); bubble "
     "and communication come on top",
     kOfModel},
    {"--causal", "", "count half of attention's FLOPs (default: in full, as published MFUs do)", kOfModel},
    {"--no-flash", "", "attention keeps its scores in memory", kOfModel},
    {"--precision", "KIND",
     "of matrix products: fp32, tf32, bf16 (default), fp16, fp8; below 32 bits with a master copy", kOfModel,
     "fp32 tf32 bf16 fp16 fp8"},
    {"--optimizer", "NAME", "adam (default), sgd, momentum, adam8bit", kOfModel, "adam sgd momentum adam8bit"},
    {"--gradient-bits", "BITS", "in which gradients are summed: 32 (default) or 16", kOfModel, "32 16"},
    {"--compression", "KIND",
     "of gradients: none (default in 32 bits and with --step-time), half (16 bits, else the default), powersgd:RANK",
     false, "none half powersgd:4"},
    {"--overlap", "RATIO", "share of the backward pass behind which gradients travel (default 70%)"},
    {"--contention", "RATIO", "share of the exchange behind the backward pass that slows computing (default 60%)"},
    {"--bucket", "BYTES", "with --step-time: mean size of a gradient bucket (default 25MB)", kOfStep},
    {"--host-memory", "BYTES", "a GPU's share of its node's memory, for what is offloaded (default 256GiB)", kOfModel},
    {"--between", "RATE", "network of a node for each GPU (default 50GB/s; with --step-time none)"},
    {"--between-alpha", "TIME", "with it: of one message (default 14us, NCCL's estimate of one hop)"},
    {"--measured-links", "FILE",
     "a sweep of `warpmark collective --json`: measured links; several, of different ranks; one over several hosts "
     "gives the network",
     true},
    {"--top", "N", "layouts shown (default 3)", kOfModel},
    {"--step-time", "TIME", "instead of a model: the step of one GPU, measured"},
    {"--gradients", "BYTES", "with it: bytes of gradients per step, before compression", kOfStep},
    {"--accumulation", "N", "with it: such steps before gradients are exchanged (default 1)", kOfStep},
    {"--to", "N,N,...", "with it: numbers of GPUs to predict (default 2,4,8,16,32,64)", kOfStep},
    {"--measured", "N=TIME", "with it: a measured step, held back, to report the error", kOfStep.repeats()},
    {"--json", "[FILE]", "write the results as JSON (warpmark.plan/1)"},
    kHtmlOption,
    {"--out", "DIR", "write plan.json, report.md and report.html"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
};

constexpr std::size_t kColumns = 3;  // layouts that stand beside one another

Error no_layout(const TrainingJob& job, int gpus, const std::string& layout) {
  return usage_error(fmt::format("no layout{} divides {} GPUs, a batch of {:.0f} and {:.0f} heads evenly",
                                 layout.empty() ? "" : " " + layout, gpus, job.batch, job.model.heads),
                     "dp x tp x pp x cp is the number of GPUs; the batch is a multiple of dp, the heads of tp");
}

/// Of each number of GPUs, kind of GPU and request the best layout; of one of each, all layouts.
Result<std::vector<PlannedLayout>> all_layouts(const ParsedOptions& options, const std::vector<int>& counts,
                                               const TrainingJob& job, const std::optional<PlanLinks>& links) {
  WM_ASSIGN(const auto requests, layout_requests(options));
  const bool several = counts.size() > 1 || requests.size() > 1;
  std::vector<PlannedLayout> plans;
  for (const int gpus : counts) {
    for (const auto& id : gpu_kinds(options)) {
      WM_ASSIGN(auto cluster, cluster_of(options, id, job.numbers, links));
      cluster.gpus = gpus;
      for (const auto& request : requests) {
        auto some = validate::plan_layouts(job, cluster, request);
        if (several && some.empty() && !request.text.empty()) return no_layout(job, gpus, request.text);
        if (several && some.size() > 1) some.resize(1);
        for (std::size_t i = 0; i < std::min<std::size_t>(some.size(), kColumns); ++i) {
          some[i].largest_micro_batch = validate::largest_micro_batch(job, cluster, some[i].layout);
        }
        std::ranges::move(some, std::back_inserter(plans));
      }
    }
  }
  if (!several) std::ranges::stable_sort(plans, validate::better);
  return plans;
}

/// As --gpus says; else as many as a layout needs that names them all, and at least 8 where data parallelism is open.
Result<std::vector<int>> plan_gpus(const ParsedOptions& options) {
  if (options.has("--gpus")) return gpu_counts(options, "--gpus", "8", 1);
  WM_ASSIGN(const auto requests, layout_requests(options));
  const auto& first = requests.front();
  constexpr double kMost = 1e6;
  double gpus = first.data.value_or(1);
  for (const auto& degree : {first.tensor, first.pipeline, first.context}) gpus *= degree.value_or(1);
  if (!first.data) gpus = std::max(gpus, 8.0);
  if (gpus > kMost) return usage_error(fmt::format("--layout {}: more than {:g} GPUs", first.text, kMost));
  return std::vector<int>{static_cast<int>(gpus)};
}

Json layouts_json(const TrainingJob& job, const std::vector<PlannedLayout>& plans,
                  const std::optional<PlanLinks>& links) {
  const auto counts = parameters_of(job.model);
  Json json{{"schema", "warpmark.plan/1"},
            {"layouts", Json::array()},
            {"model", job.model.name},
            {"parameters", counts.total()},
            {"active_parameters", counts.active()},
            {"sequence", job.sequence},
            {"batch", job.batch},
            {"model_flops", validate::step_flops(job, validate::Recompute::none).model},
            {"precision", name_of(job.numbers.precision)},
            {"optimizer", name_of(job.numbers.optimizer)},
            {"bytes_per_parameter", validate::state_bytes(job.numbers).total()}};
  for (const auto& plan : plans) json["layouts"].push_back(layout_json(plan));
  if (links) json["link"] = fit_json(links->base().fit), json["network"] = network_json(*links);
  return json;
}

std::vector<std::string> without_layout(const std::vector<int>& counts, const std::vector<PlannedLayout>& plans) {
  std::vector<std::string> numbers;
  for (const int gpus : counts) {
    if (std::ranges::none_of(plans, [&](const auto& plan) { return plan.layout.gpus() == gpus; })) {
      numbers.push_back(std::to_string(gpus));
    }
  }
  return numbers;
}

Result<int> plan_model(Context& context, const ParsedOptions& options, const std::string& format) {
  WM_ASSIGN(const auto counts, plan_gpus(options));
  WM_ASSIGN(const auto job, training_job_of(options, counts));
  WM_ASSIGN(const auto links, measured_links(options));
  WM_ASSIGN(const auto top, count_of(options, "--top", kColumns, 1, 10'000));
  WM_ASSIGN(const auto plans, all_layouts(options, counts, job, links));
  if (plans.empty()) return no_layout(job, counts.front(), options.get("--layout", ""));
  const bool several = counts.size() > 1 || options.all("--layout").size() > 1;
  auto report = layouts_report(job, plans, several ? plans.size() : static_cast<std::size_t>(top), links);
  const auto without = without_layout(counts, plans);
  if (!without.empty()) {
    report.sections.front().blocks.push_back(
        Paragraph{fmt::format("No layout of {} GPUs divides the batch and the heads evenly.", join(without, ", ")),
                  Tone::warning});
  }
  const auto shown = shown_as([&] { return layouts_json(job, plans, links); }, std::move(report));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  const bool any = std::ranges::any_of(plans, &PlannedLayout::fits);
  return exit_because(context, any ? kSuccess : kGateFailed, "no layout fits into the memory of the GPUs");
}

/// Memory to serve the model on each number of GPUs.
Result<int> plan_inference(Context& context, const ParsedOptions& options, const std::string& format) {
  validate::ServingJob job;
  WM_ASSIGN(job.model, model_option(options));
  WM_ASSIGN(job.context, number_option(options, "--sequence", 8192));
  WM_ASSIGN(job.requests, number_option(options, "--batch", 1));
  WM_ASSIGN(const auto counts, gpu_counts(options, "--gpus", "1", 1));
  std::vector<ServingRow> rows;
  for (const auto& id : gpu_kinds(options)) {
    WM_ASSIGN(const auto cluster, cluster_of(options, id, {}, std::nullopt));
    for (const int gpus : counts) {
      for (auto& plan : validate::plan_serving(job, gpus, cluster.memory_bytes, cluster.memory_bandwidth)) {
        rows.push_back({id, cluster.memory_bytes, std::move(plan)});
      }
    }
  }
  const auto shown = shown_as([&] { return serving_json(job, rows); }, serving_report(job, rows));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  const bool any = std::ranges::any_of(rows, [](const auto& row) { return row.plan.fits; });
  return exit_because(context, any ? kSuccess : kGateFailed, "the model fits into the memory of none of these GPUs");
}

/// Options that the asked kind of plan would not look at.
Status check_kind_of_plan(const ParsedOptions& options) {
  const bool of_step = options.has("--step-time");
  const std::string name = options.first_in(of_step ? "model" : "step");
  if (name.empty()) return {};
  if (of_step) return usage_error(name + " is of a model, --step-time of a measured step: give one of them");
  return usage_error(name + " is of a measured step, which is missing", "give --step-time");
}

Result<int> run_plan(Context& context, const ParsedOptions& options) {
  if (!options.positionals().empty()) return usage_error("plan takes no argument", "see --help");
  WM_TRY(check_kind_of_plan(options));
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  if (options.has("--step-time")) return plan_steps(context, options, format);
  return options.has("--inference") ? plan_inference(context, options, format) : plan_model(context, options, format);
}

}  // namespace

extern const Command plan_command{
    .id = "plan",
    .summary = "plan training and serving on paper: what fits, how fast, days and dollars",
    .details =
        "For a transformer on N GPUs: searches data, tensor, pipeline, context and expert parallelism, ZeRO "
        "stages, offload, recomputation and micro-batches, or takes the layout that you give. Shows memory per GPU by "
        "part, pipeline bubble, communication, MFU, tokens/s, days and dollars; the fastest layout that fits comes "
        "first.\n"
        "\n"
        "With --inference it shows which quantization fits and how many requests. With --step-time it predicts data "
        "parallelism from the step of one GPU and a sweep of `warpmark collective` (docs/scale.md).\n"
        "\n"
        "Formulas and their sources: docs/plan.md. Exit code 0: planned; 1: no layout fits; 2: bad input.",
    .options = kPlanOptions,
    .examples =
        "warpmark plan --model llama3-70b --gpus 8 --sequence 8192 --layout zero=3\n"
        "warpmark plan --model llama3-70b --gpus 1024 --sequence 8192 --tokens 15e12 \\\n"
        "    --price 2.50\n"
        "warpmark plan --model llama2-7b --gpu rtx-4090 --gpus 1 --tune qlora\n"
        "warpmark plan --model llama2-7b --layout tp=8 --layout pp=8\n"
        "warpmark plan --config config.json --gpus 512 --layout tp=8,pp=16,mb=1,zero=1\n"
        "warpmark plan --model llama3-70b --inference --gpus 1,2,4 --sequence 8192 \\\n"
        "    --batch 16\n"
        "warpmark plan --step-time 120ms --gradients 400MB --measured-links node.json",
    .run = run_plan,
};

}  // namespace warpmark::apps
