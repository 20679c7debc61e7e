// The executable as a person uses it: exit codes, messages, files. Runs build/.../warpmark itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string plugin(const std::string& name) { return std::string(WARPMARK_BINARY_DIR) + "/plugins/" + name + ".so"; }

TEST_F(Cli, prints_its_version_and_what_is_built_in) {
  const auto output = warpmark({"--version"});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_THAT(output.out, HasSubstr("warpmark 0."));
  EXPECT_THAT(output.out, HasSubstr("OpenBLAS"));
  EXPECT_THAT(output.out, HasSubstr("oneDNN"));
  EXPECT_THAT(output.out, HasSubstr("CUDA module"));
}

TEST_F(Cli, explains_every_verb) {
  for (const char* verb : {"run", "list", "doctor", "report", "history", "completion", "help"}) {
    const auto output = warpmark({verb, "--help"});
    EXPECT_EQ(output.exit_code, 0) << verb;
    EXPECT_THAT(output.out, HasSubstr(std::string("usage: warpmark ") + verb));
    EXPECT_EQ(output.err, "") << verb;
  }
}

TEST_F(Cli, suggests_what_was_meant) {
  const auto verb = warpmark({"runn"});
  EXPECT_EQ(verb.exit_code, 2);
  EXPECT_THAT(verb.err, HasSubstr("did you mean 'warpmark run'?"));
  const auto workload = warpmark({"run", "gem", "--device", "cpu"});
  EXPECT_EQ(workload.exit_code, 2);
  EXPECT_THAT(workload.err, HasSubstr("there is no workload 'gem'"));
  EXPECT_THAT(workload.err, HasSubstr("did you mean 'gemm'?"));
  const auto parameter = warpmark({"run", "gemm", "--device", "cpu", "--set", "dtyp=f32"});
  EXPECT_EQ(parameter.exit_code, 2);
  EXPECT_THAT(parameter.err, HasSubstr("did you mean 'dtype'?"));
  const auto device = warpmark({"run", "gemm", "--device", "gpu"});
  EXPECT_NE(device.exit_code, 0);
  EXPECT_THAT(device.err, HasSubstr("cpu"));
}

TEST_F(Cli, lists_every_kind_that_its_help_names) {
  for (const char* kind : {"workloads", "suites", "metrics", "reporters", "formats", "rules", "readers", "writers"}) {
    const auto ids = warpmark({"list", kind, "--ids"});
    EXPECT_EQ(ids.exit_code, 0) << kind << ids.err;
    EXPECT_GE(std::count(ids.out.begin(), ids.out.end(), '\n'), 2) << kind;
    EXPECT_THAT(warpmark({"list", "--help"}).out, HasSubstr(kind));
  }
  EXPECT_THAT(warpmark({"list", "rules", "--ids"}).out, HasSubstr("launch_overhead\n"));
}

TEST_F(Cli, lists_as_tables_with_a_row_for_each_id) {
  for (const char* kind : {"workloads", "suites", "devices", "metrics", "reporters", "formats", "rules", "readers",
                           "writers", "criteria", "datasheets", "facts", "verbs"}) {
    const auto table = warpmark({"list", kind}), ids = warpmark({"list", kind, "--ids"});
    EXPECT_EQ(table.exit_code, 0) << kind << table.err;
    for (const auto& id : split(ids.out, '\n')) EXPECT_THAT(table.out, HasSubstr(id)) << kind;
  }
  EXPECT_THAT(warpmark({"list", "devices"}).out, HasSubstr("available"));
  EXPECT_THAT(warpmark({"list", "datasheets"}).out, HasSubstr("NVIDIA H100"));
  const auto none = warpmark({"list", "nothing"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no list of 'nothing'"));
}

TEST_F(Cli, writes_no_colour_into_a_pipe) { EXPECT_THAT(warpmark({"list"}).out, Not(HasSubstr("\x1b["))); }

TEST_F(Cli, names_the_line_of_a_bad_suite) {
  std::ofstream(path("bad.yaml")) << "cases:\n  - workload: gemm\n    sett: {m: 1}\n";
  const auto output = warpmark({"run", "--suite", path("bad.yaml")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("bad.yaml line 3: unknown key 'sett'"));
  EXPECT_THAT(output.err, HasSubstr("did you mean 'set'?"));
}

TEST_F(Cli, measures_stores_and_shows_again) {
  const auto run = warpmark(with({"run", "opponent_balance", "--json", path("out.json")}, kShort));
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const auto json = parse_json(*read_file(path("out.json")), "out.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["schema"], "warpmark.results/1");
  ASSERT_EQ((*json)["runs"].size(), 1U);
  EXPECT_GE((*json)["runs"][0]["metrics"][0]["samples"].size(), 6U);
  EXPECT_TRUE((*json)["runs"][0]["error"].contains("tolerance"));

  const auto history = warpmark({"history"});
  EXPECT_THAT(history.out, HasSubstr((*json)["id"].get<std::string>().substr(0, 15)));
  for (const char* format : {"text", "md", "html", "json", "google-benchmark"}) {
    const auto report = warpmark({"report", "last", "--format", format});
    EXPECT_EQ(report.exit_code, 0) << format << report.err;
    EXPECT_THAT(report.out, HasSubstr("balance")) << format;  // markdown escapes the underscore
  }
  EXPECT_EQ(warpmark({"report", path("out.json")}).exit_code, 0);
}

TEST_F(Cli, goes_on_after_a_case_that_makes_no_sense_and_says_why) {
  const auto output = warpmark(
      with({"run", "top_k_patches", "--sweep", "k=64,500", "--set", "dtype=f32", "--json", path("o.json")}, kShort));
  EXPECT_EQ(output.exit_code, 2);
  const auto json = parse_json(*read_file(path("o.json")), "o.json");
  ASSERT_TRUE(json.ok());
  int passed = 0, refused = 0;
  for (const auto& run : (*json)["runs"]) {
    passed += run["outcome"] == "passed" || run["outcome"] == "unreliable" ? 1 : 0;
    refused += run["outcome"] == "error" ? 1 : 0;
  }
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(refused, 1);
  EXPECT_THAT(output.out, HasSubstr("500"));
  EXPECT_THAT(output.out, HasSubstr("196"));
}

TEST_F(Cli, refuses_a_database_it_cannot_write_before_measuring) {
  const auto output = warpmark(with({"run", "opponent_balance", "--db", "/proc/nowhere/w.db"}, kShort));
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("/proc/nowhere"));
}

TEST_F(Cli, refuses_before_measuring_where_no_case_makes_sense) {
  const auto output = warpmark({"run", "gemm", "--device", "cpu", "--set", "impl=foo"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("'foo'"));
  EXPECT_EQ(output.out, "");
}

TEST_F(Cli, refuses_files_it_could_not_write_before_measuring) {
  const auto json = warpmark(with({"run", "launch", "--json", "/proc/nowhere/x.json"}, kShort));
  EXPECT_EQ(json.exit_code, 5);
  EXPECT_THAT(json.err, HasSubstr("/proc/nowhere/x.json"));
  EXPECT_EQ(json.out, "");
  const auto folder = warpmark(with({"run", "launch", "--out", "/proc/nowhere"}, kShort));
  EXPECT_EQ(folder.exit_code, 5);
  EXPECT_EQ(folder.out, "");
}

TEST_F(Cli, refuses_a_recording_it_could_not_write_before_the_program_runs) {
  const auto output = warpmark({"profile", "--out", "/proc/nowhere/x.wmrec", "--", "touch", path("ran")});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err, HasSubstr("/proc/nowhere"));
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Cli, does_not_call_it_a_success_when_nothing_that_was_asked_for_could_be_measured) {
  const auto output =
      warpmark({"run", "gemm", "--device", "cpu", "--set", "dtype=fp8", "--rounds", "1", "--no-ceilings"});
  EXPECT_EQ(output.exit_code, 5) << output.out;
  EXPECT_THAT(output.out, HasSubstr("unsupported"));
}

TEST_F(Cli, runs_a_users_plugin) {
  const auto output = warpmark(with({"run", "dot", "--plugin", plugin("dot"), "--json", path("o.json")}, kShort));
  EXPECT_EQ(output.exit_code, 0) << output.err << output.out;
  EXPECT_THAT(output.out, HasSubstr("dot"));
}

TEST_F(Cli, refuses_plugins_that_return_garbage) {
  const auto abi = warpmark(with({"run", "broken", "--plugin", plugin("wrong_abi")}, kShort));
  EXPECT_EQ(abi.exit_code, 2);
  EXPECT_THAT(abi.err, HasSubstr("another plugin interface (abi 99"));
  const auto cost = warpmark(with({"run", "broken", "--plugin", plugin("garbage_cost")}, kShort));
  EXPECT_EQ(cost.exit_code, 2);
  EXPECT_THAT(cost.err, HasSubstr("nan FLOPs"));
  const auto prepare = warpmark(with({"run", "broken", "--plugin", plugin("failing_prepare")}, kShort));
  EXPECT_EQ(prepare.exit_code, 2);
  EXPECT_THAT(prepare.out, HasSubstr("broken: prepare:"));
  const auto check = warpmark(with({"run", "broken", "--plugin", plugin("nan_check")}, kShort));
  EXPECT_EQ(check.exit_code, 1);
  const auto missing = warpmark(with({"run", "broken", "--plugin", path("none.so")}, kShort));
  EXPECT_EQ(missing.exit_code, 2);
}

TEST_F(Cli, names_the_plugin_workload_that_crashed_and_keeps_what_was_finished) {
  std::ofstream(path("suite.yaml")) << "rounds: 1\ncases:\n  - {workload: opponent_balance}\n  - {workload: broken}\n";
  const auto output = warpmark({"run", "--suite", path("suite.yaml"), "--plugin", plugin("crash"), "--device", "cpu",
                                "--budget", "60s", "--precision", "50%", "--no-ceilings"});
  EXPECT_EQ(output.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(output.err, HasSubstr("broken, round 1 of 1 crashed"));
  EXPECT_THAT(output.err, HasSubstr("warpmark report "));
  const auto kept = warpmark({"report", "last"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("opponent_balance"));
}

struct Interrupted {
  ProcessOutput output;
  double seconds = 0;      ///< that it lived after the signal
  std::size_t rounds = 0;  ///< that were stored just before
};

/// Rounds of all cases in a document of results.
std::size_t rounds_in(const std::string& text) {
  const auto json = parse_json(text, "results");
  EXPECT_TRUE(json.ok()) << text;
  std::size_t rounds = 0;
  if (!json.ok()) return 0;
  for (const auto& run : (*json)["runs"]) {
    if (!run["metrics"].empty()) rounds += run["metrics"][0]["round_sizes"].size();
  }
  return rounds;
}

/// Starts a session without a limit in time of three or four cases of a second or two, on one thread (what it measures
/// does not matter), sends it `signal` once the first round is stored, and waits for its end. Timed by what nobody
/// sets.
Interrupted interrupted_run(const std::string& sizes, const std::string& rounds, const std::string& signal,
                            const std::string& marks) {
  std::string command = "export OMP_NUM_THREADS=1; '" + kExecutable +
                        "' run copy --set mode=hot --sweep size=" + sizes + " --device cpu --rounds " + rounds +
                        " --budget 0 --no-ceilings --precision 0.0001%";
  command += " & child=$!; for i in $(seq 300); do sleep 0.1; '" + kExecutable + "' report last --format json > '" +
             marks + ".json' 2> /dev/null; grep -q round_sizes '" + marks +
             ".json' && break; done; cut -d ' ' -f 1 /proc/uptime > '" + marks + "'; kill -" + signal +
             " $child; wait $child; code=$?; cut -d ' ' -f 1 /proc/uptime >> '" + marks + "'; exit $code";
  auto output = run_process({"bash", "-c", command}, {.deadline_s = 100});
  EXPECT_TRUE(output.ok());
  std::ifstream file(marks);
  double begin = 0, end = 0;
  file >> begin >> end;
  EXPECT_GT(begin, 0);
  return {output.ok() ? *output : ProcessOutput{}, end - begin, rounds_in(*read_file(marks + ".json"))};
}

TEST_F(Cli, ends_on_ctrl_c_keeps_what_is_finished_and_resumes) {
  setenv("OMP_NUM_THREADS", "1", 1);
  const auto [output, seconds, rounds] = interrupted_run("8MiB,12MiB,16MiB", "2", "INT", path("marks"));
  ASSERT_EQ(output.exit_code, 130) << output.err;
  EXPECT_LT(seconds, 15);  // it is less than one on a machine with nothing else to do
  EXPECT_GE(rounds, 1U);
  // Whatever the machine is busy with: the round in progress is given up. One more may have ended before the signal
  // came.
  const std::size_t kept = rounds_in(warpmark({"report", "last", "--format", "json"}).out);
  EXPECT_GE(kept, rounds);
  EXPECT_LE(kept, rounds + 1);
  EXPECT_THAT(output.err, HasSubstr("warpmark run --resume "));
  const auto changed = warpmark({"run", "--resume", "last", "--rounds", "5"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("--rounds cannot be changed in a session that has begun"));
  const auto resumed = warpmark({"run", "--resume", "last", "--json", path("o.json")});
  unsetenv("OMP_NUM_THREADS");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err << resumed.out;
  const auto json = parse_json(*read_file(path("o.json")), "o.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["runs"].size(), 3U);
  for (const auto& run : (*json)["runs"]) EXPECT_EQ(run["metrics"][0]["round_sizes"].size(), 2U) << run["id"];
  EXPECT_EQ(warpmark({"run", "--resume", "last"}).exit_code, 2);
}

TEST_F(Cli, loses_at_most_the_measurement_in_progress_to_kill_9) {
  const auto [output, seconds, rounds] = interrupted_run("8MiB,10MiB,12MiB,16MiB", "1", "KILL", path("marks"));
  EXPECT_EQ(output.exit_code, 137);
  const auto report = warpmark({"report", "last", "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto json = parse_json(report.out, "report");
  ASSERT_TRUE(json.ok());
  EXPECT_FALSE((*json)["complete"].get<bool>());
  EXPECT_GE(rounds_in(report.out), std::max<std::size_t>(rounds, 1));
}

}  // namespace
}  // namespace warpmark::apps
