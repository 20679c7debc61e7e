// `warpmark monitor` as it is used: in a terminal, in a pipe, and as a logger; on a machine with two played GPUs and on
// one without.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "apps/cli_fixture.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::schema_errors;

class MonitorCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    setenv("LD_LIBRARY_PATH", (std::string(WARPMARK_BINARY_DIR) + "/mock_nvml").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("LD_LIBRARY_PATH");
    Cli::TearDown();
  }

  struct Shown {
    std::string text;  ///< everything that reached the terminal
    int exit_code = -1;
  };
  /// Runs it in a terminal of 80 by 24, presses Ctrl-C when `wanted` has been seen, and waits for its end.
  static Shown in_terminal(const char* kind, std::vector<std::string> words, const std::string& wanted) {
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      setenv("TERM", kind, 1);
      std::vector<char*> arguments{const_cast<char*>(kExecutable.c_str())};
      for (auto& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(kExecutable.c_str(), arguments.data());
      _exit(99);
    }
    Shown shown;
    bool reported = false;
    const std::int64_t deadline = monotonic_ns() + 30'000'000'000;
    while (monotonic_ns() < deadline) {
      pollfd ready{.fd = terminal, .events = POLLIN, .revents = 0};
      poll(&ready, 1, 100);
      char bytes[4096];
      const auto got = (ready.revents & (POLLIN | POLLHUP)) != 0 ? ::read(terminal, bytes, sizeof bytes) : 0;
      if (got < 0) break;  // its other end was closed
      shown.text.append(bytes, static_cast<std::size_t>(got));
      if (!reported && shown.text.find(wanted) != std::string::npos) reported = ::write(terminal, "\x03", 1) == 1;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == 0) {
      usleep(500'000);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    close(terminal);
    if (WIFEXITED(status)) shown.exit_code = WEXITSTATUS(status);
    return shown;
  }
};

TEST_F(MonitorCli, draws_in_a_second_screen_and_leaves_it_at_ctrl_c) {
  const auto shown = in_terminal("xterm-256color", {"monitor", "--interval", "100ms"}, "GPU 1");
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.text, ::testing::StartsWith("\x1b[?1049h\x1b[?25l"));
  EXPECT_THAT(shown.text, ::testing::EndsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"));
  EXPECT_THAT(shown.text, HasSubstr("sw_power_cap"));
}

TEST_F(MonitorCli, prints_lines_where_a_terminal_cannot_be_redrawn) {
  const auto shown = in_terminal("dumb", {"monitor", "--interval", "100ms"}, "GPU 1");
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.text, Not(HasSubstr("\x1b")));
}

TEST_F(MonitorCli, looks_once_without_a_terminal) {
  const auto output = warpmark_narrow({"monitor", "--once", "--interval", "100ms"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(output.out, HasSubstr("2 NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(output.out, HasSubstr("(not visible from here)"));
  for (const auto& line : split(output.out, '\n')) EXPECT_LE(display_width(line), 80U) << line;
}

TEST_F(MonitorCli, logs_rows_and_documents) {
  const auto output = warpmark(
      {"monitor", "--interval", "50ms", "--duration", "400ms", "--csv", path("m.csv"), "--jsonl", path("m.jsonl")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(output.out, "");
  const auto rows = split(*read_file(path("m.csv")), '\n');
  const auto lines = split(*read_file(path("m.jsonl")), '\n');
  ASSERT_GE(lines.size(), 4U);
  EXPECT_EQ(rows.size() - 2, 3 * (lines.size() - 1)) << "a row for the host and one for each GPU";
  for (const auto& line : lines) {
    if (line.empty()) continue;
    const auto state = parse_json(line, "m.jsonl");
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(schema_errors(*state, "monitor.schema.json"), "");
  }
  const auto second = parse_json(lines[1], "m.jsonl");
  EXPECT_GT((*second)["gpus"][0]["pcie_sent"].get<double>(), 0);
  EXPECT_GT((*second)["gpus"][0]["nvlink_received"].get<double>(), 0);
}

TEST_F(MonitorCli, appends_to_a_log_without_a_second_header) {
  for (int i = 0; i < 2; ++i) {
    (void)warpmark({"monitor", "--interval", "50ms", "--duration", "60ms", "--csv", path("m.csv")});
  }
  const auto rows = split(*read_file(path("m.csv")), '\n');
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.starts_with("time_s,"); }), 1);
  EXPECT_GE(rows.size(), 1 + 2 * 3U);
}

TEST_F(MonitorCli, works_without_a_gpu) {
  unsetenv("LD_LIBRARY_PATH");
  const auto output = warpmark({"monitor", "--interval", "50ms", "--duration", "60ms", "--jsonl", "-"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto state = parse_json(split(output.out, '\n')[0], "out");
  ASSERT_TRUE(state.ok()) << output.out;
  EXPECT_EQ(schema_errors(*state, "monitor.schema.json"), "");
  EXPECT_FALSE((*state)["processes"].empty());
}

TEST_F(MonitorCli, refuses_what_makes_no_sense) {
  EXPECT_EQ(warpmark({"monitor", "--interval", "1ms"}).exit_code, 2);
  EXPECT_EQ(warpmark({"monitor", "--interval", "soon"}).exit_code, 2);
  EXPECT_EQ(warpmark({"monitor", "--processes", "-1"}).exit_code, 2);
  EXPECT_EQ(warpmark({"monitor", "--csv", "-", "--jsonl", "-"}).exit_code, 2);
  const auto output = warpmark({"monitor", "--csv", "/proc/nowhere/x.csv"});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("/proc/nowhere/x.csv"));
}

TEST_F(MonitorCli, sums_up_what_each_gpu_did) {
  const auto output =
      warpmark({"monitor", "--summary", "--interval", "50ms", "--duration", "200ms", "--json", path("summary.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("GPU 0 NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(output.out, HasSubstr("97.0 %"));
  EXPECT_THAT(output.out, HasSubstr("mean"));
  const Json summary = json("summary.json");
  ASSERT_EQ(summary["gpus"].size(), 2U);
  EXPECT_GE(summary["polls"], 2);
  EXPECT_DOUBLE_EQ(summary["gpus"][0]["utilization"]["mean"].get<double>(), 0.97);
  EXPECT_DOUBLE_EQ(summary["gpus"][0]["memory_used"]["max"].get<double>(), 53'687'091'200.0);
  EXPECT_DOUBLE_EQ(summary["gpus"][1]["power"]["min"].get<double>(), 118);
  EXPECT_EQ(summary["gpus"][0]["slowed_polls"], summary["polls"]) << "it is at its power limit all the time";
  EXPECT_EQ(summary["gpus"][1]["slowed_polls"], 0) << "idle is no reason that slows";
  EXPECT_EQ(schema_errors(summary, "monitor_summary.schema.json"), "");
}

}  // namespace
}  // namespace warpmark::apps
