// What every Store lists for people who look around.
#include <gtest/gtest.h>

#include <utility>

#include "base/json.h"
#include "store_kinds.h"

namespace warpmark::store {
namespace {

class StoreLists : public StoreContract {};

INSTANTIATE_TEST_SUITE_P(Stores, StoreLists, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

std::vector<std::string> ids_of(const std::vector<SessionSummary>& sessions) {
  std::vector<std::string> ids;
  for (const auto& session : sessions) ids.push_back(session.id);
  return ids;
}

TEST_P(StoreLists, lists_sessions_by_pages_tag_branch_and_text) {
  // Three of one second, which only the order of their coming tells apart.
  for (const char* id : {"s1", "s2", "s3"}) keep(sample_session(id));
  Session other = sample_session("s4", "2026-02-01T00:00:00Z");
  other.branch = "topic";
  other.command = "100% of_it";
  keep(other);
  ASSERT_TRUE(store_->tag("s2", "good").ok());
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids_of(store_->sessions({.limit = 2}).value()), (Ids{"s3", "s2"}));
  EXPECT_EQ(ids_of(store_->sessions({.before = "s2", .limit = 2}).value()), (Ids{"s1", "s4"}));
  EXPECT_EQ(ids_of(store_->sessions({.before = "s4"}).value()), Ids{});
  EXPECT_EQ(ids_of(store_->sessions({.before = "nobody"}).value()), Ids{});
  EXPECT_EQ(ids_of(store_->sessions({.tag = "good"}).value()), Ids{"s2"});
  EXPECT_EQ(ids_of(store_->sessions({.tag = "bad"}).value()), Ids{});
  EXPECT_EQ(ids_of(store_->sessions({.branch = "topic"}).value()), Ids{"s4"});
  EXPECT_EQ(ids_of(store_->sessions({.text = "0% OF_I"}).value()), Ids{"s4"});
  EXPECT_EQ(ids_of(store_->sessions({.text = "0%_of"}).value()), Ids{}) << "% and _ stand for themselves";
  EXPECT_EQ(store_->sessions({.text = "NODE7"})->size(), 4U);
}

TEST_P(StoreLists, lists_runs_whatever_became_of_them) {
  Session session = sample_session("s1");
  session.runs = {sample_run("s1", 0), sample_run("s1", 1, "copy"), sample_run("s1", 2)};
  session.runs[1].outcome = Outcome::failed;
  session.runs[2].outcome = Outcome::skipped;
  session.runs[2].metrics.clear();
  keep(session);
  Session newer = sample_session("s2", "2026-04-01T00:00:00Z");
  newer.commit = "feedbeef";
  newer.runs = {sample_run("s2", 0)};
  keep(newer);
  const auto ids = [&](const RunListQuery& query) {
    std::vector<std::string> found;
    const auto runs = store_->runs(query);
    EXPECT_TRUE(runs.ok()) << runs.error().what;
    for (const auto& run : *runs) found.push_back(run.session + "." + std::to_string(run.index));
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({}), (Ids{"s2.0", "s1.2", "s1.1", "s1.0"}));
  EXPECT_EQ(ids({.before = std::pair("s2", 0), .limit = 2}), (Ids{"s1.2", "s1.1"}));
  EXPECT_EQ(ids({.before = std::pair("s1", 1), .limit = 2}), Ids{"s1.0"});
  EXPECT_EQ(ids({.session = "s2"}), Ids{"s2.0"});
  EXPECT_EQ(ids({.commit = "feed"}), Ids{"s2.0"});
  EXPECT_EQ(ids({.workload = "copy"}), Ids{"s1.1"});
  EXPECT_EQ(ids({.outcome = Outcome::skipped}), Ids{"s1.2"});
  EXPECT_EQ(ids({.text = "M=1024 copy"}), Ids{"s1.1"});
  EXPECT_EQ(ids({.text = "m_1024"}), Ids{});
  EXPECT_EQ(ids({.hostname = "elsewhere"}), Ids{});
  const auto runs = store_->runs({}).value();
  EXPECT_EQ(runs[0].n, 3);
  EXPECT_EQ(runs[0].unit, "s");
  EXPECT_EQ(runs[0].interval, (Interval{0.1, 1e-300, 0.96}));
  EXPECT_EQ(runs[2].n, 0);
  EXPECT_EQ(runs[2].outcome, Outcome::failed);
  EXPECT_EQ(runs[2].metric, "time");
}

TEST_P(StoreLists, gives_one_run_with_its_samples) {
  Session session = sample_session("s1");
  session.runs = {sample_run("s1", 0), sample_run("s1", 7, "copy")};
  keep(session);
  const auto run = store_->run("s1", 7);
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_EQ(dump_json(to_json(*run)), dump_json(to_json(session.runs[1])));
  EXPECT_EQ(store_->run("s1", 1).error().what, "there is no run 1 in a session 's1'");
  EXPECT_FALSE(store_->run("s", 0).ok()) << "no beginnings of ids";
}

TEST_P(StoreLists, lists_cases_and_hosts) {
  Session session = sample_session("s1");
  session.runs = {sample_run("s1", 0), sample_run("s1", 1, "copy"), sample_run("s1", 2, "never")};
  session.runs[2].outcome = Outcome::failed;
  keep(session);
  Session newer = sample_session("s2", "2026-04-01T00:00:00Z");
  newer.machine.hostname = "a-node";
  newer.runs = {sample_run("s2", 0)};
  newer.runs[0].started = "2026-04-01T00:00:09Z";
  keep(newer);
  keep(sample_session("s3", "2026-05-01T00:00:00Z"));
  const auto cases = store_->cases();
  ASSERT_TRUE(cases.ok()) << cases.error().what;
  ASSERT_EQ(cases->size(), 2U) << "what never had a value is none";
  EXPECT_EQ(cases->at(0).workload, "gemm");
  EXPECT_EQ(cases->at(0).newest, "2026-04-01T00:00:09Z");
  EXPECT_EQ(cases->at(0).params, "m=1024 dtype=f32");
  EXPECT_EQ(cases->at(0).metric, "time");
  EXPECT_EQ(cases->at(1).workload, "copy");
  const auto hosts = store_->hosts();
  ASSERT_TRUE(hosts.ok()) << hosts.error().what;
  ASSERT_EQ(hosts->size(), 2U);
  EXPECT_EQ(hosts->at(0).hostname, "a-node");
  EXPECT_EQ(hosts->at(1).sessions, 2);
  EXPECT_EQ(hosts->at(1).session, "s3");
}

}  // namespace
}  // namespace warpmark::store
