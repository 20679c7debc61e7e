// `warpmark bisect` as a person uses it: real repositories, real builds, real processes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using testing_support::schema_errors;

/// A repository whose program prints what `cost.txt` held when it was built.
class BisectVerb : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    repository_ = path("repository");
    std::filesystem::create_directories(repository_);
    git({"init", "-q", "-b", "main"});
  }

  std::string git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=A. Author", "-c", "user.email=a@example.org"});
    const auto output = run_process(words, {.directory = repository_});
    EXPECT_TRUE(output.ok() && output->exit_code == 0) << words[5] << ": " << output->err;
    return output.ok() ? std::string(trim(output->out)) : "";
  }

  void commit(const std::string& cost, const std::string& subject) {
    ASSERT_TRUE(write_file(repository_ + "/cost.txt", cost).ok());
    ASSERT_TRUE(write_file(repository_ + "/subject.txt", subject).ok());
    git({"add", "."});
    git({"commit", "-q", "-m", subject});
  }

  /// Commits 0 to n, the cost of each by its number.
  void commits(int n, const std::function<std::string(int)>& cost) {
    for (int i = 0; i <= n; ++i) commit(cost(i), "change " + std::to_string(i));
  }

  void project(const std::string& run = "echo cost $(cat built.txt)", const std::string& more = "") {
    ASSERT_TRUE(write_file(repository_ + "/warpmark.yaml",
                           "build: 'cp cost.txt built.txt; echo built >> " + in_quotes(path("builds")) + "'\nrun: '" +
                               run + "'\nshell: true\n" + more +
                               "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}, {name: time}]\n")
                    .ok());
  }

  ProcessOutput bisect(std::vector<std::string> words) {
    words.insert(words.begin(), {kExecutable, "bisect"});
    const auto output = run_process(words, {.deadline_s = 200, .directory = repository_});
    EXPECT_TRUE(output.ok());
    return *output;
  }

  std::size_t builds() {
    const auto text = read_file(path("builds"));
    return text.ok() ? static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
  }

  /// Everything of the repository that a tool could have touched.
  std::string state() {
    std::string all = git({"rev-parse", "HEAD"}) + git({"symbolic-ref", "HEAD"}) + git({"for-each-ref"}) +
                      git({"status", "--porcelain", "--ignored"}) + git({"worktree", "list"}) + git({"stash", "list"}) +
                      git({"config", "--list", "--local"}) + git({"diff", "HEAD"}) + git({"ls-files", "--stage"});
    return all + *read_file(repository_ + "/.git/HEAD") + *read_file(repository_ + "/.git/index");
  }

  std::string repository_;
};

TEST_F(BisectVerb, says_that_a_folder_is_in_no_repository) {
  const auto here = [&](std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    return *run_process(words, {.deadline_s = 200, .directory = folder_});
  };
  const std::string expected = "this folder is not in a git repository\n  change to the checkout of your project";
  for (const auto& words : {std::vector<std::string>{"bisect", "--good", "HEAD~1", "--", "true"},
                            {"compare", "--rev-a", "main", "--rev-b", "HEAD", "--", "true"},
                            {"run", "--reference", "main", "--", "true"},
                            {"check", "--reference", "main", "--", "true"}}) {
    const auto output = here(words);
    EXPECT_EQ(output.exit_code, 2) << words[0];
    EXPECT_NE(output.err.find(expected), std::string::npos) << words[0] << ": " << output.err;
  }
  EXPECT_NE(here({"trend", "--since", "v1"}).err.find("not in a git repository"), std::string::npos);
}

TEST_F(BisectVerb, names_the_commit_and_leaves_the_repository_as_it_was) {
  commits(20, [](int i) { return i < 13 ? "1.00" : "1.03"; });
  project();
  // Work in progress and a hook must be left alone.
  ASSERT_TRUE(write_file(repository_ + "/cost.txt", "9").ok());
  ASSERT_TRUE(
      write_file(repository_ + "/.git/hooks/post-checkout", "#!/bin/sh\ntouch " + in_quotes(path("hook")) + "\n").ok());
  std::filesystem::permissions(repository_ + "/.git/hooks/post-checkout", std::filesystem::perms::owner_all);
  const std::string before = state();
  const auto output = bisect({"--good", "HEAD~20", "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(state(), before);
  EXPECT_FALSE(std::filesystem::exists(path("hook")));
  const Json result = json("b.json");
  EXPECT_EQ(schema_errors(result, "bisect.schema.json"), "");
  EXPECT_EQ(result["outcome"], "found");
  EXPECT_EQ(result["candidates"][0]["subject"], "change 13");
  EXPECT_EQ(result["candidates"][0]["sha"], git({"rev-parse", "HEAD~7"}));
  EXPECT_EQ(result["candidates"][0]["author"], "A. Author");
  EXPECT_NEAR(result["change"]["ratio"].get<double>(), 1.03, 1e-9);
  EXPECT_EQ(result["builds"].get<std::size_t>(), builds());  // each revision once
  EXPECT_LE(builds(), 10U);
  EXPECT_NE(output.out.find("change 13"), std::string::npos) << output.out;
  EXPECT_FALSE(std::filesystem::exists(path("compare")) && !std::filesystem::is_empty(path("compare")));
}

TEST_F(BisectVerb, skips_commits_that_do_not_build_crash_or_hang) {
  commits(12, [](int i) { return i == 6 ? "crash" : i == 7 ? "hang" : i == 8 ? "no-build" : i < 7 ? "1.00" : "1.05"; });
  ASSERT_TRUE(
      write_file(repository_ + "/warpmark.yaml",
                 "build: 'test $(cat cost.txt) != no-build && cp cost.txt built.txt'\n"
                 "run: 'c=$(cat built.txt); test $c = crash && exit 7; test $c = hang && sleep 30; echo cost $c'\n"
                 "shell: true\ntimeout: 1s\nmetrics: [{name: cost, regex: 'cost ([0-9.]+)'}]\n")
          .ok());
  const auto output = bisect({"--good", "HEAD~12", "--bad", "main", "--builds", "20", "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json result = json("b.json");
  EXPECT_EQ(schema_errors(result, "bisect.schema.json"), "");
  EXPECT_EQ(result["outcome"], "range");
  ASSERT_EQ(result["candidates"].size(), 4U);  // 6, 7 and 8 cannot be measured, so nothing tells them from 9
  EXPECT_EQ(result["candidates"][0]["subject"], "change 6");
  EXPECT_EQ(result["candidates"][3]["subject"], "change 9");
  EXPECT_NE(output.out.find("exit code 7"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("cannot be built"), std::string::npos) << output.out;
}

TEST_F(BisectVerb, follows_first_parents_and_names_a_merge) {
  commits(4, [](int) { return "1.00"; });
  git({"checkout", "-q", "-b", "topic"});
  commit("1.02", "topic one");
  commit("1.05", "topic two");
  git({"checkout", "-q", "main"});
  git({"merge", "-q", "--no-ff", "-m", "merge topic", "topic"});
  commit("1.05", "after");
  project();
  const auto output = bisect({"--good", "HEAD~5", "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("b.json")["candidates"][0]["subject"], "merge topic");
  EXPECT_NE(output.out.find("It is a merge"), std::string::npos) << output.out;
  // The commits of the branch itself, as the advice says.
  const auto inside = bisect({"--good", "main~2", "--bad", "topic", "--json", path("b.json")});
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
}

TEST_F(BisectVerb, says_so_where_there_is_no_difference_or_not_enough_data) {
  commits(4, [](int) { return "1.00"; });
  project();
  auto output = bisect({"--good", "HEAD~4", "--json", path("b.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(json("b.json")["outcome"], "no_difference");
  EXPECT_EQ(schema_errors(json("b.json"), "bisect.schema.json"), "");
  EXPECT_EQ(builds(), 2U);
  EXPECT_NE(output.out.find("nothing to find"), std::string::npos) << output.out;
  // Noise that dwarfs the effect: the number of runs so far decides the value.
  commit("1.00", "once more");
  project("echo x >> " + in_quotes(path("runs")) + "; n=$(wc -l < " + in_quotes(path("runs")) +
          "); echo cost 1.$((n * 37 % 10))");
  output = bisect({"--good", "HEAD~5", "--rounds", "8", "--json", path("b.json")});
  EXPECT_EQ(output.exit_code, 3) << output.out;
  EXPECT_EQ(json("b.json")["outcome"], "inconclusive");
}

TEST_F(BisectVerb, measures_a_command_given_by_hand) {
  commits(6, [](int i) { return i < 4 ? "0.01" : "0.15"; });
  const auto output = bisect(
      {"--good", "HEAD~6", "--shell", "--effect", "20%", "--json", path("b.json"), "--", "sleep $(cat cost.txt)"});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("b.json")["candidates"][0]["subject"], "change 4");
  EXPECT_EQ(json("b.json")["metric"]["id"], "time");
}

TEST_F(BisectVerb, looks_first_where_stored_results_point) {
  commits(24, [](int i) { return i < 17 ? "1.00" : "1.03"; });
  const std::string run = "echo cost $(cat cost.txt)";
  ASSERT_TRUE(write_file(path("p.yaml"),
                         "run: '" + run + "'\nshell: true\nmetrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                  .ok());
  for (const int back : {24, 16, 8, 7, 4, 0}) {
    git({"checkout", "-q", "main~" + std::to_string(back)});
    const auto stored = run_process({kExecutable, "run", "--project", path("p.yaml"), "--rounds", "2"},
                                    {.deadline_s = 60, .directory = repository_});
    ASSERT_EQ(stored->exit_code, 0) << stored->err;
  }
  git({"checkout", "-q", "main"});
  const auto output = bisect({"--good", "HEAD~24", "--project", path("p.yaml"), "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json result = json("b.json");
  EXPECT_EQ(result["history_points"], 6);
  EXPECT_EQ(result["candidates"][0]["subject"], "change 17");
  EXPECT_EQ(result["builds"], 4);  // both ends, and the two commits that the history points at
  EXPECT_NE(output.out.find("selected where to start"), std::string::npos) << output.out;
  // It is kept with the first session of the bad revision.
  const auto store = store::open_sqlite(path("test.db"));
  ASSERT_TRUE(store.ok());
  const auto kept = (*store)->documents({.kind = "bisect", .before = {}});
  ASSERT_EQ(kept->size(), 1U);
  EXPECT_NE(kept->front().title.find("change 17"), std::string::npos) << kept->front().title;
  EXPECT_EQ(*parse_json((*store)->document(kept->front().session, 0)->text, "bisect"), result);
  EXPECT_EQ((*store)->load(kept->front().session)->session.commit, git({"rev-parse", "HEAD"}));
}

TEST_F(BisectVerb, refuses_bad_requests_with_the_cause) {
  commits(3, [](int i) { return "1.0" + std::to_string(i); });
  EXPECT_EQ(bisect({"--good", "HEAD~3"}).exit_code, 2);  // nothing to run
  project();
  const auto missing = bisect({"--good", "no-such-tag"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("no-such-tag"), std::string::npos);
  EXPECT_EQ(bisect({}).exit_code, 2);
  EXPECT_EQ(bisect({"--good", "HEAD", "--bad", "HEAD"}).exit_code, 2);
  const auto reversed = bisect({"--good", "HEAD", "--bad", "HEAD~2"});
  EXPECT_EQ(reversed.exit_code, 2);
  EXPECT_NE(reversed.err.find("no ancestor"), std::string::npos) << reversed.err;
  const auto metric = bisect({"--good", "HEAD~3", "--metric", "cots"});
  EXPECT_EQ(metric.exit_code, 2);
  EXPECT_NE(metric.err.find("did you mean 'cost'"), std::string::npos) << metric.err;
  EXPECT_EQ(bisect({"--good", "HEAD~3", "--builds", "1"}).exit_code, 2);
  ASSERT_TRUE(write_file(repository_ + "/warpmark.yaml", "rum: echo\n").ok());
  const auto yaml = bisect({"--good", "HEAD~3"});
  EXPECT_EQ(yaml.exit_code, 2);
  EXPECT_NE(yaml.err.find("rum"), std::string::npos) << yaml.err;
  // A good revision that fails cannot be skipped.
  ASSERT_TRUE(write_file(repository_ + "/warpmark.yaml", "run: 'false'\n").ok());
  const auto broken = bisect({"--good", "HEAD~3"});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_NE(broken.err.find("exit code 1"), std::string::npos) << broken.err;
  EXPECT_EQ(git({"worktree", "list"}).find('\n'), std::string::npos);
}

TEST_F(BisectVerb, goes_on_after_a_kill_and_after_ctrl_c) {
  commits(8, [](int i) { return i < 5 ? "1.00" : "1.03"; });
  project("echo x >> " + in_quotes(path("runs")) + "; sleep 0.01; echo cost $(cat built.txt)");
  const auto runs = [&] {
    const auto text = read_file(path("runs"));
    return text.ok() ? static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
  };
  const auto end_with = [&](int signal, std::size_t when) {
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(repository_.c_str()) != 0) ::_exit(126);
      ::execl(kExecutable.c_str(), kExecutable.c_str(), "bisect", "--good", "HEAD~8", "--warmup", "0", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 1000 && runs() < when; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  };
  end_with(SIGKILL, 4);
  const std::string worktrees = git({"worktree", "list"});
  EXPECT_NE(worktrees.find('\n'), std::string::npos);  // what a killed process leaves behind
  const std::size_t built = builds();
  const std::size_t before = runs();
  const int status = end_with(SIGINT, before + 4);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(builds(), built);  // taken over, not built again
  EXPECT_EQ(git({"worktree", "list"}).find('\n'), std::string::npos);
  const auto output = bisect({"--good", "HEAD~8", "--warmup", "0", "--json", path("b.json")});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const Json result = json("b.json");
  EXPECT_EQ(result["candidates"][0]["subject"], "change 5");
  // Two runs were in progress when the ends came; all others count.
  EXPECT_LE(runs(), result["runs"].get<std::size_t>() + 2);
  EXPECT_EQ(git({"worktree", "list"}).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace warpmark::apps
