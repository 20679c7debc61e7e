// What a commit is compared with: the history that it descends from, in the order of the commits. Real repositories.
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

class Ancestry : public WithHistory {
 protected:
  void SetUp() override {
    WithHistory::SetUp();
    repository_ = path("repository");
    std::filesystem::create_directories(repository_);
    git({"init", "-q", "-b", "main"});
  }

  std::string git(std::vector<std::string> words, const std::string& folder = {}) {
    words.insert(words.begin(), {"git", "-c", "user.name=A. Author", "-c", "user.email=a@example.org", "-c",
                                 "protocol.file.allow=always"});
    const auto output = run_process(words, {.directory = folder.empty() ? repository_ : folder});
    EXPECT_TRUE(output.ok() && output->exit_code == 0) << words[7] << ": " << output->err;
    return output.ok() ? std::string(trim(output->out)) : "";
  }

  /// A commit and its hash.
  std::string commit(const std::string& text) {
    EXPECT_TRUE(write_file(repository_ + "/file.txt", text).ok());
    git({"add", "."});
    git({"commit", "-q", "-m", text});
    return git({"rev-parse", "HEAD"});
  }

  /// Commits of main, of which each from the `faster`th on is 9 % faster, measured in this order.
  std::vector<std::string> measured_main(int count, int faster) {
    std::vector<std::string> commits;
    for (int i = 1; i <= count; ++i) {
      commits.push_back(commit("main " + std::to_string(i)));
      store_session(store(), {.day = i, .time = quiet_time(i, i >= faster ? 1.0 : 1.1), .commit = commits.back()});
    }
    return commits;
  }

  ProcessOutput in_repository(std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    words.insert(words.end(), {"--db", path("test.db")});
    const auto output = run_process(words, {.deadline_s = 200, .directory = repository_});
    EXPECT_TRUE(output.ok());
    return *output;
  }

  /// A branch off the given commit with one more, whose result has this time.
  void measured_branch(const std::string& from, double time) {
    git({"checkout", "-q", "-b", "topic", from});
    store_session(store(), {.day = 60, .time = time, .branch = "topic", .commit = commit("topic")});
  }

  /// Goes on in a clone of so many commits.
  void clone(const std::string& depth) {
    const std::string origin = repository_;
    repository_ = path("shallow" + depth);
    git({"clone", "-q", "--depth", depth, "file://" + origin, repository_}, origin);
  }

  /// A check that decides nothing, for this reason.
  void expect_undecided(const std::string& reason) {
    const auto output = in_repository({"check", "--json", path("check.json")});
    EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
    const Json result = json("check.json");
    EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
    EXPECT_EQ(result["metrics"][0]["verdict"], "inconclusive");
    EXPECT_EQ(result.value("moved", ""), reason) << output.out;
    EXPECT_FALSE(result.contains("suspects"));
  }

  std::string repository_;
};

TEST_F(Ancestry, check_judges_a_branch_by_the_history_of_its_merge_base) {
  const auto commits = measured_main(40, 25);  // main became faster after the branch left it
  measured_branch(commits[19], 1.1);
  const auto output = in_repository({"check", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  const Json result = json("check.json");
  EXPECT_EQ(testing_support::schema_errors(result, "check.schema.json"), "");
  EXPECT_EQ(result["verdict"], "same") << output.out;
  EXPECT_EQ(result["metrics"][0]["baseline"].size(), 20U);
  EXPECT_NE(output.out.find("main has moved: 20 sessions are newer than the merge base"), std::string::npos)
      << output.out;
}

TEST_F(Ancestry, check_does_not_pass_a_slower_branch_because_main_became_slower) {
  const auto commits = measured_main(20, 0);
  for (int day = 21; day <= 40; ++day) {
    store_session(store(), {.day = day, .time = quiet_time(day, 1.1), .commit = commit("main " + std::to_string(day))});
  }
  measured_branch(commits.back(), 1.1);
  EXPECT_EQ(in_repository({"check"}).exit_code, 1);
}

TEST_F(Ancestry, check_does_not_decide_where_too_little_is_in_common) {
  const auto commits = measured_main(30, 4);
  measured_branch(commits[2], 1.1);
  const auto output = in_repository({"check", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 3) << output.out;
  EXPECT_NE(output.out.find("main has moved: 27 sessions are newer than the merge base"), std::string::npos)
      << output.out;
  EXPECT_EQ(json("check.json")["metrics"][0]["verdict"], "inconclusive");
  EXPECT_FALSE(json("check.json").contains("suspects"));
}

TEST_F(Ancestry, check_decides_nothing_where_it_is_not_known_from_what_a_branch_descends) {
  const auto commits = measured_main(40, 25);  // main became faster after the branch left it
  measured_branch(commits[19], 1.1);
  clone("1");
  expect_undecided(
      "Unknown whether the checked commit descends from 40 sessions of main: this clone is shallow. 0 sessions "
      "of known ancestors are too few to judge by: git fetch --unshallow");
  repository_ = path("elsewhere");
  std::filesystem::create_directories(repository_);
  expect_undecided(
      "Unknown whether the checked commit descends from 40 sessions of main: no repository here has the "
      "commit. "
      "0 sessions of known ancestors are too few to judge by: check in a clone that has it");
  const auto trend = in_repository({"trend"});
  EXPECT_NE(trend.out.find("the commit order of 40 sessions: no repository here has their commits"), std::string::npos)
      << trend.out;
}

TEST_F(Ancestry, check_in_a_shallow_clone_judges_by_the_ancestors_that_it_has) {
  const auto commits = measured_main(40, 25);
  measured_branch(commits[19], 1.1);
  clone("15");
  const auto output = in_repository({"check", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("check.json")["verdict"], "same") << output.out;
  EXPECT_EQ(json("check.json")["metrics"][0]["baseline"].size(), 14U);
  EXPECT_EQ(json("check.json").value("moved", ""),
            "Unknown whether the checked commit descends from 26 sessions of main: this clone is shallow; they "
            "are no part of the baseline.");
}

TEST_F(Ancestry, check_orders_one_branch_by_time_where_its_commits_are_not_known) {
  measured_main(30, 0);
  repository_ = path("elsewhere");
  std::filesystem::create_directories(repository_);
  const auto output = in_repository({"check", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("check.json")["metrics"][0]["baseline"].size(), 29U);
}

TEST_F(Ancestry, a_history_that_was_measured_newest_first_is_ordered_by_commits) {
  std::vector<std::string> commits;
  for (int i = 0; i < 40; ++i) commits.push_back(commit("main " + std::to_string(i)));
  for (int i = 0; i < 40; ++i) {  // the newest commit on the first day
    store_session(
        store(),
        {.day = 40 - i, .time = quiet_time(i, i >= 20 ? 1.2 : 1.0), .commit = commits[static_cast<std::size_t>(i)]});
  }
  const auto trend = in_repository({"trend", "job time", "--format", "json"});
  ASSERT_EQ(trend.exit_code, 0) << trend.err;
  const Json series = parse_json(trend.out, "trend")->at("series").at(0);
  ASSERT_EQ(series["changes"].size(), 1U);
  const auto index = series["changes"][0]["index"].get<std::size_t>();
  EXPECT_EQ(series["points"][index]["commit"], commits[20]);
  EXPECT_EQ(series["changes"][0]["worse"], true);
  // The newest commit was measured first: its ancestors are its history all the same.
  const auto check = in_repository({"check", "--run", "2026-0001", "--json", path("check.json")});
  EXPECT_EQ(json("check.json")["metrics"][0]["baseline"].size(), 39U) << check.out << check.err;
}

TEST_F(Ancestry, merged_commits_are_ancestors_and_shallow_clones_say_what_they_lack) {
  const auto before = measured_main(12, 0);
  git({"checkout", "-q", "-b", "side"});
  store_session(store(), {.day = 13, .time = quiet_time(13), .commit = commit("side")});
  git({"checkout", "-q", "main"});
  git({"merge", "-q", "--no-ff", "-m", "merge", "side"});
  store_session(store(), {.day = 20, .time = quiet_time(20), .branch = "topic", .commit = git({"rev-parse", "HEAD"})});
  const auto output = in_repository({"check", "--json", path("check.json")});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_EQ(json("check.json")["metrics"][0]["baseline"].size(), 13U);
  EXPECT_FALSE(json("check.json").contains("moved"));
  clone("2");
  const auto trend = in_repository({"trend"});
  EXPECT_NE(trend.out.find("git fetch --unshallow"), std::string::npos) << trend.out;
}

TEST_F(Ancestry, trend_says_that_it_left_out_sessions_with_uncommitted_changes) {
  measured_main(12, 0);
  store_session(store(), {.day = 13, .time = 2, .dirty = true});
  const auto trend = in_repository({"trend"});
  EXPECT_NE(trend.out.find("1 session with uncommitted changes (--dirty shows them)"), std::string::npos) << trend.out;
  EXPECT_EQ(in_repository({"trend", "--dirty"}).out.find("uncommitted changes (--dirty"), std::string::npos);
}

TEST_F(Ancestry, revisions_are_checked_out_with_their_submodules) {
  const std::string library = path("library");
  std::filesystem::create_directories(library);
  git({"init", "-q", "-b", "main"}, library);
  for (const char* cost : {"5", "6"}) {
    ASSERT_TRUE(write_file(library + "/cost.txt", cost).ok());
    git({"add", "."}, library);
    git({"commit", "-q", "-m", cost}, library);
  }
  ASSERT_TRUE(write_file(repository_ + "/warpmark.yaml",
                         "run: 'echo cost $(cat library/cost.txt)'\nshell: true\n"
                         "metrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n")
                  .ok());
  git({"submodule", "--quiet", "add", library, "library"});
  git({"checkout", "-q", "HEAD~1"}, repository_ + "/library");
  commit("with 5");
  git({"checkout", "-q", "main"}, repository_ + "/library");
  commit("with 6");
  const auto output = in_repository({"compare", "--rev-a", "HEAD~1", "--rev-b", "HEAD", "--json", path("c.json")});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_NEAR(json("c.json")["metrics"][0]["ratio"].get<double>(), 1.2, 1e-9);
  git({"submodule", "--quiet", "deinit", "-f", "library"});
  const auto missing = in_repository({"compare", "--rev-a", "HEAD~1", "--rev-b", "HEAD"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("the submodule library is not here"), std::string::npos) << missing.err;
  EXPECT_NE(missing.err.find("git submodule update --init --recursive"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace warpmark::apps
