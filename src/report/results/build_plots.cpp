// The roofline of each device (Williams, Waterman, Patterson, CACM 52(4), 2009), and rates over sizes.
#include "report/results/build_plots.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kFewestSizes = 3;  // fewer make no curve

/// The series of that name, made if it is new.
Series& series_named(std::vector<Series>& series, const std::string& name) {
  for (auto& known : series) {
    if (known.name == name) return known;
  }
  series.push_back({name, {}});
  return series.back();
}

using Limits = std::vector<NamedLimit>;  // scope and value

Limits ceilings_of(const Session& session, const std::string& device, std::string_view id) {
  Limits limits;
  for (const auto& ceiling : session.ceilings) {
    if (ceiling.device == device && ceiling.id == id && ceiling.value > 0)
      limits.emplace_back(ceiling.scope, ceiling.value);
  }
  return limits;
}

/// Where results have both FLOPs and bytes, one series a workload.
std::vector<Series> roofline_points(const Session& session, const std::string& device) {
  std::vector<Series> all;
  for (const auto& run : session.runs) {
    if (run.device != device || !shows_speed(run) || !run.peak || run.peak->intensity <= 0) continue;
    auto& series = series_named(all, run.workload);
    series.line = false;
    series.points.emplace_back(run.peak->intensity, run.peak->flops_per_second);
  }
  return all;
}

/// Of the bandwidths, and of the peaks of the data types that results used.
std::vector<Series> peaks_of(const Session& session, const std::string& device, double least, double most) {
  std::set<std::string> used;
  for (const auto& run : session.runs) {
    if (run.device == device && shows_speed(run)) used.insert(run.cost.flop_type);
  }
  auto peaks = ceilings_of(session, device, "flop_rate");
  std::erase_if(peaks, [&](const auto& peak) { return !used.contains(peak.first); });
  return roofline_limits(peaks, ceilings_of(session, device, "bandwidth"), least, most);
}

std::optional<Plot> roofline(const Session& session, const std::string& device) {
  auto points = roofline_points(session, device);
  if (points.empty()) return std::nullopt;
  double least = points.front().points.front().first;
  double most = least;
  for (const auto& series : points) {
    for (const auto& point : series.points) {
      least = std::min(least, point.first);
      most = std::max(most, point.first);
    }
  }
  Plot plot{"Roofline of " + device,
            {"arithmetic intensity (FLOP/B)", "", true},
            {"achieved (FLOP/s)", "FLOP/s", true},
            peaks_of(session, device, least / 2, most * 2)};
  plot.series.insert(plot.series.end(), points.begin(), points.end());
  return plot;
}

/// Rate over the parameter `size`, one series for each of the other parameters' values and mode.
std::optional<Plot> size_curves(const Session& session, const RunLabels& labels, const std::string& device, bool link) {
  std::vector<Series> all;
  for (const auto& run : session.runs) {
    const auto* rate = metric_of(run, "bandwidth");
    if (run.device != device || !shows_speed(run) || rate == nullptr || run.cost.link.empty() == link) continue;
    const auto& items = run.params.items();
    const auto size = std::find_if(items.begin(), items.end(), [](const auto& item) { return item.first == "size"; });
    if (size == items.end() || !std::holds_alternative<std::int64_t>(size->second)) continue;
    const auto others = labels.params(run, "size");
    const auto name =
        run.workload + (others.empty() ? "" : " " + others) + (link ? "" : std::string(" ") + name_of(run.mode));
    series_named(all, name).points.emplace_back(static_cast<double>(std::get<std::int64_t>(size->second)),
                                                rate->summary.median);
  }
  std::erase_if(all, [](const Series& series) { return series.points.size() < kFewestSizes; });
  if (all.empty()) return std::nullopt;
  for (auto& series : all) std::sort(series.points.begin(), series.points.end());
  return Plot{(link ? "Transfers of " : "Bandwidth of ") + device + " by size",
              {link ? "size of a transfer" : "size of each array", "B", true},
              {"rate (B/s)", "B/s", true},
              std::move(all)};
}

}  // namespace

std::vector<Section> plot_sections(const Session& session, const RunLabels& labels) {
  std::vector<Section> sections;
  for (const auto& device : session.machine.devices) {
    Section section{"Plots of " + device.id, {}};
    for (auto& plot : {roofline(session, device.id), size_curves(session, labels, device.id, false),
                       size_curves(session, labels, device.id, true)}) {
      if (plot) section.blocks.push_back(*plot);
    }
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<Series> roofline_limits(std::span<const NamedLimit> peaks, std::span<const NamedLimit> bandwidths,
                                    double least, double most) {
  const auto highest_peak = std::ranges::max_element(peaks, {}, &NamedLimit::second);
  const auto widest = std::ranges::max_element(bandwidths, {}, &NamedLimit::second);
  std::vector<Series> limits;
  for (const auto& [type, peak] : peaks) {
    const double ridge = widest == bandwidths.end() ? least : peak / widest->second;
    const std::string name = type + " " + format_si(peak, "FLOP/s");
    limits.push_back({name, {{std::clamp(ridge, least, most), peak}, {most, peak}}, true, true});
  }
  for (const auto& [scope, bandwidth] : bandwidths) {
    const double top = highest_peak == peaks.end() ? most : std::min(highest_peak->second / bandwidth, most);
    const std::string name = scope + " " + format_si(bandwidth, "B/s");
    if (top > least) limits.push_back({name, {{least, least * bandwidth}, {top, top * bandwidth}}, true, true});
  }
  return limits;
}

}  // namespace warpmark::report
