#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "apps/stored_history.h"
#include "base/clock.h"
#include "base/files.h"
#include "http/client.h"
#include "store/location.h"
#include "support/fake_tree.h"
#include "support/memory_store.h"
#include "watch/exporter/exporter.h"
#include "watch/exporter/host.h"
#include "watch/exporter/inventory.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Families, any_text_may_be_a_labels_value) {
  const std::vector<Family> families = {
      {"warpmark_result", "a \\ b\nc", FamilyType::gauge, {{{{"params", "x\"y\\z\n\xFF\xC3\xA9"}}, 0.5}}}};
  EXPECT_EQ(render_families(families, TextFormat::prometheus),
            "# HELP warpmark_result a \\\\ b\\nc\n# TYPE warpmark_result gauge\n"
            "warpmark_result{params=\"x\\\"y\\\\z\\n\xEF\xBF\xBD\xC3\xA9\"} 0.5\n");
}

TEST(Families, open_metrics_names_counters_without_their_ending_and_ends) {
  const std::vector<Family> families = {{"bytes_total", "B", FamilyType::counter, {{{}, 7}}},
                                        {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "E", FamilyType::counter, {{{}, 1}}},
                                        {"unknown_now", "nothing is known", FamilyType::gauge, {}}};
  EXPECT_EQ(render_families(families, TextFormat::open_metrics),
            "# HELP bytes B\n# TYPE bytes counter\nbytes_total 7\n"
            "# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION E\n# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION unknown\n"
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 1\n# EOF\n");
}

monitor::GpuSource two_gpus(bool& second_answers) {
  monitor::GpuSource source;
  source.list = []() -> Result<std::vector<device::nvml::GpuFacts>> {
    std::vector<device::nvml::GpuFacts> gpus(2);
    for (int i = 0; i < 2; ++i) {
      auto& gpu = gpus[static_cast<std::size_t>(i)];
      gpu.index = i;
      gpu.uuid = "GPU-" + std::to_string(i);
      gpu.name = "NVIDIA H100 80GB HBM3";
      gpu.pci_bus_id = "00000000:1B:00.0";
      gpu.memory_bytes = std::int64_t{80} << 30;
    }
    return gpus;
  };
  source.activity = [&second_answers](const std::string& uuid) -> Result<device::nvml::GpuActivity> {
    if (uuid == "GPU-1" && !second_answers) return environment_error("GPU is lost");
    device::nvml::GpuActivity now;
    now.utilization = 0.5;
    now.memory_used_bytes = std::int64_t{20} << 30;
    now.sm_clock_hz = 1.98e9;
    now.energy_j = 12.5;
    now.ecc_uncorrected = 3;
    now.clock_event_reasons = std::vector<std::string>{"sw_power_cap", "gpu_idle"};
    return now;
  };
  return source;
}

TEST(Gpu, has_the_names_units_and_labels_of_dcgm) {
  bool second_answers = true;
  GpuSample probe(two_gpus(second_answers), "node7");
  const std::string text = render_families(probe.families(), TextFormat::prometheus);
  const std::string labels =
      "{gpu=\"0\",UUID=\"GPU-0\",pci_bus_id=\"00000000:1B:00.0\",device=\"nvidia0\","
      "modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node7\"}";
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_GPU_UTIL" + labels + " 50\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_USED" + labels + " 20480\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_FREE" + labels + " 61440\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_SM_CLOCK" + labels + " 1980\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + labels + " 12500\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" + labels + " 3\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" + labels + " 5\n"));
  EXPECT_THAT(text, HasSubstr("reason=\"sw_power_cap\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("reason=\"gpu_idle\"")));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_POWER_USAGE"))) << "not known, so it has no value";
}

TEST(Gpu, one_that_is_lost_is_down_and_the_others_go_on) {
  bool second_answers = false;
  GpuSample probe(two_gpus(second_answers), "node7");
  const std::string text = render_families(probe.families(), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_gpu_up{gpu=\"0\""));
  EXPECT_THAT(text, testing::ContainsRegex("warpmark_gpu_up\\{gpu=\"1\"[^}]*\\} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"")));
}

TEST(Host, tells_rates_of_each_interface_since_the_look_before) {
  const test::FakeTree tree;
  const auto& root = tree.root();
  std::filesystem::create_directories(root / "proc/net");
  std::filesystem::create_directories(root / "proc/pressure");
  const auto write = [&](const char* path, const std::string& text) { std::ofstream(root / "proc" / path) << text; };
  const auto net = [&](const std::string& received, const std::string& sent) {
    write("net/dev",
          "Inter-|   Receive                                                |  Transmit\n"
          " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n"
          "  ib0:" +
              received + " 9 0 0 0 0 0 0 " + sent + " 8 0 0 0 0 0 0\n");
  };
  write("pressure/memory",
        "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.25 avg60=0 avg300=0 total=0\n");
  write("meminfo", "MemTotal: 1024 kB\nMemAvailable: 512 kB\n");
  net("1000", "50");
  HostSample probe(root, true);
  std::string text = render_families(probe.families(1'000'000'000), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_network_received_bytes_total{interface=\"ib0\"} 1000\n"));
  EXPECT_THAT(text, Not(HasSubstr("per_second")));
  EXPECT_THAT(text, HasSubstr("warpmark_host_pressure_ratio{resource=\"memory\",tasks=\"some\"} 0.015\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_host_memory_available_bytes 524288\n"));
  net("5000", "70");
  text = render_families(probe.families(3'000'000'000), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_network_received_bytes_per_second{interface=\"ib0\"} 2000\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_network_sent_bytes_per_second{interface=\"ib0\"} 10\n"));
  net("10", "10");  // another interface of the same name
  text = render_families(probe.families(4'000'000'000), TextFormat::prometheus);
  EXPECT_THAT(text, Not(HasSubstr("per_second")));
}

TEST(Stored, tells_the_newest_result_of_each_series_and_when_it_was_measured) {
  const auto open = []() -> Result<std::unique_ptr<store::Store>> {
    auto store = store::make_memory_store();
    for (int i = 0; i < 2; ++i) {
      Session session;
      session.id = "s" + std::to_string(i);
      session.started = i == 0 ? "2026-03-01T00:00:00Z" : "2026-03-02T00:00:00Z";
      session.machine.hostname = "node7";
      warpmark::Run run;
      run.workload = "gemm";
      run.outcome = Outcome::passed;
      run.started = session.started;
      Metric metric{.id = "time", .unit = "s"};
      metric.samples = {0.25 * (i + 1)};
      metric.summary.n = 1;
      metric.summary.median = metric.samples.front();
      run.metrics.push_back(metric);
      WM_TRY(store->begin(session));
      WM_TRY(store->append_run(session.id, run));
    }
    return store;
  };
  const std::string text = render_families(stored_families(open), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_store_up 1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("warpmark_result\\{workload=\"gemm\"[^}]*\\} 0.5\n"));
  EXPECT_THAT(text, Not(testing::ContainsRegex("warpmark_result\\{[^}]*\\} 0.25\n")));
  EXPECT_THAT(text, testing::ContainsRegex("warpmark_result_timestamp_seconds\\{[^}]*\\} 1772409600\n"));
  EXPECT_THAT(text, testing::ContainsRegex("warpmark_session_complete\\{session=\"s1\"[^}]*\\} 0\n"));
}

TEST(Stored, a_store_that_is_gone_is_down_and_nothing_else_is_told) {
  const auto gone = []() -> Result<std::unique_ptr<store::Store>> { return environment_error("gone"); };
  EXPECT_EQ(render_families(stored_families(gone), TextFormat::prometheus),
            "# HELP warpmark_store_up 1 if the store of results can be read.\n# TYPE warpmark_store_up gauge\n"
            "warpmark_store_up 0\n");
}

TEST(Stored, is_read_again_when_its_file_was_written_and_not_otherwise) {
  const test::FakeTree tree;
  const std::string path = (tree.root() / "results.db").string();
  EXPECT_EQ(store::file_stamp(path), "") << "no file";
  EXPECT_EQ(store::file_stamp("postgresql://host/db"), "");
  const auto writer = store::open_store(path);
  ASSERT_TRUE(writer.ok()) << writer.error().what;
  apps::store_session(**writer, {.day = 1, .time = 1.5});
  const auto written_before = [&](std::chrono::minutes age) {
    const auto now = std::filesystem::file_time_type::clock::now();
    for (const char* suffix : {"", "-wal"}) std::filesystem::last_write_time(path + suffix, now - age);
  };
  written_before(std::chrono::minutes(-10));
  EXPECT_EQ(store::file_stamp(path), "") << "just written";
  written_before(std::chrono::minutes(10));
  EXPECT_NE(store::file_stamp(path), "");
  int opened = 0;
  ExporterOptions options{.root = tree.root()};
  options.gpus.list = [] { return Result<std::vector<device::nvml::GpuFacts>>(std::vector<device::nvml::GpuFacts>()); };
  options.open_store = [&] {
    ++opened;
    return store::open_store(path);
  };
  options.store_stamp = [&] { return store::file_stamp(path); };
  Exporter exporter(options);
  for (int i = 0; i < 5; ++i) (void)exporter.text(TextFormat::prometheus);  // until all sessions are judged
  const int settled = opened;
  const auto before = exporter.text(TextFormat::prometheus);
  EXPECT_THAT(before, HasSubstr("warpmark_result{"));
  EXPECT_THAT(before, HasSubstr("} 1.5\n"));
  EXPECT_EQ(opened, settled);
  apps::store_session(**writer, {.day = 2, .time = 2.5});
  written_before(std::chrono::minutes(5));
  EXPECT_THAT(exporter.text(TextFormat::prometheus), HasSubstr("} 2.5\n"));
  EXPECT_GT(opened, settled);
  std::filesystem::rename(path, path + ".gone");
  EXPECT_EQ(store::file_stamp(path), "");
}

TEST(Peers, have_rates_by_address_and_connections_that_are_new_count_from_their_first_look) {
  std::vector<TcpConnection> now = {{1, "10.0.0.2", false, 100, 1000}, {2, "127.0.0.1", true, 5, 5}};
  PeerSample probe({.rates = true}, [&]() -> Result<std::vector<TcpConnection>> { return now; });
  EXPECT_THAT(render_families(probe.families(1'000'000'000), TextFormat::prometheus),
              HasSubstr("warpmark_network_peer_connections{peer=\"10.0.0.2\"} 1\n"));
  now = {{1, "10.0.0.2", false, 300, 5000}, {3, "10.0.0.2", false, 50, 0}, {4, "fd00::1", false, 7, 8}};
  const std::string text = render_families(probe.families(3'000'000'000), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_network_peer_received_bytes_per_second{peer=\"10.0.0.2\"} 125\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_network_peer_sent_bytes_per_second{peer=\"10.0.0.2\"} 2000\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_network_peer_connections{peer=\"10.0.0.2\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_network_peer_sent_bytes_per_second{peer=\"fd00::1\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(text, HasSubstr("warpmark_network_peer_received_bytes_total{peer=\"10.0.0.2\"} 350\n"));
}

TEST(Peers, are_bounded_to_the_busiest) {
  std::vector<TcpConnection> now;
  for (std::uint64_t i = 0; i < 1000; ++i) now.push_back({i, "10.0." + std::to_string(i), false, 0, 0});
  PeerSample probe({}, [&]() -> Result<std::vector<TcpConnection>> { return now; });
  (void)probe.families(1);
  now[777].sent = 1 << 20;
  const auto families = probe.families(1'000'000'001);
  EXPECT_EQ(families[0].samples.size(), kMostPeers);
  EXPECT_EQ(families[1].samples[0].labels[0].second, "10.0.777");
}

TEST(Peers, are_counted_by_the_kernel) {
  if (const auto asked = device::tcp_connections(); !asked.ok()) GTEST_SKIP() << asked.error().what;
  const auto serving = Server::start({}, [](const Asked&) { return Answer{.body = std::string(1 << 20, 'x')}; });
  ASSERT_TRUE(serving.ok());
  PeerSample probe({.loopback = true});
  (void)probe.families(1);
  http::Client client({.deadline_s = 60});  // keeps its connection, which is what the kernel counts
  const auto url = http::parse_url((*serving)->url());
  ASSERT_TRUE(url.ok());
  ASSERT_TRUE(client.send({.url = *url}).ok());
  const auto families = probe.families(1'000'000'001);
  const auto& received = families[0].samples;
  const auto loopback = std::find_if(received.begin(), received.end(),
                                     [](const Sample& sample) { return sample.labels[0].second == "127.0.0.1"; });
  ASSERT_NE(loopback, received.end());
  EXPECT_GE(loopback->value, 1 << 20);
}

TEST(StoredFamilies, have_verdicts_of_the_newest_results_one_session_at_a_call) {
  const auto memory = store::make_memory_store();
  apps::store_history(*memory, 20);
  apps::store_session(*memory, {.day = 21, .time = 1.5});
  store::Store* shared = memory.get();
  StoredVerdicts verdicts;
  const auto reported = shared->find({});
  ASSERT_TRUE(reported.ok());
  const std::string text = render_families(verdicts.families(*shared, {reported->front()}), TextFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("warpmark_result_verdict{workload=\"command\",params=\"name=job\""));
  EXPECT_THAT(text, HasSubstr("verdict=\"worse\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("warpmark_result_change_ratio"));
}

TEST(Running, is_told_while_the_mark_is_held_and_not_what_a_kill_left) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("watch_running_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "running");
  ASSERT_TRUE(write_file(folder / "running" / "dead.json", "{}").ok());
  EXPECT_TRUE(store::running_sessions(folder).empty());
  {
    auto mark = store::RunningMark::make(folder, {.session = "s1", .hostname = "n1", .phase = "begins"});
    ASSERT_TRUE(mark.ok()) << mark.error().what;
    mark->update("gemm \"big\", round 2 of 4", 1, 4, 12);
    mark->update("x, round 3 of 4", 2, 4, 6);
    const auto sessions = store::running_sessions(folder);
    ASSERT_EQ(sessions.size(), 1U);
    const std::string text = render_families(running_families(sessions), TextFormat::prometheus);
    EXPECT_THAT(text, HasSubstr("warpmark_run_in_progress{session=\"s1\",host=\"n1\",phase=\"x, round 3 of 4\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("warpmark_run_progress_ratio{session=\"s1\",host=\"n1\"} 0.5\n"));
    EXPECT_THAT(text, HasSubstr("warpmark_run_left_seconds{session=\"s1\",host=\"n1\"} 6\n"));
    EXPECT_FALSE(std::filesystem::exists(folder / "running" / "dead.json")) << "cleaned up";
    EXPECT_FALSE(store::RunningMark::make(folder, {.session = "s1"}).ok());
  }
  EXPECT_TRUE(store::running_sessions(folder).empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "running" / "s1.json"));
  std::filesystem::remove_all(folder);
}

TEST(GpuInventory, keeps_gpus_without_a_place_on_the_bus_apart) {
  const auto folder = ScratchFolder::make("inventory");
  ASSERT_TRUE(folder.ok());
  const auto none = [](const std::string&) {};
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder->path());
  GpuInventory inventory("gpus.json", 0, none);  // --state may name a file without a folder
  inventory.seen({{.uuid = "a"}, {.uuid = "b"}}, 1);
  std::filesystem::current_path(before);
  EXPECT_EQ(GpuInventory(folder->path() / "gpus.json", 1, none).gpus().size(), 2U);
}

TEST(GpuInventory, that_is_damaged_counts_as_empty_and_is_reported_once) {
  const auto folder = ScratchFolder::make("inventory");
  ASSERT_TRUE(folder.ok());
  for (const char* text :
       {R"({"schema":5,"gpus":[]})", R"({"schema":"warpmark.gpu_inventory/1","gpus":[{"index":"0"}]})"}) {
    ASSERT_TRUE(write_file(folder->path() / "gpus.json", text).ok());
    std::vector<std::string> log;
    const GpuInventory inventory(folder->path() / "gpus.json", 0,
                                 [&](const std::string& line) { log.push_back(line); });
    EXPECT_TRUE(inventory.gpus().empty());
    ASSERT_EQ(log.size(), 1U) << text;
    EXPECT_THAT(log.front(), Not(HasSubstr("json.exception")));
  }
}

}  // namespace
}  // namespace warpmark::watch
