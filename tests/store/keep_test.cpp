// Sessions from elsewhere: once, however often and by however many they are brought.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "in_child.h"
#include "sample_data.h"
#include "store/keep.h"
#include "store/sqlite/sqlite_store.h"
#include "support/memory_store.h"

namespace warpmark::store {
namespace {

using ::testing::HasSubstr;

Session session_of_runs(std::int64_t count) {
  Session session = sample_session("tool-0011223344556677");
  session.complete = true;
  for (std::int64_t index = 0; index < count; ++index) session.runs.push_back(sample_run(session.id, index));
  return session;
}

TEST(KeepSession, stores_the_same_session_once) {
  const auto store = make_memory_store();
  const Session session = session_of_runs(7);
  const auto first = keep_session(*store, session, 3);
  ASSERT_TRUE(first.ok()) << first.error().what;
  EXPECT_EQ(first->added, 7);
  const auto second = keep_session(*store, session, 3);
  ASSERT_TRUE(second.ok()) << second.error().what;
  EXPECT_EQ(second->added, 0);
  EXPECT_EQ(second->known, 7);
  EXPECT_EQ(store->sessions({})->size(), 1U);
  EXPECT_TRUE(store->load("last")->session.complete);
}

TEST(KeepSession, goes_on_where_another_attempt_ended) {
  const auto store = make_memory_store();
  const Session session = session_of_runs(5);
  ASSERT_TRUE(store->begin(session).ok());
  ASSERT_TRUE(store->append_run(session.id, session.runs[0]).ok());
  ASSERT_TRUE(store->append_run(session.id, session.runs[3]).ok());
  const auto kept = keep_session(*store, session);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->added, 3);
  EXPECT_EQ(store->load("last")->session.runs.size(), 5U);
}

TEST(KeepSession, refuses_other_results_under_the_same_id) {
  const auto store = make_memory_store();
  Session session = session_of_runs(2);
  ASSERT_TRUE(keep_session(*store, session).ok());
  Session changed = session;
  changed.runs[1].metrics[0].samples[0] = 9;
  const auto kept = keep_session(*store, changed);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().kind, ErrorKind::data);
  EXPECT_THAT(kept.error().what, HasSubstr("stored already, with other results"));
  Session longer = session_of_runs(3);
  EXPECT_FALSE(keep_session(*store, longer).ok()) << "the stored one was complete";
  Session elsewhere = session;
  elsewhere.machine.fingerprint = "other";
  EXPECT_FALSE(keep_session(*store, elsewhere).ok());
}

TEST(KeepSession, appends_all_runs_of_a_batch_or_none) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file()).value();
  const Session session = session_of_runs(3);
  ASSERT_TRUE(store->begin(session).ok());
  ASSERT_TRUE(store->append_run(session.id, session.runs[2]).ok());
  EXPECT_FALSE(store->append_runs(session.id, session.runs).ok());
  EXPECT_EQ(store->load("last")->session.runs.size(), 1U);
}

TEST(KeepSession, loses_and_doubles_nothing_when_killed_in_the_middle) {
  const TemporaryFolder folder;
  constexpr std::int64_t kRuns = 3000;
  const Session session = session_of_runs(kRuns);
  const auto store = open_sqlite(folder.file()).value();
  std::int64_t interrupted_at = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto stored_runs = [&] {
      auto sessions = store->sessions({});
      return sessions.ok() && !sessions->empty() ? sessions->front().outcomes[Outcome::passed] : 0;
    };
    const std::int64_t before = stored_runs();
    const pid_t writer = start_child([&] {
      const auto own = open_sqlite(folder.file());
      return own.ok() && keep_session(**own, session, 7).ok() ? 0 : 1;
    });
    while (stored_runs() < std::min(before + 50, kRuns)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    static_cast<void>(wait_for(writer));
    const std::int64_t after = stored_runs();
    if (after < kRuns) interrupted_at = after;
    EXPECT_GE(after, before);
  }
  EXPECT_GT(interrupted_at, 0) << "no child was killed before it was done";
  const auto kept = keep_session(*store, session);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->added + kept->known, kRuns);
  const auto stored = store->load("last");
  ASSERT_EQ(stored->session.runs.size(), std::size_t{kRuns});
  for (const auto& run : stored->session.runs)
    ASSERT_EQ(text_of(run), text_of(session.runs[static_cast<std::size_t>(run.index)]));
  EXPECT_EQ(store->find({.metric = "time", .limit = 10 * kRuns})->size(), std::size_t{kRuns});
}

TEST(KeepSession, may_be_done_by_several_processes_at_once) {
  const TemporaryFolder folder;
  const Session session = session_of_runs(300);
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.push_back(start_child([&] {
      const auto own = open_sqlite(folder.file());
      if (!own.ok()) return 1;
      const auto kept = keep_session(**own, session, 5);
      if (!kept.ok()) return std::fprintf(stderr, "%s\n", kept.error().what.c_str()), 2;
      return 0;
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(wait_for(writer), 0);
  EXPECT_EQ(open_sqlite(folder.file()).value()->load("last")->session.runs.size(), 300U);
}

}  // namespace
}  // namespace warpmark::store
