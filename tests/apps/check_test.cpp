// `warpmark check` as CI uses it: exit codes, what is and what is not a baseline, every format.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "base/files.h"
#include "base/json.h"
#include "report/forge/github.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

class CheckVerb : public WithHistory {
 protected:
  ProcessOutput check(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {kExecutable, "check"});
    return run_process(words, {.deadline_s = 200, .directory = folder_.string()}).value();  // in no repository
  }
};

/// Paragraphs are wrapped.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

TEST_F(CheckVerb, passes_what_is_as_it_was) {
  store_history(store(), 30);
  store_session(store(), {.day = 40, .time = 1.002});
  const auto output = check({"--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_NE(one_line(output.out).find("2 unchanged"), std::string::npos) << output.out;
  const Json result = json("check.json");
  EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
  EXPECT_EQ(result["verdict"], "same");
  EXPECT_EQ(result["metrics"][0]["case"], "job");
  EXPECT_EQ(result["metrics"][0]["baseline"].size(), 30U);
}

TEST_F(CheckVerb, fails_on_a_regression_in_either_direction_of_better) {
  store_history(store(), 30);
  store_session(store(), {.day = 40, .time = 1.1});
  const auto output = check({"--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_NE(output.out.find("job time: worse, 10.0 % higher"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("job rate: worse, 9"), std::string::npos) << output.out;
  EXPECT_EQ(testing_support::schema_errors(json("check.json"), "check.schema.json"), "");
  EXPECT_EQ(check({"--threshold", "15%"}).exit_code, 0);
  EXPECT_EQ(check({"--metrics", "rate"}).exit_code, 1);
  EXPECT_EQ(check({"--metrics", "job ti*"}).exit_code, 1);
  EXPECT_EQ(check({"--run", "2026-0030"}).exit_code, 0);
}

TEST_F(CheckVerb, tells_of_improvements_and_passes) {
  store_history(store(), 30);
  store_session(store(), {.day = 40, .time = 0.8});
  const auto output = check();
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(one_line(output.out).find("2 better"), std::string::npos) << output.out;
}

TEST_F(CheckVerb, is_inconclusive_with_too_little_history) {
  store_history(store(), 5);
  store_session(store(), {.day = 40, .time = 3});
  const auto output = check();
  EXPECT_EQ(output.exit_code, 3) << output.err;
  EXPECT_NE(output.out.find("5 sessions of history, 9 needed"), std::string::npos) << output.out;
  EXPECT_NE(one_line(output.out).find("measure main 4 more times: warpmark run --name job -- ./job"), std::string::npos)
      << output.out;
  store_session(store(), {.day = 50, .time = 1, .branch = "other"});
  EXPECT_EQ(check({"--baseline", "never-measured"}).exit_code, 3);
  EXPECT_EQ(check({"--baseline", ""}).exit_code, 2);
}

TEST_F(CheckVerb, names_the_branches_that_there_are_where_the_baseline_is_none) {
  store_history(store(), 20);
  for (int day = 21; day < 24; ++day) store_session(store(), {.day = day, .branch = "release-2"});
  store_session(store(), {.day = 40, .time = 1});
  const auto output = check({"--baseline", "mian", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
  const std::string said =
      "no session of branch 'mian' is stored (did you mean 'main'?); sessions by branch: main (21), "
      "release-2 (3)";
  EXPECT_EQ(json("check.json")["metrics"][0]["reason"], said);
  const auto far = check({"--baseline", "trunk", "--json", path("check.json")});
  EXPECT_EQ(far.exit_code, 3);
  EXPECT_EQ(json("check.json")["metrics"][0]["reason"],
            "no session of branch 'trunk' is stored; sessions by branch: main (21), release-2 (3)");
  store_session(store(), {.day = 41, .time = 1, .outcome = Outcome::unreliable, .reason = "hot"});
  const auto disturbed = check({"--baseline", "mian", "--json", path("check.json")});
  EXPECT_EQ(disturbed.exit_code, 5);
  EXPECT_EQ(json("check.json")["advice"],
            "No session of branch 'mian' is stored (did you mean "
            "'main'?); sessions by branch: main (22), release-2 (3).");
  store_session(store(), {.day = 42, .time = 1});
  const auto few = check({"--baseline", "release-2", "--json", path("check.json")});
  EXPECT_EQ(few.exit_code, 3);
  EXPECT_EQ(json("check.json")["metrics"][0]["reason"], "3 sessions of history, 9 needed");
}

TEST_F(CheckVerb, does_not_pass_a_commit_for_being_measured_again) {
  store_history(store(), 30);
  const std::string slow(40, 'a');
  for (int day = 40; day < 46; ++day) {
    store_session(store(), {.day = day, .time = quiet_time(day, 1.2), .commit = slow});
    EXPECT_EQ(check().exit_code, 1) << "day " << day;
  }
  // The next commit is judged by the level that was accepted with it, and the report says so.
  store_session(store(), {.day = 50, .time = quiet_time(50, 1.2)});
  const auto next = check();
  EXPECT_EQ(next.exit_code, 0) << next.out;
  EXPECT_NE(one_line(next.out).find("the baseline starts at commit aaaaaaaaaa"), std::string::npos) << next.out;
}

TEST_F(CheckVerb, takes_a_commit_that_was_measured_often_enough_for_its_own_baseline) {
  const std::string only(40, 'b');
  for (int day = 1; day < 20; ++day) store_session(store(), {.day = day, .time = quiet_time(day), .commit = only});
  EXPECT_EQ(check().exit_code, 0);
  store_session(store(), {.day = 20, .time = 1.2, .commit = only});
  EXPECT_EQ(check().exit_code, 1) << "a machine that became slow";
}

TEST_F(CheckVerb, counts_no_session_twice) {
  store_history(store(), 20);
  store_session(store(), {.day = 40, .time = 1});
  const auto output = check({"--run", "last", "--run", "last"});
  EXPECT_EQ(output.exit_code, 2) << output.out;
  EXPECT_NE(output.err.find("is given twice"), std::string::npos) << output.err;
}

TEST_F(CheckVerb, takes_no_unknown_machine_for_another_unknown_one) {
  const auto fails = [&](const Machine& machine, int first_day, const std::string& what) {
    for (int day = first_day; day < first_day + 20; ++day) {
      store_session(store(), {.day = day, .time = 1, .machine = machine});
    }
    const auto output = check();
    EXPECT_EQ(output.exit_code, 5) << output.out;
    EXPECT_NE(output.err.find(what), std::string::npos) << output.err;
  };
  Machine unknown;
  unknown.fingerprint = "unknown";
  fails(unknown, 1, "the machine of 2026-0020 is unknown: the results name none");
  Machine no_driver = device::machine_facts();
  std::erase_if(no_driver.software, [](const auto& item) { return item.first == device::kDriverSoftware; });
  no_driver.devices.push_back({.id = "cuda:0", .backend = "cuda", .name = "Some GPU"});
  no_driver.fingerprint = device::fingerprint_of(no_driver);
  fails(no_driver, 30, "no driver of its GPU");
  Machine half = device::machine_facts();
  half.cpu.clear();
  half.kernel.clear();
  half.fingerprint = device::fingerprint_of(half);
  fails(half, 60, "no CPU, no kernel");
  Machine named;
  named.hostname = "runner-3";
  named.fingerprint = "imported-0123456789abcdef";
  for (int day = 90; day < 120; ++day) store_session(store(), {.day = day, .time = quiet_time(day), .machine = named});
  EXPECT_EQ(check().exit_code, 0);
}

TEST_F(CheckVerb, takes_no_uncommitted_unreliable_or_newer_result_for_the_baseline) {
  store_history(store(), 8);
  for (int day = 10; day < 20; ++day) store_session(store(), {.day = day, .time = 1, .dirty = true});
  for (int day = 20; day < 30; ++day) {
    store_session(store(), {.day = day, .time = 1, .outcome = Outcome::unreliable, .reason = "hot"});
  }
  const auto id = store_session(store(), {.day = 35, .time = 1});
  store_history(store(), 10, 1, 40);
  const auto output = check({"--run", id});
  EXPECT_EQ(output.exit_code, 3) << output.out;
  EXPECT_NE(output.out.find("8 sessions of history, 9 needed"), std::string::npos) << output.out;
}

TEST_F(CheckVerb, never_compares_with_another_machine_and_says_what_differs) {
  Machine other = device::machine_facts();
  other.fingerprint = "0123456789abcdef";
  other.software.emplace_back("driver", "535.12");
  for (int day = 1; day <= 20; ++day) store_session(store(), {.day = day, .time = 1, .machine = other});
  store_session(store(), {.day = 40, .time = 1});
  const auto output = check();
  EXPECT_EQ(output.exit_code, 5) << output.out;
  EXPECT_NE(output.err.find("the history of main is of another machine: driver none instead of 535.12"),
            std::string::npos)
      << output.err;
}

TEST_F(CheckVerb, starts_anew_after_an_accepted_slow_down) {
  store_history(store(), 20);
  store_history(store(), 10, 1.3, 21);
  store_session(store(), {.day = 40, .time = 1.3});
  const auto output = check();
  EXPECT_EQ(output.exit_code, 0) << output.out;
  EXPECT_NE(one_line(output.out).find("job time: the baseline starts at commit"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("+30.0 %"), std::string::npos) << output.out;
}

TEST_F(CheckVerb, distrusts_a_result_of_a_disturbed_machine) {
  store_history(store(), 20);
  store_session(store(), {.day = 40, .time = 2, .other_load = 0.6});
  const auto loaded = check();
  EXPECT_EQ(loaded.exit_code, 5) << loaded.out;
  EXPECT_NE(loaded.out.find("other processes used 60.0 % of the CPU time"), std::string::npos) << loaded.out;
  store_session(store(), {.day = 41, .time = 2, .outcome = Outcome::unreliable, .reason = "the GPU was throttled"});
  const auto throttled = check();
  EXPECT_EQ(throttled.exit_code, 5) << throttled.out;
  EXPECT_NE(throttled.out.find("unreliable: the GPU was throttled"), std::string::npos) << throttled.out;
}

TEST_F(CheckVerb, distrusts_no_ratio_for_a_clock_that_the_reference_had_too) {
  for (int day = 1; day <= 30; ++day) {
    store_session(store(), {.day = day, .time = quiet_time(day), .core_clock_hz = 2e9, .with_reference = true});
  }
  store_session(store(), {.day = 40, .time = 1.1, .core_clock_hz = 3e9, .with_reference = true});
  EXPECT_EQ(check().exit_code, 5);  // the rate, of which there is no ratio
  const auto alone = check({"--metrics", "time"});
  EXPECT_EQ(alone.exit_code, 5) << alone.out;
  EXPECT_NE(alone.out.find("core_clock was at 3000 MHz"), std::string::npos);
  const auto auxiliary = check({"--metrics", "time_vs_*"});
  EXPECT_EQ(auxiliary.exit_code, 1) << auxiliary.out;
  store_session(store(), {.day = 41, .time = 1.1, .other_load = 0.6, .with_reference = true});
  EXPECT_EQ(check({"--metrics", "time_vs_*"}).exit_code, 5);
}

TEST_F(CheckVerb, names_the_way_out_where_noise_lets_nothing_be_decided) {
  const auto noisy = [](int day) { return 1 + 0.1 * std::sin(day * 2.4); };
  for (int day = 1; day <= 30; ++day) store_session(store(), {.day = day, .time = noisy(day), .with_reference = true});
  store_session(store(), {.day = 40, .time = 1.05, .with_reference = true});
  const auto advice = [&](const std::string& metrics) {
    const auto output = check({"--metrics", metrics, "--json", path("check.json")});
    EXPECT_EQ(output.exit_code, 3) << output.out;
    const Json result = json("check.json");
    EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
    return result.value("advice", "");
  };
  EXPECT_EQ(
      advice("time"),
      "To decide in spite of the noise: measure interleaved with a revision (--reference REV), which cancels what the "
      "machine does to both; or judge CPU time (metrics: [{name: cpu_time}]), which leaves out waiting for a core; "
      "or measure more (--rounds, --sessions), or let smaller changes pass (--threshold).");
  EXPECT_EQ(advice("rate").find("CPU time"), std::string::npos);
  EXPECT_EQ(advice("time_vs_*").find("--reference"), std::string::npos);
  EXPECT_NE(advice("time_vs_*").find("CPU time"), std::string::npos);
  const auto shown = check({"--metrics", "time"});
  EXPECT_NE(shown.out.find("To decide in spite of the noise"), std::string::npos) << shown.out;
  EXPECT_NE(check({"--metrics", "time", "--format", "github"}).out.find("To decide in spite"), std::string::npos);
  store_history(store(), 4, 1, 50);  // of too little history more of it is the way, and nothing else
  EXPECT_EQ(check({"--baseline", "none", "--json", path("check.json")}).exit_code, 3);
  EXPECT_FALSE(json("check.json").contains("advice"));
}

TEST_F(CheckVerb, does_not_pass_what_could_not_be_measured) {
  store_history(store(), 20);
  store_session(store(), {.day = 40, .outcome = Outcome::error, .reason = "it crashed"});
  const auto output = check();
  EXPECT_EQ(output.exit_code, 3) << output.out;
  EXPECT_NE(output.out.find("error: it crashed"), std::string::npos) << output.out;
}

TEST_F(CheckVerb, ends_as_run_does_where_the_command_that_it_measures_fails) {
  store_history(store(), 20);
  EXPECT_EQ(check({"--rounds", "1", "--", "false"}).exit_code, 2);
  EXPECT_EQ(check({"--rounds", "1", "--", "no-such-program"}).exit_code, 5);
  EXPECT_EQ(check({"--rounds", "1", "--timeout", "0.1s", "--", "sleep", "9"}).exit_code, 5);
  EXPECT_EQ(check({"--rounds", "1", "--", "true"}).exit_code, 3) << "too little history is no failure";
}

TEST_F(CheckVerb, writes_a_comment_annotations_a_summary_and_junit) {
  store_history(store(), 30);
  store_session(store(), {.day = 40, .time = 1.1});
  setenv("GITHUB_STEP_SUMMARY", path("summary.md").c_str(), 1);
  const auto output = check({"--format", "github", "--out", path("out")});
  unsetenv("GITHUB_STEP_SUMMARY");
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_NE(output.out.find("| job | time | "), std::string::npos) << output.out;
  EXPECT_TRUE(output.out.ends_with("<!-- warpmark-check: main -->\n")) << output.out;
  EXPECT_NE(output.err.find("::error title=job time::worse, 10.0 %25 higher\n"), std::string::npos) << output.err;
  EXPECT_EQ(*read_file(path("summary.md")), output.out);
  EXPECT_EQ(*read_file(path("out/comment.md")), output.out);
  const auto junit = check({"--format", "junit"});
  EXPECT_NE(junit.out.find("<testsuites tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\">"), std::string::npos);
  EXPECT_EQ(*read_file(path("out/junit.xml")), junit.out);
  for (const auto* name : {"check.json", "report.md", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(path(std::string("out/") + name))) << name;
  }
}

TEST_F(CheckVerb, measures_a_command_and_several_sessions) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(warpmark({"run", "--rounds", "1", "--warmup", "0", "--", "true"}).exit_code, 0);
  }
  const auto output =
      check({"--rounds", "1", "--warmup", "0", "--sessions", "2", "--json", path("check.json"), "--", "true"});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;  // the folder is no repository: no branch, no history
  EXPECT_EQ(json("check.json")["sessions"].size(), 2U);
  EXPECT_EQ(json("check.json")["metrics"][0]["current"].size(), 2U);
}

TEST_F(CheckVerb, checks_a_file_of_results) {
  store_history(store(), 30);
  const auto id = store_session(store(), {.day = 40, .time = 1.2});
  ASSERT_TRUE(write_file(path("r.json"), warpmark({"report", id, "--format", "json"}).out).ok());
  EXPECT_EQ(check({"--run", path("r.json")}).exit_code, 1);
}

TEST_F(CheckVerb, refuses_what_makes_no_sense) {
  const auto fails = [&](std::vector<std::string> words, int code, const std::string& what) {
    const auto output = check(std::move(words));
    EXPECT_EQ(output.exit_code, code) << output.err << output.out;
    EXPECT_NE(output.err.find(what), std::string::npos) << output.err;
  };
  fails({}, 2, "no session is stored yet");
  store_history(store(), 12);
  fails({"--threshold", "0"}, 2, "--threshold must be between 0 and 1");
  fails({"--format", "xml"}, 2, "there is no format 'xml'");
  fails({"--metrics", "nothing*"}, 2, "no metric matches nothing*");
  fails({"--run", "2026-0001", "--", "true"}, 2, "give results or a command, not both");
  fails({"--run", "2026-0001", "--run", "2026-0002"}, 2, "not of one commit");
  fails({"--run", "nosuch"}, 2, "there is no session 'nosuch'");
  fails({"--run", path("none.json")}, 2, "none.json");
  fails({"word"}, 2, "unexpected: word");
}

/// A repository whose command prints a speed that one of its commits changes, and a history of it.
class CheckSuspects : public CheckVerb {
 protected:
  ProcessOutput in_repository(std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    auto output = run_process(words, {.deadline_s = 200, .directory = path("repo")});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  }
  /// Once more where the machine's clock or load had just changed, which check rightly distrusts.
  ProcessOutput trusted_check(std::vector<std::string> options) {
    constexpr int kTries = 4, kNoValidMeasurement = 5;
    std::vector<std::string> words{"check", "--project", "warpmark.yaml", "--rounds", "3", "--warmup", "0"};
    words.insert(words.end(), options.begin(), options.end());
    auto output = in_repository(words);
    for (int i = 1; i < kTries && output.exit_code == kNoValidMeasurement; ++i) output = in_repository(words);
    return output;
  }
  void sh(const std::string& script) {
    const auto output =
        run_process({"sh", "-c", "cd " + in_quotes(path("repo")) + " && " + script}, {.deadline_s = 60});
    ASSERT_TRUE(output.ok());
    ASSERT_EQ(output->exit_code, 0) << output->err;
  }
  void commit(const std::string& subject, const std::string& cost) {
    write("repo/cost.txt", cost + "\n");
    sh("git add -A && git commit -q --allow-empty -m '" + subject + "'");
  }
  void SetUp() override {
    CheckVerb::SetUp();
    std::filesystem::create_directory(path("repo"));
    write("repo/warpmark.yaml",
          "run: 'echo cost $(cat cost.txt)$(($$ % 10))'\nshell: true\nmetrics:\n"
          "  - {name: cost, unit: s, better: lower, regex: 'cost ([0-9.]+)'}\n");
    sh("git init -q -b main . && git config user.email a@b && git config user.name 'Ada @here'");
    commit("begin", "1.00");
    for (int i = 0; i < 12; ++i) {
      ASSERT_EQ(in_repository({"run", "--project", "warpmark.yaml", "--rounds", "3", "--warmup", "0"}).exit_code, 0);
    }
    commit("tidy up", "1.00");
    commit("faster, I hope", "1.50");
    commit("write docs", "1.50");
  }
};

TEST_F(CheckSuspects, names_the_commits_since_the_last_good_session) {
  const auto output = trusted_check({"--json", path("check.json"), "--format", "github"});
  ASSERT_EQ(output.exit_code, 1) << output.out << output.err;
  const Json result = json("check.json");
  EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
  ASSERT_EQ(result["suspects"]["commits"].size(), 3U) << result["suspects"];
  EXPECT_EQ(result["suspects"]["commits"][1]["subject"], "faster, I hope");
  EXPECT_FALSE(result["suspects"].contains("culprit"));
  EXPECT_NE(output.out.find("3 commits since"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("faster, I hope"), std::string::npos);
  EXPECT_EQ(output.out.find("@here"), std::string::npos) << "a comment notifies nobody";
}

TEST_F(CheckSuspects, goes_on_to_the_one_that_did_it) {
  const auto output = trusted_check({"--bisect", "--json", path("check.json"), "--out", path("out")});
  ASSERT_EQ(output.exit_code, 1) << output.out << output.err;
  const Json suspects = json("check.json")["suspects"];
  EXPECT_EQ(testing_support::schema_errors(json("check.json"), "check.schema.json"), "");
  EXPECT_EQ(suspects["culprit"]["subject"], "faster, I hope") << suspects;
  EXPECT_EQ(suspects["culprit_certain"], true);
  EXPECT_EQ(suspects["search"]["outcome"], "found");
  EXPECT_NE(output.out.find("made"), std::string::npos) << output.out;  // the rest may be on the next line
  const std::string comment = *read_file(path("out/comment.md"));
  const std::string culprit = suspects["culprit"]["sha"].get<std::string>().substr(0, 10);
  EXPECT_NE(comment.find(culprit + " made the change: faster, I hope"), std::string::npos) << comment;
  EXPECT_EQ(comment.find("@here"), std::string::npos) << comment;
}

}  // namespace
}  // namespace warpmark::apps
