// Training on paper: which layouts of a model fit on a cluster, how fast and for how many dollars; and data parallelism
// foretold from one GPU and a collective sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/two_levels.h"
#include "device/datasheet.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/command.h"
#include "warpmark/scaling/measured_links.h"
#include "warpmark/scaling/plan_options.h"
#include "warpmark/scaling/plan_report.h"
#include "warpmark/scaling/plan_steps.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;
using validate::Cluster;
using validate::PlannedLayout;
using validate::TrainingJob;

/// The kinds of plan: of a model, and of a step that was measured on one GPU.
enum class PlanKind { both, model, step };
struct PlanOption {
  OptionSpec spec;
  PlanKind kind;  ///< of the plans that look at it
};
constexpr PlanOption kOptionsOfKinds[] = {
    {{"--gpu", "ID", "kind of GPU, as `warpmark accept` knows datasheets: h100-sxm, a100-sxm-80gb; several compare",
      true},
     PlanKind::model},
    {{"--gpus", "N,N,...", "how many (default 8); of several the best layout of each"}, PlanKind::model},
    {{"--per-node", "N", "GPUs of a node (default 8; with --step-time the ranks that a host had in the sweeps)"},
     PlanKind::both},
    {{"--layers", "N", "of the transformer"}, PlanKind::model},
    {{"--hidden", "N", "size of its hidden state; with --step-time for PowerSGD"}, PlanKind::both},
    {{"--heads", "N", "of attention"}, PlanKind::model},
    {{"--sequence", "N", "tokens of a sequence (default 2048)"}, PlanKind::model},
    {{"--vocabulary", "N", "words (default 51200)"}, PlanKind::model},
    {{"--batch", "N", "sequences a step, over all GPUs"}, PlanKind::model},
    {{"--tokens", "N", "of the whole training (default 1e9)"}, PlanKind::model},
    {{"--price", "GPU=DOLLARS", "dollars an hour of one GPU, as h100-sxm=2.50 or 2.50 for all", true}, PlanKind::model},
    {{"--utilization", "RATIO", "share of the peak while computing (default 40%)"}, PlanKind::model},
    {{"--precision", "KIND",
      "of matrix products: fp32, tf32, bf16 (default), fp16, fp8; below 32 bits with a master copy", false,
      "fp32 tf32 bf16 fp16 fp8"},
     PlanKind::model},
    {{"--optimizer", "NAME", "adam (default), sgd, momentum, adam8bit", false, "adam sgd momentum adam8bit"},
     PlanKind::model},
    {{"--compression", "KIND",
      "of gradients: none (default in 32 bits and with --step-time), half (16 bits, else the default), powersgd:RANK",
      false, "none half powersgd:4"},
     PlanKind::both},
    {{"--overlap", "RATIO", "share of the backward pass behind which gradients travel (default 70%)"}, PlanKind::both},
    {{"--contention", "RATIO", "share of the exchange behind the backward pass that slows computing (default 60%)"},
     PlanKind::both},
    {{"--bucket", "BYTES", "with --step-time: gradients exchanged at once, in the mean (default 25MB)"},
     PlanKind::step},
    {{"--host-memory", "BYTES", "a GPU's share of its node's memory, for what is offloaded (default 256GiB)"},
     PlanKind::model},
    {{"--between", "RATE", "network of a node for each GPU (default 50GB/s; with --step-time none)"}, PlanKind::both},
    {{"--between-alpha", "TIME", "with it: of one message (default 14us, as NCCL reckons a hop of its ring)"},
     PlanKind::both},
    {{"--sweep", "FILE",
      "a sweep of `warpmark collective --json`: links as measured; several, of different ranks; one over several hosts "
      "tells the network",
      true, "<files>"},
     PlanKind::both},
    {{"--top", "N", "layouts shown (default 10)"}, PlanKind::model},
    {{"--step-time", "TIME", "instead of a model: the step of one GPU, measured"}, PlanKind::both},
    {{"--gradients", "BYTES", "with it: bytes of gradients a step, before compression"}, PlanKind::step},
    {{"--accumulation", "N", "with it: such steps before gradients are exchanged (default 1)"}, PlanKind::step},
    {{"--to", "N,N,...", "with it: numbers of GPUs to foretell (default 2,4,8,16,32,64)"}, PlanKind::step},
    {{"--measured", "N=TIME", "with it: a measured step, held back, to tell the error", true}, PlanKind::step},
    {{"--json", "FILE", "write the results as JSON (warpmark.plan/1)", false, "<files>"}, PlanKind::both},
    {{"--out", "DIR", "write plan.json, report.md and report.html", false, "<files>"}, PlanKind::both},
    {{"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
     PlanKind::both},
};
constexpr auto kPlanOptions = [] {
  std::array<OptionSpec, std::size(kOptionsOfKinds)> specs{};
  std::ranges::transform(kOptionsOfKinds, specs.begin(), &PlanOption::spec);
  return specs;
}();

constexpr int kUsualNode = 8;
constexpr coll::Link kUsualNetwork{coll::kNetworkAlpha_s, 1 / 50e9};

Result<double> price_of(const ParsedOptions& options, const std::string& gpu) {
  double price = 0;
  for (const auto& text : options.all("--price")) {
    const auto equals = text.find('=');
    if (equals != std::string::npos && text.substr(0, equals) != gpu) continue;
    WM_ASSIGN(price, parse_number(equals == std::string::npos ? text : text.substr(equals + 1)));
    if (!(price > 0)) return usage_error("--price must be above 0");
  }
  return price;
}

Result<validate::TrainingNumbers> numbers_of(const ParsedOptions& options) {
  const std::string precision = options.get("--precision", "bf16"), optimizer = options.get("--optimizer", "adam");
  const auto known = validate::precision_named(precision);
  if (!known) return usage_error("there is no precision '" + precision + "'", "fp32, tf32, bf16, fp16 or fp8");
  const auto by = validate::optimizer_named(optimizer);
  if (!by) return usage_error("there is no optimizer '" + optimizer + "'", "adam, sgd, momentum or adam8bit");
  return validate::TrainingNumbers{*known, *by};
}

Result<TrainingJob> job_of(const ParsedOptions& options) {
  TrainingJob job;
  WM_ASSIGN(job.shape.layers, number_option(options, "--layers", 0, true));
  WM_ASSIGN(job.shape.hidden, number_option(options, "--hidden", 0, true));
  WM_ASSIGN(job.shape.heads, number_option(options, "--heads", 0, true));
  WM_ASSIGN(job.shape.sequence, number_option(options, "--sequence", 2048));
  WM_ASSIGN(job.shape.vocabulary, number_option(options, "--vocabulary", 51200));
  WM_ASSIGN(job.batch, number_option(options, "--batch", 0, true));
  WM_ASSIGN(job.tokens, number_option(options, "--tokens", 1e9, false, 1e18));
  WM_ASSIGN(job.overlap, ratio_of(options, "--overlap", job.overlap));
  WM_ASSIGN(job.contention, contention_of(options, job.contention));
  WM_ASSIGN(job.numbers, numbers_of(options));
  const bool wide = validate::element_bytes(job.numbers.precision) == 4;
  WM_ASSIGN(const auto compression, compression_of(options, wide ? "none" : "half"));
  job.compression = compression.kind;
  job.power_sgd_rank = compression.power_sgd_rank;
  return job;
}

/// Of the precision asked for; else of 16 bits, which every datasheet has in one kind or the other.
Result<double> rate_of(const ParsedOptions& options, const device::Datasheet& sheet) {
  const std::string given = options.get("--precision", sheet.peak_rate.contains("bf16") ? "bf16" : "fp16");
  const auto precision = validate::precision_named(given);
  const auto rate = precision ? sheet.peak_rate.find(validate::flop_type_of(*precision)) : sheet.peak_rate.end();
  if (rate != sheet.peak_rate.end()) return rate->second;
  std::vector<std::string> types;
  for (const auto& [type, value] : sheet.peak_rate) types.push_back(type);
  return usage_error("the datasheet of " + sheet.id + " has no rate in " + given, "it has " + join(types, ", "));
}

Result<Cluster> cluster_of(const ParsedOptions& options, const std::string& id, const std::optional<PlanLinks>& links) {
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::find_datasheet(sheets, id);
  if (sheet == nullptr) {
    std::vector<std::string> ids;
    for (const auto& one : sheets) ids.push_back(one.id);
    return usage_error("there is no datasheet '" + id + "'", "GPUs: " + join(ids, ", "));
  }
  Cluster cluster{.gpu = id};
  WM_ASSIGN(const auto told, told_links(options));
  cluster.per_node = links ? links->per_node : told.per_node.value_or(kUsualNode);
  cluster.memory_bytes = sheet->memory_bytes;
  cluster.memory_bandwidth = sheet->memory_bandwidth;
  WM_ASSIGN(cluster.peak_flops, rate_of(options, *sheet));
  WM_ASSIGN(cluster.utilization, ratio_of(options, "--utilization", 0.4));
  const double inside = sheet->nvlink_bandwidth > 0 ? sheet->nvlink_bandwidth * 8 / 9 : sheet->pcie_bandwidth * 0.8;
  cluster.within = {5e-6, 1 / inside};
  cluster.between = told.between.value_or(kUsualNetwork);
  if (links) cluster.within = links->within->fit.link;
  if (links) cluster.between = links->between.link;
  cluster.host_link = sheet->pcie_bandwidth * 0.8;
  if (options.has("--host-memory")) {
    WM_ASSIGN(const auto bytes, parse_bytes(options.get("--host-memory")));
    cluster.host_memory_bytes = static_cast<double>(bytes);
  }
  WM_ASSIGN(cluster.dollars_per_hour, price_of(options, id));
  return cluster;
}

/// Links as measured, if they are.
Result<std::optional<PlanLinks>> measured_links(const ParsedOptions& options) {
  WM_ASSIGN(auto sweeps, read_sweeps(options.all("--sweep")));
  if (sweeps.empty()) return std::optional<PlanLinks>();
  WM_ASSIGN(const auto told, told_links(options));
  WM_ASSIGN(auto links, plan_links(std::move(sweeps), told));
  if (!links.within) {
    return usage_error("a sweep over several hosts does not tell the link within one",
                       "give a sweep of one host as well");
  }
  // A sweep may have left out GPUs of its host; one over hosts was fitted with as many as those had.
  if (links.network != Network::fitted) links.per_node = told.per_node.value_or(kUsualNode);
  if (links.network == Network::unknown) {
    links.network = Network::supposed;
    links.between.link = kUsualNetwork;
  }
  return std::optional(std::move(links));
}

/// All layouts; of several numbers of GPUs the best of each, by their number.
Result<std::vector<PlannedLayout>> all_layouts(const ParsedOptions& options, const std::vector<int>& counts,
                                               const TrainingJob& job, const std::optional<PlanLinks>& links) {
  auto ids = options.all("--gpu");
  if (ids.empty()) ids.push_back("h100-sxm");
  std::vector<PlannedLayout> plans;
  for (const int gpus : counts) {
    for (const auto& id : ids) {
      WM_ASSIGN(auto cluster, cluster_of(options, id, links));
      cluster.gpus = gpus;
      auto some = validate::plan_layouts(job, cluster);
      if (counts.size() > 1 && some.size() > 1) some.resize(1);
      plans.insert(plans.end(), some.begin(), some.end());
    }
  }
  if (counts.size() == 1) std::ranges::stable_sort(plans, validate::better);
  return plans;
}

Json layouts_json(const TrainingJob& job, const std::vector<PlannedLayout>& plans,
                  const std::optional<PlanLinks>& links) {
  Json json{{"schema", "warpmark.plan/1"},
            {"layouts", Json::array()},
            {"parameters", validate::parameters_of(job.shape)},
            {"precision", validate::name_of(job.numbers.precision)},
            {"optimizer", validate::name_of(job.numbers.optimizer)},
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
  WM_ASSIGN(const auto job, job_of(options));
  WM_ASSIGN(const auto links, measured_links(options));
  WM_ASSIGN(const auto top, count_of(options, "--top", 10, 1, 10'000));
  WM_ASSIGN(const auto counts, gpu_counts(options, "--gpus", "8", 1));
  WM_ASSIGN(const auto plans, all_layouts(options, counts, job, links));
  if (plans.empty()) {
    return usage_error("no layout divides evenly: the batch, the heads and the layers must divide by their degrees",
                       "choose a batch that is a multiple of the number of GPUs");
  }
  // Of several numbers each has its row.
  auto report = layouts_report(job, plans, counts.size() > 1 ? plans.size() : static_cast<std::size_t>(top), links);
  const auto without = without_layout(counts, plans);
  if (!without.empty()) {
    report.sections.front().blocks.push_back(Paragraph{
        fmt::format("No layout of {} GPUs divides the batch, the heads and the layers evenly.", join(without, ", ")),
        Tone::warning});
  }
  const auto shown = shown_as([&] { return layouts_json(job, plans, links); }, std::move(report));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  return std::ranges::any_of(plans, &PlannedLayout::fits) ? kSuccess : kGateFailed;
}

/// Options that the asked kind of plan would not look at.
Status check_kind_of_plan(const ParsedOptions& options) {
  const bool of_step = options.has("--step-time");
  const PlanKind other = of_step ? PlanKind::model : PlanKind::step;
  const auto* const found = std::ranges::find_if(
      kOptionsOfKinds, [&](const PlanOption& one) { return one.kind == other && options.has(one.spec.name); });
  if (found == std::end(kOptionsOfKinds)) return {};
  const std::string name = found->spec.name;
  if (of_step) return usage_error(name + " is of a model, --step-time of a measured step: give one of them");
  return usage_error(name + " is of a measured step, which is missing", "give --step-time");
}

Result<int> run_plan(Context& context, const ParsedOptions& options) {
  if (!options.positionals().empty()) return usage_error("plan takes no argument", "see --help");
  WM_TRY(check_kind_of_plan(options));
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  return options.has("--step-time") ? plan_steps(context, options, format) : plan_model(context, options, format);
}

}  // namespace

extern const Command plan_command{
    .id = "plan",
    .summary = "plan training on paper: layouts that fit, step time, dollars; scaling foretold",
    .details =
        "For a transformer on so many GPUs, goes through data, tensor and pipeline parallelism, ZeRO stages 0 to 3, "
        "with and without offload of state and of activations, recomputation and micro-batches: memory a GPU by part, "
        "pipeline bubble, communication by alpha and beta of the links, time and dollars of the whole training; those "
        "that fit are ranked.\n"
        "\n"
        "With --step-time it foretells data parallelism from the step of one GPU and a sweep of `warpmark collective`, "
        "says where scaling breaks, and prints its error against steps that you measured (docs/scale.md). Beyond one "
        "node "
        "it needs the network: --between, or a sweep over several hosts.\n"
        "\n"
        "Exit code 0: planned; 1: no layout fits; 2: bad input.",
    .options = kPlanOptions,
    .positional = {},
    .examples =
        "warpmark plan --gpu h100-sxm --gpus 64 --layers 48 --hidden 6144 --heads 48 \\\n"
        "    --batch 512 --tokens 100e9 --price 2.5\n"
        "warpmark plan --gpus 8,64 --layers 48 --hidden 6144 --heads 48 --batch 512\n"
        "warpmark plan --step-time 120ms --gradients 400MB --sweep node.json",
    .run = run_plan,
};

}  // namespace warpmark::apps
