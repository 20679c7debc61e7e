// JSON of iperf3 (-J): src/iperf_api.c and iperf_server_api.c of github.com/esnet/iperf. The intervals are samples of
// one connection, and so of one round; what the receiver got in all stands beside them.
#include "base/clock.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

constexpr double kBitsPerByte = 8;

bool detect_iperf3(const Document& document) {
  if (!document.json || !document.json->is_object()) return false;
  const Json& json = *document.json;
  return json.contains("start") && json["start"].is_object() && json["start"].contains("version") &&
         (json.contains("intervals") || json.contains("error"));
}

Status read_start(JsonFields& start, Run& run, Session& session) {
  std::string version, system, protocol = "TCP";
  double seconds = 0;
  std::int64_t streams = 1, reverse = 0, block = 0;
  start.maybe("version", version);
  start.maybe("system_info", system);
  session.build.version = "iperf3 " + clean_text(version.substr(version.find(' ') + 1));
  session.machine.os = clean_text(system);
  start.object("timestamp", false, [&](JsonFields& time) { time.maybe("timesecs", seconds); });
  if (seconds > 0 && seconds < 1e11) session.started = format_utc(seconds);
  start.object("test_start", false, [&](JsonFields& test) {
    test.maybe("protocol", protocol);
    test.maybe("num_streams", streams);
    test.maybe("reverse", reverse);
    test.maybe("blksize", block);
  });
  std::string host;
  start.object("connecting_to", false, [&](JsonFields& to) { to.maybe("host", host); });
  WM_TRY(set_param(run, "protocol", clean_text(protocol)));
  WM_TRY(set_param(run, "streams", streams));
  WM_TRY(set_param(run, "reverse", reverse));
  if (block > 0) WM_TRY(set_param(run, "block", block));
  if (!host.empty()) WM_TRY(set_param(run, "server", clean_text(host)));
  return {};
}

/// Without those of the slow start that --omit leaves out.
std::vector<double> bandwidths(JsonFields& fields, const char* sum) {
  std::vector<double> values;
  fields.each("intervals", [&](JsonFields& interval) {
    interval.object(sum, false, [&](JsonFields& total) {
      bool omitted = false;
      std::optional<double> bits;
      total.maybe("omitted", omitted);
      total.maybe("bits_per_second", bits);
      if (bits && !omitted) values.push_back(*bits / kBitsPerByte);
    });
  });
  return values;
}

struct Total {
  const char* object;
  const char* key;
  Quantity quantity;
  double divisor;
};
constexpr Total kTotals[] = {
    {"sum_received", "bits_per_second", {"received_bandwidth", "B/s", Better::higher}, kBitsPerByte},
    {"sum_sent", "bits_per_second", {"sent_bandwidth", "B/s", Better::higher}, kBitsPerByte},
    {"sum_sent", "retransmits", {"retransmits", "", Better::lower}, 1},
    {"sum", "jitter_ms", {"jitter", "s", Better::lower}, 1e3},
    {"sum", "lost_percent", {"lost", "", Better::lower}, 1e2},
    {"cpu_utilization_percent", "host_total", {"host_cpu", "", Better::lower}, 1e2},
    {"cpu_utilization_percent", "remote_total", {"remote_cpu", "", Better::lower}, 1e2}};

Status read_end(JsonFields& end, Run& run) {
  for (const Total& total : kTotals) {
    std::optional<double> value;
    end.object(total.object, false, [&](JsonFields& fields) { fields.maybe(total.key, value); });
    if (value) WM_TRY(add_metric(run, total.quantity, {*value / total.divisor}));
  }
  return {};
}

Result<std::vector<Session>> read_iperf3(const Document& document) {
  if (!detect_iperf3(document)) return data_error("it has no 'start' with a version, and no 'intervals'");
  return read_object(*document.json, foreign_session("iperf3"), [&](JsonFields& fields, Session& session) {
    Run& run = add_run(session, "network", "cpu");
    run.timing.method = "iperf3";
    fields.object("start", true, [&](JsonFields& start) { start.keep(read_start(start, run, session)); });
    std::string failure;
    fields.maybe("error", failure);
    if (!failure.empty()) {
      run.outcome = Outcome::error;
      run.fault = ErrorKind::environment;
      run.reason = clean_text(failure);
      return;
    }
    const auto add = [&](const Quantity& quantity, std::vector<double> values) {
      fields.keep(add_metric(run, quantity, std::move(values)));
    };
    add({"bandwidth", "B/s", Better::higher}, bandwidths(fields, "sum"));
    add({"reverse_bandwidth", "B/s", Better::higher}, bandwidths(fields, "sum_bidir_reverse"));
    fields.object("end", false, [&](JsonFields& end) { end.keep(read_end(end, run)); });
  });
}

}  // namespace

extern const Format kIperf3{"iperf3", "JSON of iperf3 -J", detect_iperf3, read_iperf3};

}  // namespace warpmark::exchange
