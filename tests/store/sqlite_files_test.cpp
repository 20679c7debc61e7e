// Files that are not what they should be, and disks that do not take what they should.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/text.h"
#include "in_child.h"
#include "sample_data.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::store {
namespace {

/// SQL beside the store, as another program would.
void execute(const std::filesystem::path& file, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(handle);
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(OpenSqlite, uses_the_write_ahead_log) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file());
  ASSERT_TRUE(store.ok()) << store.error().what;
  ASSERT_TRUE((*store)->begin(sample_session("s1")).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.file().string() + "-wal"));
}

TEST(OpenSqlite, keeps_everything_when_opened_again) {
  const TemporaryFolder folder;
  {
    const auto store = open_sqlite(folder.file()).value();
    ASSERT_TRUE(store->begin(sample_session("s1")).ok());
    ASSERT_TRUE(store->append_run("s1", sample_run("s1", 0)).ok());
  }
  const auto stored = open_sqlite(folder.file()).value()->load("last");
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(text_of(stored->session.runs.at(0)), text_of(sample_run("s1", 0)));
}

/// Opens what may not be written, as another user than root, who may write everywhere; 0 where all is as it should be.
int read_what_may_not_be_written(const std::filesystem::path& file) {
  return in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;
    if (open_sqlite(file).ok()) return 1;
    const auto store = open_sqlite(file, {.reads_only = true});
    if (!store.ok()) return 2;
    const auto stored = (*store)->load("last");
    if (!stored.ok() || stored->session.id != "s1") return 3;
    return (*store)->begin(sample_session("s2")).ok() ? 4 : 0;
  });
}

TEST(OpenSqlite, reads_a_file_that_may_not_be_written) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).value()->begin(sample_session("s1")).ok());
  std::filesystem::permissions(folder.file(), std::filesystem::perms(0444));
  std::filesystem::permissions(folder.file().parent_path(), std::filesystem::perms(0555));
  const int result = read_what_may_not_be_written(folder.file());
  std::filesystem::permissions(folder.file().parent_path(), std::filesystem::perms(0755));
  if (result == kSkipped) GTEST_SKIP() << "this user may not become another one";
  EXPECT_EQ(result, 0);
}

TEST(OpenSqlite, reads_a_file_of_an_older_version_only_where_it_may_write) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).value()->begin(sample_session("s1")).ok());
  execute(folder.file(), "PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)");
  std::filesystem::permissions(folder.file(), std::filesystem::perms(0444));
  std::filesystem::permissions(folder.file().parent_path(), std::filesystem::perms(0555));
  const int result = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;
    const auto store = open_sqlite(folder.file(), {.reads_only = true});
    return !store.ok() && store.error().what.find("older version") != std::string::npos ? 0 : 1;
  });
  std::filesystem::permissions(folder.file().parent_path(), std::filesystem::perms(0755));
  if (result == kSkipped) GTEST_SKIP() << "this user may not become another one";
  EXPECT_EQ(result, 0);
}

TEST(OpenSqlite, says_what_keeps_it_from_reading_a_file) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).ok());
  ASSERT_EQ(::chmod(folder.file().c_str(), 0400), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const int result = in_child([&] {
    if (::geteuid() != 0) return kSkipped;  // one's own file cannot be another's
    if (::setuid(65534) != 0) return kSkipped;
    const auto mine = open_sqlite(folder.file(), {.reads_only = true});
    const auto none = open_sqlite(folder.path() / "none.db", {.reads_only = true});
    const std::string begin = "cannot read the database ";
    if (mine.error().what != begin + folder.file().string() + ": Permission denied") return 1;
    if (mine.error().kind != ErrorKind::environment) return 2;
    return none.error().what == begin + (folder.path() / "none.db").string() + ": No such file or directory" ? 0 : 3;
  });
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  if (result == kSkipped) GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(result, 0);
}

TEST(OpenSqlite, reports_why_it_reads_a_file_as_immutable_or_cannot_read_its_log) {
  const TemporaryFolder folder;
  const auto writer = open_sqlite(folder.file()).value();
  ASSERT_TRUE(writer->begin(sample_session("s1")).ok());
  const auto copy = folder.path() / "read" / "copy.db";
  std::filesystem::create_directory(copy.parent_path());
  std::filesystem::copy(folder.file(), copy);
  std::filesystem::copy(folder.file().string() + "-wal", copy.string() + "-wal");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(copy.parent_path().c_str(), 0555), 0);
  const auto read = [&](std::string& reason) {
    return open_sqlite(copy, {.reads_only = true, .on_immutable = [&](const std::string& why) { reason = why; }});
  };
  const int with_log = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;
    std::string reason;
    const auto store = read(reason);
    if (store.ok() || !reason.empty()) return 1;
    if (store.error().what.find("cannot read the database " + copy.string() + ": its write-ahead log") != 0) return 2;
    return store.error().hint.find("warpmark history list --db") != std::string::npos ? 0 : 3;
  });
  ASSERT_EQ(::chmod(copy.parent_path().c_str(), 0755), 0);
  execute(copy, "PRAGMA wal_checkpoint(TRUNCATE)");
  ASSERT_EQ(::chmod(copy.parent_path().c_str(), 0555), 0);
  const int without = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;
    std::string reason;
    if (!read(reason).ok()) return 1;
    return reason.find("Permission denied; the database is read as one that nobody writes (immutable=1)") != reason.npos
               ? 0
               : 2;
  });
  ASSERT_EQ(::chmod(copy.parent_path().c_str(), 0755), 0);
  if (with_log == kSkipped) GTEST_SKIP() << "this user may not become another one";
  EXPECT_EQ(with_log, 0);
  EXPECT_EQ(without, 0);
}

TEST(OpenSqlite, refuses_a_file_that_is_no_database_and_leaves_it_alone) {
  const TemporaryFolder folder;
  const std::string notes(5000, 'x');
  std::ofstream(folder.file()) << notes;
  const auto store = open_sqlite(folder.file());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::data);
  EXPECT_EQ(store.error().what, folder.file().string() + " is not a warpmark database");
  EXPECT_EQ(bytes_of(folder.file()), notes);
}

TEST(OpenSqlite, refuses_another_programs_database_and_leaves_it_alone) {
  const TemporaryFolder folder;
  execute(folder.file(), "CREATE TABLE bookmarks (url TEXT)");
  const auto before = bytes_of(folder.file());
  const auto store = open_sqlite(folder.file());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::data);
  EXPECT_EQ(store.error().what, folder.file().string() + " is a SQLite database of another program");
  EXPECT_EQ(bytes_of(folder.file()), before);
}

TEST(OpenSqlite, refuses_what_a_newer_warpmark_wrote) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).ok());
  execute(folder.file(), "PRAGMA user_version = 99");
  const auto store = open_sqlite(folder.file());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::data);
  EXPECT_NE(store.error().what.find("written by a newer warpmark (its schema is version 99"), std::string::npos);
}

TEST(OpenSqlite, refuses_a_folder) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.path());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::environment);
  EXPECT_EQ(store.error().what, folder.path().string() + " is a folder, not a database");
}

TEST(OpenSqlite, names_the_folder_that_does_not_exist_and_makes_none) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.path() / "none" / "warpmark.db");
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::environment);
  const std::string none = (folder.path() / "none").string();
  EXPECT_NE(store.error().what.find("the folder " + none + " does not exist"), std::string::npos);
  EXPECT_EQ(store.error().hint, "make it with: mkdir -p " + shell_quote(none));
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST(OpenSqlite, says_that_a_folder_or_file_cannot_be_written) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_sqlite(folder.file()).ok());
  std::filesystem::create_directory(folder.path() / "locked");
  ASSERT_EQ(::chmod(folder.file().c_str(), 0444), 0);
  ASSERT_EQ(::chmod((folder.path() / "locked").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const int result = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;  // root may write everywhere
    const auto file = open_sqlite(folder.file());
    const auto inside = open_sqlite(folder.path() / "locked" / "warpmark.db");
    if (file.ok() || inside.ok()) return 1;
    if (file.error().kind != ErrorKind::environment || inside.error().kind != ErrorKind::environment) return 2;
    const std::string denied = ": Permission denied";
    if (file.error().what != "cannot write to " + folder.file().string() + denied) return 3;
    return inside.error().what == "cannot write to " + (folder.path() / "locked").string() + denied ? 0 : 4;
  });
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  if (result == kSkipped) GTEST_SKIP() << "cannot stop being root here";
  EXPECT_EQ(result, 0);
}

TEST(SqliteStore, reports_a_damaged_file) {
  const TemporaryFolder folder;
  {
    const auto store = open_sqlite(folder.file()).value();
    ASSERT_TRUE(store->begin(sample_session("s1")).ok());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(store->append_run("s1", sample_run("s1", i)).ok());
  }
  auto bytes = bytes_of(folder.file());
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0x5A);  // all but the first page
  std::ofstream(folder.file(), std::ios::binary) << bytes;
  const auto store = open_sqlite(folder.file());
  const auto stored = store.ok() ? (*store)->load("last") : Result<StoredSession>(store.error());
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().kind, ErrorKind::data);
  EXPECT_NE(stored.error().what.find("is damaged"), std::string::npos) << stored.error().what;
  EXPECT_NE(stored.error().hint.find("recover"), std::string::npos);
}

TEST(SqliteStore, reports_damaged_samples) {
  const TemporaryFolder folder;
  {
    const auto store = open_sqlite(folder.file()).value();
    ASSERT_TRUE(store->begin(sample_session("s1")).ok());
    ASSERT_TRUE(store->append_run("s1", sample_run("s1", 0)).ok());
  }
  execute(folder.file(), "DROP TRIGGER payloads_stay; UPDATE payloads SET samples = substr(samples, 1, 20)");
  const auto stored = open_sqlite(folder.file()).value()->load("s1");
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().kind, ErrorKind::data);
  EXPECT_EQ(stored.error().what, "the samples of run s1.0 are damaged");
}

TEST(SqliteStore, does_not_let_anyone_rewrite_results) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file()).value();
  ASSERT_TRUE(store->begin(sample_session("s1")).ok());
  ASSERT_TRUE(store->append_run("s1", sample_run("s1", 0)).ok());
  auto database = Database::open(folder.file(), {}).value();
  EXPECT_FALSE(database.run("UPDATE runs SET outcome = 'passed'").ok());
  EXPECT_FALSE(database.run("DELETE FROM sessions").ok());
}

/// Appends runs until one is refused; then everything before must still be there. 0 if it all went as it must.
int fill_up(Store& store, const std::string& expected) {
  if (!store.begin(sample_session("s1")).ok()) return 1;
  Run run = sample_run("s1", 0);
  run.metrics[0].samples.assign(1000, 0.25);
  Status refused;
  for (; run.index < 10000; ++run.index) {
    refused = store.append_run("s1", run);
    if (!refused.ok()) break;
  }
  if (refused.ok() || run.index < 2) return 2;
  if (refused.error().kind != ErrorKind::environment) return 3;
  if (refused.error().what.find(expected) == std::string::npos) {
    std::fprintf(stderr, "%s\n", refused.error().what.c_str());
    return 4;
  }
  const auto stored = store.load("s1");
  return stored.ok() && static_cast<std::int64_t>(stored->session.runs.size()) == run.index ? 0 : 5;
}

TEST(SqliteStore, keeps_what_it_has_when_it_reaches_its_limit) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.file(), {.max_bytes = 400000}).value();
  EXPECT_EQ(fill_up(*store, "it has reached its limit of 400000 bytes"), 0);
}

TEST(SqliteStore, keeps_what_it_has_when_the_disk_is_full) {
  const TemporaryFolder folder;
  const int result = in_child([&] {
    if (!mount_small_disk(folder.path(), 600)) return kSkipped;
    const auto store = open_sqlite(folder.file());
    return store.ok() ? fill_up(**store, "the disk is full") : 6;
  });
  if (result == kSkipped) GTEST_SKIP() << "mounting a small tmpfs is not allowed here";
  EXPECT_EQ(result, 0);
}

TEST(Migrate, applies_only_the_missing_steps_and_keeps_the_data) {
  const TemporaryFolder folder;
  constexpr Migration kSteps[] = {{1, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7)"},
                                  {2, "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 8"}};
  auto database = Database::open(folder.file(), {}).value();
  ASSERT_TRUE(migrate(database, std::span(kSteps).first(1)).ok());
  EXPECT_EQ(database.integer("PRAGMA user_version").value(), 1);
  ASSERT_TRUE(migrate(database, kSteps).ok());
  ASSERT_TRUE(migrate(database, kSteps).ok());
  EXPECT_EQ(database.integer("PRAGMA user_version").value(), 2);
  EXPECT_EQ(database.integer("PRAGMA application_id").value(), kApplicationId);
  EXPECT_EQ(database.integer("SELECT 10 * a + b FROM t").value(), 78);
  EXPECT_FALSE(migrate(database, std::span(kSteps).first(1)).ok());  // now we are the older warpmark
}

TEST(Migrate, moves_a_first_version_on_and_keeps_its_results) {
  const TemporaryFolder folder;
  {
    auto database = Database::open(folder.file(), {}).value();
    ASSERT_TRUE(migrate(database, migrations().first(1)).ok());
    ASSERT_TRUE(database
                    .script("INSERT INTO sessions VALUES (1, 'old', '2026-01-01T00:00:00Z', 'c', 'h', 'f', '', '', 0, "
                            "'{}')")
                    .ok());
    EXPECT_FALSE(database.run("DELETE FROM sessions").ok());
  }
  const auto store = open_sqlite(folder.file());
  ASSERT_TRUE(store.ok()) << store.error().what;
  ASSERT_EQ((*store)->sessions({})->size(), 1U);
  EXPECT_TRUE((*store)->tag("old", "v1").ok());
  auto database = Database::open(folder.file(), {}).value();
  EXPECT_EQ(database.integer("PRAGMA user_version").value(), migrations().back().version);
  EXPECT_FALSE(database.run("DELETE FROM sessions").ok()) << "pruning alone deletes";
  ASSERT_TRUE((*store)->untag("v1").ok());
  ASSERT_TRUE((*store)->attach("old", {"matrix", "2026-01-02T00:00:00Z", "", "{}"}).ok());
  EXPECT_FALSE(database.run("UPDATE documents SET document = ''").ok());
  EXPECT_FALSE(database.run("DELETE FROM documents").ok());
  const std::vector<std::string> old{"old"};
  EXPECT_TRUE((*store)->prune(old).ok());
  EXPECT_EQ(database.integer("SELECT count(*) FROM prunings WHERE id = 'old' AND is_open = 0").value(), 1);
}

TEST(Migrate, leaves_the_old_version_when_a_step_fails) {
  const TemporaryFolder folder;
  constexpr Migration kSteps[] = {{1, "CREATE TABLE t (a INTEGER)"},
                                  {2, "ALTER TABLE t ADD COLUMN b INTEGER; INSERT INTO nowhere VALUES (1)"}};
  auto database = Database::open(folder.file(), {}).value();
  EXPECT_FALSE(migrate(database, kSteps).ok());
  EXPECT_EQ(database.integer("PRAGMA user_version").value(), 1);
  EXPECT_EQ(database.integer("SELECT count(*) FROM pragma_table_info('t')").value(), 1);
}

TEST(Migrate, numbers_its_steps_from_one) {
  std::int64_t expected = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.version, ++expected);
}

}  // namespace
}  // namespace warpmark::store
