// What verbs print that measure links, networks and gains, or watch: word for word at 80 and 120 columns and into a
// pipe, of results that are made up.
#include "apps/stored_history.h"
#include "collectives/links.h"
#include "collectives/net/pairs.h"
#include "model/json/json_parts.h"
#include "report/build/of_document.h"
#include "report/formats/text.h"
#include "support/readable.h"
#include "warpmark/scaling/net_report.h"
#include "watch/alerts/replay.h"
#include "watch/alerts/rules.h"
#include "watch/exporter/stored.h"

namespace warpmark::apps {
namespace {

namespace coll = warpmark::collectives;

/// As a terminal of so many columns shows it; of 0 columns, as a pipe does.
void expect_goldens(const std::string& name, const Report& report) {
  testing_support::expect_golden_widths(name, [&](int columns) {
    return report::render_text(report,
                               {.width = columns > 0 ? columns : 80, .whole_tables = columns == 0, .unicode = true});
  });
}

coll::LinkValue about(double value) { return {value, Interval{value * 0.99, value * 1.01, 0.95}, {value}}; }

TEST(FixedReports, of_links) {
  coll::Links links;
  coll::LinkFacts facts;
  facts.nvlink.assign(4, 400e9);
  facts.pcie.assign(4, 57.6e9);
  facts.paths.assign(4, std::vector<std::string>(4, "NVLink"));
  for (int from = 0; from < 4; ++from) {
    links.gpus.push_back(fmt::format("{} NVIDIA H200 [0000:0{}:00.0]", from, from));
    for (int to = 0; to < 4; ++to) {
      if (to != from) links.pairs.push_back({from, to, true, about(392e9), about(393e9), about(770e9), about(2.2e-6)});
    }
    links.hosts.push_back({from, about(55.4e9), about(55.3e9), about(101e9), about(1.9e-6)});
    facts.attached.push_back({fmt::format("00000000:0{}:00.0", from), 18, 18, 6, 5, 5, 16, 16, from / 2});
  }
  links.pairs[1].write = about(199e9);
  facts.attached[3].pcie_width = 8;
  expect_goldens("links", coll::build_report(links, facts, coll::slow_links(links, facts)));
}

TEST(FixedReports, of_networks) {
  NetResult result;
  for (const int streams : {1, 4}) {
    coll::net::Throughput throughput{.streams = streams, .bytes = 9e9, .seconds = 3, .retransmits = 7L * streams};
    throughput.intervals = {{0, 1, 2.9e9, 3}, {1, 2, 3.1e9, 4}, {2, 3, 3.0e9, 0}};
    throughput.stream_rates.assign(static_cast<std::size_t>(streams), 3e9 / streams);
    result.path.throughputs.push_back(throughput);
  }
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{65536}}) {
    coll::net::Latency latency{bytes, {}};
    for (int i = 0; i < 1000; ++i) latency.round_trips_s.push_back(1e-5 + 1e-8 * i);
    result.path.latencies.push_back(latency);
  }
  result.path.datagrams = coll::net::Datagrams{.sent = 100, .round_trips_s = {1e-4, 3e-4, 2e-4}, .out_of_order = 1};
  result.interface =
      coll::net::Interface{.name = "eth0", .state = "up", .driver = "mlx5_core", .mtu = 9000, .speed = 3.125e9};
  result.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}};
  expect_goldens("net_client", build_net_report(result));
  const coll::net::Pairs pairs{{"node1.cluster.example", "node2.cluster.example", "node3.cluster.example"},
                               {{0, 1, 1e-5, 1e9}, {0, 2, 1e-5, 1e9}, {1, 2, 3e-5, 2e8}}};
  expect_goldens("net_pairs", coll::net::build_report(pairs));
}

TEST(FixedReports, of_validations) {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/tests/data/answers/comparison.json");
  ASSERT_TRUE(text.ok());
  const auto comparison = read(kComparison, *parse_json(*text, "comparison"));
  ASSERT_TRUE(comparison.ok()) << comparison.error().what;
  MetricCheck metric{.label = "./train", .metric = "time", .unit = "s"};
  metric.baseline = {{.session = "a", .n = 5, .value = 1}, {.session = "b", .n = 5, .value = 1}};
  metric.current = {{.session = "c", .n = 5, .value = 1.2}};
  metric.level = 1;
  metric.value = metric.ratio = 1.2;
  metric.interval = Interval{1.19, 1.21, 0.95};
  metric.p = metric.adjusted_p = 0.0004;
  metric.verdict = Verdict::worse;
  Check check{.command = "warpmark validate", .branch = "main", .metrics = {metric}};
  check.commit = "0123456789abcdef";
  expect_goldens(
      "validate",
      report::build_report(report::Validation{
          .verdict = "slower", .why = "OPTIMIZED is slower than BASE", .comparison = *comparison, .check = check}));
  expect_goldens("validate_no_history",
                 report::build_report(report::Validation{.verdict = "slower",
                                                         .why = "OPTIMIZED is slower than BASE",
                                                         .comparison = *comparison,
                                                         .no_check = "nothing was stored (--no-store)"}));
}

class FixedHistory : public WithHistory {};

TEST_F(FixedHistory, as_rules_watch_it) {
  Machine machine;
  machine.fingerprint = "0123456789abcdef";
  for (int day = 1; day <= 30; ++day) {
    store_session(store(), {.day = day, .time = day < 25 ? 1 + 0.01 * (day % 3) : 3, .machine = machine});
  }
  const auto rules = watch::parse_alert_rules(
      "rules:\n"
      "  - {name: TrainingStepIsSlow, history: time, above: 2 s}\n"
      "  - {name: NoNightlyResult, history: rate, no_data: 2d}\n"
      "  - {name: GpuTooHot, live: DCGM_FI_DEV_GPU_TEMP, above: 85}\n"
      "sinks:\n  - {name: operations, command: [\"true\"]}\n",
      "rules.yaml");
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  const double from_s = *watch::unix_seconds("2026-01-01T00:00:00Z"),
               to_s = *watch::unix_seconds("2026-02-05T00:00:00Z");
  watch::StoredHistory history(rules->rules);
  ASSERT_TRUE(history.refresh(store(), {.since_s = from_s}, to_s).ok());
  const auto past = watch::replay(*rules, history, {.from_s = from_s, .to_s = to_s, .host = "node1"});
  ASSERT_TRUE(past.ok()) << past.error().what;
  expect_goldens("watch_dry_run", watch::build_report(*past));
}

}  // namespace
}  // namespace warpmark::apps
