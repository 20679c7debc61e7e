#include "warpmark/scaling/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/quantity.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;
using validate::PlannedLayout;
using validate::TrainingJob;

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
    case Network::told:
      return fmt::format("Between {}: {} a message and {} for each GPU, as told.", nodes,
                         format_seconds(links.between.link.alpha_s), rate_text(links.between.link));
    case Network::supposed:
      return fmt::format(
          "Between {}: {} a message and {} for each GPU, as nothing tells otherwise: give --between, or a "
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

std::string layout_text(const validate::Layout& layout) {
  const char* offloaded = layout.offload && layout.offload_activations ? " offload all"
                          : layout.offload                             ? " offload state"
                          : layout.offload_activations                 ? " offload act."
                                                                       : "";
  return fmt::format("dp {} tp {} pp {} zero {}{}", layout.data, layout.tensor, layout.pipeline, layout.zero,
                     offloaded);
}

void add_links(Section& section, const PlanLinks& links) {
  section.blocks.push_back(Paragraph{fit_text("Link fitted to the sweep", links.base().fit), Tone::quiet});
  const std::string network = network_text(links);
  if (!network.empty()) section.blocks.push_back(Paragraph{network, Tone::quiet});
}

void warn_of_assumed_link(Section& section, const std::vector<Foretold>& foretold, const PlanLinks& links) {
  const auto first =
      std::ranges::find_if(foretold, [&](const auto& item) { return link_is_assumed(links, item.gpus); });
  if (first == foretold.end()) return;
  section.blocks.push_back(Paragraph{
      fmt::format("The sweeps tell of one host and {} GPUs: from {} on, the figures suppose that its link joins them "
                  "all. Where they do not fit in a node, tell its GPUs and network (--per-node, --between), or give a "
                  "sweep over several hosts.",
                  links.per_node, first->gpus),
      Tone::warning});
}

constexpr std::ptrdiff_t kHostColumn = 5;  // beside the memory of a GPU

Cell memory_cell(const PlannedLayout& plan) {
  if (plan.fits_gpu) return {format_bytes(plan.memory.gpu()), Tone::good};
  return {format_bytes(plan.memory.gpu()) + ", too much", Tone::bad};
}

Cell host_cell(const PlannedLayout& plan) {
  if (plan.memory.host <= 0) return {"-"};
  return {format_bytes(plan.memory.host), plan.fits_host ? Tone::good : Tone::bad};
}

}  // namespace

Report layouts_report(const TrainingJob& job, const std::vector<PlannedLayout>& plans, std::size_t top,
                      const std::optional<PlanLinks>& links) {
  Report report;
  report.title = fmt::format("Layouts of {} parameters", format_si(validate::parameters_of(job.shape), ""));
  Table table;
  table.columns = {{"GPU"},
                   {"layout"},
                   {"recompute", Align::left, 2},
                   {"micro-batches", Align::right, 3},
                   {"memory", Align::right},
                   {"step", Align::right},
                   {"bubble", Align::right, 1},
                   {"comm.", Align::right, 1},
                   {"tokens/s", Align::right, 4},
                   {"days", Align::right},
                   {"dollars", Align::right}};
  const auto shown = std::span(plans).first(std::min(top, plans.size()));
  const bool counts =
      std::ranges::any_of(shown, [&](const auto& plan) { return plan.layout.gpus() != shown.front().layout.gpus(); });
  if (counts) table.columns.front().name = "GPUs";
  const bool on_host = std::ranges::any_of(shown, [](const auto& plan) { return plan.memory.host > 0; });
  if (on_host) table.columns.insert(table.columns.begin() + kHostColumn, {"host memory", Align::right});
  for (const auto& plan : shown) {
    table.rows.push_back({{counts ? fmt::format("{} {}", plan.layout.gpus(), plan.gpu) : plan.gpu},
                          {layout_text(plan.layout)},
                          {validate::name_of(plan.layout.recompute)},
                          {fmt::format("{} x {}", plan.layout.micro_batches, plan.layout.micro_batch)},
                          memory_cell(plan),
                          {format_seconds(plan.step_s)},
                          {format_percent(plan.bubble_s / plan.step_s)},
                          {format_percent(plan.communication_s / plan.step_s)},
                          {format_si(plan.tokens_per_s, "")},
                          {format_significant(plan.hours / 24, 3)},
                          {plan.dollars > 0 ? format_si(plan.dollars, "") : "-"}});
    if (on_host) table.rows.back().insert(table.rows.back().begin() + kHostColumn, host_cell(plan));
  }
  Section section{counts ? "Fastest of each number of GPUs" : "Fastest that fit", {}, false, false};
  const bool fits = std::ranges::any_of(plans, &PlannedLayout::fits);
  if (!fits) {
    section.heading = "None fits";
    section.blocks.push_back(Paragraph{
        "These need the least memory of a GPU; more GPUs, larger ones or more host memory are needed.", Tone::bad});
  }
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(
      Paragraph{"A model on paper: compute at the given share of the peak, links by alpha and beta. "
                "Measure before you buy.",
                Tone::quiet});
  if (links) add_links(section, *links);
  report.sections.push_back(std::move(section));
  return report;
}

Report foretold_report(const std::vector<Foretold>& foretold, const PlanLinks& links, bool power_sgd) {
  Report report;
  report.title = "Data parallelism foretold";
  Table table;
  table.columns = {{"GPUs", Align::right},    {"step", Align::right},       {"communication", Align::right},
                   {"exposed", Align::right}, {"efficiency", Align::right}, {"measured", Align::right},
                   {"error", Align::right}};
  for (const auto& item : foretold) {
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
  warn_of_assumed_link(section, foretold, links);
  const auto broken =
      std::find_if(foretold.begin(), foretold.end(), [](const auto& item) { return item.step.efficiency < 0.7; });
  if (broken != foretold.end()) {
    section.blocks.push_back(
        Paragraph{fmt::format("Scaling breaks at {} GPUs: efficiency falls below 70 %.", broken->gpus), Tone::warning});
  }
  report.sections.push_back(std::move(section));
  return report;
}

Json layout_json(const PlannedLayout& plan) {
  const auto& layout = plan.layout;
  Json json{{"gpu", plan.gpu},
            {"data", layout.data},
            {"tensor", layout.tensor},
            {"pipeline", layout.pipeline},
            {"zero", layout.zero},
            {"offload", layout.offload},
            {"offload_activations", layout.offload_activations},
            {"recompute", validate::name_of(layout.recompute)},
            {"micro_batch", layout.micro_batch},
            {"micro_batches", layout.micro_batches},
            {"fits", plan.fits},
            {"fits_gpu", plan.fits_gpu},
            {"fits_host", plan.fits_host},
            {"memory",
             {{"parameters", plan.memory.parameters},
              {"gradients", plan.memory.gradients},
              {"optimizer", plan.memory.optimizer},
              {"activations", plan.memory.activations},
              {"host", plan.memory.host},
              {"gpu", plan.memory.gpu()}}},
            {"compute", plan.compute_s},
            {"bubble", plan.bubble_s},
            {"communication", plan.communication_s},
            {"compression", plan.compression_s},
            {"step", plan.step_s},
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
  const char* const sources[] = {"unknown", "told", "fitted", "flat", "default"};
  Json json{{"per_node", links.per_node}, {"source", sources[static_cast<int>(links.network)]}};
  if (links.network == Network::told || links.network == Network::supposed) {
    json["alpha"] = links.between.link.alpha_s;
    json["beta"] = links.between.link.beta_s_per_byte;
  }
  if (links.network == Network::fitted) json["link"] = fit_json(links.between);
  return json;
}

}  // namespace warpmark::apps
