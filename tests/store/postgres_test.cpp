// What only a PostgreSQL store can get wrong: reaching the server, rights, other versions, other writers, passwords.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "base/untrusted/input.h"
#include "in_child.h"
#include "postgres_server.h"
#include "sample_data.h"
#include "store/keep.h"
#include "store/location.h"
#include "store/postgres/postgres_store.h"

namespace warpmark::store {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Postgres : public testing::Test {
 protected:
  void SetUp() override {
    if (postgres_server().folder.empty()) GTEST_SKIP() << postgres_server().why;
  }
};

std::string database_in(const std::string& url) {
  const auto begin = url.find("@/") + 2;
  return url.substr(begin, url.find('?') - begin);
}

TEST_F(Postgres, is_found_by_its_url) {
  EXPECT_TRUE(is_postgres("postgresql://host/db"));
  EXPECT_TRUE(is_postgres("postgres://host/db"));
  EXPECT_FALSE(is_postgres("/home/me/postgresql.db"));
  const auto store = open_store(new_postgres_database());
  ASSERT_TRUE(store.ok()) << store.error().what;
  EXPECT_TRUE((*store)->sessions({})->empty());
}

TEST_F(Postgres, says_that_the_server_is_not_there) {
  const TemporaryFolder folder;
  const auto store = open_postgres("postgresql://me:hunter2@/db?host=" + folder.path().string());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::environment);
  EXPECT_THAT(store.error().what, HasSubstr("cannot connect to postgresql://me:***@/db"));
  EXPECT_THAT(store.error().hint, HasSubstr("is the server running"));
}

TEST_F(Postgres, says_that_the_password_is_wrong_and_never_which_it_was) {
  const std::string database = database_in(new_postgres_database());
  const auto wrong = open_postgres(postgres_url(database, "locked", "hunter2"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().what, HasSubstr("password authentication failed"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("~/.pgpass"));
  EXPECT_THAT(wrong.error().what + wrong.error().hint, Not(HasSubstr("hunter2")));
  const auto none = open_postgres(postgres_url(database, "locked"));
  EXPECT_THAT(none.error().what, HasSubstr("no password supplied"));
  const auto right = open_postgres(postgres_url(database, "locked", "s3cret%2Fword"));
  EXPECT_TRUE(right.ok()) << right.error().what;
}

TEST_F(Postgres, says_that_an_address_is_none_without_its_password) {
  for (const char* url : {"postgresql://me:hun%ter2@host/db", "postgresql://me:hunter2@[host/db",
                          "postgresql://me:hunter2@host/db?what=is&this=1"}) {
    const auto store = open_postgres(url);
    ASSERT_FALSE(store.ok()) << url;
    EXPECT_THAT(store.error().what, AnyOf(HasSubstr("is no address"), HasSubstr("cannot connect"))) << url;
    EXPECT_THAT(store.error().what + store.error().hint, Not(HasSubstr("ter2"))) << url;
  }
}

TEST_F(Postgres, says_which_database_or_user_is_unknown) {
  const auto database = open_postgres(postgres_url("absent", "warpmark"));
  EXPECT_THAT(database.error().what, HasSubstr("database \"absent\" does not exist"));
  EXPECT_THAT(database.error().hint, HasSubstr("createdb"));
  const auto user = open_postgres(postgres_url("postgres", "nobody_here"));
  EXPECT_THAT(user.error().what, HasSubstr("role \"nobody_here\" does not exist"));
}

TEST_F(Postgres, says_what_is_not_permitted) {
  const std::string url = new_postgres_database();
  const std::string guest = postgres_url(database_in(url), "guest");
  const auto empty = open_postgres(guest);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().kind, ErrorKind::environment);
  EXPECT_THAT(empty.error().what, HasSubstr("does not permit it: permission denied"));
  ASSERT_TRUE(open_postgres(url).ok());
  const auto hidden = open_postgres(guest);
  ASSERT_FALSE(hidden.ok());
  EXPECT_THAT(hidden.error().what, HasSubstr("does not permit to read the schema"));
  execute_on_postgres(url,
                      "GRANT USAGE ON SCHEMA warpmark TO guest; "
                      "GRANT SELECT ON ALL TABLES IN SCHEMA warpmark TO guest");
  const auto reader = open_postgres(guest);
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_TRUE((*reader)->sessions({}).ok());
  EXPECT_THAT((*reader)->begin(sample_session("s1")).error().what, HasSubstr("permission denied"));
}

TEST_F(Postgres, refuses_what_a_newer_warpmark_wrote) {
  const std::string url = new_postgres_database();
  ASSERT_TRUE(open_postgres(url).ok());
  execute_on_postgres(url, "UPDATE warpmark.schema_version SET version = 99");
  const auto store = open_postgres(url);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::data);
  EXPECT_THAT(store.error().what, HasSubstr("written by a newer warpmark (its schema is version 99"));
}

TEST_F(Postgres, moves_a_first_version_on_and_keeps_its_results) {
  const std::string url = new_postgres_database();
  {
    auto connection = PostgresConnection::open(url, {}).value();
    ASSERT_TRUE(migrate(connection, migrations().first(1)).ok());
    const Status inserted = connection.script(
        "INSERT INTO sessions (id, started, command, hostname, fingerprint, commit_id, branch, dirty, document) "
        "VALUES ('old', '2026-01-01T00:00:00Z', 'c', 'h', 'f', '', '', 0, '{}')");
    ASSERT_TRUE(inserted.ok()) << inserted.error().what;
  }
  const auto store = open_postgres(url);
  ASSERT_TRUE(store.ok()) << store.error().what;
  ASSERT_EQ((*store)->sessions({})->size(), 1U);
  EXPECT_TRUE((*store)->tag("old", "v1").ok());
  EXPECT_EQ((*store)->sessions({})->at(0).tags.size(), 1U);
  EXPECT_TRUE((*store)->attach("old", {"matrix", "2026-01-02T00:00:00Z", "", "{}"}).ok());
  EXPECT_EQ((*store)->documents({})->size(), 1U);
}

TEST_F(Postgres, leaves_other_tables_of_the_database_alone) {
  const std::string url = new_postgres_database();
  execute_on_postgres(url, "CREATE TABLE sessions (mine INT); INSERT INTO sessions VALUES (1)");
  const auto store = open_postgres(url);
  ASSERT_TRUE(store.ok()) << store.error().what;
  ASSERT_TRUE((*store)->begin(sample_session("s1")).ok());
  execute_on_postgres(url, "DO $$ BEGIN ASSERT (SELECT count(*) FROM public.sessions) = 1; END $$");
}

TEST_F(Postgres, does_not_let_anyone_rewrite_results) {
  const std::string url = new_postgres_database();
  const auto store = open_postgres(url).value();
  ASSERT_TRUE(store->begin(sample_session("s1")).ok());
  ASSERT_TRUE(store->append_run("s1", sample_run("s1", 0)).ok());
  auto connection = PostgresConnection::open(url, {}).value();
  EXPECT_FALSE(connection.run("UPDATE runs SET outcome = 'passed'").ok());
  EXPECT_FALSE(connection.run("DELETE FROM payloads").ok());
  ASSERT_TRUE(store->attach("s1", {"matrix", "2026-01-02T00:00:00Z", "", "{}"}).ok());
  EXPECT_FALSE(connection.run("UPDATE documents SET document = ''").ok());
  EXPECT_FALSE(connection.run("DELETE FROM documents").ok());
  EXPECT_THAT(connection.run("DELETE FROM sessions").error().what, HasSubstr("deleted by pruning only"));
}

TEST_F(Postgres, loses_nothing_when_processes_write_at_once) {
  const std::string url = new_postgres_database();
  constexpr int kWriters = 3, kRuns = 30;
  std::vector<pid_t> writers;  // they also race to make the schema
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(start_child([&] {
      const auto store = open_postgres(url);
      if (!store.ok()) return std::fprintf(stderr, "%s\n", store.error().what.c_str()), 1;
      const std::string id = "w" + std::to_string(writer);
      if (!(*store)->begin(sample_session(id)).ok()) return 2;
      for (int index = 0; index < kRuns; ++index) {
        if (!(*store)->append_run(id, sample_run(id, index)).ok()) return 3;
      }
      return (*store)->finish(id, {}).ok() ? 0 : 4;
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(wait_for(writer), 0);
  const auto store = open_postgres(url).value();
  for (int writer = 0; writer < kWriters; ++writer) {
    const auto stored = store->load("w" + std::to_string(writer));
    ASSERT_TRUE(stored.ok()) << stored.error().what;
    EXPECT_EQ(stored->session.runs.size(), std::size_t{kRuns});
  }
  EXPECT_EQ(store->find({.metric = "time", .limit = 1000})->size(), std::size_t{kWriters * kRuns});
}

TEST_F(Postgres, an_import_that_is_killed_goes_on) {
  const std::string url = new_postgres_database();
  Session session = sample_session("tool-0011223344556677");
  session.complete = true;
  for (std::int64_t index = 0; index < 600; ++index) session.runs.push_back(sample_run(session.id, index));
  const auto store = open_postgres(url).value();
  const auto stored_runs = [&] {
    auto sessions = store->sessions({});
    return sessions.ok() && !sessions->empty() ? sessions->front().outcomes[Outcome::passed] : 0;
  };
  const pid_t writer = start_child([&] {
    const auto own = open_postgres(url);
    return own.ok() && keep_session(**own, session, 3).ok() ? 0 : 1;
  });
  while (stored_runs() < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(::kill(writer, SIGKILL), 0);
  EXPECT_EQ(wait_for(writer), 128 + SIGKILL);
  const auto kept = keep_session(*store, session);
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_EQ(kept->added + kept->known, 600);
  EXPECT_GE(kept->known, 20);
  EXPECT_EQ(store->load("last")->session.runs.size(), 600U);
}

TEST_F(Postgres, gives_up_in_time_when_another_process_writes) {
  const std::string url = new_postgres_database();
  const auto store = open_postgres(url, {.lock_timeout_s = 0.2}).value();
  auto other = PostgresConnection::open(url, {}).value();
  {
    const auto transaction = Transaction::begin(other, Transaction::Kind::write);
    const Status begun = store->begin(sample_session("s1"));
    ASSERT_FALSE(begun.ok());
    EXPECT_EQ(begun.error().kind, ErrorKind::environment);
    EXPECT_THAT(begun.error().what, HasSubstr("is locked by another process; gave up after 0.2 s"));
    EXPECT_TRUE(store->sessions({}).ok()) << "readers do not wait";
  }
  EXPECT_TRUE(store->begin(sample_session("s1")).ok());
}

TEST_F(Postgres, says_that_the_connection_was_lost) {
  const std::string url = new_postgres_database();
  const auto store = open_postgres(url).value();
  execute_on_postgres(
      postgres_url("postgres", "warpmark"),
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database_in(url) + "'");
  const Status begun = store->begin(sample_session("s1"));
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().kind, ErrorKind::environment);
  EXPECT_THAT(begun.error().what, HasSubstr("was lost"));
}

TEST(ToPostgres, has_the_same_tables_and_columns) {
  for (const Migration& step : migrations()) {
    const std::string text = to_postgres(step.tables);
    for (const char* word : {"INTEGER", "REAL", "BLOB", "ROWID"}) EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(HidePassword, takes_it_out_of_every_url) {
  EXPECT_EQ(hide_password("run --db postgresql://me:pw@h:5/d --x"), "run --db postgresql://me:***@h:5/d --x");
  EXPECT_EQ(hide_password("--db='postgres://me:p@w@h/d?a=b&password=x&c=d'"),
            "--db='postgres://me:***@h/d?a=b&password=***&c=d'");
  EXPECT_EQ(hide_password("postgresql://me@h/d"), "postgresql://me@h/d");
  EXPECT_EQ(hide_password("postgresql:///d?host=/tmp/a:b"), "postgresql:///d?host=/tmp/a:b");
  EXPECT_EQ(hide_password("a b"), "a b");
  EXPECT_EQ(hide_password("://"), "://");
}

TEST(FolderBeside, is_the_default_for_a_database_elsewhere) {
  const EnvironmentLookup environment = [](const char* name) -> const char* {
    if (std::string_view(name) == "WARPMARK_DB") return "postgresql://h/d";
    return std::string_view(name) == "HOME" ? "/home/me" : nullptr;
  };
  EXPECT_EQ(sibling_folder("postgresql://me:pw@h/d", environment).value(), "/home/me/.local/share/warpmark");
  EXPECT_EQ(sibling_folder("/data/results.db", environment).value(), "/data");
}

}  // namespace
}  // namespace warpmark::store
