// Training on paper: which layouts of a model fit on a cluster, how fast and for how many dollars; and data parallelism
// foretold from one GPU and a collective sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>

#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/alpha_beta.h"
#include "device/datasheet.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/command.h"
#include "warpmark/scaling/measured_links.h"
#include "warpmark/scaling/plan_report.h"
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
    {{"--gpus", "N", "how many (default 8)"}, PlanKind::model},
    {{"--per-node", "N", "GPUs of a node (default 8)"}, PlanKind::model},
    {{"--layers", "N", "of the transformer"}, PlanKind::model},
    {{"--hidden", "N", "size of its hidden state"}, PlanKind::model},
    {{"--heads", "N", "of attention"}, PlanKind::model},
    {{"--sequence", "N", "tokens of a sequence (default 2048)"}, PlanKind::model},
    {{"--vocabulary", "N", "words (default 51200)"}, PlanKind::model},
    {{"--batch", "N", "sequences a step, over all GPUs"}, PlanKind::model},
    {{"--tokens", "N", "of the whole training (default 1e9)"}, PlanKind::model},
    {{"--price", "GPU=DOLLARS", "dollars an hour of one GPU, as h100-sxm=2.50 or 2.50 for all", true}, PlanKind::model},
    {{"--utilization", "RATIO", "share of the peak while computing (default 40%)"}, PlanKind::model},
    {{"--compression", "KIND", "of gradients: none, half (16 bits, default), powersgd:RANK", false,
      "none half powersgd:4"},
     PlanKind::model},
    {{"--overlap", "RATIO", "share of the backward pass behind which gradients travel (default 70%)"}, PlanKind::both},
    {{"--contention", "RATIO", "share of the exchange behind the backward pass that slows computing (default 60%)"},
     PlanKind::both},
    {{"--bucket", "BYTES", "with --step-time: gradients exchanged at once, in the mean (default 25MB)"},
     PlanKind::step},
    {{"--host-memory", "BYTES", "a GPU's share of its node's memory, for what is offloaded (default 256GiB)"},
     PlanKind::model},
    {{"--between", "RATE", "network of a node for each GPU (default 50GB/s)"}, PlanKind::model},
    {{"--sweep", "FILE", "a sweep of `warpmark collective --json`: links as measured; several, of different ranks",
      true, "<files>"},
     PlanKind::both},
    {{"--top", "N", "layouts shown (default 10)"}, PlanKind::model},
    {{"--step-time", "TIME", "instead of a model: the step of one GPU, measured"}, PlanKind::both},
    {{"--gradients", "BYTES", "with it: bytes of gradients a step"}, PlanKind::step},
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

Result<double> number_option(const ParsedOptions& options, const char* name, double otherwise, bool needed = false) {
  if (!options.has(name)) {
    if (!needed) return otherwise;
    return usage_error(std::string(name) + " is needed", "see --help; or foretell from one GPU with --step-time");
  }
  WM_ASSIGN(const double value, parse_number(options.get(name)));
  if (!(value > 0)) return usage_error(std::string(name) + " must be above 0");
  return value;
}

/// None and all of it are possible, too.
Result<double> contention_of(const ParsedOptions& options, double otherwise) {
  if (!options.has("--contention")) return otherwise;
  WM_ASSIGN(const double value, parse_ratio(options.get("--contention")));
  if (!(value >= 0 && value <= 1)) return usage_error("--contention must be from 0 to 1");
  return value;
}

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

Result<TrainingJob> job_of(const ParsedOptions& options) {
  TrainingJob job;
  WM_ASSIGN(job.shape.layers, number_option(options, "--layers", 0, true));
  WM_ASSIGN(job.shape.hidden, number_option(options, "--hidden", 0, true));
  WM_ASSIGN(job.shape.heads, number_option(options, "--heads", 0, true));
  WM_ASSIGN(job.shape.sequence, number_option(options, "--sequence", 2048));
  WM_ASSIGN(job.shape.vocabulary, number_option(options, "--vocabulary", 51200));
  WM_ASSIGN(job.batch, number_option(options, "--batch", 0, true));
  WM_ASSIGN(job.tokens, number_option(options, "--tokens", 1e9));
  WM_ASSIGN(job.overlap, ratio_of(options, "--overlap", job.overlap));
  WM_ASSIGN(job.contention, contention_of(options, job.contention));
  const std::string compression = options.get("--compression", "half");
  if (compression == "none") {
    job.compression = validate::Compression::none;
  } else if (compression.starts_with("powersgd:")) {
    WM_ASSIGN(const auto rank, parse_integer(compression.substr(9)));
    if (rank < 1 || rank > 1024) return usage_error("PowerSGD's rank is 1 to 1024");
    job.compression = validate::Compression::power_sgd;
    job.power_sgd_rank = static_cast<int>(rank);
  } else if (compression != "half") {
    return usage_error("there is no compression '" + compression + "'", "none, half or powersgd:RANK");
  }
  return job;
}

Result<Cluster> cluster_of(const ParsedOptions& options, const std::string& id,
                           const std::optional<MeasuredLink>& measured) {
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::find_datasheet(sheets, id);
  if (sheet == nullptr) {
    std::vector<std::string> ids;
    for (const auto& one : sheets) ids.push_back(one.id);
    return usage_error("there is no datasheet '" + id + "'", "GPUs: " + join(ids, ", "));
  }
  Cluster cluster{.gpu = id};
  WM_ASSIGN(const auto gpus, count_of(options, "--gpus", 8, 1, 1'000'000));
  WM_ASSIGN(const auto per_node, count_of(options, "--per-node", 8, 1, 1024));
  cluster.gpus = static_cast<int>(gpus);
  cluster.per_node = static_cast<int>(per_node);
  cluster.memory_bytes = sheet->memory_bytes;
  const auto rate = sheet->peak_rate.find(sheet->peak_rate.contains("bf16") ? "bf16" : "f16");
  if (rate == sheet->peak_rate.end()) return data_error("the datasheet of " + id + " has no rate in 16 bits");
  cluster.peak_flops = rate->second;
  WM_ASSIGN(cluster.utilization, ratio_of(options, "--utilization", 0.4));
  const double inside = sheet->nvlink_bandwidth > 0 ? sheet->nvlink_bandwidth * 8 / 9 : sheet->pcie_bandwidth * 0.8;
  cluster.within = {5e-6, 1 / inside};
  if (measured) cluster.within = measured->fit.link;
  double between = 50e9;
  if (options.has("--between")) {
    WM_ASSIGN(between, parse_quantity(options.get("--between"), "B/s"));
    if (!(between > 0)) return usage_error("--between must be above 0");
  }
  cluster.between = {15e-6, 1 / between};
  cluster.host_link = sheet->pcie_bandwidth * 0.8;
  if (options.has("--host-memory")) {
    WM_ASSIGN(const auto bytes, parse_bytes(options.get("--host-memory")));
    cluster.host_memory_bytes = static_cast<double>(bytes);
  }
  WM_ASSIGN(cluster.dollars_per_hour, price_of(options, id));
  return cluster;
}

Result<int> plan_model(Context& context, const ParsedOptions& options, const std::string& format) {
  WM_ASSIGN(const auto job, job_of(options));
  WM_ASSIGN(const auto links, read_sweeps(options.all("--sweep")));
  const auto measured = widest(links);
  WM_ASSIGN(const auto top, count_of(options, "--top", 10, 1, 10'000));
  std::vector<PlannedLayout> plans;
  auto ids = options.all("--gpu");
  if (ids.empty()) ids.push_back("h100-sxm");
  for (const auto& id : ids) {
    WM_ASSIGN(const auto cluster, cluster_of(options, id, measured));
    const auto some = validate::plan_layouts(job, cluster);
    plans.insert(plans.end(), some.begin(), some.end());
  }
  if (plans.empty()) {
    return usage_error("no layout divides evenly: the batch, the heads and the layers must divide by their degrees",
                       "choose a batch that is a multiple of the number of GPUs");
  }
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits ? a.step_s < b.step_s : a.memory.gpu() < b.memory.gpu();
  });
  const auto shown = shown_as(
      [&] {
        Json json{{"schema", "warpmark.plan/1"},
                  {"layouts", Json::array()},
                  {"parameters", validate::parameters_of(job.shape)}};
        for (const auto& plan : plans) json["layouts"].push_back(layout_json(plan));
        if (measured) json["link"] = fit_json(measured->fit);
        return json;
      },
      layouts_report(job, plans, static_cast<std::size_t>(top), measured));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  return plans.front().fits ? kSuccess : kGateFailed;
}

Result<std::map<int, double>> measured_steps(const ParsedOptions& options) {
  std::map<int, double> steps;
  for (const auto& text : options.all("--measured")) {
    const auto equals = text.find('=');
    const auto gpus = parse_integer(text.substr(0, equals));
    if (equals == std::string::npos || !gpus.ok())
      return usage_error("'" + text + "' is no measured step", "such as 2=110ms");
    WM_ASSIGN(steps[static_cast<int>(*gpus)], parse_duration_s(text.substr(equals + 1)));
  }
  return steps;
}

Result<int> plan_data_parallel(Context& context, const ParsedOptions& options, const std::string& format) {
  WM_ASSIGN(const auto links, read_sweeps(options.all("--sweep")));
  const auto measured = widest(links);
  if (!measured) return usage_error("--sweep is needed: how long an all_reduce takes", "see --help");
  validate::DataParallelJob job;
  WM_ASSIGN(job.step_s, parse_duration_s(options.get("--step-time")));
  if (!options.has("--gradients")) return usage_error("--gradients is needed: bytes exchanged a step");
  WM_ASSIGN(const auto bytes, parse_bytes(options.get("--gradients")));
  job.gradient_bytes = static_cast<double>(bytes);
  if (options.has("--bucket")) {
    WM_ASSIGN(const auto bucket, parse_bytes(options.get("--bucket")));
    if (bucket <= 0) return usage_error("--bucket must be above 0");
    job.bucket_bytes = static_cast<double>(bucket);
  }
  WM_ASSIGN(job.contention, contention_of(options, job.contention));
  WM_ASSIGN(job.overlap, ratio_of(options, "--overlap", job.overlap));
  WM_ASSIGN(const auto held_back, measured_steps(options));
  std::vector<Foretold> foretold;
  for (const auto& part : split(options.get("--to", "2,4,8,16,32,64"), ',')) {
    const auto gpus = parse_integer(trim(part));
    if (!gpus.ok() || *gpus < 2 || *gpus > 1'000'000) return usage_error("--to is a list of numbers above 1");
    const int n = static_cast<int>(*gpus);
    const auto seconds = [&](double size) {
      if (const auto own = links.find(n); own != links.end()) {
        return coll::measured_cost(own->second.rows, own->second.fit, size);
      }
      const auto& fit = measured->fit;
      return coll::cost(coll::Collective::all_reduce, fit.algorithm, size, n, fit.link);
    };
    Foretold item{n, validate::data_parallel_step(job, seconds(validate::message_bytes(job))), {}};
    if (held_back.contains(n)) item.measured_s = held_back.at(n);
    foretold.push_back(item);
  }
  const auto shown = shown_as(
      [&] {
        Json json{{"schema", "warpmark.plan/1"}, {"steps", Json::array()}, {"link", fit_json(measured->fit)}};
        for (const auto& item : foretold) {
          Json one{{"gpus", item.gpus},
                   {"step", item.step.step_s},
                   {"exposed", item.step.exposed_s},
                   {"communication", item.step.communication_s},
                   {"efficiency", item.step.efficiency}};
          if (item.measured_s) one["measured"] = *item.measured_s;
          json["steps"].push_back(std::move(one));
        }
        return json;
      },
      foretold_report(foretold, *measured));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "plan", shown));
  return kSuccess;
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
  return options.has("--step-time") ? plan_data_parallel(context, options, format)
                                    : plan_model(context, options, format);
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
        "says where scaling breaks, and prints its error against steps that you measured (docs/scale.md).\n"
        "\n"
        "Exit code 0: planned; 1: no layout fits; 2: bad input.",
    .options = kPlanOptions,
    .positional = {},
    .examples =
        "warpmark plan --gpu h100-sxm --gpus 64 --layers 48 --hidden 6144 --heads 48 \\\n"
        "    --batch 512 --tokens 100e9 --price 2.5\n"
        "warpmark plan --step-time 120ms --gradients 400MB --sweep sweep.json",
    .run = run_plan,
};

}  // namespace warpmark::apps
