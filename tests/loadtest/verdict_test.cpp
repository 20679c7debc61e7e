// What a load test says first, and what it names as the next command: of results that are made here.
#include "loadtest/pages/load_verdict.h"

#include <gmock/gmock.h>

#include "base/json.h"
#include "loadtest/pages/load_page.h"
#include "serving/results/evaluate_load.h"

namespace warpmark::loadtest {
namespace {

using serving::ScenarioResult;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ScenarioResult load_of(std::int64_t users, double rate, const char* verdict = nullptr) {
  ScenarioResult result;
  result.scenario = "D(20,10)";
  result.arrivals = "closed";
  result.users = users;
  result.sent = result.completed = 400;
  result.metrics = {serving::rate_metric("request_throughput", "requests/s", rate, std::vector<double>(20, rate), 0.95),
                    serving::request_metric("ttft", "s", Better::lower, std::vector<double>(400, 0.02), 0.95)};
  if (verdict != nullptr)
    result.slo = {{.text = "ttft:p95<50ms", .value = 0.02 * static_cast<double>(users), .verdict = verdict}};
  return result;
}

serving::LoadReport report_of(std::vector<ScenarioResult> loads) {
  serving::LoadReport report;
  report.id = "20261130-000000-0000";
  report.options = {{"--api-base", {"http://a"}},
                    {"--json", {"out.json"}},
                    {"--num-concurrency", {"1,8"}},
                    {"--traffic-scenario", {"D(20,10)"}}};
  report.target = {{"base", "http://a"}, {"model", "m"}};
  report.scenarios = std::move(loads);
  return report;
}

void make_late(ScenarioResult& result, double busy_share, std::optional<double> others_share = std::nullopt) {
  result.client.trusted = false;
  result.client.reasons = {"p99 lag of sending 3.000 ms, limit 1.000 ms"};
  result.client.busy_share = busy_share;
  result.client.others_share = others_share;
}

constexpr const char* kMetWith8Users =
    "SLO met with 8 users: 80.00 requests/s, TTFT p95 20.00 ms ±0 %. The client was reliable.";

TEST(LoadVerdict, is_the_highest_load_that_met_the_objectives) {
  const auto verdict = verdict_of(report_of({load_of(1, 10, "met"), load_of(8, 80, "met")}));
  EXPECT_EQ(verdict.headline.text, kMetWith8Users);
  EXPECT_EQ(verdict.headline.tone, Tone::good);
  EXPECT_EQ(verdict.command,
            "warpmark load run --api-base http://a --num-concurrency 1,8 --search 64 --traffic-scenario 'D(20,10)'");
}

TEST(LoadVerdict, has_a_headline_that_agrees_with_the_exit_code) {
  auto failing = load_of(64, 90, "met");
  failing.too_many_errors = true;
  auto late = load_of(64, 90, "met");
  make_late(late, 0.1);
  auto unanswered = load_of(64, 0, "undecided");
  unanswered.completed = 0;
  const struct {
    ScenarioResult last;
    int code;
    const char* why;
  } kCases[] = {{load_of(64, 90, "met"), 0, ""},
                {load_of(64, 90, "missed"), 1, "SLO missed with 64 users: ttft:p95<50ms (1.280 s)"},
                {load_of(64, 90, "undecided"), 3, "SLO undecided with 64 users: ttft:p95<50ms (1.280 s)"},
                {failing, 1, "Too many requests failed with 64 users"},
                {late, 5, "Unreliable with 64 users: the client was late"},
                {unanswered, 5, "No request was answered with 64 users"}};
  for (const auto& [last, code, why] : kCases) {
    const auto report = report_of({load_of(1, 10, "met"), load_of(8, 80, "met"), last});
    const auto verdict = verdict_of(report);
    EXPECT_EQ(verdict.code, code) << why;
    EXPECT_EQ(verdict.reason, why);
    EXPECT_EQ(verdict.headline.tone == Tone::good, code == 0) << verdict.headline.text;
    EXPECT_THAT(verdict.headline.text,
                StartsWith(code == 0 ? "SLO met with 64 users" : verdict.reason + ". SLO met with 8"));
  }
}

TEST(LoadVerdict, names_the_capacity_that_a_search_found) {
  auto report = report_of({load_of(16, 99, "met"), load_of(32, 90, "missed"), load_of(16, 98, "met")});
  report.options["--search"] = {"32"};
  report.search = "the objectives are met at 16 users";
  report.search_met = true;
  const auto verdict = verdict_of(report);
  EXPECT_THAT(verdict.headline.text, StartsWith("Capacity: SLO met with 16 users: 98.00 requests/s"))
      << "the measurement that confirmed it";
  EXPECT_EQ(verdict.command, "warpmark report 20261130-000000-0000 --html load.html");
}

TEST(LoadVerdict, of_a_run_that_chose_its_loads_itself_names_no_search) {
  for (const char* option : {"--saturate", "--search"}) {
    auto report = report_of({load_of(8, 100, "met")});
    report.options[option] = {"5"};
    EXPECT_THAT(verdict_of(report).command, StartsWith("warpmark report ")) << option;
  }
}

TEST(LoadVerdict, says_that_objectives_are_missed_or_undecided_and_how_to_decide_them) {
  const auto missed = verdict_of(report_of({load_of(4, 40, "missed"), load_of(8, 80, "missed")}));
  EXPECT_THAT(missed.headline.text, StartsWith("SLO missed at every load: ttft:p95<50ms (80.00 ms); 40.00 requests/s"));
  EXPECT_THAT(missed.headline.text, HasSubstr("with 4 users."));
  EXPECT_THAT(missed.command, HasSubstr(" --num-concurrency 1 --traffic"));
  auto open = load_of(1, 10, "undecided");
  open.slo[0].reason = "needs 299 requests, have 60: --max-time-per-run 5m";
  open.slo[0].option = "--max-time-per-run 5m";
  const auto undecided = verdict_of(report_of({open}));
  EXPECT_THAT(undecided.headline.text,
              StartsWith("SLO undecided with 1 user: ttft:p95<50ms (20.00 ms); 10.00 requests/s"));
  EXPECT_THAT(undecided.command, HasSubstr(" --max-time-per-run 5m --num-concurrency 1,8 "));
}

TEST(LoadVerdict, without_a_load_that_passed_has_one_reason_for_headline_and_exit_code) {
  auto late = load_of(8, 80, "missed");
  make_late(late, 0.1);
  auto failing = load_of(8, 80);
  failing.too_many_errors = true;
  auto invalid = load_of(8, 80);
  invalid.mlperf = serving::MlperfVerdict{.scenario = "Server", .valid = false};
  const struct {
    std::vector<ScenarioResult> loads;
    int code;
    const char* reason;
  } kCases[] = {{{load_of(4, 40, "undecided"), load_of(8, 80, "missed")}, 1, "SLO missed with 8 users: "},
                {{load_of(4, 40, "missed"), late}, 5, "Unreliable with 8 users: the client was late"},
                {{failing}, 1, "Too many requests failed with 8 users"},
                {{invalid}, 1, "The MLPerf run is not valid with 8 users: Server: INVALID"}};
  for (const auto& [loads, code, reason] : kCases) {
    const auto verdict = verdict_of(report_of(loads));
    EXPECT_EQ(verdict.code, code) << reason;
    EXPECT_THAT(verdict.reason, StartsWith(reason));
    EXPECT_THAT(verdict.headline.text, StartsWith(verdict.reason));
    EXPECT_THAT(verdict.headline.text, HasSubstr("80.00 requests/s"));
    EXPECT_EQ(verdict.headline.tone, code == 1 ? Tone::bad : Tone::warning);
  }
}

TEST(LoadVerdict, of_an_unreliable_client_names_the_cause_and_the_command_that_fixes_it) {
  ScenarioResult late = load_of(8, 80);
  make_late(late, 0.002, 0.97);
  const auto machine = verdict_of(report_of({late}));
  EXPECT_THAT(machine.headline.text,
              StartsWith("Unreliable with 8 users: the client was late, so the server may be faster "
                         "than 80.00 requests/s, TTFT p95 20.00 ms ±0 %."));
  EXPECT_THAT(machine.why.front().text, HasSubstr("other programs used 97.0 % of its CPU time"));
  EXPECT_THAT(machine.next, HasSubstr("Stop other programs"));
  EXPECT_EQ(machine.command,
            "warpmark load run --api-base http://a --num-concurrency 1,8 --traffic-scenario 'D(20,10)'");
  make_late(late, 0.96);
  const auto client = verdict_of(report_of({load_of(1, 10), late}));
  EXPECT_THAT(client.headline.text, HasSubstr("with 1 user. The client was unreliable at 1 of 2 loads"));
  EXPECT_THAT(client.why.front().text, HasSubstr("The client itself was the limit: it was busy 96.0 % of the time."));
  EXPECT_THAT(client.command, HasSubstr(" --threads 2"));
}

TEST(LoadVerdict, of_no_answer_shows_the_first_error) {
  ScenarioResult none = load_of(1, 10);
  none.completed = 0;
  none.first_error = "http_503: busy";
  const auto verdict = verdict_of(report_of({none}));
  EXPECT_EQ(verdict.headline.text, "No request was answered with 1 user.");
  EXPECT_EQ(verdict.why.front().text, "First error: http_503: busy");
}

TEST(LoadPage, of_what_json_holds_is_the_page_of_the_run) {
  auto report = report_of({load_of(1, 10, "met"), load_of(8, 80, "missed")});
  make_late(report.scenarios[1], 0.1, 0.5);
  const auto read = serving::load_report_from_json(to_json(report));
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(to_json(*read), to_json(report));
  const auto page = page_of_document(to_json(report));
  ASSERT_TRUE(page.ok() && *page);
  EXPECT_EQ(std::get<Paragraph>((*page)->sections[0].blocks[0]).text,
            std::get<Paragraph>(load_page_of(report).sections[0].blocks[0]).text);
}

TEST(LoadVerdict, repeats_a_load_with_its_options_and_without_its_files) {
  auto report = report_of({});
  report.options = {{"--api-base", {"http://a", "http://b"}},
                    {"--header", {"A: it's"}},
                    {"--html", {"a.html"}},
                    {"--no-stream", {""}},
                    {"--search", {"4"}}};
  EXPECT_EQ(command_with(report, {{"--search", "8"}, {"--threads", "2"}}),
            "warpmark load run --api-base http://a --api-base http://b --header 'A: it'\\''s' --no-stream --search 8 "
            "--threads 2");
  report.options.clear();
  EXPECT_EQ(command_with(report), "");
}

}  // namespace
}  // namespace warpmark::loadtest
