#include "collectives/results/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "collectives/calls/operation.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

constexpr Tone tone_of(SizeVerdict verdict) {
  switch (verdict) {
    case SizeVerdict::good: return Tone::good;
    case SizeVerdict::below:
    case SizeVerdict::wrong: return Tone::bad;
    case SizeVerdict::not_judged: break;
  }
  return Tone::quiet;
}

const Judged* judged_of(const Judgement& judgement, std::int64_t bytes, bool in_place) {
  const auto found = std::find_if(judgement.sizes.begin(), judgement.sizes.end(),
                                  [&](const auto& item) { return item.bytes == bytes && item.in_place == in_place; });
  return found == judgement.sizes.end() ? nullptr : &*found;
}

/// By which measured limit: ranks of MPI go through memory, those of NCCL through the links that --links tells of.
const char* limit_of(const Sweep& sweep) { return sweep.head && sweep.head->copy_rate > 0 ? "of copies" : "of links"; }

std::string share_of_limit(const Sweep& sweep, const Row& row, const Placement& place, const Judged* judged) {
  if (sweep.head && sweep.head->copy_rate > 0) return format_percent(bus_bandwidth(row, place) / sweep.head->copy_rate);
  return judged != nullptr && judged->of_links > 0 ? format_percent(judged->of_links) : "-";
}

Table spread_table(const Sweep& sweep, const Judgement& judgement) {
  Table table;
  table.columns = {{"size", Align::right},         {"place"},
                   {"median", Align::right},       {"95 % interval", Align::right},
                   {"p99", Align::right, 2},       {"skew", Align::right},
                   {"last", Align::right, 1},      {limit_of(sweep), Align::right, 3},
                   {"of fabric", Align::right, 4}, {"verdict"}};
  for (const auto& row : sweep.rows) {
    for (const bool in_place : {false, true}) {
      const auto& place = in_place ? row.in_place : row.out_of_place;
      if (!place || place->samples_s.empty()) continue;
      const Summary summary = stats::summarize(place->samples_s);
      const auto* p99 = summary.percentiles.empty() ? nullptr : &summary.percentiles.back();
      const Judged* judged = judged_of(judgement, row.counts.bytes, in_place);
      const SizeVerdict verdict = judged != nullptr ? judged->verdict : SizeVerdict::not_judged;
      table.rows.push_back(
          {{format_bytes(static_cast<double>(row.counts.bytes))},
           {in_place ? "in" : "out"},
           {format_seconds(summary.median)},
           {summary.median_interval ? fmt::format("{} .. {}", format_seconds(summary.median_interval->low),
                                                  format_seconds(summary.median_interval->high))
                                    : "-"},
           {p99 != nullptr && p99->value ? format_seconds(*p99->value) : "-"},
           {place->late_rank < 0 ? "-" : format_seconds(place->skew_s)},
           {place->late_rank < 0 ? "-" : fmt::format("{} ({:.0f} %)", place->late_rank, place->late_share * 100)},
           {share_of_limit(sweep, row, *place, judged)},
           {judged != nullptr && judged->of_fabric > 0 ? format_percent(judged->of_fabric) : "-"},
           {judged != nullptr && judged->expected > 0
                ? fmt::format("{}, {} expected", name_of(verdict), format_si(judged->expected, "B/s"))
                : name_of(verdict),
            tone_of(verdict)}});
    }
  }
  return table;
}

/// Of a single rank the algorithm bandwidth, as nothing of it goes over a bus.
Plot bandwidth_plot(const Sweep& sweep, const Judgement& judgement) {
  const bool alone = sweep.rows.front().ranks < 2;
  const std::string name = alone ? "algorithm bandwidth" : "bus bandwidth";
  Plot plot{name, {"size (B)", "B", true}, {name + " (B/s)", "B/s", false}, {}};
  for (const bool in_place : {false, true}) {
    Series series{in_place ? "in place" : "out of place", {}, true, false};
    for (const auto& row : sweep.rows) {
      const auto& place = in_place ? row.in_place : row.out_of_place;
      if (place && row.counts.bytes > 0) {
        series.points.emplace_back(static_cast<double>(row.counts.bytes),
                                   alone ? algorithm_bandwidth(row, *place) : bus_bandwidth(row, *place));
      }
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  Series expected{"expected", {}, true, true};
  for (const auto& judged : judgement.sizes) {
    if (judged.expected > 0 && !judged.in_place) {
      expected.points.emplace_back(static_cast<double>(judged.bytes), judged.expected);
    }
  }
  if (expected.points.size() > 1) plot.series.push_back(std::move(expected));
  return plot;
}

std::string placement_columns(const Row& row, const std::optional<Placement>& place) {
  if (!place) return fmt::format("{:>8} {:>7} {:>7} {:>7}", "-", "-", "-", "-");
  const double us = place->time_s * 1e6;
  const std::string time = us >= 1e7   ? fmt::format("{:.0f}", us)
                           : us >= 1e5 ? fmt::format("{:.1f}", us)
                                       : fmt::format("{:.2f}", us);
  const std::string wrong = place->wrong ? std::to_string(*place->wrong) : "N/A";
  return fmt::format("{:>8} {:>7.2f} {:>7.2f} {:>7}", time, algorithm_bandwidth(row, *place) * 1e-9,
                     bus_bandwidth(row, *place) * 1e-9, wrong);
}

constexpr Field kSlowRankFields[] = {
    field<&SlowRank::rank>("rank"),
    field<&SlowRank::skew_s>("skew", "Median, at the size where it is largest against the call's time.")
        .within(kNonNegative),
    field<&SlowRank::share>("share", "Of the iterations.").within(kNonNegative),
};
constexpr RecordOf<SlowRank> kSlowRank{"slow_rank", "It calls later than the others.", kSlowRankFields};

constexpr Field kJudgedFields[] = {
    field<&Judged::bytes>("size"),
    field<&Judged::in_place>("in_place"),
    field<&Judged::verdict>("verdict"),
    field<&Judged::busbw>("busbw").within(kNonNegative),
    field<&Judged::expected>("expected").within(kNonNegative).unless_empty(),
    field<&Judged::of_fabric>("of_fabric", "Ratio; absent where the fabric is unknown.").unless_empty(),
    field<&Judged::of_links>("of_links", "Ratio of the slowest measured link.").unless_empty(),
    field<&Judged::reason>("reason", "What it was judged by.").unless_empty(),
};
constexpr RecordOf<Judged> kJudged{"verdict", "", kJudgedFields};

constexpr Field kSweepFields[] = {
    field<&Sweep::complete>("complete"),
    field<&Sweep::head>("head", "", kHead),
    field<&Sweep::rows>("rows", "", kRow),
};
constexpr RecordOf<Sweep> kSweep{"sweep", "", kSweepFields};

constexpr Field kJudgementFields[] = {
    field<&Judgement::passed>("passed"),
    field<&Judgement::summary>("summary", "One sentence."),
    field<&Judgement::causes>("causes", "Likely ones, what to look at first."),
    field<&Judgement::wrong_ranks>("wrong_ranks"),
    field<&Judgement::slow>("slow_ranks", "", kSlowRank),
    field<&Judgement::sizes>("verdicts", "", kJudged),
};
constexpr RecordOf<Judgement> kJudgement{"judgement", "", kJudgementFields};

constexpr Field kCollectiveResultFields[] = {
    derived(
        "plan", "", kPlan, [](const CollectiveResult& result) -> const auto& { return result.plan; }),
    derived(
        nullptr, "", kSweep, [](const CollectiveResult& result) -> const auto& { return result.sweep; }),
    derived(
        nullptr, "", kJudgement, [](const CollectiveResult& result) -> const auto& { return result.judgement; }),
};

constexpr Field kMeasuredFields[] = {
    derived("setting", "NCCL_ALGO=Ring NCCL_PROTO=LL, default",
            [](const Measured& measured) { return to_text(measured.settings); }),
    derived("rounds", "", kRow,
            [](const Measured& measured) {
              std::vector<std::vector<Row>> rounds;
              for (const auto& sweep : measured.rounds) rounds.push_back(sweep.rows);
              return rounds;
            }),
    field<&Measured::fault>("fault", "Why there are no numbers, or fewer.").unless_empty(),
};
constexpr RecordOf<Measured> kMeasured{"measured", "", kMeasuredFields};

struct NamedSize {
  TunedSize size;
  std::string setting;
};
constexpr Field kNamedSizeFields[] = {
    field<&NamedSize::size, &TunedSize::bytes>("size"),
    field<&NamedSize::size, &TunedSize::default_s>("default", "Mean over rounds.").within(kNonNegative),
    field<&NamedSize::size, &TunedSize::best_s>("best").within(kNonNegative),
    field<&NamedSize::size, &TunedSize::gain>("gain", "default / best").within(kNonNegative),
    field<&NamedSize::setting>("setting", "The best one."),
    field<&NamedSize::size, &TunedSize::certain>("certain",
                                                 "The interval is above 1, corrected for the number of settings."),
    field<&NamedSize::size, &TunedSize::gain_interval>("gain_interval",
                                                       "Over rounds, Student's t on logarithms; absent below 2 rounds.")
        .formed(kEndsForm),
};
constexpr RecordOf<NamedSize> kNamedSize{"tuned_size", "", kNamedSizeFields};

constexpr Field kTuningResultFields[] = {
    derived(
        "plan", "", kPlan, [](const TuningResult& result) -> const auto& { return result.plan; }),
    derived("sizes", "", kNamedSize,
            [](const TuningResult& result) {
              std::vector<NamedSize> sizes;
              for (const auto& size : result.tuning.sizes) {
                sizes.push_back({size, to_text(result.tuning.measured[size.best].settings)});
              }
              return sizes;
            }),
    derived(
        "settings", "", kMeasured, [](const TuningResult& result) -> const auto& { return result.tuning.measured; }),
};

}  // namespace

Report build_report(const Plan& plan, const Sweep& sweep, const Judgement& judgement, bool with_table) {
  Report report;
  const int ranks = sweep.rows.empty() ? 0 : sweep.rows.front().ranks;
  report.title = fmt::format("{} over {} rank{}", info_of(plan.kind).id, ranks, ranks == 1 ? "" : "s");
  if (sweep.head) report.subtitle = sweep.head->version;
  Section verdict{"Verdict", {Paragraph{judgement.summary, judgement.passed ? Tone::plain : Tone::bad}}, false, false};
  for (const auto& cause : judgement.causes) verdict.blocks.push_back(Paragraph{"- " + cause});
  if (sweep.head) {
    for (const auto& note : sweep.head->notes) verdict.blocks.push_back(Paragraph{note, Tone::quiet});
  }
  report.sections.push_back(std::move(verdict));
  if (with_table && sweep.head) {
    std::string table = nccl_table_head(plan, *sweep.head);
    for (const auto& row : sweep.rows) table += nccl_table_row(row);
    report.sections.push_back(
        {"Table", {Paragraph{table + nccl_table_foot(plan, sweep), Tone::plain, true}}, false, false});
  }
  Section spread{"By size", {spread_table(sweep, judgement)}, false, false};
  const bool no_p99 = plan.iterations < stats::samples_needed(0.99, 0.95);
  if (no_p99) spread.blocks.push_back(Paragraph{"p99 needs 299 iterations: -n 300", Tone::quiet});
  if (sweep.rows.size() > 1) spread.blocks.push_back(bandwidth_plot(sweep, judgement));
  report.sections.push_back(std::move(spread));
  return report;
}

Report build_report(const Plan& plan, const Tuning& tuning) {
  Report report;
  report.title = fmt::format("{}: settings compared", info_of(plan.kind).id);
  Table sizes;
  sizes.columns = {{"size", Align::right}, {"default", Align::right},     {"best", Align::right},
                   {"gain", Align::right}, {"interval", Align::right, 1}, {"setting"}};
  for (const auto& size : tuning.sizes) {
    const std::string setting = to_text(tuning.measured[size.best].settings);
    sizes.rows.push_back({{format_bytes(static_cast<double>(size.bytes))},
                          {format_seconds(size.default_s)},
                          {format_seconds(size.best_s)},
                          {format_times(size.gain), size.certain ? Tone::good : Tone::plain},
                          {size.gain_interval ? fmt::format("{} .. {}", format_times(size.gain_interval->low),
                                                            format_times(size.gain_interval->high))
                                              : "-"},
                          {size.certain || size.best == 0 ? setting : setting + " (not certain)"}});
  }
  report.sections.push_back({"Best by size", {std::move(sizes)}, false, false});
  Section faults{"Settings that did not run", {}, true, false};
  for (const auto& measured : tuning.measured) {
    if (!measured.fault.empty()) faults.blocks.push_back(Paragraph{to_text(measured.settings) + ": " + measured.fault});
  }
  if (!faults.blocks.empty()) report.sections.push_back(std::move(faults));
  return report;
}

constexpr RecordOf<CollectiveResult> kCollectiveResult{
    "collective",
    "Result of `warpmark collective`. Times in s, bandwidths in B/s, sizes in bytes as nccl-tests prints them.",
    kCollectiveResultFields, "warpmark.collective/1"};
constexpr RecordOf<TuningResult> kTuningResult{
    "tuning",
    "Result of `warpmark collective --sweep` and `--tune`. Times in s; gain is the default's time over the best's.",
    kTuningResultFields, "warpmark.collective_tuning/1"};

Json to_json(const CollectiveResult& result) { return write(kCollectiveResult, result); }
Json to_json(const TuningResult& result) { return write(kTuningResult, result); }

std::string nccl_table_head(const Plan& plan, const Head& head) {
  std::string text = fmt::format("# warpmark collective, as nccl-tests prints it; engine: {}\n", head.version);
  text += fmt::format("# Collective test starting: {}\n", info_of(plan.kind).program);
  text += fmt::format(
      "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} agg iters: 1 "
      "validation: {} graph: {}\n#\n# Using devices\n",
      std::max(plan.gpus, 1), plan.sizes.front(), plan.sizes.back(),
      plan.sizes.size() > 1
          ? fmt::format("{:g}", static_cast<double>(plan.sizes[1]) / static_cast<double>(plan.sizes[0]))
          : "1",
      plan.warmups, plan.iterations, plan.check ? 1 : 0, plan.graph);
  for (std::size_t rank = 0; rank < head.ranks.size(); ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 {}\n", rank, head.ranks[rank]);
  }
  text += fmt::format("#\n#{:>62}{:>35}\n", "out-of-place", "in-place");
  text += fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7}\n", "size",
                      "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
                      "#wrong");
  text += fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7}\n", "(B)",
                      "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
  return text;
}

std::string nccl_table_row(const Row& row) {
  const auto& info = info_of(row.kind);
  // nccl-tests says "sum" of sendrecv and "none" of the others that reduce nothing.
  const char* op = info.reduces || row.kind == Collective::sendrecv ? name_of(row.op) : "none";
  return fmt::format("{:>12} {:>13} {:>9} {:>7} {:>7} {} {}\n", row.counts.bytes, row.counts.parameter,
                     nccl_tests_name(row.type), op, row.root, placement_columns(row, row.out_of_place),
                     placement_columns(row, row.in_place));
}

std::string nccl_table_foot(const Plan& plan, const Sweep& sweep) {
  const auto wrong = wrong_elements(sweep);
  std::string text = fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  text += fmt::format("# Avg bus bandwidth    : {:g} \n#\n", average_bus_bandwidth(sweep) * 1e-9);
  if (!sweep.complete) text += "# The sweep did not come to its end.\n";
  return text + fmt::format("# Collective test concluded: {}\n#\n", info_of(plan.kind).program);
}

double average_bus_bandwidth(const Sweep& sweep) {
  double sum = 0;
  int count = 0;
  for (const auto& row : sweep.rows) {
    for (const auto* place : {&row.out_of_place, &row.in_place}) {
      if (*place) sum += bus_bandwidth(row, **place), ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

std::int64_t wrong_elements(const Sweep& sweep) {
  std::int64_t wrong = 0;
  for (const auto& row : sweep.rows) {
    for (const auto* place : {&row.out_of_place, &row.in_place}) {
      if (*place) wrong += (*place)->wrong.value_or(0);
    }
  }
  return wrong;
}

}  // namespace warpmark::collectives
