// `warpmark load server` and `warpmark load selftest`.
#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "device/machine.h"
#include "http/socket.h"
#include "loadtest/network.h"
#include "report/draw/table.h"
#include "serving/reference/reference_server.h"
#include "serving/selftest.h"
#include "session/new_session.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_server.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using serving::ReferenceScript;
using serving::SelftestResult;

constexpr std::int64_t kMostRuleBytes = 256 << 20;

/// What the options name by files.
Status add_files(const LoadServerRequest& request, ReferenceScript& script) {
  for (const auto& fault : request.faults) WM_TRY(serving::add_fault(fault, script));
  if (!request.answers.empty()) {
    WM_ASSIGN(const std::string rules, read_file(request.answers, kMostRuleBytes));
    WM_ASSIGN(script.answers, serving::parse_scripted_answers(rules, request.answers));
  }
  if (!request.key_file.empty()) {
    WM_ASSIGN(const std::string text, read_file(request.key_file, 1 << 20));
    script.key = std::string(trim(text));
  }
  return {};
}

Json selftest_json(const Context& context, const std::vector<SelftestResult>& results) {
  const Machine machine = device::machine_facts();
  Json json{{"schema", serving::kSelftestSchema},
            {"started", format_utc(wall_clock_s())},
            {"command", command_line_of(context)},
            {"version", session::build_info().version},
            {"machine", {{"cpu", machine.cpu}, {"kernel", machine.kernel}, {"virtualization", machine.virtualization}}},
            {"points", Json::array()}};
  for (const auto& result : results) json["points"].push_back(to_json(result));
  return json;
}

std::vector<Cell> selftest_row(const SelftestResult& result) {
  const auto time = [](const serving::LoadMetric& metric, double p) {
    const Percentile* percentile = serving::percentile_of(metric, p);
    return percentile == nullptr || !percentile->value ? std::string("-") : format_seconds(*percentile->value);
  };
  return {{format_count(result.streams)},
          {format_si(result.events_per_s, "/s")},
          {time(result.first_token_error, 0.5)},
          {time(result.first_token_error, 0.99)},
          {time(result.event_error, 0.99)},
          {format_seconds(result.client.receive_lag_p99_s)},
          {format_percent(result.client.busy_share)},
          {format_count(result.failed)},
          {result.client.trusted ? "reliable" : "unreliable", result.client.trusted ? Tone::good : Tone::warning}};
}

/// A real network.
Result<int> serve_network(Context& context, const ParsedOptions& options, const LoadServerRequest& request) {
  constexpr double kListen_s = 600;
  const auto& name = request.network;
  WM_ASSIGN(const auto network, read_options<loadtest::NetworkRequest>(options));
  WM_ASSIGN(const auto model,
            loadtest::start_model(network, name, {{"pass", "decode"}, {"batch", "1"}}, context.interrupted));
  if (model.params.text("pass") != "decode") return usage_error("a server decodes", "leave out pass");
  const auto& workers = model.workers;
  const std::string& host = request.server.host;
  WM_ASSIGN(const Json served,
            workers->ask({{"ask", "serve"}, {"host", host}, {"port", request.server.port}}, kListen_s));
  WM_ASSIGN(const double listens, workloads::answered_number(served, "port"));
  context.out << fmt::format("listening on http://{}:{:.0f}, model {}; Ctrl-C ends it\n", host, listens, name)
              << std::flush;
  const std::int64_t began_ns = monotonic_ns();
  while (!context.interrupted.load()) {
    // A worker that is gone closes its channel; it says nothing otherwise.
    if (workers->has_answer(0.05)) return environment_error("the worker of " + name + " ended");
    if (request.duration_s > 0 && static_cast<double>(monotonic_ns() - began_ns) * 1e-9 >= request.duration_s) break;
  }
  return kSuccess;
}

}  // namespace

Result<int> load_server(Context& context, const ParsedOptions& options) {
  LoadServerRequest request;
  WM_TRY(read_options(options, request, request.server.script));
  if (!request.network.empty()) return serve_network(context, options, request);
  auto& server = request.server;
  if (server.certificate_file.empty() != server.key_file.empty()) {
    return usage_error("--certificate and --private-key belong together");
  }
  WM_TRY(add_files(request, server.script));
  // What is not allowed shows when the connections come; most loads are smaller.
  (void)http::allow_open_files(65'536);
  WM_ASSIGN(const auto running, serving::ReferenceServer::start(server));
  context.out << "listening on " << running->url() << ", model reference; Ctrl-C ends it\n" << std::flush;
  const std::int64_t began_ns = monotonic_ns();
  while (!context.interrupted.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const double running_s = static_cast<double>(monotonic_ns() - began_ns) * 1e-9;
    if (request.duration_s > 0 && running_s >= request.duration_s) break;
  }
  const auto& counts = running->counts();
  context.out << fmt::format("{} requests over {} connections, {} events\n", format_count(counts.requests.load()),
                             format_count(counts.connections.load()), format_count(counts.events.load()));
  return kSuccess;
}

Result<int> load_selftest(Context& context, const ParsedOptions& options) {
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto request, read_options<SelftestRequest>(options));
  serving::SelftestOptions test{.points = serving::selftest_points(), .seconds = request.seconds};
  if (request.streams) {
    const auto streams = *request.streams;
    test.points = {{streams, request.events_per_s.value_or(50 * static_cast<double>(streams))}};
  }
  const serving::CpuPair cpus = serving::separate_cpus();
  test.client_cpu = cpus.client;
  test.server_cpu = cpus.server;
  test.interrupted = &context.interrupted;
  if (cpus.client < 0) context.err << "note: client and server share one processor\n";
  Table table{{{"streams", Align::right},
               {"events", Align::right},
               {"TTFT error p50", Align::right},
               {"p99", Align::right},
               {"all events p99", Align::right, 3},
               {"receive lag p99", Align::right, 2},
               {"busy", Align::right, 4},
               {"failed", Align::right, 5},
               {"client", Align::left, 1}},
              {}};
  test.done = [&](const SelftestResult& result) {
    if (context.err_is_terminal) context.err << fmt::format("{} streams measured\n", result.streams) << std::flush;
  };
  WM_ASSIGN(const auto results, serving::selftest(test));
  for (const auto& result : results) table.rows.push_back(selftest_row(result));
  context.out << report::render_table(table, render_options(context));
  for (const auto& result : results) {
    if (!result.note.empty()) context.out << result.note << '\n';
  }
  WM_TRY(write_json(options, selftest_json(context, results)));
  return context.interrupted.load() ? kInterrupted : kSuccess;
}

}  // namespace warpmark::apps
