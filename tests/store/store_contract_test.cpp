// What every Store does, whatever it keeps its data in.
#include <gtest/gtest.h>

#include "base/json.h"
#include "sample_data.h"
#include "store_kinds.h"

namespace warpmark::store {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(StoreContract, gives_back_what_was_appended) {
  Session session = sample_session("s1");
  session.runs = {sample_run("s1", 0), sample_run("s1", 1, "copy")};
  session.runs[1].outcome = Outcome::unreliable;
  session.runs[1].reason = "steal of 12 %";
  keep(session);
  const std::vector<Ceiling> ceilings = {{"bandwidth", "cpu", "memory", 12.3e9, "B/s", "copy size=64MiB"}};
  ASSERT_TRUE(store_->finish("s1", ceilings).ok());

  const auto stored = store_->load("s1");
  ASSERT_TRUE(stored.ok()) << stored.error().what;
  session.ceilings = ceilings;
  session.complete = true;
  EXPECT_EQ(dump_json(to_json(stored->session)), dump_json(to_json(session)));
  EXPECT_EQ(stored->session.runs.at(0).metrics, session.runs[0].metrics);  // every bit of every sample
  EXPECT_TRUE(stored->unmerged_rounds.empty());
}

TEST_P(StoreContract, keeps_rounds_until_their_run_is_there) {
  ASSERT_TRUE(store_->begin(sample_session("s1")).ok());
  for (const std::int64_t round : {1, 0}) {
    for (const std::int64_t index : {1, 0}) {
      auto partial = sample_run("s1", index);
      partial.reason = "round " + std::to_string(round);
      ASSERT_TRUE(store_->append_round("s1", partial, round).ok());
    }
  }
  ASSERT_TRUE(store_->append_run("s1", sample_run("s1", 0)).ok());
  const auto stored = store_->load("s1");
  ASSERT_TRUE(stored.ok());
  EXPECT_FALSE(stored->session.complete);
  ASSERT_EQ(stored->session.runs.size(), 1U);
  ASSERT_EQ(stored->unmerged_rounds.size(), 2U);
  EXPECT_EQ(stored->unmerged_rounds[0].index, 1);
  EXPECT_EQ(stored->unmerged_rounds[0].reason, "round 0");
  EXPECT_EQ(stored->unmerged_rounds[1].reason, "round 1");
  EXPECT_EQ(stored->unmerged_rounds[0].metrics, sample_run("s1", 1).metrics);
}

TEST_P(StoreContract, orders_runs_by_index) {
  Session session = sample_session("s1");
  for (const std::int64_t index : {2, 0, 1}) session.runs.push_back(sample_run("s1", index));
  keep(session);
  const auto stored = store_->load("last");
  ASSERT_EQ(stored->session.runs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stored->session.runs[i].index, static_cast<std::int64_t>(i));
}

TEST_P(StoreContract, never_overwrites) {
  ASSERT_TRUE(store_->begin(sample_session("s1")).ok());
  EXPECT_EQ(store_->begin(sample_session("s1")).error().kind, ErrorKind::internal);
  ASSERT_TRUE(store_->append_round("s1", sample_run("s1", 0), 0).ok());
  EXPECT_EQ(store_->append_round("s1", sample_run("s1", 0), 0).error().what, "round 0 of run 0 is already stored");
  ASSERT_TRUE(store_->append_run("s1", sample_run("s1", 0)).ok());
  EXPECT_EQ(store_->append_run("s1", sample_run("s1", 0)).error().what, "run 0 of session 's1' is already stored");
  EXPECT_FALSE(store_->append_round("s1", sample_run("s1", 0), 1).ok());
  ASSERT_TRUE(store_->finish("s1", {}).ok());
  EXPECT_FALSE(store_->finish("s1", {}).ok());
  EXPECT_EQ(store_->append_run("other", sample_run("other", 0)).error().what, "session 'other' was not begun");
}

TEST_P(StoreContract, lists_sessions_newest_first_with_their_outcomes) {
  Session old = sample_session("old", "2026-01-01T00:00:00Z");
  old.runs = {sample_run("old", 0), sample_run("old", 1), sample_run("old", 2)};
  old.runs[2].outcome = Outcome::skipped;
  Session other = sample_session("other", "2026-02-01T00:00:00Z");
  other.machine.hostname = "node8";
  other.commit = "fedc";
  keep(sample_session("new", "2026-03-01T00:00:00Z"));
  keep(old);
  keep(other);
  ASSERT_TRUE(store_->finish("old", {}).ok());
  ASSERT_TRUE(store_->append_round("new", sample_run("new", 0), 0).ok());

  const auto all = store_->sessions({});
  ASSERT_TRUE(all.ok()) << all.error().what;
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ(all->at(0).id, "new");
  EXPECT_EQ(all->at(0).unmerged_rounds, 1);
  EXPECT_EQ(all->at(1).hostname, "node8");
  const SessionSummary& last = all->at(2);
  EXPECT_EQ(last.id, "old");
  EXPECT_EQ(last.started, "2026-01-01T00:00:00Z");
  EXPECT_EQ(last.command, "warpmark run gemm --set 'm=8'");
  EXPECT_EQ(last.fingerprint, "00112233445566aa");
  EXPECT_EQ(last.commit, "0123456789abcdef");
  EXPECT_EQ(last.branch, "main");
  EXPECT_TRUE(last.dirty && last.complete);
  EXPECT_FALSE(all->at(0).complete);
  EXPECT_EQ(last.outcomes, (std::map<Outcome, std::int64_t>{{Outcome::passed, 2}, {Outcome::skipped, 1}}));

  EXPECT_EQ(store_->sessions({.limit = 1})->size(), 1U);
  EXPECT_EQ(store_->sessions({.hostname = "node8"})->at(0).id, "other");
  EXPECT_EQ(store_->sessions({.commit = "0123"})->size(), 2U);
  EXPECT_TRUE(store_->sessions({.commit = "123"})->empty());
  EXPECT_TRUE(store_->sessions({.fingerprint = "none"})->empty());
}

TEST_P(StoreContract, finds_a_session_by_an_unambiguous_beginning) {
  keep(sample_session("20260301-aa", "2026-03-01T00:00:00Z"));
  keep(sample_session("20260301-ab", "2026-03-02T00:00:00Z"));
  keep(sample_session("20260301", "2026-01-01T00:00:00Z"));
  EXPECT_EQ(store_->load("20260301-aa")->session.id, "20260301-aa");
  EXPECT_EQ(store_->load("20260301-ab")->session.id, "20260301-ab");
  EXPECT_EQ(store_->load("20260301")->session.id, "20260301");  // exact, though others begin with it
  EXPECT_EQ(store_->load("last")->session.id, "20260301-ab");

  const auto several = store_->load("20260301-a");
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().kind, ErrorKind::usage);
  EXPECT_EQ(several.error().what, "'20260301-a' could be any of these sessions: 20260301-ab, 20260301-aa");
  const auto none = store_->load("2027");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::usage);
  EXPECT_EQ(none.error().what, "there is no session '2027'");
  EXPECT_NE(none.error().hint.find("20260301-ab"), std::string::npos);
  EXPECT_EQ(store_->load("").error().kind, ErrorKind::usage);
}

TEST_P(StoreContract, finds_an_exact_id_among_many_longer_ones) {
  keep(sample_session("s", "2020-01-01T00:00:00Z"));
  for (int i = 10; i < 40; ++i) keep(sample_session("s" + std::to_string(i)));
  EXPECT_EQ(store_->load("s")->session.id, "s");
  EXPECT_TRUE(store_->load("s1").error().what.find("s19") != std::string::npos);
}

TEST_P(StoreContract, says_that_nothing_is_stored_yet) {
  const auto stored = store_->load("last");
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().what, "no session is stored yet");
  EXPECT_TRUE(store_->sessions({})->empty());
  EXPECT_TRUE(store_->find({})->empty());
}

TEST_P(StoreContract, finds_the_points_of_a_series) {
  for (int day = 1; day <= 9; ++day) {
    const std::string id = "s" + std::to_string(day);
    Session session = sample_session(id, "2026-01-0" + std::to_string(day) + "T00:00:00Z");
    session.commit = day < 5 ? "aaaa1111" : "bbbb2222";
    session.runs = {sample_run(id, 0), sample_run(id, 1), sample_run(id, 2, "conv2d")};
    session.runs[1].params.set("m", std::int64_t{2048});
    session.runs[2].mode = Mode::hot;
    keep(session);
  }
  const auto points = store_->find({.workload = "gemm", .device = "cpu", .params = {{"m", "2048"}, {"dtype", "f32"}}});
  ASSERT_TRUE(points.ok()) << points.error().what;
  ASSERT_EQ(points->size(), 9U);
  const RunPoint& newest = points->front();
  EXPECT_EQ(newest.session, "s9");
  EXPECT_EQ(newest.index, 1);
  EXPECT_EQ(newest.started, "2026-01-09T00:00:00Z");
  EXPECT_EQ(newest.commit, "bbbb2222");
  EXPECT_EQ(newest.fingerprint, "00112233445566aa");
  EXPECT_EQ(newest.workload, "gemm");
  EXPECT_EQ(newest.params, "m=2048 dtype=f32");
  EXPECT_EQ(newest.device, "cpu");
  EXPECT_EQ(newest.mode, Mode::cold);
  EXPECT_EQ(newest.outcome, Outcome::passed);
  EXPECT_EQ(newest.metric, "time");
  EXPECT_EQ(newest.unit, "s");
  EXPECT_EQ(newest.better, Better::lower);
  EXPECT_EQ(newest.n, 3);
  EXPECT_EQ(newest.median, 1.0 / 3.0);
  EXPECT_EQ(newest.interval, (Interval{0.1, 1e-300, 0.96}));

  EXPECT_EQ(store_->find({})->size(), 27U);
  EXPECT_EQ(store_->find({.limit = 4})->size(), 4U);
  EXPECT_EQ(store_->find({.limit = 4})->at(3).session, "s8");
  EXPECT_EQ(store_->find({.workload = "conv*"})->size(), 9U);
  EXPECT_EQ(store_->find({.workload = "*2?"})->size(), 9U);
  EXPECT_EQ(store_->find({.workload = "[c]*"})->size(), 0U);  // no sets: '[' is a letter
  EXPECT_EQ(store_->find({.mode = Mode::hot})->size(), 9U);
  EXPECT_EQ(store_->find({.workload = "gemm", .metric = "energy"})->at(0).median, 7);
  EXPECT_EQ(store_->find({.commit = "aaaa"})->size(), 12U);
  EXPECT_EQ(store_->find({.fingerprint = "none"})->size(), 0U);
  EXPECT_EQ(store_->find({.params = {{"m", "204"}}})->size(), 0U);
  EXPECT_EQ(store_->find({.device = "cuda:0"})->size(), 0U);
}

TEST_P(StoreContract, tells_apart_branches_and_uncommitted_work) {
  const auto keep_on = [&](const std::string& id, const std::string& branch, bool dirty, int day) {
    Session session = sample_session(id, "2026-01-0" + std::to_string(day) + "T00:00:00Z");
    session.branch = branch;
    session.dirty = dirty;
    session.runs = {sample_run(id, 0)};
    session.runs[0].started = session.started.substr(0, 11) + "01:00:00Z";
    keep(session);
  };
  keep_on("a", "main", false, 1);
  keep_on("b", "main", true, 2);
  keep_on("c", "feature", false, 3);
  keep_on("d", "", false, 4);  // a detached HEAD is on no branch
  const auto main = store_->find({.branch = "main"});
  ASSERT_TRUE(main.ok()) << main.error().what;
  ASSERT_EQ(main->size(), 2U);
  EXPECT_EQ(main->at(0).session, "b");
  EXPECT_TRUE(main->at(0).dirty);
  EXPECT_EQ(main->at(1).branch, "main");
  EXPECT_FALSE(main->at(1).dirty);
  EXPECT_EQ(main->at(1).hostname, "node7");
  EXPECT_EQ(main->at(1).session_started, "2026-01-01T00:00:00Z");
  EXPECT_EQ(main->at(1).started, "2026-01-01T01:00:00Z");
  EXPECT_EQ(store_->find({.branch = "mai"})->size(), 0U);
  EXPECT_EQ(store_->find({.branch = "main", .dirty = false})->size(), 1U);
  EXPECT_EQ(store_->find({.dirty = true})->at(0).session, "b");
  EXPECT_EQ(store_->find({.dirty = false})->size(), 3U);
  EXPECT_EQ(store_->find({})->size(), 4U);
  EXPECT_EQ(store_->find({.branch = "main' OR '1' = '1"})->size(), 0U);
}

TEST_P(StoreContract, finds_several_metrics_by_a_pattern) {
  for (int day = 1; day <= 2; ++day) {
    const std::string id = "s" + std::to_string(day);
    Session session = sample_session(id, "2026-01-0" + std::to_string(day) + "T00:00:00Z");
    session.runs = {sample_run(id, 0), sample_run(id, 1)};
    keep(session);
  }
  const auto points = store_->find({.metric = "*"});
  ASSERT_TRUE(points.ok()) << points.error().what;
  ASSERT_EQ(points->size(), 8U);
  const std::pair<std::int64_t, const char*> expected[] = {{1, "energy"}, {1, "time"}, {0, "energy"}, {0, "time"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(points->at(i).session, "s2");
    EXPECT_EQ(points->at(i).index, expected[i].first) << i;
    EXPECT_EQ(points->at(i).metric, expected[i].second) << i;
  }
  EXPECT_EQ(store_->find({.metric = "en*"})->size(), 4U);
  EXPECT_EQ(store_->find({.metric = "t?me"})->size(), 4U);
  EXPECT_EQ(store_->find({.metric = "*", .limit = 3})->size(), 3U);
  EXPECT_EQ(store_->find({.metric = "[t]*"})->size(), 0U);
}

TEST_P(StoreContract, has_no_points_of_runs_without_the_metric) {
  Session session = sample_session("s1");
  session.runs = {sample_run("s1", 0), sample_run("s1", 1), sample_run("s1", 2)};
  session.runs[0].outcome = Outcome::failed;  // a wrong output has no speed, though it was timed
  session.runs[1].outcome = Outcome::skipped;
  session.runs[1].metrics.clear();
  session.runs[2].metrics[0].summary = {};
  session.runs[2].metrics[0].samples.clear();
  keep(session);
  EXPECT_TRUE(store_->find({})->empty());
  EXPECT_EQ(store_->find({.metric = "energy"})->size(), 1U);
  EXPECT_EQ(store_->load("s1")->session.runs.size(), 3U);
}

TEST_P(StoreContract, tags_name_sessions) {
  keep(sample_session("20260301-aa", "2026-03-01T00:00:00Z"));
  keep(sample_session("20260302-bb", "2026-03-02T00:00:00Z"));
  ASSERT_TRUE(store_->tag("20260301", "v1.0").ok());
  ASSERT_TRUE(store_->tag("20260301", "v1.0").ok()) << "the same again";
  ASSERT_TRUE(store_->tag("v1.0", "base/line").ok()) << "by another tag";
  EXPECT_EQ(store_->load("v1.0")->session.id, "20260301-aa");
  EXPECT_EQ(store_->sessions({})->at(1).tags, (std::vector<std::string>{"base/line", "v1.0"}));
  EXPECT_TRUE(store_->sessions({})->at(0).tags.empty());
  EXPECT_EQ(store_->tag("last", "v1.0").error().what, "the tag 'v1.0' is that of session 20260301-aa");
  EXPECT_EQ(store_->tag("last", "20260301-aa").error().what, "'20260301-aa' is the id of a session");
  for (const char* wrong : {"", "last", "a b", "x'; DROP TABLE tags; --", "\xC3\xA9"}) {
    EXPECT_EQ(store_->tag("last", wrong).error().kind, ErrorKind::usage) << wrong;
  }
  EXPECT_FALSE(store_->tag("absent", "x").ok());
  ASSERT_TRUE(store_->untag("v1.0").ok());
  EXPECT_EQ(store_->untag("v1.0").error().what, "there is no tag 'v1.0'");
  EXPECT_FALSE(store_->load("v1.0").ok());
}

TEST_P(StoreContract, prunes_what_it_is_told_and_nothing_else) {
  for (const char* id : {"a", "b", "c"}) {
    Session session =
        sample_session(id, std::string("2026-03-0") + static_cast<char>('1' + id[0] - 'a') + "T00:00:00Z");
    session.runs = {sample_run(id, 0), sample_run(id, 1, "copy")};
    keep(session);
    ASSERT_TRUE(store_->append_round(id, sample_run(id, 2), 0).ok());
    ASSERT_TRUE(store_->finish(id, {}).ok());
  }
  ASSERT_TRUE(store_->tag("c", "keep").ok());
  const std::vector<std::string> with_tag{"a", "c"}, unknown{"a", "x"}, two{"a", "b"}, one{"a"};
  EXPECT_EQ(store_->prune(with_tag).error().what, "session c has a tag, which keeps it");
  EXPECT_FALSE(store_->prune(unknown).ok());
  EXPECT_EQ(store_->sessions({})->size(), 3U) << "all or none";
  ASSERT_TRUE(store_->prune(two).ok()) << store_->prune(two).error().what;
  ASSERT_EQ(store_->sessions({})->size(), 1U);
  EXPECT_EQ(store_->find({})->size(), 2U);
  EXPECT_EQ(store_->find({.metric = "energy"})->at(0).session, "c");
  EXPECT_EQ(store_->load("c")->session.runs.size(), 2U);
  EXPECT_FALSE(store_->load("a").ok());
  Session again = sample_session("a");
  again.runs = {sample_run("a", 0)};
  keep(again);  // its place is free
  ASSERT_TRUE(store_->prune(one).ok());
  EXPECT_FALSE(store_->load("a").ok());
}

TEST_P(StoreContract, keeps_texts_as_they_are) {
  Session session = sample_session("s1");
  session.command = "x'); DROP TABLE runs; -- \xC3\xA9 \" \\ % ? $1";
  session.branch = "feature/'quoted'";
  session.runs = {sample_run("s1", 0, "name with 'quotes' [a*]")};
  keep(session);
  EXPECT_EQ(store_->sessions({})->at(0).command, session.command);
  EXPECT_EQ(store_->load("s1")->session.branch, session.branch);
  EXPECT_EQ(store_->find({.workload = "name with 'quotes' [a?]"})->size(), 1U);
  EXPECT_TRUE(store_->find({.workload = "name with 'quotes' a*"})->empty());
  EXPECT_EQ(store_->find({.workload = "*quotes*"})->size(), 1U);
}

TEST_P(StoreContract, never_keeps_a_password) {
  Session session = sample_session("s1");
  session.command = "warpmark run --db postgresql://me:hunter2@db/results?password=hunter2";
  keep(session);
  EXPECT_EQ(store_->sessions({})->at(0).command, "warpmark run --db postgresql://me:***@db/results?password=***");
  EXPECT_EQ(store_->load("s1")->session.command.find("hunter2"), std::string::npos);
}

TEST_P(StoreContract, gives_all_series_as_find_gives_their_points) {
  for (const int day : {2, 1, 3}) {
    const std::string id = "s" + std::to_string(day);
    Session session = sample_session(id, "2026-01-0" + std::to_string(day) + "T00:00:00Z");
    session.runs = {sample_run(id, 0), sample_run(id, 1, "copy")};
    if (day == 3) session.runs[1].outcome = Outcome::unreliable;
    keep(session);
  }
  const auto table = store_->series();
  ASSERT_TRUE(table.ok()) << table.error().what;
  std::size_t series = 0;
  for (const auto& one : table->series) {
    const RunQuery query{.workload = one.facts.workload, .metric = one.facts.metric};
    auto expected = store_->find(query).value();
    std::erase_if(expected, [](const auto& point) { return point.outcome != Outcome::passed; });
    ASSERT_EQ(one.points.size(), expected.size());
    EXPECT_EQ(one.facts.unit, expected.front().unit);
    EXPECT_EQ(one.facts.params, expected.front().params);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& found = one.points[i];
      const auto& other = expected[expected.size() - 1 - i];
      EXPECT_EQ(found.session->session, other.session) << "oldest first";
      EXPECT_EQ(found.session->fingerprint, other.fingerprint);
      EXPECT_EQ(found.index, other.index);
      EXPECT_EQ(found.n, other.n);
      EXPECT_EQ(found.median, other.median);
      EXPECT_EQ(found.interval, other.interval);
    }
    ++series;
  }
  EXPECT_EQ(series, 2 * sample_run("s", 0).metrics.size());
}

}  // namespace
}  // namespace warpmark::store
