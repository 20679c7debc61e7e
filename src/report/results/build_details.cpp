// Everything else that is known about each run, by workload: distribution, statistics, what was achieved, how it was
// measured, in what environment, and how to repeat it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/auxiliary.h"
#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kRowsOfOnePlot = 24;

using Runs = std::vector<const Run*>;

/// A column that no row fills only takes room. The first always stays.
void drop_empty_columns(Table& table) {
  for (std::size_t i = table.columns.size(); i-- > 1;) {
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(),
                                    [&](const auto& row) { return i < row.size() && !row[i].text.empty(); });
    if (filled) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : table.rows) {
      if (i < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void add_table(Section& section, Table table) {
  drop_empty_columns(table);
  if (!table.rows.empty() && table.columns.size() > 1) section.blocks.push_back(std::move(table));
}

/// Samples as deviations from the run's median, so that runs of any length share an axis.
std::vector<Distribution> distributions(const Runs& runs, const RunLabels& labels) {
  std::vector<Distribution> plots;
  for (const Run* run : runs) {
    if (!shows_speed(*run)) continue;
    const Metric& primary = run->metrics.front();
    const double median = primary.summary.median;
    if (median == 0 || primary.samples.size() < 2) continue;
    Distribution::Group group{labels.within_workload(*run), {}, 0, std::nullopt};
    for (const double sample : primary.samples) group.samples.push_back(sample / median - 1);
    if (const auto& interval = primary.summary.median_interval) {
      group.interval = {interval->low / median - 1, interval->high / median - 1};
    }
    if (plots.empty() || plots.back().groups.size() == kRowsOfOnePlot) {
      plots.push_back({"Samples around their median", {primary.id + ", deviation from the median", "%"}, {}});
    }
    plots.back().groups.push_back(std::move(group));
  }
  return plots;
}

std::string percentile_text(const Summary& summary, double p, std::string_view unit) {
  for (const auto& percentile : summary.percentiles) {
    if (std::abs(percentile.p - p) < 1e-9 && percentile.value) return format_quantity(*percentile.value, unit);
  }
  return {};
}

/// Of the primary metric.
Table statistics_table(const Runs& runs, const RunLabels& labels) {
  Table table{{{"statistics"},
               {"n", Align::right},
               {"median", Align::right},
               {"±", Align::right, 1},
               {"min", Align::right, 3},
               {"max", Align::right, 3},
               {"mean", Align::right, 6},
               {"cv", Align::right, 2},
               {"MAD", Align::right, 5},
               {"p90", Align::right, 4},
               {"p95", Align::right, 4},
               {"p99", Align::right, 4},
               {"outliers", Align::right, 5},
               {"lag-1", Align::right, 6}},
              {}};
  for (const Run* run : runs) {
    if (!shows_speed(*run)) continue;
    const Metric& metric = run->metrics.front();
    const Summary& s = metric.summary;
    const auto shown = [&](double value) { return format_quantity(value, metric.unit); };
    std::vector<Cell> row{{labels.within_workload(*run)}, {format_count(s.n)}, {shown(s.median)}};
    row.push_back({s.median_interval ? format_half_width(s.median, *s.median_interval) : std::string(), Tone::quiet});
    if (s.n > 1) {  // one sample has no spread
      row.insert(row.end(), {{shown(s.min)}, {shown(s.max)}, {shown(s.mean)}, {format_percent(s.cv)}, {shown(s.mad)}});
      for (const double p : {0.9, 0.95, 0.99}) row.push_back({percentile_text(s, p, metric.unit)});
      row.push_back({format_count(static_cast<std::int64_t>(s.outliers.size()))});
      row.push_back({s.autocorrelation ? format_significant(*s.autocorrelation, 2) : std::string()});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Metrics beside the primary one and the rates, which follow from it.
std::vector<std::string> further_metrics(const Runs& runs) {
  std::vector<std::string> ids;
  for (const Run* run : runs) {
    for (std::size_t i = 1; i < run->metrics.size(); ++i) {
      const auto& id = run->metrics[i].id;
      if (id == "flop_rate" || id == "bandwidth") continue;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  return ids;
}

/// The peak's ceiling with units for people, where the session has it; else as the analysis put it.
std::string ceiling_text(const Session& session, const Run& run, const std::string& text) {
  for (const auto& ceiling : session.ceilings) {
    const auto name = ceiling.scope.empty() ? ceiling.id : ceiling.id + " " + ceiling.scope;
    if (ceiling.device != run.device || !text.starts_with(name + " of ")) continue;
    return ceiling_name(ceiling) + ", " + format_quantity(ceiling.value, ceiling.unit) + " by " + ceiling.source;
  }
  return text;
}

/// Work of a launch for its energy: operations, or bytes where there are none.
std::string per_watt(const Run& run) {
  const auto* energy = metric_of(run, "energy");
  if (energy == nullptr || !(energy->summary.median > 0)) return {};
  const double joules = energy->summary.median;
  if (run.cost.flops > 0) return format_si(run.cost.flops / joules, "FLOP/s/W");
  return run.cost.bytes > 0 ? format_si(run.cost.bytes / joules, "B/s/W") : std::string();
}

Table achieved_table(const Session& session, const Runs& runs, const RunLabels& labels) {
  Table table{{{"achieved"},
               {"compute", Align::right},
               {"bandwidth", Align::right},
               {"FLOP/B", Align::right, 2},
               {"bound"},
               {"of peak", Align::right},
               {"its peak", Align::left, 3}},
              {}};
  const auto further = further_metrics(runs);
  for (const auto& id : further) table.columns.push_back({id, Align::right, 4});
  const bool has_energy = std::find(further.begin(), further.end(), "energy") != further.end();
  if (has_energy) table.columns.push_back({"per watt", Align::right, 5});
  for (const Run* run : runs) {
    if (!shows_speed(*run)) continue;
    const Peak peak = run->peak.value_or(Peak{});
    const auto rate = [](double value, const char* unit) { return value > 0 ? format_si(value, unit) : std::string(); };
    const bool placed = peak.bound != Bound::unknown;
    const std::string caution = (peak.unreliable ? "; unreliable: the machine was disturbed" : "") +
                                (peak.reason.empty() ? std::string() : "; at least: " + peak.reason);
    std::vector<Cell> row{{labels.within_workload(*run)},
                          {rate(peak.flops_per_second, "FLOP/s")},
                          {rate(peak.bytes_per_second, "B/s")},
                          {peak.intensity > 0 ? format_significant(peak.intensity, 3) : std::string()},
                          {name_of(peak.bound)},
                          {placed ? format_percent(peak.share) : std::string(), Tone::plain,
                           placed ? std::optional(peak.share) : std::nullopt},
                          {placed ? ceiling_text(session, *run, peak.ceiling) + caution : peak.reason, Tone::quiet}};
    for (const auto& id : further) {
      const auto* metric = metric_of(*run, id);
      row.push_back({metric != nullptr ? format_quantity(metric->summary.median, metric->unit) : std::string()});
    }
    if (has_energy) row.push_back({per_watt(*run)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What energies were read from. NVIDIA tells ±5 % of the power that NVML reads (nvmlDeviceGetPowerUsage), which the
/// GPU's counter adds up.
void add_energy_method(Section& section, const Runs& runs) {
  bool gpus = false, processors = false;
  for (const Run* run : runs) {
    if (metric_of(*run, "energy") != nullptr) (run->device.starts_with("cpu") ? processors : gpus) = true;
    if (metric_of(*run, kGpuEnergy) != nullptr) gpus = true;
  }
  if (!gpus && !processors) return;
  const char* counters = !processors ? "GPUs' own counters (NVML"
                         : !gpus     ? "processors' own counters (RAPL"
                                     : "own counters of GPUs (NVML) and processors (RAPL";
  section.blocks.push_back(
      Paragraph{fmt::format("Energy: the {}, about ±5 %), idle power included.", counters), Tone::quiet});
}

std::string warmup_text(const Warmup& warmup) {
  if (warmup.launches == 0 && warmup.reason.empty()) return {};
  return format_plural(static_cast<std::size_t>(warmup.launches), "launch", "launches") + " in " +
         format_duration(warmup.seconds) + (warmup.settled ? "" : ", not settled") +
         (warmup.reason.empty() ? "" : ": " + warmup.reason);
}

/// "41.2 ms, 41.1 ms over the median".
std::string first_launch_text(const Run& run) {
  if (!run.warmup.first_s || !shows_speed(run) || run.metrics.front().unit != "s") return {};
  const double first_s = *run.warmup.first_s, over_s = first_s - run.metrics.front().summary.median;
  if (over_s <= 0) return format_quantity(first_s, "s");
  return format_quantity(first_s, "s") + ", " + format_quantity(over_s, "s") + " over the median";
}

std::string timer_text(const Timing& timing) {
  if (timing.method.empty()) return {};
  std::string text = timing.method + ", resolution " + format_si(timing.resolution_s, "s", 2) + ", overhead " +
                     format_si(timing.overhead_s, "s", 2) + " subtracted";
  if (timing.launches_per_sample > 1) text += ", " + format_count(timing.launches_per_sample) + " launches a sample";
  if (timing.sets > 1) text += ", " + format_count(timing.sets) + " input sets in turn";
  return text;
}

std::string error_text(const std::optional<ErrorCheck>& error) {
  if (!error) return {};
  std::string text = format_scientific(error->value) + " of " + format_scientific(error->tolerance) + " allowed";
  if (!error->norm.empty()) text += ", " + error->norm;
  if (!error->reference.empty()) text += ", against " + error->reference;
  return text;
}

Table method_table(const Runs& runs, const RunLabels& labels) {
  Table table{{{"how it was measured"},
               {"warm-up"},
               {"first launch"},
               {"timer"},
               {"stopped because"},
               {"error of the output"},
               {"notes"}},
              {}};
  for (const Run* run : runs) {
    std::string notes;
    for (const auto& [name, text] : run->notes) notes += (notes.empty() ? "" : "; ") + name + ": " + text;
    if (run->rounds > 1) notes += (notes.empty() ? "" : "; ") + format_count(run->rounds) + " rounds merged";
    table.rows.push_back({{labels.within_workload(*run)},
                          {warmup_text(run->warmup)},
                          {first_launch_text(*run)},
                          {timer_text(run->timing)},
                          {run->stopped_because},
                          {error_text(run->error)},
                          {notes}});
  }
  std::erase_if(table.rows, [](const auto& row) {
    return std::all_of(row.begin() + 1, row.end(), [](const Cell& cell) { return cell.text.empty(); });
  });
  return table;
}

std::string reading_text(const Reading& reading) {
  if (!reading.before && !reading.after) return {};
  const auto text = [&](const std::optional<double>& value) {
    return value ? format_quantity(*value, reading.unit) : std::string("?");
  };
  const auto before = text(reading.before);
  const auto after = text(reading.after);
  return before == after ? before : before + " → " + after;
}

Table environment_table(const Runs& runs, const RunLabels& labels) {
  Table table{{{"environment"}, {"disturbed by"}}, {}};
  std::vector<std::string> ids;
  for (const Run* run : runs) {
    for (const auto& reading : run->environment.readings) {
      if (std::find(ids.begin(), ids.end(), reading.id) == ids.end()) ids.push_back(reading.id);
    }
  }
  int optional = 1;
  for (auto id : ids) {
    std::replace(id.begin(), id.end(), '_', ' ');
    table.columns.push_back({id, Align::right, optional++});
  }
  for (const Run* run : runs) {
    const auto& environment = run->environment;
    if (environment.readings.empty() && environment.disturbances.empty()) continue;
    std::string causes;
    for (const auto& event : environment.disturbances) causes += (causes.empty() ? "" : "; ") + event.cause;
    std::vector<Cell> row{{labels.within_workload(*run)}, {causes, Tone::warning}};
    for (const auto& id : ids) {
      const auto found = std::find_if(environment.readings.begin(), environment.readings.end(),
                                      [&](const auto& reading) { return reading.id == id; });
      row.push_back({found == environment.readings.end() ? std::string() : reading_text(*found)});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table repro_table(const Runs& runs, const RunLabels& labels) {
  Table table{{{"to repeat it"}, {"command"}}, {}};
  for (const Run* run : runs) {
    if (!run->repro.empty()) table.rows.push_back({{labels.within_workload(*run)}, {run->repro}});
  }
  return table;
}

}  // namespace

std::vector<Section> detail_sections(const Session& session, const RunLabels& labels) {
  std::vector<std::pair<std::string, Runs>> groups;
  for (const auto& run : session.runs) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& item) { return item.first == run.workload; });
    if (group == groups.end()) group = groups.insert(groups.end(), {run.workload, {}});
    group->second.push_back(&run);
  }
  std::vector<Section> sections;
  for (const auto& [workload, runs] : groups) {
    Section section{"Details of " + workload + ", " + format_plural(runs.size(), "run", "runs"), {}, true};
    for (auto& plot : distributions(runs, labels)) section.blocks.push_back(std::move(plot));
    add_table(section, statistics_table(runs, labels));
    add_table(section, achieved_table(session, runs, labels));
    add_energy_method(section, runs);
    add_table(section, method_table(runs, labels));
    add_table(section, environment_table(runs, labels));
    add_table(section, repro_table(runs, labels));
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace warpmark::report
