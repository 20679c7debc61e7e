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

std::string fit_text(const coll::LinkFit& fit) {
  return fmt::format(
      "Link fitted to the sweep: {} a message and {} ({}); {} held-back sizes are off by {} in the "
      "median, {} at most.",
      format_seconds(fit.link.alpha_s),
      fit.link.beta_s_per_byte > 0 ? format_si(1 / fit.link.beta_s_per_byte, "B/s") : "no cost of bytes",
      coll::name_of(fit.algorithm), fit.held_back, format_percent(fit.median_error), format_percent(fit.largest_error));
}

std::string layout_text(const validate::Layout& layout) {
  const char* offloaded = layout.offload && layout.offload_activations ? " offload all"
                          : layout.offload                             ? " offload state"
                          : layout.offload_activations                 ? " offload act."
                                                                       : "";
  return fmt::format("dp {} tp {} pp {} zero {}{}", layout.data, layout.tensor, layout.pipeline, layout.zero,
                     offloaded);
}

constexpr std::ptrdiff_t kHostColumn = 5;  // beside the memory of a GPU

Cell host_cell(const PlannedLayout& plan) {
  if (plan.memory.host <= 0) return {"-"};
  return {format_bytes(plan.memory.host), plan.fits_host ? Tone::good : Tone::bad};
}

}  // namespace

Report layouts_report(const TrainingJob& job, const std::vector<PlannedLayout>& plans, std::size_t top,
                      const std::optional<MeasuredLink>& measured) {
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
  const bool on_host = std::ranges::any_of(shown, [](const auto& plan) { return plan.memory.host > 0; });
  if (on_host) table.columns.insert(table.columns.begin() + kHostColumn, {"host memory", Align::right});
  for (const auto& plan : shown) {
    table.rows.push_back({{plan.gpu},
                          {layout_text(plan.layout)},
                          {validate::name_of(plan.layout.recompute)},
                          {fmt::format("{} x {}", plan.layout.micro_batches, plan.layout.micro_batch)},
                          {format_bytes(plan.memory.gpu()), plan.fits_gpu ? Tone::good : Tone::bad},
                          {format_seconds(plan.step_s)},
                          {format_percent(plan.bubble_s / plan.step_s)},
                          {format_percent(plan.communication_s / plan.step_s)},
                          {format_si(plan.tokens_per_s, "")},
                          {format_significant(plan.hours / 24, 3)},
                          {plan.dollars > 0 ? format_si(plan.dollars, "") : "-"}});
    if (on_host) table.rows.back().insert(table.rows.back().begin() + kHostColumn, host_cell(plan));
  }
  Section section{"Fastest that fit", {}, false, false};
  const bool fits = !plans.empty() && plans.front().fits;
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
  if (measured) section.blocks.push_back(Paragraph{fit_text(measured->fit), Tone::quiet});
  report.sections.push_back(std::move(section));
  return report;
}

Report foretold_report(const std::vector<Foretold>& foretold, const MeasuredLink& link) {
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
  Section section{"Step", {std::move(table), Paragraph{fit_text(link.fit), Tone::quiet}}, false, false};
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

}  // namespace warpmark::apps
