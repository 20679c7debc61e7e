// Output of nccl-tests (all_reduce_perf and its siblings), as a log or as its own JSON (-J). Every row is a result or
// two: out of place and in place. Rows of one configuration, as `-N 5` or a second sweep prints, are rounds of one run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "exchange/formats/nccl_tests_json.h"
#include "exchange/import.h"
#include "exchange/imported.h"
#include "model/run_query.h"
#include "profile/readers/logs/nccl_log.h"
#include "profile/source.h"
#include "report/results/build_parts.h"

namespace warpmark::exchange {
namespace {

using profile::NcclSweep;

constexpr Quantity kAlgorithmBandwidth{"algorithm_bandwidth", "B/s", Better::higher};
constexpr Quantity kBusBandwidth{"bus_bandwidth", "B/s", Better::higher};

constexpr const char* kNorm = "elements that differ";
constexpr std::int64_t kMostRanks = 4096;

bool detect_nccl_tests(const Document& document) {
  if (document.json) return is_nccl_tests_json(*document.json);
  return profile::kNcclTestsReader.sniff(document.text.substr(0, profile::kSniffBytes)).score >= 80;
}

/// What the columns of -I 1 are called here.
struct Other {
  const char* column;
  Quantity quantity;
  double divisor;
};
constexpr Other kIterationColumns[] = {{"i_min", {"time_min", "s", Better::lower}, 1e6},
                                       {"i_max", {"time_max", "s", Better::lower}, 1e6},
                                       {"i_p99", {"time_p99", "s", Better::lower}, 1e6},
                                       {"i_cv%", {"time_cv", "", Better::lower}, 1e2}};

/// Results of one configuration, in the order of the log.
using Repeats = std::vector<const CollectiveResult*>;

Status add_metrics(Run& run, const Repeats& repeats) {
  const auto values = [&](auto of) {
    std::vector<double> all;
    for (const auto* result : repeats) all.push_back(of(*result));
    return all;
  };
  constexpr auto kEach = Grouping::round_each;
  WM_TRY(add_metric(run, kTime, values([](const auto& one) { return one.seconds; }), kEach));
  WM_TRY(add_metric(run, kAlgorithmBandwidth, values([](const auto& one) { return one.algorithm_bandwidth; }), kEach));
  WM_TRY(add_metric(run, kBusBandwidth, values([](const auto& one) { return one.bus_bandwidth; }), kEach));
  for (const Other& other : kIterationColumns) {
    std::vector<double> found;
    for (const auto* result : repeats) {
      for (const auto& [name, value] : result->others) {
        if (name == other.column) found.push_back(value / other.divisor);
      }
    }
    WM_TRY(add_metric(run, other.quantity, std::move(found), kEach));
  }
  std::vector<double> iterations;
  for (const auto* result : repeats) {
    iterations.insert(iterations.end(), result->iteration_seconds.begin(), result->iteration_seconds.end());
  }
  return add_metric(run, {"iteration_time", "s", Better::lower}, std::move(iterations));
}

void judge(Run& run, const Repeats& repeats, bool sweep_is_wrong, std::int64_t out_of_bounds) {
  std::int64_t wrong = 0;
  bool checked = false;
  for (const auto* result : repeats) {
    checked = checked || result->wrong.has_value();
    wrong += result->wrong.value_or(0);
  }
  if (checked) run.error = ErrorCheck{static_cast<double>(wrong), 0, kNorm, "the result that nccl-tests expects"};
  if (wrong == 0 && !sweep_is_wrong) return;
  run.outcome = Outcome::failed;
  run.reason = wrong > 0 ? fmt::format("{} elements are wrong", wrong)
                         : fmt::format("{} elements of the sweep are wrong; its rows do not say which", out_of_bounds);
}

Status add_run_of(const NcclSweep& sweep, const Repeats& repeats, Session& session) {
  const CollectiveResult& first = *repeats.front();
  Run& run = add_run(session, first.collective, "cuda");
  run.timing.method = "nccl-tests";
  run.params.set("bytes", first.bytes);
  run.params.set("dtype", clean_text(first.data_type));
  if (!first.operation.empty()) run.params.set("op", clean_text(first.operation));
  if (first.root >= 0) run.params.set("root", std::int64_t{first.root});
  run.params.set("ranks", std::int64_t{first.ranks});
  run.params.set("in_place", std::int64_t{first.in_place});
  for (const auto& [name, value] : sweep.settings) run.params.set(name, param_value(value));
  WM_TRY(add_metrics(run, repeats));
  const std::int64_t out_of_bounds = sweep.out_of_bounds.value_or(0);
  const bool rows_say = std::any_of(sweep.results.begin(), sweep.results.end(),
                                    [](const auto& result) { return result.wrong.value_or(0) > 0; });
  judge(run, repeats, out_of_bounds > 0 && !rows_say, out_of_bounds);
  return {};
}

/// nccl-tests prints its footer last: without it the test ended early, or the log is cut off.
bool is_cut_off(const NcclSweep& sweep) { return sweep.begun && !sweep.ended; }

/// Results that agree in everything but what was measured. Sweeps of other collectives, ranks or settings stay apart.
struct Groups {
  struct Group {
    const NcclSweep* sweep;
    Repeats repeats;
    bool cut_off = false;
  };
  std::vector<Group> all;
  std::map<std::string, std::size_t> places;
  void add(const NcclSweep& sweep, const CollectiveResult& one) {
    std::string key = fmt::format("{} {} {} {} {} {} {}", one.collective, one.bytes, one.data_type, one.operation,
                                  one.root, one.ranks, one.in_place);
    for (const auto& [name, value] : sweep.settings) key += " " + name + "=" + value;
    const auto [place, is_new] = places.try_emplace(std::move(key), all.size());
    if (is_new) all.push_back({&sweep, {}});
    all[place->second].repeats.push_back(&one);
    all[place->second].cut_off = all[place->second].cut_off || is_cut_off(sweep);
  }
};

void set_machine(const profile::NcclLog& log, Session& session) {
  std::vector<std::string> hosts;
  for (const auto& device : log.sweeps.front().devices) {
    if (device.host.empty()) continue;
    if (std::find(hosts.begin(), hosts.end(), device.host) == hosts.end()) hosts.push_back(clean_text(device.host));
    if (device.name.empty() || device.rank >= kMostRanks) continue;
    DeviceInfo info;
    info.id = fmt::format("cuda:{}", device.rank);
    info.backend = "cuda";
    info.name = clean_text(device.name);
    session.machine.devices.push_back(std::move(info));
  }
  session.machine.hostname = join(hosts, ",");
  if (!log.library_version.empty()) session.build.features.push_back("nccl " + clean_text(log.library_version));
}

void add_remarks(const profile::NcclLog& log, Session& session) {
  for (const auto& issue : log.issues) {
    session.remarks.push_back(fmt::format("{} {} (the first: {})", issue.count, issue.text, clean_text(issue.example)));
  }
  const auto lone = std::count_if(log.sweeps.begin(), log.sweeps.end(), [](const NcclSweep& sweep) {
    const bool idle = std::all_of(sweep.results.begin(), sweep.results.end(),
                                  [](const auto& result) { return result.bus_bandwidth == 0; });
    return sweep.several_rank_zeros || (sweep.ranks() == 1 && idle);
  });
  if (lone > 0) {
    session.remarks.emplace_back(
        "each process ran alone (rank 0 only, bus bandwidth 0): nccl-tests was built without MPI; build it with MPI=1");
  }
  for (const NcclSweep& sweep : log.sweeps) {
    const auto printed = static_cast<std::int64_t>(sweep.printed_sizes.size());
    const bool missing = printed < sweep.announced_sizes;
    if (!missing && !is_cut_off(sweep)) continue;
    session.remarks.push_back(fmt::format(
        "the log of {} is incomplete: {}{}", sweep.collective.empty() ? "a sweep" : clean_text(sweep.collective),
        missing ? fmt::format("{} of {} sizes have a row", printed, sweep.announced_sizes) : std::string(),
        !is_cut_off(sweep) ? ""
        : missing          ? ", and the footer is missing"
                           : "the footer is missing"));
  }
  const bool unnamed = std::any_of(log.sweeps.begin(), log.sweeps.end(),
                                   [](const NcclSweep& sweep) { return sweep.collective.empty(); });
  if (unnamed) session.remarks.emplace_back("the log does not name its collective; --collective all_reduce does");
}

Result<profile::NcclLog> log_of(const Document& document) {
  if (document.json) return nccl_log_from_json(*document.json);
  const auto source = profile::memory_source(document.text);
  return profile::read_nccl_log(*source);
}

Result<std::vector<Session>> read_nccl_tests(const Document& document) {
  WM_ASSIGN(profile::NcclLog log, log_of(document));
  if (log.sweeps.empty()) {
    return data_error("the output of nccl-tests has no row of results", "did the test run to its first size?");
  }
  Groups groups;
  for (NcclSweep& sweep : log.sweeps) {
    if (sweep.collective.empty()) sweep.collective = document.collective;
    if (sweep.settings["graph"] == "0" || sweep.settings["graph"].empty()) sweep.settings.erase("graph");
    for (CollectiveResult& result : sweep.results) {
      result.collective = sweep.collective.empty() ? "unknown" : clean_text(sweep.collective);
      groups.add(sweep, result);
    }
  }
  Session session = foreign_session("nccl-tests", clean_text(log.version));
  set_machine(log, session);
  ResultLimit limit(document.text);
  for (const auto& group : groups.all) {
    WM_TRY(add_run_of(*group.sweep, group.repeats, session));
    Run& run = session.runs.back();
    WM_TRY(limit.add(run));
    if (!group.cut_off || run.outcome != Outcome::passed) continue;
    run.outcome = Outcome::unreliable;
    run.reason = "the log is incomplete: it has no '# Out of bounds values' line";
  }
  add_remarks(log, session);
  return std::vector<Session>{std::move(session)};
}

std::string text_of(const Run& run, const char* name, const char* otherwise) {
  for (const auto& [key, value] : run.params.items()) {
    if (key == name) return to_text(value);
  }
  return otherwise;
}

/// A wrong result has its place in this format: the column of wrong elements.
bool is_collective(const Run& run) {
  return run.params.has("bytes") && metric_of(run, "time") != nullptr && metric_of(run, "bus_bandwidth") != nullptr &&
         (is_measured(run.outcome) || (run.error && run.error->norm == kNorm));
}

struct Row {
  const Run* run;
  std::size_t round;
  bool iterations;  ///< with the columns of -I 1
};

std::string value_of(const Row& row, const char* metric, double scale) {
  const Metric* found = metric_of(*row.run, metric);
  if (found == nullptr) return "N/A";
  return fmt::format("{:.2f}",
                     (row.round < found->samples.size() ? found->samples[row.round] : found->summary.median) * scale);
}

/// As src/util.cu prints it; the half that a row does not have reads "N/A".
std::string row_of(const Row& row) {
  const Run& run = *row.run;
  const bool checked = run.error && run.error->norm == kNorm;
  std::vector<std::string> cells{value_of(row, "time", 1e6), value_of(row, "algorithm_bandwidth", 1e-9),
                                 value_of(row, "bus_bandwidth", 1e-9),
                                 checked ? fmt::format("{:.0f}", row.round == 0 ? run.error->value : 0) : "N/A"};
  if (row.iterations) {
    for (const Other& other : kIterationColumns) cells.push_back(value_of(row, other.quantity.id, other.divisor));
  }
  std::string values, nothing;
  for (const auto& cell : cells) {
    values += fmt::format(" {:>8}", cell);
    nothing += fmt::format(" {:>8}", "N/A");
  }
  const bool in_place = text_of(run, "in_place", "0") == "1";
  return fmt::format("{:>12} {:>13} {:>9} {:>7} {:>6}{}{}\n", text_of(run, "bytes", "0"), 0,
                     text_of(run, "dtype", "float"), text_of(run, "op", "none"), text_of(run, "root", "-1"),
                     in_place ? nothing : values, in_place ? values : nothing);
}

std::string table_header_of(const Run& run, const Session& session, bool iterations) {
  std::string text = "# Collective test starting: " + run.workload + "_perf\n";
  text += "# nThread 1 graph: " + text_of(run, "graph", "0") + "\n";
  const auto typed = parse_integer(text_of(run, "ranks", "0"));
  const std::int64_t ranks = typed.ok() ? std::min(*typed, kMostRanks) : 0;
  const auto hosts = split(session.machine.hostname, ',');
  std::vector<std::string> names(static_cast<std::size_t>(ranks));
  for (const auto& device : session.machine.devices) {
    const auto number = device.id.starts_with("cuda:") ? parse_integer(device.id.substr(5)) : parse_integer("");
    if (number.ok() && *number < ranks) names[static_cast<std::size_t>(*number)] = device.name;
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid      0 on {:>10} device {:2} [] {}\n", rank,
                        hosts[static_cast<std::size_t>(rank) * hosts.size() / static_cast<std::size_t>(ranks)], rank,
                        names[static_cast<std::size_t>(rank)]);
  }
  text += fmt::format("# {:>10} {:>13} {:>9} {:>7} {:>6}", "size", "count", "type", "redop", "root");
  for (int half = 0; half < 2; ++half) {
    for (const char* name : {"time", "algbw", "busbw", "#wrong"}) text += fmt::format(" {:>8}", name);
    for (const Other& other : kIterationColumns) {
      if (iterations) text += fmt::format(" {:>8}", other.column);
    }
  }
  return text + "\n";
}

Result<Exported> write_nccl_tests(const Session& session) {
  std::string text, table;
  std::size_t written = 0;
  double wrong = 0;
  bool cut_off = false;
  const auto end_table = [&] {
    if (!table.empty() && !cut_off)
      text += fmt::format("# Out of bounds values : {:.0f} {}\n", wrong, wrong > 0 ? "FAILED" : "OK");
    wrong = 0;
    cut_off = false;
  };
  const bool iterations = std::any_of(session.runs.begin(), session.runs.end(),
                                      [](const Run& run) { return metric_of(run, "time_p99") != nullptr; });
  for (const Run& run : session.runs) {
    if (!is_collective(run)) continue;
    const std::string key = run.workload + " " + text_of(run, "ranks", "0") + " " + text_of(run, "graph", "0");
    if (key != table) {
      end_table();
      text += table_header_of(run, session, iterations);
    }
    table = key;
    if (run.error && run.error->norm == kNorm) wrong += run.error->value;
    cut_off = cut_off || run.outcome == Outcome::unreliable;
    const std::size_t rounds = metric_of(run, "time")->samples.size();
    for (std::size_t round = 0; round < rounds; ++round) text += row_of({&run, round, iterations});
    ++written;
  }
  end_table();
  return without_other_metrics(
      exported(std::move(text), written, session.runs.size() - written, "the bandwidths of a collective"), session,
      [](const Metric& metric) {
        constexpr std::array<std::string_view, 7> kHeld{
            "time", "algorithm_bandwidth", "bus_bandwidth", "time_min", "time_max", "time_p99", "time_cv"};
        return std::find(kHeld.begin(), kHeld.end(), metric.id) != kHeld.end();
      });
}

}  // namespace

extern const Format kNcclTests{"nccl-tests", "what nccl-tests prints, or writes by -J", detect_nccl_tests,
                               read_nccl_tests, write_nccl_tests};

}  // namespace warpmark::exchange
