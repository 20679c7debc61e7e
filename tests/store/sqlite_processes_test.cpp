// Several processes, one file; and processes that are killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "in_child.h"
#include "sample_data.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::store {
namespace {

/// A session with runs and rounds, as `warpmark run` appends them. 0 if every append succeeded.
int write_own_session(const std::filesystem::path& file, const std::string& id, int runs) {
  const auto store = open_sqlite(file);
  if (!store.ok()) return std::fprintf(stderr, "%s\n", store.error().what.c_str()), 1;
  if (!(*store)->begin(sample_session(id)).ok()) return 2;
  for (int index = 0; index < runs; ++index) {
    for (int round = 0; round < 2; ++round) {
      const auto appended = (*store)->append_round(id, sample_run(id, index), round);
      if (!appended.ok()) return std::fprintf(stderr, "%s\n", appended.error().what.c_str()), 3;
    }
    if (index % 2 == 0 && !(*store)->append_run(id, sample_run(id, index)).ok()) return 4;
  }
  return (*store)->finish(id, {}).ok() ? 0 : 5;
}

TEST(SqliteStore, loses_nothing_when_processes_write_at_once) {
  const TemporaryFolder folder;
  constexpr int kWriters = 4, kRuns = 20;
  std::vector<pid_t> writers;  // they also race to create the file
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(
        start_child([&] { return write_own_session(folder.file(), "w" + std::to_string(writer), kRuns); }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(wait_for(writer), 0);
  const auto store = open_sqlite(folder.file()).value();
  for (int writer = 0; writer < kWriters; ++writer) {
    const std::string id = "w" + std::to_string(writer);
    const auto stored = store->load(id);
    ASSERT_TRUE(stored.ok()) << stored.error().what;
    EXPECT_TRUE(stored->session.complete);
    ASSERT_EQ(stored->session.runs.size(), std::size_t{kRuns / 2});
    ASSERT_EQ(stored->unmerged_rounds.size(), std::size_t{kRuns});
    for (const auto& run : stored->session.runs) EXPECT_EQ(text_of(run), text_of(sample_run(id, run.index)));
  }
}

TEST(SqliteStore, loses_nothing_it_acknowledged_when_killed) {
  const TemporaryFolder folder;
  for (const int delay_ms : {3, 20, 60}) {
    const std::string id = "killed-after-" + std::to_string(delay_ms);
    int acknowledged[2];
    ASSERT_EQ(::pipe(acknowledged), 0);
    const pid_t writer = start_child([&] {
      const auto store = open_sqlite(folder.file());
      if (!store.ok() || !(*store)->begin(sample_session(id)).ok()) return 1;
      for (int index = 0; index < 1000000; ++index) {
        if (!(*store)->append_round(id, sample_run(id, index), 0).ok()) return 2;
        if (index % 2 == 0 && !(*store)->append_run(id, sample_run(id, index)).ok()) return 3;
        if (::write(acknowledged[1], "+", 1) != 1) return 4;
      }
      return 0;
    });
    ::close(acknowledged[1]);
    char byte = 0;
    ASSERT_EQ(::read(acknowledged[0], &byte, 1), 1);
    std::int64_t count = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    EXPECT_EQ(wait_for(writer), 128 + SIGKILL);
    while (::read(acknowledged[0], &byte, 1) == 1) ++count;
    ::close(acknowledged[0]);

    const auto stored = open_sqlite(folder.file()).value()->load(id);
    ASSERT_TRUE(stored.ok()) << stored.error().what;
    const auto present = static_cast<std::int64_t>(stored->session.runs.size() + stored->unmerged_rounds.size());
    EXPECT_GE(present, count);
    EXPECT_LE(present, count + 1);  // the one whose acknowledgement did not get out
    EXPECT_FALSE(stored->session.complete);
    for (const auto& run : stored->session.runs) EXPECT_EQ(text_of(run), text_of(sample_run(id, run.index)));
  }
}

TEST(SqliteStore, names_who_locks_it_and_gives_up_in_time) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file(), {.busy_timeout_s = 0.2}).value();
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t holder = start_child([&] {
    ::close(done[1]);
    auto database = Database::open(folder.file(), {});
    if (!database.ok()) return 1;
    const auto transaction = Transaction::begin(*database, Transaction::Kind::write);
    char byte = 0;
    if (!transaction.ok() || ::write(ready[1], "+", 1) != 1) return 2;
    return ::read(done[0], &byte, 1) == 0 ? 0 : 3;  // until the parent closes its end
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);

  const std::int64_t start_ns = monotonic_ns();
  const auto begun = store->begin(sample_session("s1"));
  const double waited_s = static_cast<double>(monotonic_ns() - start_ns) * 1e-9;
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().kind, ErrorKind::environment);
  EXPECT_GE(waited_s, 0.15);
  EXPECT_LT(waited_s, 5);
  const std::string& what = begun.error().what;
  EXPECT_NE(what.find("is locked by"), std::string::npos) << what;
  EXPECT_NE(what.find("gave up after 0.2 s"), std::string::npos) << what;
  EXPECT_TRUE(what.find("process " + std::to_string(holder)) != std::string::npos ||
              what.find("another process") != std::string::npos)
      << what;
  EXPECT_TRUE(store->sessions({}).ok());  // readers do not wait

  ::close(done[1]);
  EXPECT_EQ(wait_for(holder), 0);
  EXPECT_TRUE(store->begin(sample_session("s1")).ok());
  for (const int end : {ready[0], ready[1], done[0]}) ::close(end);
}

TEST(LockHolders, are_the_writers_of_these_inodes) {
  constexpr const char* kLocks =
      "1: POSIX  ADVISORY  WRITE 1234 08:02:393221 120 120\n"
      "1: -> POSIX  ADVISORY  WRITE 99 08:02:393221 120 120\n"
      "2: POSIX  ADVISORY  READ  1235 08:02:393221 123 123\n"
      "3: FLOCK  ADVISORY  WRITE 1236 08:02:11 0 EOF\n"
      "4: OFDLCK ADVISORY  WRITE -1 08:02:393221 0 EOF\n"
      "5: POSIX  ADVISORY  WRITE 1237 08:02:393222 1073741824 1073742335\n";
  EXPECT_EQ(lock_holders_in(kLocks, {"393221", "393222"}), (std::vector<int>{1234, 1237}));
  EXPECT_TRUE(lock_holders_in(kLocks, {"39322"}).empty());
  EXPECT_TRUE(lock_holders_in("", {"1"}).empty());
}

}  // namespace
}  // namespace warpmark::store
