// Measures collectives between processes or GPUs, judges each size, and compares settings of the library.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <ostream>

#include "base/json.h"
#include "base/subprocess.h"
#include "collectives/links.h"
#include "collectives/results/report.h"
#include "collectives/start/worker.h"
#include "warpmark/collective/collective_request.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/sessions/store_runs.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;

Json error_json(const Error& error) {
  return Json{{"kind", static_cast<int>(error.kind)}, {"what", error.what}, {"hint", error.hint}};
}

/// One of the ranks: results go to the output of process 0, complaints to everybody's own.
int be_a_rank(Context& context, const coll::Plan& plan, bool alone) {
  std::mutex lock;
  const auto notify = [&](std::ostream& to, const std::string& kind, const Json& json) {
    const std::lock_guard guard(lock);
    to << coll::message_line(kind, json) << std::flush;
  };
  const auto status = coll::run_worker(
      plan, {.alone = alone,
             .started_by_us = true,
             .notify = [&](const std::string& kind, const Json& json) { notify(context.out, kind, json); },
             .notify_state =
                 [&](const Json& json) { notify(context.err, json.contains("alive") ? "alive" : "stuck", json); }});
  if (status.ok()) return kSuccess;
  notify(context.err, "error", error_json(status.error()));
  return exit_code_of(status.error());
}

std::map<std::string, std::string> environment_of(const Context& context, const CollectiveRequest& request) {
  std::map<std::string, std::string> known;
  for (const char* name : {"NCCL_DEBUG", "NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_ALGO", "NCCL_PROTO"}) {
    if (const char* value = context.environment(name)) known[name] = value;
  }
  for (const auto& [name, value] : request.launch.environment) known[name] = value;
  return known;
}

/// Starts one sweep after another and prints the table as it comes.
class Sweeps {
 public:
  Sweeps(Context& context, const CollectiveRequest& request) : context_(context), request_(request) {}

  coll::Outcome run(const coll::Settings& settings, bool prints) {
    coll::LaunchOptions launch = request_.launch;
    launch.environment.insert(launch.environment.end(), settings.begin(), settings.end());
    if (prints) {
      launch.on_row = [this](const coll::Row& row) { context_.out << coll::nccl_table_row(row) << std::flush; };
      launch.on_head = [this](const coll::Head& head) {
        context_.out << coll::nccl_table_head(request_.plan, head) << std::flush;
      };
    }
    const auto self = own_executable();
    if (!self.ok()) return {.sweep = {}, .stuck = {}, .interrupted = false, .fault = self.error()};
    return coll::launch_sweep(request_.plan, launch, coll::launch_place(context_.environment), self->string());
  }

 private:
  Context& context_;
  const CollectiveRequest& request_;
};

Status store_rounds(Context& context, const ParsedOptions& options, const CollectiveRequest& request,
                    const std::vector<coll::Sweep>& rounds, bool complete) {
  if (rounds.empty() || rounds.front().rows.empty()) return {};
  return store_runs(context, options, coll::runs_of(rounds), complete,
                    fmt::format("{} iterations", request.plan.iterations), request.format);
}

/// --against and --links, before anything is measured that could be lost.
Status read_what_was_measured(const Context& context, const ParsedOptions& options, CollectiveRequest& request) {
  auto& expectation = request.expectation;
  if (!request.against.empty()) {
    WM_ASSIGN(request.baseline, load_results(context, options, request.against));
  }
  if (!request.links.empty()) {
    WM_ASSIGN(const auto session, load_results(context, options, request.links));
    expectation.links = coll::measured_links(session);
    if (!expectation.links) {
      return usage_error("that session has no links between GPUs", "`warpmark links` measures them");
    }
  }
  return {};
}

Result<int> show(Context& context, const ParsedOptions& options, CollectiveRequest& request,
                 const std::vector<coll::Sweep>& rounds, const std::optional<Error>& fault) {
  const coll::Sweep sweep = coll::joined(rounds);
  if (sweep.rows.empty()) {
    if (context.interrupted) return kInterrupted;
    return fault ? Result<int>(*fault) : internal_error("the ranks ended without a result");
  }
  Status baseline;
  if (request.baseline) {
    request.expectation.baseline = coll::baseline_of(*request.baseline, sweep.rows.front());
    if (request.expectation.baseline.empty()) {
      baseline = usage_error("the baseline has no such sweep: same collective, type, operation and ranks are needed",
                             "warpmark history lists what there is");
    }
  }
  const auto judgement = coll::judge(sweep, request.expectation, environment_of(context, request));
  if (request.format == "text") context.out << coll::nccl_table_foot(request.plan, sweep);
  const auto shown = [&](bool with_table) {
    return shown_as(
        [&] {
          return coll::to_json(coll::CollectiveResult{request.plan, sweep, judgement});
        },
        coll::build_report(request.plan, sweep, judgement, with_table));
  };
  WM_TRY(show(context, shown(request.format != "text"), request.format));
  context.out.flush();
  WM_TRY(write_report(options, "collective", shown(true)));
  WM_TRY(store_rounds(context, options, request, rounds, sweep.complete && !fault));
  if (context.interrupted) return kInterrupted;
  if (fault) return *fault;
  WM_TRY(baseline);
  return exit_because(context, judgement.passed ? kSuccess : kGateFailed, judgement.summary);
}

Result<int> measure(Context& context, const ParsedOptions& options, CollectiveRequest& request) {
  Sweeps sweeps(context, request);
  std::vector<coll::Sweep> rounds;
  std::optional<Error> fault;
  for (int round = 0; round < request.rounds && !fault && !context.interrupted; ++round) {
    auto outcome = sweeps.run({}, request.format == "text" && round == 0);
    fault = outcome.fault;
    if (!outcome.sweep.rows.empty()) rounds.push_back(std::move(outcome.sweep));
  }
  return show(context, options, request, rounds, fault);
}

/// All settings in turn in every round, so that what drifts meets all of them.
Result<int> compare_settings(Context& context, const ParsedOptions& options, const CollectiveRequest& request) {
  Sweeps sweeps(context, request);
  std::vector<coll::Measured> measured;
  for (const auto& settings : request.settings) measured.push_back({settings, {}, {}});
  for (int round = 0; round < request.rounds && !context.interrupted; ++round) {
    for (auto& one : measured) {
      if (context.interrupted) break;
      if (context.err_is_terminal)
        context.err << fmt::format("\r\x1b[Kround {}: {}", round + 1, coll::to_text(one.settings)) << std::flush;
      auto outcome = sweeps.run(one.settings, false);
      if (outcome.fault) one.fault = outcome.fault->what;
      outcome.sweep.round = round;
      if (outcome.sweep.complete) one.rounds.push_back(std::move(outcome.sweep));
      if (round == 0 && outcome.fault && one.settings.empty()) return *outcome.fault;
    }
  }
  if (context.err_is_terminal) context.err << "\r\x1b[K";
  if (measured.front().rounds.empty()) return kInterrupted;
  const auto tuning = coll::tune(std::move(measured));
  const auto shown = shown_as(
      [&] {
        return coll::to_json(coll::TuningResult{request.plan, tuning});
      },
      coll::build_report(request.plan, tuning));
  WM_TRY(show(context, shown, request.format));
  WM_TRY(write_report(options, "collective", shown));
  WM_TRY(store_rounds(context, options, request, tuning.measured.front().rounds, true));
  return context.interrupted ? kInterrupted : kSuccess;
}

/// Started by the user's own mpirun or srun: every process measures, process 0 shows.
Result<int> run_as_placed(Context& context, const ParsedOptions& options, CollectiveRequest& request) {
  for (const auto& [name, value] : request.launch.environment) ::setenv(name.c_str(), value.c_str(), 0);
  coll::Sweep sweep;
  bool shows = false;
  const auto notify = [&](const std::string& kind, const Json& json) {
    if (kind == "head") {
      if (auto head = coll::head_from_json(json); head.ok()) sweep.head = std::move(*head);
      if (request.format == "text") context.out << coll::nccl_table_head(request.plan, *sweep.head) << std::flush;
    } else if (kind == "row") {
      if (auto row = coll::row_from_json(json); row.ok()) sweep.rows.push_back(std::move(*row));
      if (request.format == "text") context.out << coll::nccl_table_row(sweep.rows.back()) << std::flush;
    } else if (kind == "done") {
      sweep.complete = true;
    }
    shows = true;
  };
  const auto status = coll::run_worker(
      request.plan, {.alone = false, .started_by_us = false, .notify = notify, .notify_state = [&](const Json& stuck) {
                       if (stuck.contains("alive")) return;
                       context.err << fmt::format("warpmark: process {} on {} makes no progress in {}\n",
                                                  stuck.value("process", 0), stuck.value("host", ""),
                                                  stuck.value("doing", ""))
                                   << std::flush;
                     }});
  if (!status.ok()) return status.error();
  if (!shows) return kSuccess;
  return show(context, options, request, {sweep}, std::nullopt);
}

Result<int> run_collective(Context& context, const ParsedOptions& options) {
  if (options.has("--as-rank")) {
    WM_ASSIGN(const auto json, parse_json(options.get("--as-rank"), "--as-rank"));
    WM_ASSIGN(const auto plan, coll::plan_from_json(json));
    return be_a_rank(context, plan, options.has("--alone"));
  }
  WM_ASSIGN(auto request, collective_request_of(context, options));
  WM_TRY(check_outputs(options));
  const auto placed = coll::placed_by(context.environment);
  // Process 0 shows, and the others may have no such database.
  if (!placed || placed->rank == 0) WM_TRY(read_what_was_measured(context, options, request));
  if (placed && !request.ranks) {
    request.launch.ranks = placed->ranks;
    return run_as_placed(context, options, request);
  }
  set_grace(6);  // ranks are asked to end before they are killed
  set_crash_messages("\nwarpmark: interrupted\n", "");
  return request.settings.empty() ? measure(context, options, request) : compare_settings(context, options, request);
}

}  // namespace

extern const Command collective_command{
    .id = "collective",
    .summary = "measure all_reduce, all_gather and other collectives between processes or GPUs",
    .details =
        "Measures one collective over message sizes: all_reduce, all_gather, reduce_scatter, broadcast, reduce, "
        "alltoall, gather, scatter or sendrecv. Over MPI (--ranks, on any machine) it starts its ranks through "
        "mpirun, or srun in a Slurm job. Over NCCL it uses the GPUs of this process (-g), or one GPU per rank. It "
        "also runs under your own mpirun or srun. One-letter options and the table follow nccl-tests; spread, skew "
        "between ranks and the verdict per size follow below (docs/scale.md).\n"
        "\n"
        "Received data is verified with inputs whose reductions are exact in any order. A slow, dead or stuck rank is "
        "named, and no process is left running.\n"
        "\n"
        "Exit code 0: as expected; 1: wrong data, a slow rank, or slower than expected; 2: bad input; 5: ranks could "
        "not start, died or got stuck.",
    .options = collective_options(),
    .positional = {"COLLECTIVE", "what to measure", true,
                   "all_reduce all_gather reduce_scatter broadcast reduce alltoall gather scatter sendrecv"},
    .examples =
        "warpmark collective all_reduce --ranks 2\n"
        "warpmark collective all_reduce -b 8 -e 4G -f 2 -g 8\n"
        "warpmark collective alltoall --ranks 16 --hosts hosts.txt --fabric 25GB/s\n"
        "warpmark collective all_reduce -g 8 --sweep NCCL_ALGO=Ring,Tree\n"
        "srun -n 16 warpmark collective all_gather --engine nccl",
    .run = run_collective,
};

}  // namespace warpmark::apps
