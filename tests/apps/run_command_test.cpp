// `warpmark run -- CMD`: a user's command in the history.
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"
#include "warpmark/ab/project_command.h"

namespace warpmark::apps {
namespace {

class RunCommand : public Cli {
 protected:
  ProcessOutput run(std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    return warpmark(std::move(words));
  }
  std::vector<store::RunPoint> points(const store::RunQuery& query) {
    return store::open_sqlite(path("test.db")).value()->find(query).value();
  }
};

TEST_F(RunCommand, stores_every_metric_of_every_setting) {
  ASSERT_TRUE(write_file(path("p.yaml"),
                         "run: [sh, -c, 'echo speed {n}0.5']\nmetrics:\n"
                         "  - {name: speed, unit: img/s, better: higher, regex: 'speed ([0-9.]+)'}\n  - {name: time}\n")
                  .ok());
  const auto output = run({"--project", path("p.yaml"), "--sweep", "n=1,2", "--rounds", "3", "--json", path("o.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.out.find("20.5 img/s"), std::string::npos) << output.out;
  const auto json = parse_json(*read_file(path("o.json")), "o.json");
  EXPECT_EQ(testing_support::schema_errors(*json, "results.schema.json"), "");
  const auto speed = points({.workload = "command", .params = {{"n", "2"}}, .metric = "speed"});
  ASSERT_EQ(speed.size(), 1U);
  EXPECT_EQ(speed[0].median, 20.5);
  EXPECT_EQ(speed[0].n, 3);
  EXPECT_EQ(speed[0].better, Better::higher);
  EXPECT_EQ(points({.metric = "*"}).size(), 4U);
}

TEST_F(RunCommand, knows_the_commit_the_branch_and_uncommitted_changes) {
  const std::string script = "cd " + in_quotes(path("")) +
                             " && git init -q -b trunk . && git config user.email a@b && git config user.name a && "
                             "echo 1 > f && git add f && git commit -qm one && " +
                             in_quotes(kExecutable) + " run --rounds 1 --warmup 0 -- true && echo 2 > f && " +
                             in_quotes(kExecutable) + " run --rounds 1 --warmup 0 -- true";
  const auto output = run_process({"sh", "-c", script}, {.deadline_s = 60});
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->exit_code, 0) << output->err;
  const auto found = points({});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].branch, "trunk");
  EXPECT_EQ(found[0].commit.size(), 40U);
  EXPECT_NE(found[0].dirty, found[1].dirty);
}

TEST_F(RunCommand, keeps_a_series_under_its_name_when_the_command_changes) {
  EXPECT_EQ(run({"--name", "job", "--rounds", "1", "--", "true"}).exit_code, 0);
  EXPECT_EQ(run({"--name", "job", "--rounds", "1", "--", "sleep", "0"}).exit_code, 0);
  EXPECT_EQ(points({.params = {{"name", "job"}}}).size(), 2U);
}

TEST_F(RunCommand, says_what_is_wrong_with_the_right_exit_code) {
  const auto fails = [&](std::vector<std::string> words, int code, const std::string& what) {
    const auto output = run(std::move(words));
    EXPECT_EQ(output.exit_code, code) << output.err << output.out;
    EXPECT_NE((output.err + output.out).find(what), std::string::npos) << output.err << output.out;
  };
  fails({"--", "false"}, 2, "false ended with exit code 1");
  fails({"--", "no-such-program"}, 5, "cannot start no-such-program");
  fails({"--timeout", "0.2s", "--", "sleep", "9"}, 5, "did not end within");
  fails({"gemm", "--", "true"}, 2, "give workloads or a command, not both");
  fails({"--"}, 2, "there is no command after --");
  fails({"--suite", "quick", "--", "true"}, 2, "--suite is for workloads");
  fails({"--warmup", "2"}, 2, "--warmup is for commands");
  fails({"--set", "n=1", "--", "true"}, 2, "no place for 'n=1'");
  fails({"--rounds", "0", "--", "true"}, 2, "--rounds must be 1 to 10000");
  fails({"--project", path("none.yaml")}, 2, "none.yaml");
  ASSERT_TRUE(write_file(path("silent.yaml"), "run: 'true'\nmetrics: [{name: x, regex: 'x ([0-9]+)'}]\n").ok());
  fails({"--project", path("silent.yaml")}, 2, "metric 'x' is not in the output");
  ASSERT_TRUE(write_file(path("around.yaml"), "run: 'true'\nmetrics:\n  - {name: x, regex: '(?<=x )[0-9]+'}\n").ok());
  fails({"--project", path("around.yaml")}, 2,
        "around.yaml line 3: regex: '(?<=x )[0-9]+' is not valid: invalid perl operator '(?<");
  fails({"--project", path("around.yaml")}, 2, "there is no look-around");
  fails({"--reference", "HEAD", "--no-reference", "--", "true"}, 2, "--reference or --no-reference, not both");
  fails({"--no-reference"}, 2, "--no-reference is for commands");
}

TEST_F(RunCommand, takes_one_text_for_a_file_where_there_is_one_and_else_for_words) {
  std::filesystem::create_directories(path("a b"));
  ASSERT_TRUE(write_file(path("a b/p r\xc3\xb6g"), "#!/bin/sh\ntest $# = ${1:-0}\n").ok());
  const std::string program = path("a b/p r\xc3\xb6g");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(run({"--rounds", "1", "--", program}).exit_code, 0);
  EXPECT_EQ(run({"--rounds", "1", "--", program, "1"}).exit_code, 0);
  EXPECT_EQ(run({"--rounds", "1", "--", "'" + program + "' 1"}).exit_code, 0);
  EXPECT_EQ(run({"--rounds", "1", "--", "test 1 = 1"}).exit_code, 0);
  const auto compared =
      warpmark({"compare", "--rounds", "7", "--warmup", "0", "--effect", "90%", "--", program, "--", program, "1"});
  EXPECT_NE(compared.out.find("A/B comparison"), std::string::npos) << compared.err;
}

TEST_F(RunCommand, leaves_the_dashes_of_the_command_to_the_command) {
  const auto output = run(
      {"--rounds", "1", "--", "sh", "-c", "test \"$1 $2 $3\" = '-- --quick --help'", "x", "--", "--quick", "--help"});
  EXPECT_EQ(output.exit_code, 0) << output.err << output.out;
}

TEST_F(RunCommand, involves_no_shell_unless_asked) {
  EXPECT_EQ(run({"--rounds", "1", "--", "touch", path("a;b$(c)")}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("a;b$(c)")));
  EXPECT_EQ(
      run({"--rounds", "1", "--shell", "--", "touch " + in_quotes(path("x")) + " && touch " + in_quotes(path("y"))})
          .exit_code,
      0);
  EXPECT_TRUE(std::filesystem::exists(path("y")));
}

TEST_F(RunCommand, measures_stages_with_their_shares_and_limits) {
  ASSERT_TRUE(write_file(path("p.yaml"),
                         "items: 300\nsla: 10m\nstages:\n  - {name: prepare, run: sleep 0.01, items: 5}\n"
                         "  - {name: train, run: 'sleep 0.03', sla: 1ms}\n")
                  .ok());
  const auto output = run({"--project", path("p.yaml"), "--rounds", "6", "--warmup", "0", "--json", path("o.json")});
  ASSERT_EQ(output.exit_code, 1) << "a limit is missed\n" << output.out << output.err;
  const Json document = json("o.json");
  EXPECT_EQ(testing_support::schema_errors(document, "results.schema.json"), "");
  const Json staged = document["stages"][0];
  ASSERT_EQ(staged["stages"].size(), 2U);
  const Json prepare = staged["stages"][0], train = staged["stages"][1];
  EXPECT_EQ(train["name"], "train");
  EXPECT_GT(train["seconds"].get<double>(), prepare["seconds"].get<double>());
  const double share = train["share"];
  EXPECT_NEAR(train["gain_if_twice_as_fast"].get<double>(), 1 / (1 - share / 2), 1e-9);
  EXPECT_EQ(train["limit"], "missed");
  EXPECT_EQ(staged["all"]["limit"], "met");
  EXPECT_EQ(prepare["items"], 5);
  EXPECT_NEAR(staged["all"]["items_per_second"].get<double>(), 300 / staged["all"]["seconds"].get<double>(), 1e-6);
  EXPECT_NE(output.out.find("train takes most"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find(", over its limit of 1.0 ms."), std::string::npos) << output.out;
  EXPECT_NEAR(prepare["seconds_per_item"].get<double>(), prepare["seconds"].get<double>() / 5, 1e-9);
  EXPECT_EQ(points({.metric = "stage.*"}).size(), 2U) << "each is a series";
}

TEST_F(RunCommand, counts_items_of_stages_by_the_configuration) {
  ASSERT_TRUE(write_file(path("p.yaml"),
                         "stages:\n  - {name: load, run: 'echo {n}', items: '{n}'}\n  - {name: train, run: 'true'}\n")
                  .ok());
  const auto output = run({"--project", path("p.yaml"), "--sweep", "n=10,1000", "--rounds", "2", "--warmup", "0",
                           "--json", path("o.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json staged = json("o.json")["stages"];
  ASSERT_EQ(staged.size(), 2U);
  EXPECT_EQ(staged[0]["stages"][0]["items"], 10);
  EXPECT_EQ(staged[1]["stages"][0]["items"], 1000);
  EXPECT_NE(output.out.find("per item"), std::string::npos) << output.out;
  const auto unset = run({"--project", path("p.yaml"), "--rounds", "1", "--warmup", "0"});
  EXPECT_EQ(unset.exit_code, 2);
  EXPECT_NE(unset.err.find("nothing fills {n} in items"), std::string::npos) << unset.err;
}

TEST_F(RunCommand, takes_the_times_of_stages_that_one_program_tells) {
  ASSERT_TRUE(write_file(path("q.yaml"),
                         "run: 'echo prepared 0.0000025; echo trained 0.0000075'\nshell: true\nstages:\n"
                         "  - {name: prepare, regex: 'prepared ([0-9.]+)'}\n"
                         "  - {name: train, regex: 'trained ([0-9.]+)'}\n")
                  .ok());
  const auto output = run({"--project", path("q.yaml"), "--rounds", "2", "--warmup", "0", "--json", path("o.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json staged = json("o.json")["stages"][0];
  EXPECT_EQ(staged["stages"][1]["seconds"], 0.0000075);
  EXPECT_GT(staged["outside"].get<double>(), 0.5) << "the program takes far longer than it says of its stages";
}

TEST_F(RunCommand, names_what_is_wrong_with_stages) {
  const auto refused = [&](const std::string& yaml, const std::string& why) {
    ASSERT_TRUE(write_file(path("p.yaml"), yaml).ok());
    const auto output = run({"--project", path("p.yaml")});
    EXPECT_EQ(output.exit_code, 2) << yaml;
    EXPECT_NE(output.err.find(why), std::string::npos) << output.err;
  };
  refused("stages:\n  - {name: a}\n", "has nothing to run");
  refused("stages:\n  - {name: a, run: 'true'}\n  - {name: a, run: 'true'}\n", "there twice");
  refused("run: 'true'\nstages:\n  - {name: a}\n", "where its time comes from");
  refused("run: 'true'\nsizes: {n: [1, 2]}\n", "three sizes");
  refused("run: 'true'\nsla: -3s\n", "sla");
  ASSERT_TRUE(write_file(path("p.yaml"), "stages:\n  - {name: a, run: 'true'}\n  - {name: b, run: 'false'}\n").ok());
  const auto failed = run({"--project", path("p.yaml"), "--rounds", "1", "--warmup", "0"});
  EXPECT_NE((failed.out + failed.err).find("stage 'b'"), std::string::npos) << failed.out << failed.err;
}

TEST_F(RunCommand, tells_the_fixed_cost_of_a_command_of_several_sizes) {
  ASSERT_TRUE(write_file(path("p.yaml"), "run: 'sleep 0.0{n}'\nsizes: {n: {small: 1, typical: 4, large: 8}}\n").ok());
  const auto output = run({"--project", path("p.yaml"), "--rounds", "4", "--warmup", "0", "--json", path("o.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json document = json("o.json");
  EXPECT_EQ(testing_support::schema_errors(document, "results.schema.json"), "");
  ASSERT_EQ(document["sizes"].size(), 1U);
  EXPECT_EQ(document["sizes"][0]["sizes"].size(), 3U);
  EXPECT_NEAR(document["sizes"][0]["per_item_s"].get<double>(), 0.01, 0.008);
  EXPECT_NE(output.out.find("has a fixed cost of"), std::string::npos) << output.out;
}

TEST_F(RunCommand, keeps_what_the_first_run_took) {
  const auto output =
      run({"--rounds", "3", "--warmup", "1", "--json", path("o.json"), "--", "/bin/sh", "-c",
           "test -e " + in_quotes(path("warm")) + " || { sleep 0.2; touch " + in_quotes(path("warm")) + "; }"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const Json run = json("o.json")["runs"][0];
  EXPECT_GE(run["warmup"]["first_s"].get<double>(), 0.2);
  EXPECT_NE(unwrapped(output.out).find("the first run took"), std::string::npos) << output.out;
}

TEST(CommandsAfterDashes, may_be_one_text_or_words) {
  using Commands = std::vector<std::vector<std::string>>;
  EXPECT_EQ(commands_after_dashes({"compare", "--seed", "1", "--", "a b", "--", "c", "d"}),
            (Commands{{"a b"}, {"c", "d"}}));
  EXPECT_EQ(commands_after_dashes({"compare", "x", "y"}), Commands{});
}

TEST_F(Cli, run_tells_by_its_exit_code_whether_goals_are_met) {
  const auto with_goal = [&](const std::string& goal) {
    return warpmark({"run", "--rounds", "2", "--warmup", "0", "--no-store", "--goal", goal, "--", "true"});
  };
  const auto met = with_goal("time<=500");
  EXPECT_EQ(met.exit_code, 0) << met.err;
  EXPECT_NE(met.err.find("met"), std::string::npos) << met.err;
  const auto missed = with_goal("time<=0");
  EXPECT_EQ(missed.exit_code, 1) << missed.err;
  EXPECT_NE(missed.err.find("missed"), std::string::npos) << missed.err;
  const auto unknown = with_goal("tokens>=1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("no run has a metric 'tokens'"), std::string::npos) << unknown.err;
  EXPECT_EQ(with_goal("time").exit_code, 2);
}

}  // namespace
}  // namespace warpmark::apps
