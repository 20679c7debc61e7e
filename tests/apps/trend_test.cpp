// `warpmark trend` and `warpmark history series` on stored histories.
#include <string>
#include <vector>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

class TrendVerb : public WithHistory {
 protected:
  ProcessOutput trend(std::vector<std::string> words = {}) {
    words.insert(words.begin(), "trend");
    return warpmark(std::move(words));
  }
};

TEST_F(TrendVerb, marks_the_commit_where_the_level_changed) {
  store_history(store(), 25);
  store_history(store(), 15, 1.2, 26);
  const auto text = trend();
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("+2"), std::string::npos) << text.out;
  const auto json_text = trend({"time", "--format", "json"});
  const auto json = parse_json(json_text.out, "trend");
  ASSERT_TRUE(json.ok()) << json_text.out;
  EXPECT_EQ(testing_support::schema_errors(*json, "trend.schema.json"), "");
  const auto& series = (*json)["series"];
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0]["metric"], "time");
  EXPECT_EQ(series[0]["points"].size(), 40U);
  ASSERT_EQ(series[0]["changes"].size(), 1U);
  EXPECT_EQ(series[0]["changes"][0]["index"], 25);
  EXPECT_EQ(series[0]["changes"][0]["worse"], true);
  EXPECT_EQ(series[0]["points"][25]["commit"], fmt::format("{:040x}", 26 * 7919));
  EXPECT_TRUE(series[0].contains("band"));
}

TEST_F(TrendVerb, marks_a_change_of_the_machine_and_splits_machines_that_take_turns) {
  Machine newer = device::machine_facts();
  newer.fingerprint = "ffff00000000ffff";
  newer.kernel = "99.0";
  store_history(store(), 15);
  for (int day = 16; day < 31; ++day)
    store_session(store(), {.day = day, .time = quiet_time(day, 2), .machine = newer});
  const auto followed = parse_json(trend({"time", "--format", "json"}).out, "trend");
  ASSERT_EQ((*followed)["series"].size(), 1U);
  const auto& series = (*followed)["series"][0];
  EXPECT_TRUE(series["changes"].empty());
  ASSERT_EQ(series["machine_changes"].size(), 1U);
  EXPECT_EQ(series["machine_changes"][0]["index"], 15);
  EXPECT_NE(series["machine_changes"][0]["what"].get<std::string>().find("kernel 99.0 instead of"), std::string::npos);
  store_history(store(), 5, 1, 40);
  const auto turns = parse_json(trend({"time", "--format", "json"}).out, "trend");
  EXPECT_EQ((*turns)["series"].size(), 2U);
  const auto here = parse_json(trend({"time", "--format", "json", "--this-machine"}).out, "trend");
  ASSERT_EQ((*here)["series"].size(), 1U);
  EXPECT_EQ((*here)["series"][0]["points"].size(), 20U);
}

TEST_F(TrendVerb, tells_nodes_apart_that_are_built_alike) {
  Machine one = device::machine_facts(), other = one;
  one.hostname = "node-a";
  other.hostname = "node-b";
  for (int day = 1; day < 21; ++day) {
    store_session(store(),
                  {.day = day, .time = quiet_time(day, day % 2 == 0 ? 1 : 2), .machine = day % 2 == 0 ? one : other});
  }
  const auto apart = parse_json(trend({"time", "--format", "json"}).out, "trend");
  ASSERT_EQ((*apart)["series"].size(), 2U);
  for (const auto& series : (*apart)["series"]) {
    EXPECT_EQ(series["points"].size(), 10U);
    EXPECT_TRUE(series["changes"].empty());
    EXPECT_NE(series.dump().find("@node-"), std::string::npos) << "it is named after the node";
  }
  Machine container = one;
  container.hostname = "c0ffee";  // a name that never comes back
  store_session(store(), {.day = 22, .time = 1, .machine = container});
  const auto together = parse_json(trend({"time", "--format", "json"}).out, "trend");
  EXPECT_EQ((*together)["series"].size(), 1U);
}

TEST_F(TrendVerb, chooses_branches_and_writes_files) {
  store_history(store(), 12);
  store_session(store(), {.day = 30, .time = 9, .branch = "feature"});
  store_session(store(), {.day = 31, .time = 9, .dirty = true});
  const auto points = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"time", "--format", "json"});
    return (*parse_json(trend(words).out, "trend"))["series"][0]["points"].size();
  };
  EXPECT_EQ(points({}), 12U);
  EXPECT_EQ(points({"--branch", "feature"}), 1U);
  EXPECT_EQ(points({"--branch", "all"}), 13U);
  EXPECT_EQ(points({"--dirty"}), 13U);
  EXPECT_EQ(points({"--last", "4"}), 4U);
  EXPECT_EQ(trend({"--out", path("out")}).exit_code, 0);
  for (const auto* name : {"trend.json", "trend.md", "trend.html", "trend-0.svg", "trend-1.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(path(std::string("out/") + name))) << name;
  }
}

TEST_F(TrendVerb, says_what_there_is_when_nothing_matches) {
  EXPECT_EQ(trend().exit_code, 2);
  store_history(store(), 3);
  const auto none = trend({"nothing"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("there are: job rate, job time"), std::string::npos) << none.err;
  EXPECT_EQ(trend({"--branch", "nosuch"}).exit_code, 2);
  EXPECT_EQ(trend({"--format", "svg"}).exit_code, 2);
  EXPECT_EQ(trend({"--threshold", "2"}).exit_code, 2);
}

TEST_F(TrendVerb, lists_series_and_their_points) {
  EXPECT_EQ(warpmark({"history", "series"}).exit_code, 0);
  store_history(store(), 12);
  const auto all = warpmark({"history", "series"});
  EXPECT_NE(all.out.find("job"), std::string::npos);
  EXPECT_NE(all.out.find("12"), std::string::npos) << all.out;
  const auto one = warpmark({"history", "series", "time", "--limit", "3"});
  EXPECT_NE(one.out.find("2026-0012"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("2026-0010"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("2026-0009"), std::string::npos) << one.out;
  EXPECT_EQ(warpmark({"history", "series", "nothing"}).exit_code, 2);
}

TEST_F(TrendVerb, shows_what_lies_between_two_dates_or_revisions) {
  store_history(store(), 30);
  const auto dates = trend({"--since", "2026-01-05", "--until", "2026-01-20", "--format", "json"});
  ASSERT_EQ(dates.exit_code, 0) << dates.err;
  const auto json = *parse_json(dates.out, "out");
  EXPECT_EQ(testing_support::schema_errors(json, "trend.schema.json"), "");
  EXPECT_EQ(json["since"], "2026-01-05");
  EXPECT_EQ(json["series"][0]["points"].size(), 16U);
  EXPECT_EQ(json["series"][0]["points"].front()["started"].get<std::string>().substr(0, 10), "2026-01-05");
  EXPECT_EQ(json["series"][0]["points"].back()["started"].get<std::string>().substr(0, 10), "2026-01-20");
  EXPECT_EQ(trend({"--since", "2030-01-01"}).exit_code, 2);
  const auto wrong = trend({"--since", "no-such-revision"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("neither a date nor a revision"), std::string::npos) << wrong.err;
}

TEST_F(TrendVerb, counts_sessions_by_their_commits_where_a_revision_is_given) {
  const std::string setup =
      "cd " + in_quotes(path("")) +
      " && git init -q -b main . && git config user.email a@b && git config user.name a && "
      "for i in 1 2 3 4 5 6; do git commit -q --allow-empty -m $i; done && git log --format=%H --reverse";
  const auto commits = split(std::string(trim(run_process({"sh", "-c", setup})->out)), '\n');
  ASSERT_EQ(commits.size(), 6U);
  // Measured in another order than they were made.
  for (int i = 0; i < 6; ++i) store_session(store(), {.day = 6 - i, .commit = commits[static_cast<std::size_t>(i)]});
  const auto since =
      run_process({kExecutable, "trend", "--since", "HEAD~2", "--format", "json"}, {.directory = path("")});
  ASSERT_TRUE(since.ok());
  EXPECT_EQ((*parse_json(since->out, "out"))["series"][0]["points"].size(), 3U) << since->out << since->err;
  const auto until =
      run_process({kExecutable, "trend", "--until", commits[1], "--format", "json"}, {.directory = path("")});
  EXPECT_EQ((*parse_json(until->out, "out"))["series"][0]["points"].size(), 2U) << until->err;
}

}  // namespace
}  // namespace warpmark::apps
