#include "report/build/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/draw/format.h"

namespace warpmark::report {
namespace {

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  return fmt::format("{} .. {}", format_significant(interval->low, 3), format_significant(interval->high, 3));
}

Tone tone_of_grade(const std::string& grade) {
  if (grade == "excellent" || grade == "good") return Tone::good;
  return grade.starts_with("moderate") ? Tone::warning : grade == "good to excellent" ? Tone::good : Tone::bad;
}

Table points_table(const Scaling& scaling) {
  // What nobody measured gives way first, and the interval, which speedup tells as well, before what was.
  constexpr int kEmpty = 6;
  const auto& points = scaling.points;
  const bool energy =
      std::ranges::any_of(points, [](const auto& point) { return point.energy_per_work_j.has_value(); });
  const bool memory = std::ranges::any_of(points, [](const auto& point) { return point.gpu_memory_bytes.has_value(); });
  const bool busy = std::ranges::any_of(points, [](const auto& point) { return point.gpu_utilization.has_value(); });
  Table table;
  table.columns = {{scaling.worker + "s", Align::right},
                   {scaling.unit + "/s", Align::right},
                   {"speedup", Align::right},
                   {"efficiency", Align::right},
                   {"95 % interval", Align::right, 3},
                   {"grade"},
                   {"usual band", Align::left, 4},
                   {"GPU memory", Align::right, memory ? 1 : kEmpty},
                   {"GPU util.", Align::right, busy ? 2 : kEmpty},
                   {"host memory", Align::right, 5},
                   {"J/" + scaling.unit, Align::right, energy ? 1 : kEmpty}};
  for (const auto& point : scaling.points) {
    if (point.throughput.empty()) {
      table.rows.push_back({{std::to_string(point.workers)},
                            {"-"},
                            {"-"},
                            {"-"},
                            {"-"},
                            {"failed: " + point.reason, Tone::bad},
                            {""},
                            {""},
                            {""},
                            {""},
                            {""}});
      continue;
    }
    const auto& interval = point.efficiency.interval;
    table.rows.push_back(
        {{std::to_string(point.workers)},
         {format_si(point.median, "", 4)},
         {format_significant(point.speed_up.value, 3)},
         {format_percent(point.efficiency.value)},
         {interval ? fmt::format("{} .. {}", format_percent(interval->low), format_percent(interval->high)) : "-"},
         {point.grade, tone_of_grade(point.grade)},
         {point.usual},
         {point.gpu_memory_bytes ? format_bytes(*point.gpu_memory_bytes) : "-"},
         {point.gpu_utilization ? format_percent(*point.gpu_utilization) : "-"},
         {point.peak_memory_bytes ? format_bytes(*point.peak_memory_bytes) : "-"},
         {point.energy_per_work_j ? format_si(point.energy_per_work_j->value, "J") : "-"}});
  }
  return table;
}

std::string part_text(double lost) { return std::abs(lost) < 0.0005 ? "0 %" : format_percent(lost); }

/// The lost efficiency, cause by cause; negative parts take less than with the fewest workers.
Table loss_table(const Scaling& scaling) {
  Table table;
  table.columns = {{scaling.worker + "s", Align::right},
                   {"lost", Align::right},
                   {"communication", Align::right},
                   {"imbalance", Align::right},
                   {"data loading", Align::right},
                   {"host", Align::right},
                   {"rest", Align::right},
                   {"late rank", Align::right, 1}};
  for (const auto& point : scaling.points) {
    if (!point.loss) continue;
    const auto& loss = *point.loss;
    table.rows.push_back({{std::to_string(point.workers)},
                          {part_text(1 - point.efficiency.value)},
                          {part_text(loss.communication)},
                          {part_text(loss.imbalance)},
                          {part_text(loss.loading)},
                          {part_text(loss.host)},
                          {part_text(loss.rest)},
                          {point.profile->late_rank >= 0 ? std::to_string(point.profile->late_rank) : "-"}});
  }
  return table;
}

/// What each recorded run spends its step on, which is what the split was made from.
Table steps_table(const Scaling& scaling) {
  Table table;
  table.columns = {{scaling.worker + "s", Align::right},
                   {"step", Align::right},
                   {"kernels", Align::right},
                   {"communication", Align::right},
                   {"imbalance", Align::right},
                   {"data loading", Align::right},
                   {"host", Align::right},
                   {"utilization", Align::right, 1}};
  for (const auto& point : scaling.points) {
    if (!point.profile) continue;
    const auto& shares = *point.profile;
    table.rows.push_back({{std::to_string(point.workers)},
                          {format_seconds(shares.step_s)},
                          {format_seconds(shares.compute_s)},
                          {format_seconds(shares.communication_s)},
                          {format_seconds(shares.imbalance_s)},
                          {format_seconds(shares.loading_s)},
                          {format_seconds(shares.host_s)},
                          {format_percent(shares.utilization)}});
  }
  return table;
}

void add_profiles(const Scaling& scaling, Report& report) {
  Section section{"Recorded steps, mean over ranks", {}, false, false};
  bool any = false;
  for (const auto& point : scaling.points) any = any || point.profile;
  if (any) {
    auto lost = loss_table(scaling);
    if (!lost.rows.empty()) {
      report.sections.push_back({"Efficiency lost to", {std::move(lost)}, false, false});
      report.sections.back().blocks.push_back(Paragraph{
          "Share of the time that each cause takes beyond its share with the smallest number of workers. The parts "
          "sum to the loss; a negative one takes less than before.",
          Tone::quiet});
    }
    section.blocks.push_back(steps_table(scaling));
  }
  for (const auto& point : scaling.points) {
    if (point.profile_problem.empty()) continue;
    section.blocks.push_back(
        Paragraph{fmt::format("With {}: {}", scaling.workers(point.workers), point.profile_problem), Tone::warning});
  }
  if (!section.blocks.empty()) report.sections.push_back(std::move(section));
}

Section laws_section(const Scaling& scaling) {
  Section section{"Laws", {}, false, false};
  Table table;
  table.columns = {{"law"}, {"parameter"}, {"value", Align::right}, {"95 % interval", Align::right}};
  Table residuals;
  residuals.columns = {{scaling.worker + "s", Align::right}};
  std::map<int, std::vector<Cell>> rows;
  for (const auto& fit : scaling.fits) {
    const std::string law = fit.law + (fit.chosen ? " (chosen)" : "");
    if (!fit.reason.empty()) table.rows.push_back({{law}, {fit.reason, Tone::quiet}, {""}, {""}});
    for (const auto& [name, value] : fit.parameters) {
      table.rows.push_back({{law}, {name}, {format_significant(value.value, 3)}, {interval_text(value.interval)}});
    }
    if (fit.off.empty()) continue;
    residuals.columns.push_back({fit.law + " off", Align::right});
    for (const auto& [workers, off] : fit.off) rows[workers].push_back({fmt::format("{:+.1f} %", 100 * off)});
  }
  section.blocks.push_back(std::move(table));
  for (auto& [workers, cells] : rows) {
    cells.insert(cells.begin(), Cell{std::to_string(workers)});
    residuals.rows.push_back(std::move(cells));
  }
  if (!residuals.rows.empty()) section.blocks.push_back(std::move(residuals));
  if (scaling.peak_workers) {
    section.blocks.push_back(
        Paragraph{*scaling.peak_workers < 2
                      ? fmt::format("By the USL, more than one {} does not raise throughput.", scaling.worker)
                      : fmt::format("By the USL, throughput is largest with {:.0f} {}s and falls beyond.",
                                    *scaling.peak_workers, scaling.worker)});
  }
  if (!scaling.no_forecast.empty()) section.blocks.push_back(Paragraph{scaling.no_forecast, Tone::warning});
  return section;
}

Section forecast_section(const Scaling& scaling) {
  Section section{"Forecast, if the law continues to hold", {}, false, false};
  Table table;
  table.columns = {{scaling.worker + "s", Align::right},
                   {"law"},
                   {"speedup", Align::right},
                   {"95 % interval", Align::right},
                   {"efficiency", Align::right}};
  for (const auto& reported : scaling.forecasts) {
    table.rows.push_back({{std::to_string(reported.workers)},
                          {reported.law},
                          {format_significant(reported.speed_up.value, 3)},
                          {interval_text(reported.speed_up.interval)},
                          {format_percent(reported.efficiency)}});
  }
  section.blocks.push_back(std::move(table));
  section.blocks.push_back(
      Paragraph{"The interval holds those of every law that the measurements leave possible.", Tone::quiet});
  return section;
}

Plot scaling_plot(const Scaling& scaling) {
  Plot plot{"speedup", {scaling.worker + "s", "", true}, {"speedup", "", true}, {}};
  Series measured{"measured", {}, true, false}, ideal{"ideal", {}, true, true};
  for (const auto& point : scaling.points) {
    if (point.throughput.empty()) continue;
    measured.points.emplace_back(point.workers, point.speed_up.value);
    ideal.points.emplace_back(point.workers, point.workers);
  }
  plot.series = {std::move(measured)};
  for (const auto& fit : scaling.fits) {
    Series law{fit.law, {}, true, false};
    for (const auto& reported : scaling.forecasts) {
      if (reported.law == fit.law) law.points.emplace_back(reported.workers, reported.speed_up.value);
    }
    if (!law.points.empty()) {
      ideal.points.emplace_back(law.points.back().first, law.points.back().first);
      plot.series.push_back(std::move(law));
    }
  }
  plot.series.push_back(std::move(ideal));
  return plot;
}

/// What the most workers reach; no text where they were not measured.
std::string headline(const Scaling& scaling) {
  if (scaling.points.empty() || scaling.points.back().throughput.empty()) return {};
  const auto& last = scaling.points.back();
  const auto& interval = last.efficiency.interval;
  return fmt::format("{}: {}x faster, efficiency {}{}.", scaling.workers(last.workers),
                     format_significant(last.speed_up.value, 3), format_percent(last.efficiency.value),
                     interval ? fmt::format(" [{}, {}]", format_percent(interval->low), format_percent(interval->high))
                              : " (one run: no interval)");
}

}  // namespace

Report build_report(const Scaling& scaling) {
  Report report;
  report.title = fmt::format("{} scaling", scaling.mode == "weak" ? "Weak" : "Strong");
  report.subtitle = scaling.command;
  if (auto text = headline(scaling); !text.empty()) {
    report.sections.push_back({"", {Paragraph{std::move(text), Tone::good}}, false, false});
  }
  Section measured{"Measured", {points_table(scaling)}, false, false};
  for (const auto& point : scaling.points) {
    if (point.failures > 0) {
      measured.blocks.push_back(Paragraph{fmt::format("{} of the runs with {} failed: {}", point.failures,
                                                      scaling.workers(point.workers), point.reason),
                                          Tone::warning});
    }
  }
  const auto& points = scaling.points;
  if (!points.empty() && points.front().workers > 1) {
    measured.blocks.push_back(Paragraph{
        fmt::format("Compared with {0} {1}s, which count as a speedup of {0}.", points.front().workers, scaling.worker),
        Tone::quiet});
  }
  if (!scaling.energy_method.empty()) measured.blocks.push_back(Paragraph{scaling.energy_method, Tone::quiet});
  if (scaling.points.size() > 1) measured.blocks.push_back(scaling_plot(scaling));
  report.sections.push_back(std::move(measured));
  if (!scaling.causes.empty()) {
    Section causes{"Where it is lost", {}, false, false};
    for (const auto& cause : scaling.causes) causes.blocks.push_back(Paragraph{"- " + cause, Tone::warning});
    report.sections.push_back(std::move(causes));
  }
  add_profiles(scaling, report);
  report.sections.push_back(laws_section(scaling));
  if (!scaling.forecasts.empty()) report.sections.push_back(forecast_section(scaling));
  return report;
}

Report build_report(const PowerCaps& caps) {
  Report report;
  report.title = fmt::format("Power caps of {} GPU{}", caps.gpus, caps.gpus == 1 ? "" : "s");
  report.subtitle = caps.command;
  Table table;
  table.columns = {{"cap", Align::right},
                   {caps.unit + "/s", Align::right},
                   {"speed", Align::right},
                   {"95 % interval", Align::right, 1},
                   {"J/" + caps.unit, Align::right},
                   {caps.unit + "/J", Align::right},
                   {"failed"}};
  Plot plot{"work per joule", {"cap, W", "", false}, {caps.unit + "/J", "", false}, {}};
  Series series{"work per joule", {}, true, false};
  for (const auto& point : caps.points) {
    const bool measured = !point.throughput.empty();
    double sum = 0;
    for (const double rate : point.throughput) sum += rate;
    const double mean = measured ? sum / static_cast<double>(point.throughput.size()) : 0;
    const bool best = caps.most_efficient && *caps.most_efficient == point.cap_w;
    const auto& interval = point.speed.interval;
    table.rows.push_back(
        {{fmt::format("{:.0f} W", point.cap_w)},
         {measured ? format_si(mean, "", 4) : "-"},
         {measured ? format_percent(point.speed.value) : "-"},
         {interval ? fmt::format("{} .. {}", format_percent(interval->low), format_percent(interval->high)) : "-"},
         {point.energy ? format_si(point.energy->value, "J") : "-"},
         {point.work_per_joule ? format_significant(*point.work_per_joule, 4) : "-", best ? Tone::good : Tone::plain},
         {point.failures > 0 ? fmt::format("{}: {}", point.failures, point.reason) : "", Tone::bad}});
    if (point.work_per_joule) series.points.emplace_back(point.cap_w, *point.work_per_joule);
  }
  Section section{"Measured", {Paragraph{caps.verdict}, std::move(table)}, false, false};
  if (series.points.size() > 1) {
    plot.series.push_back(std::move(series));
    section.blocks.push_back(std::move(plot));
  }
  if (!caps.energy_method.empty()) section.blocks.push_back(Paragraph{caps.energy_method, Tone::quiet});
  section.blocks.push_back(
      caps.restored
          ? Paragraph{fmt::format("The cap is {:.0f} W again, as it was found.", caps.found_w), Tone::quiet}
          : Paragraph{fmt::format("The cap is NOT what it was: set it to {:.0f} W.", caps.found_w), Tone::bad});
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace warpmark::report
