#include "warpmark/scaling/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/units.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;
using validate::Layout;
using validate::MemoryPlan;
using validate::PlannedLayout;
using validate::TrainingJob;

bool offloads(const PlannedLayout& plan) { return !validate::offload_text(plan.layout).empty(); }

std::string rate_text(const coll::Link& link) {
  return link.beta_s_per_byte > 0 ? format_si(1 / link.beta_s_per_byte, "B/s") : "no cost of bytes";
}

std::string fit_text(const std::string& link, const coll::LinkFit& fit) {
  return fmt::format("{}: {} a message and {} ({}); {} held-back sizes are off by {} in the median, {} at most.", link,
                     format_seconds(fit.link.alpha_s), rate_text(fit.link), coll::name_of(fit.algorithm), fit.held_back,
                     format_percent(fit.median_error), format_percent(fit.largest_error));
}

/// What joins nodes, in words; nothing where that is not known.
std::string network_text(const PlanLinks& links) {
  const std::string nodes = fmt::format("nodes of {} GPU{}", links.per_node, links.per_node == 1 ? "" : "s");
  switch (links.network) {
    case Network::unknown: return {};
    case Network::reported:
      return fmt::format("Between {}: {} a message and {} per GPU, as given.", nodes,
                         format_seconds(links.between.link.alpha_s), rate_text(links.between.link));
    case Network::supposed:
      return fmt::format(
          "Between {}: {} a message and {} per GPU by default: give --between, or a "
          "sweep over several hosts.",
          nodes, format_seconds(links.between.link.alpha_s), rate_text(links.between.link));
    case Network::fitted:
      return fit_text(fmt::format("Between {}, from the sweep over {} hosts", nodes, links.over->hosts), links.between);
    case Network::flat:
      return fmt::format(
          "The sweep went over {} hosts, and its link stands for all GPUs, within a host as well: give one "
          "of one host, too.",
          links.over->hosts);
  }
  return {};
}

void add_links(Section& section, const PlanLinks& links) {
  section.blocks.push_back(Paragraph{fit_text("Link fitted to the sweep", links.base().fit), Tone::quiet});
  const std::string network = network_text(links);
  if (!network.empty()) section.blocks.push_back(Paragraph{network, Tone::quiet});
}

void warn_of_assumed_link(Section& section, const std::vector<Predicted>& predicted, const PlanLinks& links) {
  const auto first =
      std::ranges::find_if(predicted, [&](const auto& item) { return link_is_assumed(links, item.gpus); });
  if (first == predicted.end()) return;
  section.blocks.push_back(Paragraph{
      fmt::format("The sweeps measured one host and {} GPUs: from {} on, the figures suppose that its link joins them "
                  "all. Where they do not fit in a node, give its GPUs and network (--per-node, --between), or a "
                  "sweep over several hosts.",
                  links.per_node, first->gpus),
      Tone::warning});
}

/// A layout is a column here, as memory and times by part are many rows.
class LayoutColumns {
 public:
  explicit LayoutColumns(std::span<const PlannedLayout> plans) : plans_(plans) {
    table_.columns = {{""}};
    for (std::size_t i = 0; i < plans.size(); ++i) table_.columns.push_back({"", Align::right});
  }
  template <typename Text>
  void row(const std::string& name, const Text& text) {
    std::vector<Cell> cells{{name}};
    for (const auto& plan : plans_) cells.push_back(Cell{text(plan)});
    table_.rows.push_back(std::move(cells));
  }
  /// Only where any layout has it.
  template <typename Value, typename Text>
  void row_of(const std::string& name, const Value& value, const Text& text) {
    if (std::ranges::none_of(plans_, [&](const auto& plan) { return value(plan) > 0; })) return;
    row(name, [&](const auto& plan) { return value(plan) > 0 ? text(value(plan)) : std::string("-"); });
  }
  void bytes(const std::string& name, double MemoryPlan::*part) {
    row_of(
        name, [&](const PlannedLayout& plan) { return plan.memory.*part; }, [](double v) { return format_bytes(v); });
  }
  void share(const std::string& name, double PlannedLayout::*part) {
    row_of(
        name, [&](const PlannedLayout& plan) { return plan.*part / plan.step_s; }, format_percent);
  }
  Table take() { return std::move(table_); }

 private:
  std::span<const PlannedLayout> plans_;
  Table table_;
};

Table answer_table(std::span<const PlannedLayout> plans) {
  LayoutColumns columns(plans);
  columns.row("GPUs", [](const auto& plan) { return fmt::format("{} {}", plan.layout.gpus(), plan.gpu); });
  columns.row("layout", [](const auto& plan) {
    return fmt::format("dp={} tp={} pp={}", plan.layout.data, plan.layout.tensor, plan.layout.pipeline);
  });
  const auto degree = [&](const char* name, int Layout::*part) {
    columns.row_of(
        name, [&](const auto& plan) { return plan.layout.*part > 1 ? plan.layout.*part : 0; },
        [](int value) { return std::to_string(value); });
  };
  degree("interleaving (vp)", &Layout::interleave), degree("context (cp)", &Layout::context);
  degree("experts (ep)", &Layout::expert), degree("shard group", &Layout::shard);
  columns.row("ZeRO stage", [](const auto& plan) { return std::to_string(plan.layout.zero); });
  if (std::ranges::any_of(plans, offloads)) {
    columns.row("offload", [](const auto& plan) { return validate::offload_text(plan.layout); });
  }
  columns.row("micro-batches x size", [](const auto& plan) {
    return fmt::format("{} x {}", plan.layout.micro_batches, plan.layout.micro_batch);
  });
  columns.row_of(
      "largest that fits", [](const auto& plan) { return plan.largest_micro_batch; },
      [](int largest) { return std::to_string(largest); });
  columns.row("recomputation", [](const auto& plan) { return name_of(plan.layout.recompute); });
  columns.row("memory per GPU", [](const auto& plan) {
    return Cell{of_gpu_text(plan.memory.gpu(), plan.memory_bytes), plan.fits_gpu ? Tone::good : Tone::bad};
  });
  columns.bytes("- parameters", &MemoryPlan::parameters);
  columns.bytes("- gradients", &MemoryPlan::gradients);
  columns.bytes("- optimizer state", &MemoryPlan::optimizer);
  columns.bytes("- activations", &MemoryPlan::activations);
  columns.bytes("- logits", &MemoryPlan::logits);
  columns.bytes("- gathered layers", &MemoryPlan::gathered);
  columns.row("- CUDA, fragments", [](const auto& plan) {
    return fmt::format("{}, {}", format_bytes(plan.memory.context, 2), format_bytes(plan.memory.fragmentation, 2));
  });
  columns.bytes("host memory", &MemoryPlan::host);
  columns.row("step", [](const auto& plan) { return format_seconds(plan.step_s); });
  columns.share("- compute", &PlannedLayout::compute_s);
  columns.share("- bubble", &PlannedLayout::bubble_s);
  columns.share("- communication", &PlannedLayout::communication_s);
  columns.share("- optimizer", &PlannedLayout::optimizer_s);
  columns.share("- compression", &PlannedLayout::compression_s);
  columns.row("tokens/s", [](const auto& plan) { return format_si(plan.tokens_per_s, ""); });
  columns.row("MFU (HFU)", [](const auto& plan) {
    return fmt::format("{} ({})", format_percent(plan.mfu), format_percent(plan.hfu));
  });
  columns.row("TFLOP/s a GPU", [](const auto& plan) { return format_significant(plan.model_flops_rate * 1e-12, 3); });
  columns.row("days", [](const auto& plan) { return format_significant(plan.hours / 24, 3); });
  columns.row_of(
      "dollars", [](const auto& plan) { return plan.dollars; }, [](double dollars) { return format_si(dollars, ""); });
  return columns.take();
}

/// Layouts as rows, of which more can stand below one another.
Table list_table(std::span<const PlannedLayout> plans) {
  Table table;
  table.columns = {{"GPUs"},
                   {"layout"},
                   {"recompute", Align::left, 2},
                   {"micro-batches", Align::right, 3},
                   {"memory", Align::right},
                   {"host memory", Align::right, 4},
                   {"step", Align::right},
                   {"MFU", Align::right, 1},
                   {"tokens/s", Align::right},
                   {"dollars", Align::right, 2}};
  for (const auto& plan : plans) {
    table.rows.push_back({{fmt::format("{} {}", plan.layout.gpus(), plan.gpu)},
                          {validate::text_of(plan.layout)},
                          {name_of(plan.layout.recompute)},
                          {fmt::format("{} x {}", plan.layout.micro_batches, plan.layout.micro_batch)},
                          {format_bytes(plan.memory.gpu()), plan.fits_gpu ? Tone::good : Tone::bad},
                          {plan.memory.host > 0 ? format_bytes(plan.memory.host) : "-"},
                          {format_seconds(plan.step_s)},
                          {format_percent(plan.mfu)},
                          {format_si(plan.tokens_per_s, "")},
                          {plan.dollars > 0 ? format_si(plan.dollars, "") : "-"}});
  }
  return table;
}

Paragraph verdict_of(const PlannedLayout& plan, bool of_several) {
  const auto& memory = plan.memory;
  if (plan.fits) {
    return {
        fmt::format("{} {}{}: {} per GPU.", of_several ? "Fits:" : "Fits, fastest with", validate::text_of(plan.layout),
                    plan.largest_micro_batch > 0
                        ? fmt::format(", micro-batch {} (up to {})", plan.layout.micro_batch, plan.largest_micro_batch)
                        : "",
                    of_gpu_text(memory.gpu(), plan.memory_bytes)),
        Tone::good};
  }
  if (!plan.fits_host && plan.fits_gpu) {
    return {fmt::format("Does not fit: {} of host memory per GPU; give --host-memory where there is more.",
                        format_bytes(memory.host)),
            Tone::bad};
  }
  return {fmt::format("Does not fit: {} needs {} per GPU. More or larger GPUs are needed, or a smaller model.",
                      validate::text_of(plan.layout), of_gpu_text(memory.gpu(), plan.memory_bytes)),
          Tone::bad};
}

/// That the best fits only as it keeps a part in host memory; empty where it does not, or nothing else was searched.
std::string only_offloaded_text(std::span<const PlannedLayout> plans, const PlannedLayout& best) {
  if (!best.fits || !offloads(best)) return {};
  const PlannedLayout* least = nullptr;
  for (const auto& plan : plans) {
    if (offloads(plan)) continue;
    if (plan.fits) return {};
    if (least == nullptr || plan.memory.gpu() < least->memory.gpu()) least = &plan;
  }
  if (least == nullptr) return {};
  return fmt::format("Only with offload to host memory: without it the smallest layout needs {} per GPU.",
                     format_bytes(least->memory.gpu()));
}

/// What published trainings took on such GPUs, for who plans days and dollars.
std::string published_text(const TrainingJob& job, const PlannedLayout& plan) {
  const auto published =
      published_mfu(plan.model_flops_rate / plan.mfu, job.numbers.precision, parameters_of(job.model).total());
  const double days = plan.hours / 24 * plan.mfu;
  std::string text =
      fmt::format("At the MFU of {} ({:.0f}-{:.0f} %) {} tokens take {}-{} days", published.source, 100 * published.low,
                  100 * published.high, count_text(job.tokens), format_significant(days / published.high, 3),
                  format_significant(days / published.low, 3));
  if (plan.dollars > 0) {
    text += fmt::format(" and {}-{} dollars", format_si(plan.dollars * plan.mfu / published.high, ""),
                        format_si(plan.dollars * plan.mfu / published.low, ""));
  }
  return text + ".";
}

}  // namespace

std::string count_text(double count) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}};
  for (const auto& [unit, name] : kUnits) {
    if (count >= unit) return format_significant(count / unit, 3) + name;
  }
  return format_significant(count, 3);
}

std::string of_gpu_text(double bytes, double all) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return fmt::format("{} of {} GiB", format_significant(bytes / kGiB, 3), format_significant(all / kGiB, 3));
}

Report layouts_report(const TrainingJob& job, const std::vector<PlannedLayout>& plans, std::size_t top,
                      const std::optional<PlanLinks>& links) {
  constexpr std::size_t kSideBySide = 3;
  const auto counts = parameters_of(job.model);
  Report report;
  report.title = fmt::format("{}{} parameters{}, {} x {:.0f} tokens per step",
                             job.model.name.empty() ? "" : job.model.name + ", ", count_text(counts.total()),
                             counts.experts > 0 ? fmt::format(" ({} active)", count_text(counts.active())) : "",
                             job.sequence, job.batch);
  const auto shown = std::span(plans).first(std::min(top, plans.size()));
  const auto* best = &*std::ranges::min_element(plans, validate::better);
  const bool fits = best->fits;
  Section section{fits ? "Plan" : "None fits", {}, false, false};
  section.blocks.push_back(verdict_of(*best, shown.size() == 1));
  if (auto only = only_offloaded_text(plans, *best); !only.empty()) {
    section.blocks.push_back(Paragraph{std::move(only), Tone::warning});
  }
  section.blocks.push_back(answer_table(shown.first(std::min(kSideBySide, shown.size()))));
  section.blocks.push_back(Paragraph{published_text(job, *best), Tone::quiet});
  if (links) add_links(section, *links);
  report.sections.push_back(std::move(section));
  if (shown.size() > kSideBySide) report.sections.push_back({"Layouts", {list_table(shown)}, false, false});
  return report;
}

Report predicted_report(const std::vector<Predicted>& predicted, const PlanLinks& links, bool power_sgd) {
  Report report;
  report.title = "Predicted data parallelism";
  Table table;
  table.columns = {{"GPUs", Align::right},    {"step", Align::right},       {"communication", Align::right},
                   {"exposed", Align::right}, {"efficiency", Align::right}, {"measured", Align::right},
                   {"error", Align::right}};
  for (const auto& item : predicted) {
    table.rows.push_back(
        {{std::to_string(item.gpus)},
         {format_seconds(item.step.step_s)},
         {format_seconds(item.step.communication_s)},
         {format_seconds(item.step.exposed_s)},
         {format_percent(item.step.efficiency)},
         {item.measured_s ? format_seconds(*item.measured_s) : "-"},
         {item.measured_s ? fmt::format("{:+.1f} %", 100 * (item.step.step_s / *item.measured_s - 1)) : "-"}});
  }
  Section section{"Step", {std::move(table)}, false, false};
  add_links(section, links);
  if (power_sgd) {
    section.blocks.push_back(
        Paragraph{"What PowerSGD computes is not in these steps: measure the one GPU's step with it.", Tone::quiet});
  }
  warn_of_assumed_link(section, predicted, links);
  const auto broken =
      std::find_if(predicted.begin(), predicted.end(), [](const auto& item) { return item.step.efficiency < 0.7; });
  if (broken != predicted.end()) {
    section.blocks.push_back(
        Paragraph{fmt::format("Scaling breaks at {} GPUs: efficiency falls below 70 %.", broken->gpus), Tone::warning});
  }
  report.sections.push_back(std::move(section));
  return report;
}

Json layout_json(const PlannedLayout& plan) {
  const auto& layout = plan.layout;
  const auto& memory = plan.memory;
  Json json{{"gpu", plan.gpu},
            {"gpus", layout.gpus()},
            {"data", layout.data},
            {"tensor", layout.tensor},
            {"pipeline", layout.pipeline},
            {"context", layout.context},
            {"expert", layout.expert},
            {"shards", layout.shards()},
            {"interleave", layout.interleave},
            {"zero", layout.zero},
            {"offload", layout.offload},
            {"offload_activations", layout.offload_activations},
            {"offload_parameters", layout.offload_parameters},
            {"recompute", name_of(layout.recompute)},
            {"micro_batch", layout.micro_batch},
            {"micro_batches", layout.micro_batches},
            {"largest_micro_batch", plan.largest_micro_batch},
            {"fits", plan.fits},
            {"fits_gpu", plan.fits_gpu},
            {"fits_host", plan.fits_host},
            {"memory",
             {{"parameters", memory.parameters},
              {"gradients", memory.gradients},
              {"optimizer", memory.optimizer},
              {"states", memory.states()},
              {"activations", memory.activations},
              {"logits", memory.logits},
              {"gathered", memory.gathered},
              {"cuda_context", memory.context},
              {"fragmentation", memory.fragmentation},
              {"host", memory.host},
              {"gpu", memory.gpu()},
              {"of", plan.memory_bytes}}},
            {"compute", plan.compute_s},
            {"bubble", plan.bubble_s},
            {"communication", plan.communication_s},
            {"optimizer", plan.optimizer_s},
            {"compression", plan.compression_s},
            {"step", plan.step_s},
            {"mfu", plan.mfu},
            {"hfu", plan.hfu},
            {"model_flops_rate", plan.model_flops_rate},
            {"tokens_per_second", plan.tokens_per_s},
            {"hours", plan.hours}};
  if (plan.dollars > 0) json["dollars"] = plan.dollars;
  return json;
}

Json fit_json(const coll::LinkFit& fit) {
  return Json{{"alpha", fit.link.alpha_s},
              {"beta", fit.link.beta_s_per_byte},
              {"algorithm", coll::name_of(fit.algorithm)},
              {"median_error", fit.median_error},
              {"largest_error", fit.largest_error},
              {"held_back", fit.held_back}};
}

Json network_json(const PlanLinks& links) {
  const char* const sources[] = {"unknown", "given", "fitted", "flat", "default"};
  Json json{{"per_node", links.per_node}, {"source", sources[static_cast<int>(links.network)]}};
  if (links.network == Network::reported || links.network == Network::supposed) {
    json["alpha"] = links.between.link.alpha_s;
    json["beta"] = links.between.link.beta_s_per_byte;
  }
  if (links.network == Network::fitted) json["link"] = fit_json(links.between);
  return json;
}

}  // namespace warpmark::apps
