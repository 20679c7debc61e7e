// `warpmark compare` as a person uses it: real commands, real processes, real repositories.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "apps/compare_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using testing_support::schema_errors;

TEST_F(Compare, finds_the_slower_command_and_writes_every_format) {
  if (clock_jumps()) GTEST_SKIP() << "the clock of this machine jumps by more than the commands take";
  const auto output = compare({"--effect", "10%", "--rounds", "8", "--json", path("c.json"), "--out", path("out"), "--",
                               "sleep 0.02", "--", "sleep 0.5"});
  ASSERT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_NE(output.out.find("worse"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("x slower (95"), std::string::npos) << output.out;
  const Json result = json("c.json");
  EXPECT_EQ(schema_errors(result, "compare.schema.json"), "");
  EXPECT_EQ(result["verdict"], "worse");
  EXPECT_EQ(result["samples"].size(), 2 * result["rounds"].get<std::size_t>());
  for (const auto* name : {"compare.json", "report.md", "report.html", "distribution-0.svg", "over-time-0.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(path(std::string("out/") + name))) << name;
  }
  const auto plot = read_file(path("out/over-time-0.svg"));
  ASSERT_TRUE(plot.ok());
  EXPECT_NE(plot->find("prefers-color-scheme"), std::string::npos) << "a file of its own has its own style";
}

TEST_F(Compare, writes_a_comment_annotations_and_a_step_summary_for_github) {
  write_project("echo cost {n}");
  setenv("GITHUB_STEP_SUMMARY", path("summary.md").c_str(), 1);
  const auto output = compare({"--project", path("warpmark.yaml"), "--a", "n=4", "--b", "n=5", "--format", "github"});
  unsetenv("GITHUB_STEP_SUMMARY");
  EXPECT_EQ(output.exit_code, 1) << output.err;
  EXPECT_TRUE(output.out.starts_with("### Performance regression\n\nA: n=4, B: n=5\n")) << output.out;
  EXPECT_NE(output.out.find("| cost | 4.000 s | 5.000 s | &#8593; +25.0 % |"), std::string::npos) << output.out;
  EXPECT_TRUE(output.out.ends_with("<!-- warpmark-compare: cost -->\n")) << output.out;
  EXPECT_NE(output.err.find("::error title=cost::B is 1.25x slower"), std::string::npos) << output.err;
  EXPECT_EQ(*read_file(path("summary.md")), output.out);
}

TEST_F(Compare, tells_equal_deterministic_metrics_and_directions) {
  write_project("echo cost {n}");
  EXPECT_EQ(compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=5.001"}).exit_code, 0);
  const auto better =
      compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=4", "--json", path("c.json")});
  EXPECT_EQ(better.exit_code, 0) << better.err;
  EXPECT_EQ(json("c.json")["verdict"], "better");
  EXPECT_EQ(json("c.json")["rounds"], 7);
}

TEST_F(Compare, is_inconclusive_with_too_few_rounds_and_says_how_many_are_missing) {
  write_project("echo cost {n}");
  const auto output = compare({"--project", path("warpmark.yaml"), "--a", "n=5", "--b", "n=4", "--rounds", "3"});
  EXPECT_EQ(output.exit_code, 3) << output.out;
  EXPECT_NE(output.out.find("Inconclusive: 3 rounds are too few, at least 7 are needed."), std::string::npos)
      << output.out;
}

TEST_F(Compare, refuses_what_makes_no_sense) {
  EXPECT_EQ(compare({}).exit_code, 2);
  EXPECT_EQ(compare({"--", "true"}).exit_code, 2);
  EXPECT_EQ(compare({"--effect", "0", "--", "true", "--", "true"}).exit_code, 2);
  EXPECT_EQ(compare({"--interleave", "pairs", "--", "true", "--", "true"}).exit_code, 2);
  EXPECT_EQ(compare({"--project", path("none.yaml"), "--a", "n=1"}).exit_code, 2);
  EXPECT_EQ(compare({"gem", "--a", "m=64"}).exit_code, 2);
  EXPECT_EQ(compare({"--", "false", "--", "true"}).exit_code, 2);
  const auto nobody = compare({"gpt2", "--a", "python=/none", "--b", "python=/none/either"});
  EXPECT_EQ(nobody.exit_code, 5) << "a fault of the environment stays one";
  EXPECT_NE(nobody.err.find("cannot start /none: No such file"), std::string::npos) << nobody.err;
  const auto hanging = compare({"--timeout", "100ms", "--", "sleep 30", "--", "true"});
  EXPECT_EQ(hanging.exit_code, 5);
  EXPECT_NE(hanging.err.find("--timeout"), std::string::npos) << hanging.err;
  EXPECT_EQ(compare({"--rev-a", "HEAD", "--", "true", "--", "false"}).exit_code, 2);
  // A gate that nobody asks must not look like one that was passed.
  const auto gate = compare({"a.json", "b.json", "--accuracy", "top1=1%"});
  EXPECT_EQ(gate.exit_code, 2);
  EXPECT_NE(gate.err.find("--accuracy is for what is run now"), std::string::npos) << gate.err;
  write_project("echo nothing");
  const auto silent = compare({"--project", path("warpmark.yaml"), "--", "echo a", "--", "echo b"});
  EXPECT_EQ(silent.exit_code, 2);
  EXPECT_NE(silent.err.find("'cost'"), std::string::npos) << silent.err;
}

TEST_F(Compare, rejects_what_is_faster_but_less_right) {
  const auto project = [&](const std::string& gate) {
    ASSERT_TRUE(write_file(path("warpmark.yaml"),
                           "run: 'echo cost {cost} top1 {top1}'\nshell: true\nmetrics:\n"
                           "  - {name: cost, unit: s, regex: 'cost ([0-9.]+)'}\n"
                           "  - {name: top1, better: higher, regex: 'top1 ([0-9.]+)'}\naccuracy: " +
                               gate + "\n")
                    .ok());
  };
  const auto with_top1 = [&](const std::string& top1, const std::vector<std::string>& more = {}) {
    return compare(with({"--project", path("warpmark.yaml"), "--a", "cost=5", "--a", "top1=0.76", "--b", "cost=4",
                         "--b", "top1=" + top1, "--json", path("c.json")},
                        more));
  };
  project("[{metric: top1, margin: 1%}]");
  EXPECT_EQ(with_top1("0.757").exit_code, 0);
  EXPECT_EQ(json("c.json")["verdict"], "better");
  EXPECT_EQ(json("c.json")["accuracy"][0]["outcome"], "accepted");
  EXPECT_EQ(json("c.json")["metrics"].size(), 1U);  // the gated metric is judged by the gate alone
  const auto rejected = with_top1("0.70");
  EXPECT_EQ(rejected.exit_code, 4) << rejected.out;
  EXPECT_NE(rejected.out.find("rejected: accuracy: top1"), std::string::npos) << rejected.out;
  EXPECT_EQ(json("c.json")["verdict"], "rejected");
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  const auto few = with_top1("0.757", {"--rounds", "3"});
  EXPECT_EQ(few.exit_code, 3) << few.out;
  EXPECT_EQ(json("c.json")["accuracy"][0]["outcome"], "inconclusive");
  project("{metric: top1, margin: 0.1}");  // absolute
  EXPECT_EQ(with_top1("0.70").exit_code, 0);
  project("{metric: top2, margin: 0.1}");
  const auto unknown = with_top1("0.70");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'top1'"), std::string::npos) << unknown.err;
  for (const auto* bad :
       {"{margin: 1%}", "{metric: top1}", "{metric: top1, margin: -1}", "{command: x, margin: 1%}", "[]"}) {
    project(bad);
    EXPECT_EQ(with_top1("0.70").exit_code, 2) << bad;
  }
}

TEST_F(Compare, rejects_outputs_that_a_command_finds_wrong) {
  ASSERT_TRUE(write_file(path("ref.csv"), "y\n1.0\n").ok());
  const auto run_with = [&](const std::string& y) {
    return compare(
        {"--shell", "--rounds", "8", "--effect", "40%", "--accuracy-command",
         in_quotes(kExecutable) + " allclose " + in_quotes(path("ref.csv")) + " " + in_quotes(path("out.csv")),
         "--json", path("c.json"), "--", "sleep 0.3; printf 'y\\n1.0\\n' > " + in_quotes(path("out.csv")), "--",
         "sleep 0.01; printf 'y\\n" + y + "\\n' > " + in_quotes(path("out.csv"))});
  };
  const auto right = run_with("1.0001");
  EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
  const auto wrong = run_with("1.5");
  EXPECT_EQ(wrong.exit_code, 4) << wrong.out << wrong.err;
  EXPECT_EQ(json("c.json")["accuracy"][0]["reason"],
            "1 of 1 runs of B are wrong; the check said: exit code 4: the outputs differ");
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  // A check that cannot run is no verdict.
  EXPECT_EQ(compare({"--accuracy-command", "no-such-program", "--", "true", "--", "true"}).exit_code, 5);
  EXPECT_EQ(compare({"--accuracy", "time", "--", "true", "--", "true"}).exit_code, 2);
  EXPECT_EQ(compare({"--accuracy", "time=1%", "--", "true", "--", "true"}).exit_code, 2);  // nothing left to compare
}

TEST_F(Compare, refuses_files_it_could_not_write_before_measuring) {
  const std::string mark = "sh -c 'echo x >> " + in_quotes(path("marks")) + "'";
  std::filesystem::create_directories(path("folder"));
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--json", "/proc/nowhere/c.json"}, {"--json", path("folder")}, {"--out", "/proc/nowhere"}}) {
    const auto output = compare(with(words, {"--", mark, "--", mark}));
    EXPECT_EQ(output.exit_code, 5) << words[1];
    EXPECT_NE(output.err.find(words[1]), std::string::npos) << output.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("marks"))) << "nothing ran";
}

TEST_F(Compare, calibrates_one_command_against_itself) {
  const auto output = compare({"--calibrate", "--rounds", "10", "--json", path("c.json"), "--", "true"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.out.find("smallest detectable"), std::string::npos) << output.out;
  EXPECT_EQ(schema_errors(json("c.json"), "compare.schema.json"), "");
  EXPECT_EQ(json("c.json")["calibration"].size(), 1U);
}

TEST_F(Compare, goes_on_after_a_kill_without_losing_or_repeating_a_run) {
  // Each run leaves a mark, so that runs can be counted.
  const std::string mark = "sh -c 'echo x >> " + in_quotes(path("marks")) + "; sleep 0.03'";
  const std::vector<std::string> words{kExecutable, "compare",      "--fixed", "--warmup", "0",  "--rounds", "10",
                                       "--json",    path("c.json"), "--",      mark,       "--", mark};
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  const auto marks = [&] {
    const auto text = read_file(path("marks"));
    return text.ok() ? text->size() / 2 : 0;
  };
  for (int i = 0; i < 400 && marks() < 6; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const std::size_t before = marks();
  ASSERT_GE(before, 6U);
  ASSERT_LT(before, 20U);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto output = run_process(words, {.deadline_s = 100});
  ASSERT_TRUE(output.ok());
  EXPECT_NE(output->err.find("going on after"), std::string::npos) << output->err;
  EXPECT_EQ(json("c.json")["samples"].size(), 20U);
  EXPECT_EQ(json("c.json")["rounds"], 10);
  // At most the run that was in progress is repeated.
  EXPECT_LE(marks(), 21U);
}

TEST_F(Compare, builds_and_runs_two_revisions_in_worktrees_of_their_own) {
  const std::string repository = path("repository");
  std::filesystem::create_directories(repository);
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@example.org"});
    const auto output = run_process(words, {.directory = repository});
    ASSERT_TRUE(output.ok() && output->exit_code == 0) << output->err;
  };
  git({"init", "-q", "-b", "main"});
  for (const auto* cost : {"1.00", "1.03"}) {
    ASSERT_TRUE(write_file(repository + "/cost.txt", cost).ok());
    git({"add", "."});
    git({"commit", "-q", "-m", cost});
  }
  ASSERT_TRUE(write_file(repository + "/warpmark.yaml",
                         "build: cp cost.txt built.txt\nrun: 'echo cost $(cat built.txt)'\nshell: true\n"
                         "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                  .ok());
  const auto compare_in = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kExecutable, "compare"});
    const auto output = run_process(words, {.deadline_s = 100, .directory = repository});
    EXPECT_TRUE(output.ok());
    return *output;
  };
  const auto slower = compare_in({"--rev-a", "HEAD~1", "--rev-b", "main", "--json", path("c.json")});
  EXPECT_EQ(slower.exit_code, 1) << slower.out << slower.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["ratio"].get<double>(), 1.03, 1e-9);
  EXPECT_EQ(compare_in({"--rev-a", "main", "--rev-b", "main"}).exit_code, 0);
  // What a killed comparison left goes with the next one; what another process holds stays.
  for (const auto* left : {"worktree-1-0", "worktree-2-0"}) {
    std::filesystem::create_directories(path("compare"));
    git({"worktree", "add", "-q", "--detach", path(std::string("compare/") + left), "HEAD"});
  }
  const int held = ::open(path("compare/worktree-2-0").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_EQ(compare_in({"--rev-a", "main", "--rev-b", "main", "--seed", "2"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("compare/worktree-1-0")));
  EXPECT_TRUE(std::filesystem::exists(path("compare/worktree-2-0")));
  ::close(held);
  git({"worktree", "remove", "--force", path("compare/worktree-2-0")});
  // Without a project file, or with another command than the project's: each revision runs the command that is given.
  std::filesystem::remove(repository + "/warpmark.yaml");
  const auto given = compare_in({"--rev-a", "HEAD~1", "--rev-b", "main", "--rounds", "3", "--shell", "--json",
                                 path("g.json"), "--", "test -s cost.txt && test ! -e built.txt"});
  EXPECT_THAT(given.exit_code, ::testing::AnyOf(0, 1, 3)) << given.err;
  EXPECT_EQ(json("g.json")["metrics"][0]["id"], "time");
  EXPECT_EQ(compare_in({"--rev-a", "HEAD~1", "--rev-b", "main", "--", "true", "--", "false"}).exit_code, 2);
  const auto missing = compare_in({"--rev-a", "no-such-branch", "--rev-b", "main", "--", "true"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("no-such-branch"), std::string::npos);
  const auto trees = run_process({"git", "worktree", "list"}, {.directory = repository});
  EXPECT_EQ(std::count(trees->out.begin(), trees->out.end(), '\n'), 1) << trees->out;
}

TEST_F(Compare, sets_two_settings_of_a_workload_against_each_other) {
  const auto output = compare({"copy", "--a", "size=65536", "--a", "mode=hot", "--b", "size=1048576", "--b", "mode=hot",
                               "--rounds", "7", "--warmup", "0", "--effect", "20%", "--json", path("c.json")});
  // How certain it is depends on what else the machine does; that 16 times the bytes take longer does not.
  const std::set<int> verdicts{0, 1, 3, 5};
  EXPECT_TRUE(verdicts.contains(output.exit_code)) << output.out << output.err;
  EXPECT_EQ(json("c.json")["metrics"][0]["n_a"], 7);
  EXPECT_GT(json("c.json")["metrics"][0]["ratio"].get<double>(), 2);
}

TEST_F(Compare, takes_two_command_lines_without_dashes_for_commands) {
  const auto output = compare(
      {"sleep 0.001", "sleep 0.05", "--rounds", "7", "--warmup", "0", "--effect", "20%", "--json", path("c.json")});
  EXPECT_NE(output.err.find("both are run as commands"), std::string::npos) << output.err;
  EXPECT_EQ(json("c.json")["b"], "sleep 0.05") << output.err;
  EXPECT_EQ(json("c.json")["metrics"][0]["n_a"], 7);
  const auto typo = compare({"no-such-session", "another"});
  EXPECT_EQ(typo.exit_code, 2) << "words that are no command lines are names of results";
}

TEST_F(Compare, tells_no_cpu_time_of_what_only_waits) {
  const auto idle = compare({"--rounds", "7", "--warmup", "0", "--effect", "50%", "--json", path("i.json"), "--",
                             "sleep 0.02", "--", "sleep 0.02"});
  EXPECT_EQ(json("i.json")["metrics"].size(), 1U) << idle.out;
}

}  // namespace
}  // namespace warpmark::apps
