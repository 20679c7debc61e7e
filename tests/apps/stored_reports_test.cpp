// What verbs conclude is kept with the sessions that it is about, in a file and in a real PostgreSQL: the same document
// as
// --json writes.
#include <gmock/gmock.h>

#include "apps/cli_fixture.h"
#include "apps/stored_history.h"
#include "serving/reference/reference_server.h"
#include "store/location.h"
#include "store/postgres_server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"

namespace warpmark::apps {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class StoredReports : public WithHistory {
 protected:
  /// Documents of this kind, newest first.
  std::vector<store::DocumentEntry> kept(const std::string& kind) {
    const auto found = opened()->documents({.kind = kind, .before = {}});
    EXPECT_TRUE(found.ok()) << found.error().what;
    return found.ok() ? *found : std::vector<store::DocumentEntry>();
  }
  /// The newest of this kind, which must be what the file has.
  store::DocumentEntry expect_kept(const std::string& kind, const std::string& file) {
    const auto found = kept(kind);
    EXPECT_FALSE(found.empty()) << kind;
    if (found.empty()) return {};
    const auto document = opened()->document(found.front().session, found.front().index);
    EXPECT_TRUE(document.ok());
    EXPECT_EQ(document.ok() ? *parse_json(document->text, kind) : Json(), json(file));
    EXPECT_EQ(testing_support::schema_errors(json(file), kind + ".schema.json"), "");
    return found.front();
  }
  void write_matrix_file() {
    write("m.yaml",
          "name: sizes\ncommand:\n  run: [/bin/sh, -c, 'echo rate {batch}00']\n  metrics: [{name: rate, unit: 1/s, "
          "better: higher, regex: 'rate ([0-9]+)'}]\naxes: {batch: [1, 8]}\nbaseline: {batch: 1}\nrounds: 4\n"
          "warmup: 0\n");
  }
  void write_criteria() {
    write("c.yaml", "criteria:\n  - {title: Some memory, fact: host_memory, operator: '>=', value: 1 MiB}\n");
  }
  static std::unique_ptr<store::Store> opened() { return store::open_store(getenv("WARPMARK_DB")).value(); }
};

TEST_F(StoredReports, of_a_matrix) {
  write_matrix_file();
  const auto output = warpmark({"matrix", path("m.yaml"), "--json", path("m.json")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto entry = expect_kept("matrix", "m.json");
  EXPECT_EQ(entry.title, "sizes");
  EXPECT_EQ(opened()->load(entry.session)->session.runs.size(), 2U);
}

TEST_F(StoredReports, are_written_into_a_folder) {
  write_matrix_file();
  ASSERT_EQ(warpmark({"matrix", path("m.yaml")}).exit_code, 0);
  const auto output = warpmark({"report", "last", "--out", path("out")});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(json("out/results.json")["schema"], "warpmark.results/1");
  EXPECT_THAT(read_file(path("out/report.md")).value(), HasSubstr("sizes"));
  EXPECT_THAT(read_file(path("out/report.html")).value(), HasSubstr("sizes"));
  EXPECT_EQ(warpmark({"report", "last", "last", "--out", path("two")}).exit_code, 2) << "data formats hold one session";
}

TEST_F(StoredReports, of_scaling) {
  const auto output = warpmark({"scale", "--gpus", "1,2", "--remote", "--rounds", "2", "--warmup", "0", "--json",
                                path("s.json"), "--", "sh", "-c", "sleep 0.0{gpus}"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto entry = expect_kept("scaling", "s.json");
  EXPECT_THAT(entry.title, HasSubstr("sleep 0.0"));
  EXPECT_EQ(entry.session, json("s.json")["id"].get<std::string>());
}

TEST_F(StoredReports, put_scaling_utilization_and_stages_into_one) {
  const auto scaled = warpmark({"scale", "--gpus", "1,2", "--remote", "--rounds", "2", "--warmup", "0", "--json",
                                path("s.json"), "--", "sh", "-c", "sleep 0.0{gpus}"});
  ASSERT_EQ(scaled.exit_code, 0) << scaled.err;
  const auto id = json("s.json")["id"].get<std::string>();
  const auto measured = warpmark({"run", "--rounds", "1", "--warmup", "0", "--name", "train", "--", "sleep", "0.01"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const auto alone = warpmark({"report", id});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("efficiency"));
  const auto both = warpmark({"report", id, "last", "--format", "md"});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("2 sessions"), HasSubstr("efficiency"), HasSubstr("train")));
  const auto data = warpmark({"report", id, "last", "--format", "json"});
  EXPECT_EQ(data.exit_code, 2);
  EXPECT_THAT(data.err, HasSubstr("data formats hold one session"));
}

TEST_F(StoredReports, of_a_load_test) {
  const auto server = serving::ReferenceServer::start({.script = {.ttft_s = 0.004, .itl_s = 0.001}});
  ASSERT_TRUE(server.ok());
  const auto output =
      warpmark({"load", "run", "--api-base", (*server)->url(), "--api-model-name", "reference", "--traffic-scenario",
                "D(20,10)", "--num-concurrency", "1,2", "--max-requests-per-run", "10", "--json", path("load.json")});
  // 5 where the machine was too busy for the client: the numbers are there all the same.
  EXPECT_THAT(output.exit_code, AnyOf(0, 5)) << output.err;
  const auto entry = expect_kept("load", "load.json");
  EXPECT_THAT(entry.title, HasSubstr("reference at http://127.0.0.1:"));
  EXPECT_EQ(entry.session, json("load.json")["id"].get<std::string>());
  const auto shown = warpmark({"report", entry.session});
  EXPECT_EQ(shown.out, output.out) << "the page of the run, with the same numbers";
  EXPECT_EQ(warpmark({"report", path("load.json")}).out, output.out);
}

TEST_F(StoredReports, of_scores_show_the_score_and_its_interval) {
  write("ref.txt", "the cat sat\na dog ran\nhello there\n");
  write("a.txt", "the cat sat\na dog walks\nhello here\n");
  ASSERT_EQ(
      warpmark({"eval", "score", "exact_match", "--ref", path("ref.txt"), "--predictions", path("a.txt")}).exit_code,
      0);
  const auto shown = warpmark({"report", "last"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("exact_match 0.333, [0.0084"), HasSubstr("(95 %, exact), n ="),
                               Not(HasSubstr("of peak"))));
}

TEST_F(StoredReports, of_a_optimization) {
  write("prog.sh", "#!/bin/sh\n[ \"$MODE\" = fast ] || sleep 0.2\n");
  const auto output = warpmark({"optimize", "--asked-only", "--knob", "mode=MODE={fast}", "--rounds", "8", "--json",
                                path("j.json"), "--", "/bin/sh", path("prog.sh")});
  EXPECT_THAT(output.exit_code, AnyOf(0, 1, 3)) << output.out << output.err;
  const auto entry = expect_kept("optimization", "j.json");
  EXPECT_THAT(entry.title, HasSubstr("prog.sh"));
  EXPECT_EQ(warpmark({"report", "last"}).exit_code, 0) << "a session need not have results of its own";
}

TEST_F(StoredReports, of_acceptances_and_nodes_set_against_each_other) {
  for (int day = 1; day <= 3; ++day) {
    Machine machine = device::machine_facts();
    machine.hostname = "node" + std::to_string(day);
    store_session(store(), {.day = day, .machine = machine});
  }
  write_criteria();
  EXPECT_EQ(warpmark({"accept", path("c.yaml"), "--results", "2026-0002", "--results", "2026-0003", "--out",
                      path("out"), "--format", "json"})
                .exit_code,
            0);
  const auto entries = kept("acceptance");
  ASSERT_EQ(entries.size(), 2U) << "one for each of the sessions that were judged";
  expect_kept("acceptance", "out/acceptance.json");
  const auto output = warpmark({"accept", "--across", "2026-0001", "2026-0002", "2026-0003", "--out", path("across")});
  EXPECT_THAT(output.exit_code, AnyOf(0, 3)) << output.out << output.err;
  EXPECT_EQ(expect_kept("across", "across/across.json").session, "2026-0003");
  EXPECT_EQ(warpmark({"accept", path("c.yaml"), "--no-store"}).exit_code, 0);
  EXPECT_EQ(kept("acceptance").size(), 2U);
}

TEST_F(StoredReports, of_a_check_and_none_where_it_is_not_wanted) {
  store_history(store(), 12);
  store_session(store(), {.day = 13, .time = 1.2});
  EXPECT_EQ(warpmark({"check", "--run", "last", "--no-store"}).exit_code, 1);
  EXPECT_TRUE(kept("check").empty());
  EXPECT_EQ(warpmark({"check", "--run", "last", "--out", path("out")}).exit_code, 1);
  const auto entry = expect_kept("check", "out/check.json");
  EXPECT_EQ(entry.session, "2026-0013");
  EXPECT_EQ(entry.title, "worse against main");
}

TEST_F(StoredReports, are_what_report_begins_with_of_a_session_and_of_a_file) {
  store_history(store(), 12);
  store_session(store(), {.day = 13, .time = 1.2});
  const auto check = warpmark({"check", "--run", "last", "--json", path("c.json")});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_EQ(warpmark({"report", path("c.json")}).out, check.out);
  const auto stored = warpmark({"report", "2026-0013", "--format", "md"}).out;
  EXPECT_THAT(stored, HasSubstr("worse"));
  EXPECT_LT(stored.find("worse"), stored.find("Machine and build")) << "the results stand behind the verdict";
  EXPECT_EQ(warpmark({"check", "--run", "last", "--threshold", "50%"}).exit_code, 0);
  EXPECT_THAT(warpmark({"report", "2026-0013"}).out, Not(HasSubstr(" 1 worse"))) << "the newest verdict";

  const auto optimization = warpmark({"optimize", "--budget", "10s", "--json", path("o.json"), "--", "sleep", "0.05"});
  EXPECT_EQ(optimization.exit_code, 0) << optimization.err;
  EXPECT_THAT(optimization.out, HasSubstr("time of the run"));
  for (const auto& word : {std::string("last"), path("o.json")}) {
    const auto shown = warpmark({"report", word}).out;
    EXPECT_THAT(shown, HasSubstr(optimization.out)) << shown;
  }
}

TEST_F(StoredReports, do_not_change_a_verdict_where_they_cannot_be_kept) {
  store_history(store(), 12);
  store_session(store(), {.day = 13, .time = 1.2});
  ASSERT_TRUE(store::Database::open(path("test.db"), {}).value().script("DROP TABLE documents").ok());
  const auto output = warpmark({"check", "--run", "last"});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_THAT(output.err, HasSubstr("the database does not have this verdict: "));
}

TEST_F(StoredReports, are_kept_in_postgres_too) {
  if (store::postgres_server().folder.empty()) GTEST_SKIP() << store::postgres_server().why;
  setenv("WARPMARK_DB", store::new_postgres_database().c_str(), 1);
  setenv("XDG_DATA_HOME", path("data").c_str(), 1);  // for journals; not every machine has a HOME
  write_matrix_file();
  EXPECT_EQ(warpmark({"matrix", path("m.yaml"), "--json", path("m.json")}).exit_code, 0);
  EXPECT_EQ(expect_kept("matrix", "m.json").title, "sizes");
  const auto served = opened();
  for (int day = 1; day <= 12; ++day) store_session(*served, {.day = day, .time = quiet_time(day)});
  EXPECT_THAT(warpmark({"check", "--run", "2026-0012", "--json", path("c.json")}).exit_code, AnyOf(0, 3));
  EXPECT_EQ(expect_kept("check", "c.json").session, "2026-0012");
  unsetenv("XDG_DATA_HOME");
}

}  // namespace
}  // namespace warpmark::apps
