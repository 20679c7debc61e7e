#include "serving/selftest.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "serving/client/load_client.h"
#include "serving/client/prepare_load.h"
#include "serving/reference/reference_server.h"
#include "serving/results/evaluate_load.h"

namespace warpmark::serving {
namespace {

constexpr double kFirstToken_s = 0.2;

/// As many tokens as keep a stream going for about a second and a half, so that first tokens are met often.
std::int64_t tokens_for(double rate_of_stream) {
  return std::clamp<std::int64_t>(std::llround(1.5 * rate_of_stream), 8, 2000);
}

Result<LoadPlan> plan_for(const ReferenceServer& server, const SelftestPoint& point, const SelftestOptions& options) {
  WM_ASSIGN(const http::Url base, http::parse_url(server.url()));
  Target target{.bases = {base}, .api = find_in(apis(), "chat"), .model = "reference"};
  const std::int64_t tokens = tokens_for(point.events_per_s / static_cast<double>(point.streams));
  Traffic traffic;
  WM_ASSIGN(traffic.scenario, parse_scenario("D(20," + std::to_string(tokens) + ")"));
  traffic.users = point.streams;
  traffic.duration_s = options.seconds;
  // Spread over the length of an answer, as real users are; all at once would be a burst for ever.
  const double answer_s = static_cast<double>(tokens * point.streams) / point.events_per_s;
  traffic.users_per_s = static_cast<double>(point.streams) / std::min(answer_s, options.seconds / 2);
  WM_ASSIGN(LoadPlan plan, prepare_load(target, traffic, {}));
  plan.cpu = options.client_cpu;
  plan.kernel_times = options.kernel_times;
  plan.drain_s = 3;
  plan.connect_timeout_s = 30;
  plan.interrupted = options.interrupted;
  return plan;
}

LoadMetric from_histogram(const char* id, const Histogram& histogram) {
  LoadMetric metric{.id = id, .unit = "s", .n = static_cast<std::int64_t>(histogram.n())};
  metric.max = static_cast<double>(histogram.most_ns()) * 1e-9;
  metric.interval_method = "histogram, 1.6 % wide";
  double sum = 0;
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    sum += static_cast<double>(histogram.counts()[i]) * Histogram::middle_of(i) * 1e-9;
  }
  if (metric.n > 0) metric.mean = sum / static_cast<double>(metric.n);
  for (const double p : {0.5, 0.9, 0.99, 0.999}) {
    metric.percentiles.push_back({p, histogram.quantile_ns(p) * 1e-9, std::nullopt, ""});
  }
  return metric;
}

Result<SelftestResult> test_point(const SelftestPoint& point, const SelftestOptions& options) {
  ReferenceServerOptions server_options{.cpu = options.server_cpu};
  server_options.script.ttft_s = kFirstToken_s;
  // All tokens of an answer come within its whole time, of which the first part is the wait for the first.
  const double rate_of_stream = point.events_per_s / static_cast<double>(point.streams);
  server_options.script.itl_s =
      std::max(1 / rate_of_stream - kFirstToken_s / static_cast<double>(tokens_for(rate_of_stream)), 1e-5);
  WM_TRY(http::allow_open_files(static_cast<std::size_t>(2 * point.streams + 200)));
  WM_ASSIGN(const auto server, ReferenceServer::start(server_options));
  WM_ASSIGN(LoadPlan plan, plan_for(*server, point, options));
  WM_ASSIGN(LoadOutcome outcome, run_load_on(plan, 1, {plan.cpu}));
  SelftestResult result{.asked = point};
  result.streams = server->counts().most_streams.load();
  std::vector<double> errors, late;
  for (const auto& record : outcome.records) {
    if (record.server_first_token_ns <= 0) continue;
    errors.push_back(static_cast<double>(record.first_token_ns - record.server_first_token_ns) * 1e-9);
    late.push_back(static_cast<double>(record.server_first_token_ns - record.sent_ns) * 1e-9 - kFirstToken_s);
  }
  result.first_token_error = request_metric("first_token_error", "s", Better::lower, errors, 0.95);
  result.event_error = from_histogram("event_error", outcome.server_delay);
  if (!late.empty()) {
    const auto rank = static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(late.size() - 1));
    std::nth_element(late.begin(), late.begin() + rank, late.end());
    result.server_late_p99_s = late[static_cast<std::size_t>(rank)];
  }
  const ScenarioResult evaluated = evaluate_load(std::move(outcome), plan, {.warmup_ratio = 0.5});
  result.failed = evaluated.failed;
  result.requests = evaluated.sent;
  result.client = evaluated.client;
  result.seconds = evaluated.window_s;
  if (const LoadMetric* rate = metric_of(evaluated, "output_throughput")) result.events_per_s = rate->mean;
  if (!evaluated.first_error.empty()) result.note = evaluated.first_error;
  return result;
}

Json points_json(const LoadMetric& metric) {
  Json json{{"unit", metric.unit}, {"n", metric.n}, {"mean", metric.mean}, {"max", metric.max}};
  for (const auto& percentile : metric.percentiles) {
    if (percentile.value) json[percentile_name(percentile.p)] = *percentile.value;
  }
  return json;
}

}  // namespace

std::vector<SelftestPoint> selftest_points() { return {{200, 10'000}, {1'000, 50'000}, {9'000, 100'000}}; }

Result<std::vector<SelftestResult>> selftest(const SelftestOptions& options) {
  std::vector<SelftestResult> results;
  for (const auto& point : options.points) {
    if (options.interrupted != nullptr && options.interrupted->load()) break;
    WM_ASSIGN(auto result, test_point(point, options));
    if (options.done) options.done(result);
    results.push_back(std::move(result));
  }
  return results;
}

Json to_json(const SelftestResult& result) {
  Json json{{"streams_asked", result.asked.streams},
            {"events_per_s_asked", result.asked.events_per_s},
            {"streams", result.streams},
            {"events_per_s", result.events_per_s},
            {"seconds", result.seconds},
            {"requests", result.requests},
            {"failed", result.failed},
            {"first_token_error", points_json(result.first_token_error)},
            {"event_error", points_json(result.event_error)},
            {"server_late_p99_s", result.server_late_p99_s}};
  json["client"] = {{"verdict", result.client.verdict()},
                    {"reasons", result.client.reasons},
                    {"send_lag_p99_s", result.client.send_lag_p99_s},
                    {"receive_lag_p50_s", result.client.receive_lag_p50_s},
                    {"receive_lag_p99_s", result.client.receive_lag_p99_s},
                    {"busy_share", result.client.busy_share},
                    {"kernel_receive_times", result.client.kernel_times}};
  if (!result.note.empty()) json["note"] = result.note;
  return json;
}

CpuPair separate_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  if (cpus.size() < 2) return {};
  // The last ones: the first are where the system itself likes to work.
  return {.client = cpus.back(), .server = cpus[cpus.size() - 2]};
}

}  // namespace warpmark::serving
