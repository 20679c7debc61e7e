// The first lines of a session's page: the number that matters with its interval, what it is worth, what to run next.
#include <algorithm>
#include <array>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build.h"
#include "report/results/build_parts.h"
#include "report/results/device_groups.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

/// "time 50.00 ms, 95 % interval [49.10 ms, 51.20 ms], n = 20".
std::string number_text(const Run& run, const Metric& metric) {
  std::string text = metric.id + " " + format_quantity(metric.summary.median, metric.unit);
  const auto interval = metric_interval(run, metric), n = metric_count(run, metric);
  if (!interval.empty()) text += (metric.summary.median_interval ? ", 95 % interval " : ", ") + interval;
  return text + ", n = " + n + (interval.empty() ? " (too few for an interval)" : "");
}

bool is_to_quality(const Run& run) { return shows_speed(run) && metric_of(run, "epochs") != nullptr; }

/// The result that stands for all: a training to a quality, of loads the one with the highest rate, else the first.
const Run* leading_run(const Session& session) {
  const auto training = std::ranges::find_if(session.runs, is_to_quality);
  if (training != session.runs.end()) return &*training;
  const Run* lead = nullptr;
  const auto rate = [](const Run& run) {
    const auto* metric = metric_of(run, "request_throughput");
    return metric == nullptr ? 0 : metric->summary.median;
  };
  for (const auto& run : session.runs) {
    if (shows_speed(run) && (lead == nullptr || rate(run) > rate(*lead))) lead = &run;
  }
  return lead;
}

/// Of a training to a quality the time to it, of a run with a peak its rate, else its first metric.
Paragraph one_result(const Session& session, const Run& lead, const RunLabels& labels) {
  const Metric* metric = is_to_quality(lead) ? metric_of(lead, "time")
                         : lead.peak         ? metric_of(lead, rate_of(lead))
                                             : nullptr;
  if (metric == nullptr) metric = &lead.metrics.front();
  std::string text = labels.plain(lead) + ": " + number_text(lead, *metric);
  if (const auto* rate = metric_of(lead, "request_throughput"); rate != nullptr && rate != metric) {
    text += "; " + format_significant(rate->summary.median, 4) + " requests/s";
  }
  if (lead.peak && lead.peak->bound != Bound::unknown && !defines_its_peak(lead)) {
    text += "; " + format_percent(lead.peak->share) + " of the measured peak";
  }
  const auto others =
      std::count_if(session.runs.begin(), session.runs.end(), [](const Run& run) { return shows_speed(run); }) - 1;
  if (others > 0) {
    text += ". " + format_plural(static_cast<std::size_t>(others), "more result", "more results") + " below";
  }
  return {text + ".", lead.outcome == Outcome::unreliable ? Tone::warning : Tone::good};
}

/// Has a share of a reliable peak that it did not set itself.
bool counts_for_share(const Run& run) {
  return run.outcome == Outcome::passed && run.peak && run.peak->bound != Bound::unknown && !run.peak->unreliable &&
         !defines_its_peak(run);
}

/// What a machine is bought for: the memory's bandwidth, products by type, links; not caches and launches.
bool is_reported(const Ceiling& ceiling) {
  return (ceiling.id == "bandwidth" && ceiling.scope == "memory") || ceiling.id == "flop_rate" || ceiling.id == "link";
}

/// "cpu: memory bandwidth 93.4 GB/s, f32 compute 918 GFLOP/s"; of several GPUs from the lowest to the highest.
std::string reached_sentence(const Session& session, const DeviceGroup& group) {
  std::string text;
  bool unreliable = false;
  for (const Ceiling& one : session.ceilings) {
    if (!is_reported(one) || group.ids.front() != one.device) continue;
    const MeasuredPeak peak = measured_peak(session.ceilings, one, group);
    unreliable = unreliable || peak.unreliable;
    text += (text.empty() ? "" : ", ") + ceiling_name(one) + " " + peak.text;
  }
  return text.empty() ? text : group.label() + ": " + text + (unreliable ? " (the machine was disturbed)." : ".");
}

/// How near the results of a device, or of several of one make, are to their peaks; no text where none has a peak.
std::string peak_sentence(const Session& session, const DeviceGroup& group) {
  std::vector<double> shares;
  std::size_t above = 0;
  for (const auto& run : session.runs) {
    if (!group.contains(run.device) || !counts_for_share(run)) continue;
    if (run.peak->share > kAboveThePeak) {
      ++above;
    } else {
      shares.push_back(run.peak->share);
    }
  }
  if (shares.empty() && above == 0) return {};
  std::string text = group.label() + ": ";
  if (!shares.empty()) {
    const auto [low, high] = std::minmax_element(shares.begin(), shares.end());
    const auto count = format_plural(shares.size(), "result", "results");
    text += format_percent(stats::median(shares)) + " of the measured peak (" +
            (shares.size() == 1 ? count
                                : "median of " + count + ", " + format_percent(*low) + " to " + format_percent(*high)) +
            ")";
  }
  if (above > 0) {
    text += (shares.empty() ? "" : "; ") + format_plural(above, "result is", "results are") +
            " above the measured peak, so the peak is too low";
  }
  return text + ".";
}

/// How many results there are of each outcome; no text where there is one, and it is good.
Paragraph outcome_paragraph(const Session& session) {
  if (session.runs.empty()) return {"Nothing was measured.", Tone::warning};
  constexpr std::array<Outcome, 6> kOrder{Outcome::passed,     Outcome::failed,      Outcome::error,
                                          Outcome::unreliable, Outcome::unsupported, Outcome::skipped};
  std::string text = format_plural(session.runs.size(), "result", "results") + ": ";
  Tone tone = Tone::good;
  bool first = true;
  for (const Outcome outcome : kOrder) {
    const auto count =
        std::count_if(session.runs.begin(), session.runs.end(), [&](const Run& run) { return run.outcome == outcome; });
    if (count == 0) continue;
    text += (first ? "" : ", ") + format_count(count) + " " + name_of(outcome);
    first = false;
    if (outcome == Outcome::failed || outcome == Outcome::error) tone = Tone::bad;
    if (outcome == Outcome::unreliable && tone == Tone::good) tone = Tone::warning;
    if (outcome != Outcome::passed && count == static_cast<std::ptrdiff_t>(session.runs.size())) {
      tone = tone == Tone::bad ? Tone::bad : Tone::warning;
    }
  }
  const auto loose = std::count_if(session.runs.begin(), session.runs.end(),
                                   [](const Run& run) { return run.outcome == Outcome::passed && !run.converged; });
  if (loose > 0) text += "; " + format_count(loose) + " did not converge";
  if (session.runs.size() == 1 && tone == Tone::good && loose == 0) return {};
  return {text + ".", tone};
}

/// A command was measured: the profile of the same command shows where the time goes.
void add_next(const Session& session, Section& section) {
  constexpr std::string_view kRun = "warpmark run ", kMark = " -- ";
  const auto mark = session.command.find(kMark);
  const bool commands =
      std::ranges::any_of(session.runs, [](const Run& run) { return is_command(run) && shows_speed(run); });
  if (!commands || !session.command.starts_with(kRun) || mark == std::string::npos) return;
  if (session.command.find("--shell") < mark) return;
  section.blocks.push_back(Paragraph{"Where its time goes:", Tone::quiet});
  section.blocks.push_back(Paragraph{"warpmark profile" + session.command.substr(mark), Tone::quiet, true});
}

}  // namespace

Section summary_section(const Session& session, const RunLabels& labels) {
  Section section{"Summary", {}};
  const auto shown =
      std::count_if(session.runs.begin(), session.runs.end(), [](const Run& run) { return shows_speed(run); });
  const Run* lead = leading_run(session);
  if (shown > 1 && !is_to_quality(*lead)) {
    for (const auto& group : device_groups(session)) {
      for (const auto& sentence : {reached_sentence(session, group), peak_sentence(session, group)}) {
        if (!sentence.empty()) section.blocks.push_back(Paragraph{sentence});
      }
    }
  }
  if (lead != nullptr && section.blocks.empty()) {
    section.blocks.push_back(one_result(session, *lead, labels));
  }
  if (auto outcome = outcome_paragraph(session); !outcome.text.empty()) section.blocks.push_back(std::move(outcome));
  if (!session.complete && !session.runs.empty()) {
    section.blocks.push_back(Paragraph{
        "Interrupted: the session ended before everything had run. Finished results are below.", Tone::warning});
  }
  add_next(session, section);
  return section;
}

std::string headline_value(const Session& session) {
  const Run* lead = leading_run(session);
  if (lead == nullptr) return {};
  std::vector<double> shares;
  for (const auto& run : session.runs) {
    if (counts_for_share(run)) shares.push_back(run.peak->share);
  }
  if (shares.size() > 1) return format_percent(stats::median(shares)) + " of peak";
  const auto memory = std::ranges::find_if(session.ceilings, is_reported);
  if (memory != session.ceilings.end())
    return ceiling_name(*memory) + " " + format_quantity(memory->value, memory->unit);
  const Metric& metric = lead->metrics.front();
  return metric.id + " " + format_quantity(metric.summary.median, metric.unit);
}

}  // namespace warpmark::report
