// The dashboard's JSON: against its schemas, its pages and filters, and what is refused. Its pages are tested in a real
// browser (tests/dashboard).
#include "watch/dashboard/dashboard.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "report/build/of_document.h"
#include "store/keep.h"
#include "store/sample_data.h"
#include "store/sqlite/sqlite_store.h"
#include "support/schema_check.h"
#include "watch/dashboard/export.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

using testing::HasSubstr;
using testing::Not;

class DashboardJson : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = store::open_sqlite(folder_.file());
    ASSERT_TRUE(store.ok());
    for (int day = 1; day <= 28; ++day) keep(**store, day);
  }

  /// One session a day; from the 15th on it takes twice as long.
  static void keep(store::Store& store, int day) {
    const std::string id = "s" + std::to_string(100 + day);
    auto session =
        store::sample_session(id, "2026-03-" + std::string(day < 10 ? "0" : "") + std::to_string(day) + "T00:00:00Z");
    session.dirty = false;
    ASSERT_TRUE(store.begin(session).ok());
    auto run = store::sample_run(id, 0);
    run.started = session.started;
    const double seconds = (day < 15 ? 1.0 : 2.0) + 0.001 * (day % 5);
    run.metrics[0] = store::sample_metric("time", {seconds, seconds * 1.001, seconds * 1.002});
    auto failed = store::sample_run(id, 1, "copy");
    failed.outcome = Outcome::failed;
    ASSERT_TRUE(store.append_run(id, run).ok());
    ASSERT_TRUE(store.append_run(id, failed).ok());
    ASSERT_TRUE(store.finish(id, {}).ok());
  }

  DashboardOptions options() {
    DashboardOptions wanted;
    wanted.open_store = [file = folder_.file()] { return store::open_sqlite(file); };
    wanted.compare = [](store::Store& store, const std::string& a, const std::string& b) -> Result<ComparedSessions> {
      WM_ASSIGN(const auto first, store.load(a));
      WM_ASSIGN(const auto second, store.load(b));
      return ComparedSessions{first.session, second.session, {.name_a = a, .name_b = b}, {}};
    };
    wanted.report_of = report::report_of_document;
    wanted.about = "warpmark test";
    return wanted;
  }

  Json ask(const std::string& name, const std::string& query = "") {
    const auto json = dashboard_.api(name, query);
    EXPECT_TRUE(json.ok()) << name << '?' << query << ": " << json.error().what;
    if (!json.ok()) return {};
    EXPECT_EQ(testing_support::schema_errors(*json, name + ".schema.json"), "") << dump_json(*json);
    return *json;
  }

  std::string refusal(const std::string& name, const std::string& query) {
    const auto json = dashboard_.api(name, query);
    EXPECT_FALSE(json.ok()) << name << '?' << query;
    return json.ok() ? "" : json.error().what;
  }

  /// As a verb wrote it: tests/data/answers.
  static Json answer_of(const std::string& verb) {
    const std::string file = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/answers/" + verb + ".json";
    return *parse_json(*read_file(file), file);
  }

  store::TemporaryFolder folder_;
  Dashboard dashboard_{options()};
};

constexpr const char* kCase = "workload=gemm&params=m%3D1024+dtype%3Df32&device=cpu&mode=cold&metric=time";

TEST_F(DashboardJson, keeps_a_store_open_where_that_is_wanted) {
  for (const bool keeps : {false, true}) {
    int opened = 0;
    DashboardOptions wanted = options();
    wanted.keeps_store = keeps;
    wanted.open_store = [&opened, file = folder_.file()] {
      ++opened;
      return store::open_sqlite(file);
    };
    Dashboard dashboard(wanted);
    for (const char* name : {"sessions", "runs", "cases", "changes"}) EXPECT_TRUE(dashboard.api(name, "").ok()) << name;
    EXPECT_EQ(opened, keeps ? 1 : 4);
    EXPECT_FALSE(dashboard.api("run", "session=none&index=0").ok());
    EXPECT_TRUE(dashboard.api("fleet", "").ok());
    EXPECT_EQ(opened, keeps ? 2 : 6) << "after a failure it is opened again";
  }
}

TEST_F(DashboardJson, is_what_the_schemas_say) {
  for (const char* name : {"sessions", "runs", "documents", "cases", "changes", "fleet", "files", "about"}) ask(name);
  ask("run", "session=s101&index=0");
  ask("series", kCase);
  ask("pair", "a=s101&b=s128");
}

TEST_F(DashboardJson, comes_by_pages_that_meet_without_a_gap) {
  std::vector<std::string> seen;
  std::string before;
  do {
    const Json page = ask("runs", "limit=5" + (before.empty() ? "" : "&before=" + before));
    for (const auto& run : page["runs"])
      seen.push_back(run["session"].get<std::string>() + "." + dump_json(run["index"], -1));
    before = page.contains("next") ? page["next"].get<std::string>() : "";
  } while (!before.empty());
  EXPECT_EQ(seen.size(), 56U);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 56U);
  EXPECT_EQ(seen.front(), "s128.1");
  EXPECT_EQ(seen.back(), "s101.0");
}

TEST_F(DashboardJson, a_series_has_its_change_and_as_many_points_as_are_asked_for) {
  const Json all = ask("series", kCase);
  ASSERT_EQ(all["series"].size(), 1U);
  const Json& series = all["series"][0];
  EXPECT_EQ(series["points"].size(), 28U);
  EXPECT_EQ(all["metrics"], (Json{"energy", "time"}));
  ASSERT_EQ(series["changes"].size(), 1U);
  EXPECT_EQ(series["changes"][0]["session"], "s115");
  EXPECT_EQ(series["changes"][0]["worse"], true);
  EXPECT_EQ(series["points"][0]["session"], "s101") << "oldest first";
  const Json newest = ask("series", std::string(kCase) + "&last=5");
  EXPECT_EQ(newest["series"][0]["points"].size(), 5U);
}

TEST_F(DashboardJson, points_that_stand_for_several_do_not_reach_over_a_change) {
  {
    const auto store = store::open_sqlite(folder_.file());
    auto session = store::sample_session("many", "2026-04-01T00:00:00Z");
    ASSERT_TRUE((*store)->begin(session).ok());
    std::vector<warpmark::Run> runs;
    for (int i = 0; i < 120; ++i) {
      auto run = store::sample_run("many", i);
      run.started = "2026-04-01T00:" + std::string(i / 60 != 0 ? "01:" : "00:") + (i % 60 < 10 ? "0" : "") +
                    std::to_string(i % 60) + "Z";
      run.metrics[0] = store::sample_metric("time", {2.0 + 0.001 * (i % 7)});
      runs.push_back(run);
    }
    ASSERT_TRUE((*store)->append_runs("many", runs).ok());
  }
  const Json series = ask("series", std::string(kCase) + "&points=50")["series"][0];
  EXPECT_EQ(series["total"], 148);
  EXPECT_LE(series["points"].size(), 52U);
  std::int64_t counted = 0;
  for (const auto& point : series["points"]) {
    counted += point.value("count", 1);
    EXPECT_FALSE(point.value("low", 1.9) < 1.5 && point.value("high", 0.0) > 1.5) << point.dump();
  }
  EXPECT_EQ(counted, 148);
}

TEST_F(DashboardJson, changes_are_told_of_every_benchmark) {
  Json changes;
  do {
    changes = ask("changes");
  } while (changes["seen"] < changes["cases"]);
  ASSERT_EQ(changes["changes"].size(), 1U);
  EXPECT_EQ(changes["changes"][0]["workload"], "gemm");
  EXPECT_EQ(changes["changes"][0]["session"], "s115");
}

TEST_F(DashboardJson, documents_come_by_pages_and_as_they_were_kept) {
  const auto store = store::open_sqlite(folder_.file());
  ASSERT_TRUE(store.ok());
  const Json matrix{{"schema", "warpmark.matrix/1"}, {"name", "sizes"}};
  ASSERT_TRUE(store::attach_report(**store, "s105", matrix, "sizes").ok());
  for (int i = 0; i < 3; ++i) {
    const Json check{{"schema", "warpmark.check/1"}, {"verdict", "worse"}, {"number", i}};
    ASSERT_TRUE(store::attach_report(**store, "s120", check, "worse against main").ok());
  }
  EXPECT_EQ(ask("documents")["documents"].size(), 4U);
  const Json of_kind = ask("documents", "kind=matrix")["documents"];
  ASSERT_EQ(of_kind.size(), 1U);
  EXPECT_EQ(of_kind[0]["session"], "s105");
  EXPECT_EQ(of_kind[0]["title"], "sizes");
  const Json page = ask("documents", "session=s120&limit=2");
  EXPECT_EQ(page["documents"].size(), 2U);
  EXPECT_EQ(page["next"], "s120.1");
  const Json rest = ask("documents", "session=s120&limit=2&before=s120.1");
  ASSERT_EQ(rest["documents"].size(), 1U);
  EXPECT_EQ(rest["documents"][0]["index"], 0);
  const auto document = dashboard_.api("document", "session=s105&index=0");
  ASSERT_TRUE(document.ok()) << document.error().what;
  EXPECT_EQ(*document, matrix);
  EXPECT_EQ(refusal("document", "session=s105&index=1"), "there is no document 1 of a session 's105'");
  EXPECT_EQ(refusal("documents", "before=s1"), "'s1' names no document");
}

TEST_F(DashboardJson, a_report_is_the_sections_of_its_document_with_every_text_escaped) {
  const auto store = store::open_sqlite(folder_.file());
  ASSERT_TRUE(store.ok());
  Json matrix = answer_of("matrix");
  matrix["notes"] = {"<script>hack()</script>"};
  ASSERT_TRUE(store::attach_report(**store, "s105", matrix, "network").ok());
  const Json report = ask("report", "session=s105&index=0");
  EXPECT_EQ(report["title"], "Matrix: network");
  EXPECT_EQ(report["subtitle"], matrix["started"]);
  const std::string html = report["html"];
  EXPECT_TRUE(html.starts_with("<section>")) << html.substr(0, 80);
  EXPECT_THAT(html, HasSubstr("Best p50: 108.0 µs with precision=single batch=1"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;hack()&lt;/script&gt;"));
  for (const char* forbidden : {"<script", "style=", "<style", "<h1"}) EXPECT_THAT(html, Not(HasSubstr(forbidden)));
}

TEST_F(DashboardJson, a_document_without_a_report_has_none_and_a_broken_one_says_why) {
  const auto store = store::open_sqlite(folder_.file());
  ASSERT_TRUE(store.ok());
  for (const char* schema : {"warpmark.unknown/1", "warpmark.matrix/1"}) {
    ASSERT_TRUE(store::attach_report(**store, "s105", {{"schema", schema}}, schema).ok());
  }
  EXPECT_EQ(ask("report", "session=s105&index=0"), (Json{{"schema", "warpmark.report/1"}}));
  const Json broken = ask("report", "session=s105&index=1");
  EXPECT_FALSE(broken.contains("html"));
  EXPECT_THAT(broken["problem"].get<std::string>(), HasSubstr("missing"));
}

TEST_F(DashboardJson, the_last_acceptance_of_a_node_is_what_was_judged_then) {
  const auto store = store::open_sqlite(folder_.file());
  ASSERT_TRUE(store.ok());
  Json acceptance = answer_of("acceptance");
  for (const char* name : {"first", "last"}) {
    acceptance["name"] = name;
    ASSERT_TRUE(store::attach_report(**store, "s128", acceptance, name).ok());
  }
  const Json kept = ask("fleet")["hosts"][0]["acceptance"];
  EXPECT_EQ(kept["criteria"], "last");
  EXPECT_EQ(kept["state"], "unreliable");
  EXPECT_EQ(kept["session"], "s128");
  EXPECT_EQ(kept["index"], 1);
  EXPECT_EQ(kept["rows"], acceptance["rows"]);
  EXPECT_THAT(kept["report"]["html"].get<std::string>(), HasSubstr("NO RESULT: 3 of 6 criteria are unreliable"));
}

TEST_F(DashboardJson, what_others_wrote_as_a_document_breaks_nothing) {
  const auto store = store::open_sqlite(folder_.file());
  ASSERT_TRUE(store.ok());
  const char* const texts[] = {"[]", "7", R"({"rows": 7, "name": []})",
                               R"({"rows": [7, {"value": "x", "limits": 1}]})"};
  for (const char* text : texts) {
    ASSERT_TRUE((*store)->attach("s128", {"acceptance", "2026-05-01T00:00:00Z", "", text}).ok());
    ask("fleet");
    ask("documents");
  }
  ASSERT_TRUE((*store)->attach("s128", {"acceptance", "2026-05-02T00:00:00Z", "", "{no JSON"}).ok());
  EXPECT_TRUE(ask("fleet")["hosts"][0]["acceptance"].contains("problem"));
}

TEST_F(DashboardJson, refuses_what_it_cannot_answer) {
  EXPECT_EQ(refusal("sessions", "limit=0"), "limit cannot be '0'");
  EXPECT_EQ(refusal("sessions", "limt=5"), "this does not take 'limt'");
  EXPECT_EQ(refusal("sessions", "text=a&text=b"), "'text' is given twice");
  EXPECT_EQ(refusal("sessions", "text=%0a"), "the query cannot be read");
  EXPECT_EQ(refusal("sessions", "text=%4"), "the query cannot be read");
  EXPECT_EQ(refusal("runs", "outcome=great"), "there is no outcome 'great'");
  EXPECT_EQ(refusal("runs", "before=s1"), "'s1' names no run");
  EXPECT_EQ(refusal("run", "session=s101&index=9"), "there is no run 9 in a session 's101'");
  EXPECT_THAT(refusal("series", "workload=gemm"), HasSubstr("of one case"));
  EXPECT_EQ(refusal("pair", "a=s101"), "two sessions are compared");
  EXPECT_EQ(refusal("document", "name=x.json"), "there is no file 'x.json' in the folder");
  EXPECT_EQ(dashboard_.answer({.path = "/api/nothing", .accept = {}}).status, 404U);
  EXPECT_EQ(dashboard_.answer({.path = "/nothing", .accept = {}}).status, 404U);
  EXPECT_EQ(dashboard_.answer({.path = "/api/runs", .accept = {}, .query = "limit=x"}).status, 400U);
}

TEST_F(DashboardJson, says_that_the_store_cannot_be_read) {
  auto wanted = options();
  wanted.open_store = []() -> Result<std::unique_ptr<store::Store>> {
    return environment_error("it is locked", "wait");
  };
  Dashboard dashboard(wanted);
  const auto answer = dashboard.answer({.path = "/api/sessions", .accept = {}});
  EXPECT_EQ(answer.status, 503U);
  EXPECT_EQ(answer.body, R"({"error":{"what":"it is locked","hint":"wait"}})");
}

TEST_F(DashboardJson, an_export_is_the_answers_as_files) {
  const auto folder = folder_.path() / "site";
  std::filesystem::create_directory(folder);
  {
    const auto store = store::open_sqlite(folder_.file());
    ASSERT_TRUE(store::attach_report(**store, "s105", {{"schema", "warpmark.matrix/1"}}, "sizes").ok());
  }
  const auto written = export_dashboard(dashboard_, folder, {});
  ASSERT_TRUE(written.ok()) << written.error().what;
  EXPECT_EQ(written->sessions, 28);
  EXPECT_EQ(written->cases, 1);
  const auto index = read_file(folder / "data/index.js");
  ASSERT_TRUE(index.ok());
  EXPECT_THAT(*index, HasSubstr("\"run?index=0&session=s101\""));
  EXPECT_THAT(*index,
              HasSubstr("\"series?device=cpu&metric=time&mode=cold&params=m%3D1024+dtype%3Df32&workload=gemm\""));
  EXPECT_THAT(*index, HasSubstr("\"pair?a=s101&b=s102\""));
  EXPECT_THAT(*index, HasSubstr("\"document?index=0&session=s105\""));
  EXPECT_THAT(*index, HasSubstr("\"report?index=0&session=s105\""));
  const auto page = read_file(folder / "index.html");
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(*page, HasSubstr("<script src=\"data/index.js\"></script>"));
}

TEST(DashboardQuery, reads_what_browsers_write) {
  const auto query = Query::parse("text=a+b%26c%C3%A9&limit=7", {"text", "limit"});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->get("text"), "a b&c\xC3\xA9");
  EXPECT_EQ(*query->count("limit", 1, 1, 9), 7);
  EXPECT_EQ(*query->count("absent", 3, 1, 9), 3);
}

}  // namespace
}  // namespace warpmark::watch
