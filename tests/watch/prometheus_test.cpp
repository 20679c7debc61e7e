// What the exporter tells, read by the real promtool and stored by a real Prometheus (Debian's package).
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <set>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "http/client.h"
#include "support/memory_store.h"
#include "watch/exporter/exporter.h"

namespace warpmark::watch {
namespace {

bool has_prometheus() {
  const auto asked = run_process({"promtool", "--version"});
  return asked.ok() && asked->exit_code == 0;
}

class Prometheus : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_prometheus()) GTEST_SKIP() << "promtool is not installed (package prometheus)";
    folder_ = std::filesystem::path(testing::TempDir()) / ("watch_prometheus_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

ExporterOptions this_host() {
  ExporterOptions options{.host = "node7"};
  options.gpus.list = []() -> Result<std::vector<device::nvml::GpuFacts>> {
    std::vector<device::nvml::GpuFacts> gpus(1);
    gpus[0].uuid = "GPU-0";
    gpus[0].name = "a \"quoted\" GPU";
    return gpus;
  };
  options.gpus.activity = [](const std::string&) -> Result<device::nvml::GpuActivity> {
    device::nvml::GpuActivity now;
    now.utilization = 0.25;
    now.energy_j = 1;
    return now;
  };
  options.open_store = []() -> Result<std::unique_ptr<store::Store>> { return environment_error("there is none"); };
  return options;
}

TEST_F(Prometheus, promtool_accepts_the_alert_rules_and_their_tests_pass) {
  const std::string folder = std::string(WARPMARK_SOURCE_DIR) + "/monitoring/";
  const auto checked = run_process({"promtool", "check", "rules", folder + "alerts.yaml"}, {.deadline_s = 60});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->exit_code, 0) << checked->out << checked->err;
  const auto tested = run_process({"promtool", "test", "rules", folder + "alerts_test.yaml"}, {.deadline_s = 60});
  ASSERT_TRUE(tested.ok());
  EXPECT_EQ(tested->exit_code, 0) << tested->out << tested->err;
}

TEST_F(Prometheus, promtool_finds_no_fault_in_the_metrics_that_are_ours) {
  auto options = this_host();
  // DCGM's names and labels break the rules of taste that promtool has.
  options.gpus.list = []() -> Result<std::vector<device::nvml::GpuFacts>> { return environment_error("no GPU"); };
  Exporter exporter(options);
  const auto file = folder_ / "metrics.prom";
  ASSERT_TRUE(write_file(file, exporter.text(TextFormat::prometheus)).ok());
  const auto checked =
      run_process({"sh", "-c", "promtool check metrics < " + shell_quote(file.string())}, {.deadline_s = 60});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->exit_code, 0) << checked->out << checked->err;
}

/// Every expression of the panels, as Grafana sends it where all hosts are chosen.
std::vector<std::string> expressions_of(const Json& dashboard) {
  std::vector<std::string> found;
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) {
      std::string text = target["expr"];
      EXPECT_TRUE(text.find("$host") != std::string::npos || text.find("$instance") != std::string::npos)
          << "the choice of hosts is honoured: " << text;
      const std::pair<std::string_view, const char*> kVariables[] = {
          {"$host", ".*"}, {"$instance", ".*"}, {"$__rate_interval", "1m"}};
      for (const auto& [name, value] : kVariables) {
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name)) {
          text.replace(at, name.size(), value);
        }
      }
      found.push_back(text);
    }
  }
  return found;
}

/// Names of metrics in an expression: words that begin as ours do.
std::vector<std::string> metrics_in(const std::string& expression) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : expression + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (word.starts_with("warpmark_") || word.starts_with("DCGM_")) found.push_back(word);
    word.clear();
  }
  return found;
}

TEST_F(Prometheus, grafana_and_the_alert_rules_ask_for_what_is_told) {
  const std::string monitoring = std::string(WARPMARK_SOURCE_DIR) + "/monitoring/";
  const auto text = read_file(monitoring + "grafana-dashboard.json");
  const auto dashboard = parse_json(*text, "grafana-dashboard.json");
  ASSERT_TRUE(dashboard.ok());
  const auto expressions = expressions_of(*dashboard);
  EXPECT_GT(expressions.size(), 15U);
  auto options = this_host();
  options.open_store = []() -> Result<std::unique_ptr<store::Store>> { return store::make_memory_store(); };
  options.running_folder = folder_;
  options.gpus.activity = [](const std::string&) -> Result<device::nvml::GpuActivity> {
    device::nvml::GpuActivity now{.utilization = 0.9, .memory_utilization = 0.5, .memory_used_bytes = 1 << 30};
    now.sm_clock_hz = now.memory_clock_hz = 1e9;
    now.power_w = now.temperature_c = now.energy_j = now.ecc_corrected = now.ecc_uncorrected = 1;
    now.nvlink_sent_bytes = now.nvlink_received_bytes = 1 << 20;
    now.remapped_rows.emplace();
    now.xid_errors.emplace();
    now.clock_event_reasons = std::vector<std::string>{"hw_slowdown"};
    return now;
  };
  options.gpus.pcie = [](const std::string&) -> Result<device::nvml::PcieBytes> { return device::nvml::PcieBytes{}; };
  options.version = "1";
  Exporter exporter(options);
  std::set<std::string> reported;
  for (const auto& family : exporter.families()) reported.insert(family.name);
  std::string rules = "groups:\n  - name: panels\n    rules:\n";
  for (const auto& expression : expressions) {
    EXPECT_FALSE(metrics_in(expression).empty()) << expression;
    for (const auto& name : metrics_in(expression)) EXPECT_TRUE(reported.contains(name)) << name;
    rules += "      - record: panel" + std::to_string(rules.size()) + "\n        expr: " + dump_json(expression) + "\n";
  }
  for (const auto& name : metrics_in(*read_file(monitoring + "alerts.yaml")))
    EXPECT_TRUE(reported.contains(name)) << name;
  const std::string live = std::string(WARPMARK_SOURCE_DIR) + "/examples/watch/machine.yaml";
  for (const auto& name : metrics_in(*read_file(live))) EXPECT_TRUE(reported.contains(name)) << name;
  ASSERT_TRUE(write_file(folder_ / "panels.yaml", rules).ok());
  const auto checked = run_process({"promtool", "check", "rules", folder_ / "panels.yaml"}, {.deadline_s = 60});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->exit_code, 0) << checked->out << checked->err;
  // What Grafana 10 and 11 need of a panel, and that none lies on another.
  std::set<std::int64_t> ids;
  std::set<std::pair<std::int64_t, std::int64_t>> taken;
  for (const auto& panel : (*dashboard)["panels"]) {
    EXPECT_TRUE(ids.insert(panel["id"].get<std::int64_t>()).second);
    EXPECT_EQ(panel["datasource"]["uid"], "${datasource}");
    const auto& at = panel["gridPos"];
    EXPECT_LE(at["x"].get<std::int64_t>() + at["w"].get<std::int64_t>(), 24);
    for (std::int64_t x = at["x"]; x < at["x"].get<std::int64_t>() + at["w"].get<std::int64_t>(); ++x) {
      for (std::int64_t y = at["y"]; y < at["y"].get<std::int64_t>() + at["h"].get<std::int64_t>(); ++y) {
        EXPECT_TRUE(taken.emplace(x, y).second) << panel["title"];
      }
    }
  }
}

/// Waits up to a minute for the server to have a value.
std::string value_in(const http::Url& base, const std::string& query) {
  const auto url = http::below(base, "/api/v1/query?query=" + query);
  const auto until_ns = monotonic_ns() + 60'000'000'000;
  while (monotonic_ns() < until_ns) {
    const auto answer = http::request({.url = url}, {.deadline_s = 5});
    if (answer.ok() && answer->status == 200) {
      const auto json = parse_json(answer->body, "Prometheus");
      const auto& found = json.ok() ? (*json)["data"]["result"] : Json::array();
      if (found.is_array() && !found.empty()) return found[0]["value"][1].get<std::string>();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return "nothing";
}

TEST_F(Prometheus, a_real_server_stores_what_it_scrapes) {
  Exporter exporter(this_host());
  const auto serving =
      Server::start({.token = "0123456789abcdef"}, [&](const Asked& asked) { return exporter.answer(asked); });
  ASSERT_TRUE(serving.ok());
  std::uint16_t port = 0;
  {
    const auto free_port = Server::start({}, [](const Asked&) { return Answer{}; });
    ASSERT_TRUE(free_port.ok());
    port = (*free_port)->port();
  }
  const auto config = folder_ / "prometheus.yaml";
  ASSERT_TRUE(write_file(config,
                         "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: warpmark\n"
                         "  authorization: {credentials: 0123456789abcdef}\n  static_configs:\n"
                         "  - targets: ['127.0.0.1:" +
                             std::to_string((*serving)->port()) + "']\n")
                  .ok());
  const std::string address = "127.0.0.1:" + std::to_string(port);
  std::atomic<bool> enough{false};
  std::string said;
  std::thread server([&] {
    const auto ended = run_process(
        {"prometheus", "--config.file=" + config.string(), "--web.listen-address=" + address,
         "--storage.tsdb.path=" + (folder_ / "data").string(), "--log.level=error"},
        {.deadline_s = 150, .own_group = true, .interrupted = &enough, .on_err = [&](std::string_view text) {
           said += text;
         }});
    (void)ended;  // it is killed when it has been asked
  });
  const auto base = http::parse_url("http://" + address + "/");
  const std::string up = base.ok() ? value_in(*base, "up") : "no URL";
  const std::string utilization = value_in(*base, "DCGM_FI_DEV_GPU_UTIL");
  const std::string store = value_in(*base, "warpmark_store_up");
  enough.store(true);
  server.join();
  EXPECT_EQ(up, "1") << said;
  EXPECT_EQ(utilization, "25") << said;
  EXPECT_EQ(store, "0") << said;
}

TEST_F(Prometheus, a_real_node_exporter_reads_the_file_that_is_written_for_it) {
  const auto asked = run_process({"prometheus-node-exporter", "--version"});
  if (!asked.ok()) GTEST_SKIP() << "node_exporter is not installed (package prometheus-node-exporter)";
  Exporter exporter(this_host());
  ASSERT_TRUE(write_file(folder_ / "warpmark.prom", exporter.text(TextFormat::prometheus)).ok());
  std::uint16_t port = 0;
  {
    const auto free_port = Server::start({}, [](const Asked&) { return Answer{}; });
    ASSERT_TRUE(free_port.ok());
    port = (*free_port)->port();
  }
  const std::string address = "127.0.0.1:" + std::to_string(port);
  std::atomic<bool> enough{false};
  std::thread server([&] {
    const auto ended =
        run_process({"prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                     "--collector.textfile.directory=" + folder_.string(), "--web.listen-address=" + address},
                    {.deadline_s = 120, .own_group = true, .interrupted = &enough});
    (void)ended;  // it is killed when it has been asked
  });
  std::string text;
  const auto url = http::parse_url("http://" + address + "/metrics");
  const auto until_ns = monotonic_ns() + 60'000'000'000;
  while (url.ok() && text.empty() && monotonic_ns() < until_ns) {
    const auto answer = http::request({.url = *url}, {.deadline_s = 5});
    if (answer.ok() && answer->status == 200) text = answer->body;
    if (text.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  enough.store(true);
  server.join();
  EXPECT_THAT(text, testing::HasSubstr("node_textfile_scrape_error 0\n"));
  EXPECT_THAT(text, testing::HasSubstr("modelName=\"a \\\"quoted\\\" GPU\",pci_bus_id=\"\"} 25\n"));
  EXPECT_THAT(text, testing::HasSubstr("warpmark_store_up 0\n"));
}

}  // namespace
}  // namespace warpmark::watch
