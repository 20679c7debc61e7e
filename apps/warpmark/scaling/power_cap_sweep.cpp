#include "warpmark/scaling/power_cap_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "base/clock.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "device/machine.h"
#include "device/nvml/nvml.h"
#include "report/build/scaling.h"
#include "session/new_session.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "validate/commands/power_cap.h"
#include "validate/scaling/scaling.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_runs.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

/// "300W", "300", or "60%" of the default.
Result<double> cap_of(const std::string& text, double default_w) {
  if (text.ends_with("%")) {
    WM_ASSIGN(const double share, parse_ratio(text));
    return share * default_w;
  }
  return text.find_first_not_of("0123456789.") == std::string::npos ? parse_number(text) : parse_quantity(text, "W");
}

Result<std::vector<double>> caps_of(const std::string& text, const std::vector<device::nvml::PowerLimits>& limits) {
  std::vector<double> caps;
  for (const auto& part : split(text, ',')) {
    const auto cap = cap_of(std::string(trim(part)), limits.front().default_w);
    if (!cap.ok()) return usage_error("--power-cap-sweep " + text + " is no list of powers", "such as 300W,500W,100%");
    for (const auto& limit : limits) {
      if (*cap >= limit.least_w - 0.5 && *cap <= limit.most_w + 0.5) continue;
      return usage_error(fmt::format("a cap of {:.0f} W is not between the {:.0f} and {:.0f} W that this GPU allows",
                                     *cap, limit.least_w, limit.most_w));
    }
    if (std::find(caps.begin(), caps.end(), *cap) == caps.end()) caps.push_back(*cap);
  }
  std::sort(caps.begin(), caps.end());
  if (caps.size() < 2) return usage_error("one cap shows nothing", "such as --power-cap-sweep 300W,500W,700W");
  return caps;
}

Result<std::vector<std::string>> first_uuids(int count) {
  WM_ASSIGN(const auto gpus, device::nvml::gpu_list());
  if (static_cast<int>(gpus.size()) < count) {
    return usage_error(fmt::format("{} GPUs are asked for, there are {}", count, gpus.size()));
  }
  std::vector<std::string> uuids;
  for (int i = 0; i < count; ++i) uuids.push_back(gpus[static_cast<std::size_t>(i)].uuid);
  return uuids;
}

std::vector<Run> runs_of(const PowerCaps& caps, const ScaleRequest& request) {
  std::vector<Run> runs;
  for (const auto& point : caps.points) {
    if (point.throughput.empty()) continue;
    Run run{.id = {}, .index = static_cast<std::int64_t>(runs.size()), .workload = "command"};
    run.params.set("command", join(request.words, " "));
    run.params.set("gpus", std::int64_t{caps.gpus});
    run.params.set("power_cap", fmt::format("{:.0f}W", point.cap_w));
    run.device = "cuda";
    run.outcome = Outcome::passed;
    run.converged = true;
    run.metrics.push_back(stats::metric_of_rounds("throughput", caps.unit + "/s", Better::higher, point.throughput));
    if (!point.energy_per_work.empty()) {
      run.metrics.push_back(stats::metric_of_rounds("energy", "J", Better::lower, point.energy_per_work));
    }
    run.rounds = static_cast<std::int64_t>(point.throughput.size());
    run.timing.method = "host clock";
    run.seed = request.seed;
    runs.push_back(std::move(run));
  }
  return runs;
}

/// The rounds; an error only where a cap could not be set.
Status run_rounds(Context& context, const ScaleRequest& request, const std::vector<double>& caps,
                  validate::PowerCap& cap, PowerCaps& result, std::vector<validate::CappedRun>& runs) {
  std::map<double, PowerCapPoint> failures;
  stats::Random random(request.seed);
  const int workers = request.workers.front();
  const int rounds = request.rounds + request.warmup_runs;
  StepBar bar(context);
  for (int round = 0; round < rounds && !context.interrupted; ++round) {
    auto order = caps;
    std::shuffle(order.begin(), order.end(), random);
    for (const double watts : order) {
      if (context.interrupted) break;
      bar.update(round, rounds, fmt::format("round {} of {} at {:.0f} W", round + 1, rounds, watts));
      WM_TRY(cap.set(watts));
      auto run = run_scaled_once(request, workers, context.interrupted);
      if (context.interrupted) break;
      if (run.ok() && round >= request.warmup_runs) {
        run->round = round;
        runs.push_back({watts, std::move(*run)});
      } else if (!run.ok()) {
        auto& failed = failures[watts];
        failed.cap_w = watts;
        ++failed.failures;
        failed.reason = run.error().what;
      }
    }
    result.complete = round + 1 == rounds && !context.interrupted;
  }
  bar.clear();
  for (auto& [watts, point] : failures) result.points.push_back(std::move(point));
  return {};
}

}  // namespace

Result<int> sweep_power_caps(Context& context, const ParsedOptions& options, const ScaleRequest& request) {
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto uuids, first_uuids(request.workers.front()));
  std::vector<device::nvml::PowerLimits> limits;
  for (const auto& uuid : uuids) {
    WM_ASSIGN(const auto limit, device::nvml::power_limits_of(uuid));
    limits.push_back(limit);
  }
  WM_ASSIGN(const auto caps, caps_of(options.get("--power-cap-sweep"), limits));
  PowerCaps result;
  result.started = format_utc(wall_clock_s());
  result.command = command_line_of(context);
  result.unit = request.unit;
  result.gpus = request.workers.front();
  result.found_w = limits.front().now_w;
  result.default_w = limits.front().default_w;
  result.energy_method = energy_method_of(request);
  result.machine = device::machine_facts();
  result.build = session::build_info();
  set_grace(10);
  WM_ASSIGN(const auto self, own_executable());
  WM_ASSIGN(auto cap, validate::PowerCap::take(uuids, {self.string(), "scale", "--restore-power-caps"}));
  std::vector<validate::CappedRun> runs;
  const Status ran = run_rounds(context, request, caps, cap, result, runs);
  const Status restored = cap.restore();
  result.restored = restored.ok();
  if (!restored.ok()) context.err << "warpmark: " << restored.error().what << "\n  " << restored.error().hint << '\n';
  if (!ran.ok()) return ran.error();
  if (runs.empty()) {
    if (context.interrupted) return kInterrupted;
    return data_error("no run ended well: " + (result.points.empty() ? "" : result.points.front().reason),
                      "run the command without warpmark to see why");
  }
  validate::judge_power_caps(runs, result);
  const auto shown = shown_as([&] { return to_json(result); }, report::build_report(result));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "power_caps", shown));
  WM_TRY(store_runs(context, options, runs_of(result, request), result.complete, "the rounds that were asked for",
                    format));
  if (!restored.ok()) return restored.error();
  return context.interrupted ? kInterrupted : kSuccess;
}

Result<int> be_the_restorer(const ParsedOptions& options) {
  WM_TRY(validate::restore_on_command(options.positionals()));
  return kSuccess;
}

}  // namespace warpmark::apps
