// Whole reports, in every format, on good days and bad ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/json/json.h"
#include "report/build/doctor.h"
#include "report/formats/catalog.h"
#include "report/formats/html.h"
#include "report/formats/markdown.h"
#include "report/formats/render.h"
#include "report/formats/text.h"
#include "report/results/build.h"
#include "report/results/labels.h"
#include "report/sample_session.h"
#include "report/well_formed.h"
#include "stats/summary.h"
#include "support/golden.h"
#include "support/readable.h"
#include "support/schema_check.h"
#include "support/text_measures.h"

namespace warpmark::report {
namespace {

using testing_support::expect_golden;

std::string rendered(const Session& session, const char* format, const RenderOptions& options = {}) {
  const auto text = render(shown_session(session), format, options);
  EXPECT_TRUE(text.ok()) << format;
  return text.ok() ? *text : "";
}

/// Without what is not worth a golden file: the style sheet and the coordinates of drawings.
std::string normalized_html(std::string html) {
  const auto erase_all = [&](const std::string& from, const std::string& to, const std::string& instead) {
    for (auto at = html.find(from); at != std::string::npos; at = html.find(from, at + from.size() + instead.size())) {
      const auto end = html.find(to, at + from.size());
      if (end == std::string::npos) return;
      html.replace(at + from.size(), end - at - from.size(), instead);
    }
  };
  erase_all("<style>", "</style>", "...");
  erase_all(" d=\"", "\"", "...");
  return html;
}

bool has_section(const Report& report, std::string_view heading) {
  return std::any_of(report.sections.begin(), report.sections.end(),
                     [&](const auto& section) { return section.heading.starts_with(heading); });
}

Session bare_session() {
  Session session;
  session.id = "s";
  session.started = "2026-03-01T00:00:00Z";
  session.build.version = "0.1.0";
  session.complete = true;
  return session;
}

Session session_of(Outcome outcome, std::size_t count) {
  Session session = bare_session();
  for (std::size_t i = 0; i < count; ++i) {
    warpmark::Run run;
    run.id = "s." + std::to_string(i);
    run.workload = "workload" + std::to_string(i % 7);
    run.params.set("size", static_cast<std::int64_t>(i) * 4096);
    run.device = "cpu";
    run.outcome = outcome;
    run.reason = "it is like that";
    session.runs.push_back(std::move(run));
  }
  return session;
}

TEST(Reporters, have_unique_ids_and_texts) {
  const Session session = bare_session();
  EXPECT_EQ(formats_of(shown_session(session)),
            (std::vector<std::string>{"text", "md", "html", "json", "google-benchmark"}));
  const auto unknown = render(shown_session(session), "pdf", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().hint, "formats: text, md, html, json, google-benchmark");
  for (const Reporter* reporter : reporters()) {
    EXPECT_FALSE(std::string(reporter->summary).empty());
    EXPECT_FALSE(std::string(reporter->extension).starts_with("."));
  }
}

TEST(TextReport, looks_like_its_golden_files) {
  const auto session = sample_session();
  expect_golden("report/golden/text_80.txt", rendered(session, "text", {.width = 80}));
  expect_golden("report/golden/text_120.txt", rendered(session, "text", {.width = 120, .unicode = true}));
  expect_golden("report/golden/text_details.txt",
                rendered(small_session(), "text", {.width = 100, .unicode = true, .details = true}));
}

TEST(MarkdownReport, looks_like_its_golden_file) {
  expect_golden("report/golden/report.md", rendered(small_session(), "md"));
}

TEST(HtmlReport, looks_like_its_golden_file) {
  expect_golden("report/golden/report.html", normalized_html(rendered(small_session(), "html")));
}

TEST(HtmlReport, is_one_well_formed_file_that_loads_nothing) {
  const auto html = rendered(sample_session(), "html");
  EXPECT_EQ(markup_error(html), "");
  for (const char* request : {"<script", "<link", "<img", "src=", "href=", "url(", "@import"}) {
    EXPECT_EQ(html.find(request), std::string::npos) << request;
  }
  auto elsewhere = html;  // the name of SVG's namespace is no request
  for (auto at = elsewhere.find("http://www.w3.org/2000/svg"); at != std::string::npos;
       at = elsewhere.find("http://www.w3.org/2000/svg")) {
    elsewhere.erase(at, 26);
  }
  EXPECT_EQ(elsewhere.find("http"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(html.find("width=device-width"), std::string::npos);
}

TEST(Sections, without_a_heading_have_none_and_details_may_be_open) {
  const Report report{"t", "", {{"", {Paragraph{"first"}}, false}, {"more", {Paragraph{"second"}}, true, true}}};
  const auto html = render_html(report), markdown = render_markdown(report);
  EXPECT_EQ(html.find("<h2>"), std::string::npos) << html;
  EXPECT_NE(html.find("<details open><summary>more"), std::string::npos) << html;
  EXPECT_EQ(markdown.find("##"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("first"), std::string::npos);
}

TEST(HtmlReport, escapes_every_name) {
  Session session = small_session();
  const std::string nasty = "</style><script>alert(\"1\")</script>&|`*_ \xff";
  session.machine.hostname = session.command = nasty;
  for (auto& run : session.runs) {
    run.workload = run.reason = run.hint = run.stopped_because = run.repro = nasty;
    run.params.set("text", nasty);
    run.notes = {{nasty, nasty}};
  }
  const auto html = rendered(session, "html");
  EXPECT_EQ(markup_error(html), "");
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(rendered(session, "md").find("<script"), std::string::npos);
}

TEST(JsonReport, fits_its_schema_and_comes_back) {
  const auto session = sample_session();
  const auto json = parse_json(rendered(session, "json"), "report");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "results.schema.json"), "");
  const auto again = session_from_json(*json);
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(rendered(*again, "json"), rendered(session, "json"));
  EXPECT_EQ(rendered(*again, "html"), rendered(session, "html"));
}

TEST(BuildReport, shows_no_speed_of_a_wrong_result) {
  SampleSession sample;
  sample.measured("copy", "cpu", {{"size", std::int64_t{4096}}}, {0, 8192, 8192, "f32", ""}, 1.2345e-3);
  Session session = sample.finish();
  session.runs[0].outcome = Outcome::failed;
  session.runs[0].reason = "wrong output";
  session.ceilings.clear();
  for (const char* format : {"text", "md", "html", "google-benchmark"}) {
    const auto text = rendered(session, format, {.details = true});
    EXPECT_EQ(text.find("1.23"), std::string::npos) << format;
    EXPECT_EQ(text.find("GB/s"), std::string::npos) << format;
    EXPECT_NE(text.find("wrong output"), std::string::npos) << format;
  }
}

TEST(BuildReport, puts_problems_before_results) {
  const auto report = build_report(sample_session());
  std::vector<std::string> headings;
  for (const auto& section : report.sections) headings.push_back(section.heading);
  EXPECT_EQ(headings[0], "Summary");
  EXPECT_EQ(headings[1], "Problems");
  EXPECT_EQ(headings[2], "Results on cpu, Intel(R) Xeon(R) Platinum 8480+");
  EXPECT_LT(std::ranges::find(headings, "Measured peaks"), std::ranges::find(headings, "Machine and build"));
}

TEST(BuildReport, groups_problems_with_one_cause) {
  const auto text = render_text(build_report(session_of(Outcome::error, 300)), {.width = 80});
  EXPECT_NE(text.find("and 296 more"), std::string::npos);
}

TEST(BuildReport, tells_disturbances_that_differ_in_numbers_as_one) {
  SampleSession sample;
  for (int i = 0; i < 3; ++i) {
    auto& run = sample.measured("copy", "cpu", {{"size", std::int64_t{4096} << i}}, {0, 8192, 8192, "", ""}, 1e-6);
    run.outcome = Outcome::unreliable;
    run.reason = "other processes used " + std::to_string(8 + 41 * i) + " % of the CPU time.";
  }
  const auto text = rendered(sample.finish(), "text", {.width = 120, .unicode = true});
  EXPECT_NE(text.find("copy 4 KiB cold, copy 8 KiB cold, copy 16 KiB cold\n"), std::string::npos);
  EXPECT_NE(text.find("other processes used 8–90 % of the CPU time.\n"), std::string::npos);
}

TEST(BuildReport, keeps_errors_with_different_numbers_apart) {
  SampleSession sample;
  for (const char* k : {"500", "600"}) {
    sample.unmeasured("top_k_patches", "cpu", {{"k", k}}, Outcome::error, std::string("k = ") + k + " is too many");
  }
  const auto text = rendered(sample.finish(), "text");
  EXPECT_NE(text.find("k = 500 is too many"), std::string::npos);
  EXPECT_NE(text.find("k = 600 is too many"), std::string::npos);
}

TEST(BuildReport, counts_shares_above_the_peak_apart) {
  SampleSession sample;
  for (int i = 0; i < 3; ++i)
    sample.measured("copy", "cpu", {{"size", std::int64_t{i}}}, {0, 8192, 8192, "", ""}, 1e-6);
  Session session = sample.finish();
  for (auto& run : session.runs) run.peak = Peak{Bound::memory, 0.5, 0, 1e9, 0, "", ""};
  session.runs[1].peak->share = 333;
  const auto text = rendered(session, "text", {.width = 200});
  EXPECT_NE(text.find("cpu: 50.0 % of the measured peak (median of 2 results, 50.0 % to 50.0 %); 1 result is above the "
                      "measured peak, so the peak is too low."),
            std::string::npos)
      << text;
}

TEST(BuildReport, tells_how_near_the_peaks_those_are_that_set_none_and_are_trusted) {
  SampleSession sample;
  for (int i = 0; i < 3; ++i)
    sample.measured("copy", "cpu", {{"size", std::int64_t{i}}}, {0, 8192, 8192, "", ""}, 1e-6);
  Session session = sample.finish();
  for (auto& run : session.runs) run.peak = Peak{Bound::memory, 1.0003, 0, 1e9, 0, "L1 of 1 B/s (copy size=0)", ""};
  session.runs[1].peak->share = 0.25;
  session.runs[2].peak->share = 0.01;
  session.runs[2].outcome = Outcome::unreliable;
  const auto text = rendered(session, "text", {.width = 200});
  EXPECT_NE(text.find("cpu: 25.0 % of the measured peak (1 result)."), std::string::npos) << text;
  session.runs.resize(1);
  EXPECT_EQ(rendered(session, "text", {.width = 200}).find("of its peak"), std::string::npos);
}

TEST(BuildReport, says_so_when_nothing_was_measured) {
  const auto report = build_report(bare_session());
  EXPECT_NE(render_text(report, {}).find("Nothing was measured."), std::string::npos);
  EXPECT_FALSE(has_section(report, "Results"));
  EXPECT_FALSE(has_section(report, "Problems"));
}

TEST(BuildReport, says_so_when_it_was_interrupted) {
  Session session = small_session();
  session.complete = false;
  EXPECT_NE(render_text(build_report(session), {}).find("Interrupted"), std::string::npos);
}

TEST(BuildReport, fits_any_terminal_on_any_day) {
  SampleSession long_names;
  long_names.measured("copy", "cpu", {{"text", std::string(400, 'x')}}, {0, 1e6, 1000000, "", ""}, 1e-3, {1, 0, 0});
  long_names.unmeasured("gemm", "cpu", {{"text", "one word after another " + std::string(90, 'y')}}, Outcome::error,
                        "because " + std::string(500, 'z'), "do " + std::string(100, 'w'));
  std::vector<Session> days{bare_session(), sample_session(), small_session(), long_names.finish()};
  for (const auto outcome : {Outcome::failed, Outcome::unsupported, Outcome::skipped, Outcome::passed}) {
    days.push_back(session_of(outcome, 1));
    days.push_back(session_of(outcome, 300));
  }
  for (const auto& day : days) {
    for (const int width : {60, 80, 120}) {
      for (const bool details : {false, true}) {
        const auto text = rendered(day, "text", {.width = width, .unicode = true, .details = details});
        testing_support::expect_fits(text, static_cast<std::size_t>(width));
      }
    }
    EXPECT_EQ(markup_error(rendered(day, "html")), "");
    EXPECT_FALSE(rendered(day, "md").empty());
    EXPECT_FALSE(rendered(day, "google-benchmark").empty());
    EXPECT_EQ(rendered(day, "text").find('\x1b'), std::string::npos);
  }
}

TEST(BuildReport, is_quick_and_small_for_many_runs) {
  SampleSession sample;
  for (int i = 0; i < 300; ++i) {
    sample.measured("gemm", "cpu", {{"m", std::int64_t{i}}}, {1e9, 1e6, 1000000, "f32", ""}, 1e-3, {1000, 0.01, 0.01});
  }
  EXPECT_LT(rendered(sample.finish(), "html").size(), 3U << 20);
}

TEST(EscapeMarkdown, leaves_nothing_to_interpret) {
  EXPECT_EQ(escape_markdown("a|b*c_d`e<f>&[g]\n"), "a\\|b\\*c\\_d\\`e&lt;f&gt;&amp;\\[g\\] ");
}

TEST(DoctorReport, names_what_to_fix_first) {
  const HealthCheck checks[] = {
      {"swap", "Swap", HealthState::good, "none in use", "", ""},
      {"cpu_governor", "CPU frequency governor", HealthState::warning, "powersave on 8 of 8 CPUs",
       "clocks rise late, so the first samples are slow", "cpupower frequency-set -g performance"},
      {"cuda_driver", "NVIDIA driver", HealthState::bad, "not loaded", "the GPU cannot be used", "modprobe nvidia"},
      {"numa", "NUMA", HealthState::info, "one node", "", ""},
      {"clock", "GPU clocks", HealthState::unknown, "NVML is missing", "", ""}};
  const auto report = doctor_report(sample_machine(), checks);
  const auto text = render_text(report, {.width = 80});
  expect_golden("report/golden/doctor.txt", text);
  EXPECT_LT(text.find("modprobe"), text.find("cpupower"));
  EXPECT_EQ(markup_error(render_html(report)), "");
  EXPECT_LE(test::widest_line(text), 80U);
  const auto healthy = doctor_report(sample_machine(), std::span(checks, 1));
  EXPECT_NE(render_text(healthy, {}).find("Nothing was found"), std::string::npos);
}

/// Two settings that are both called "default": one asks for nothing, the other compiles.
TEST(RunLabels, name_what_was_asked_for) {
  Session session;
  warpmark::Run run;
  run.workload = "bert";
  run.device = "cuda:0";
  for (const char* name : {"accumulate", "channels_last", "checkpoint", "attention", "until", "data", "log", "peak",
                           "worker", "python", "workers"}) {
    run.params.set(name, std::string("no"));
  }
  run.params.set("preset", std::string("large"));
  run.params.set("optimizer", std::string("default"));
  run.params.set("compile", std::string("default"));
  session.runs.push_back(run);
  EXPECT_EQ(RunLabels(session).of(run), "bert large compile=default");
}

/// A phase of so many steps, in the report of one model.
std::string report_of_phases(std::size_t steps) {
  SampleSession sample;
  Run& run = sample.measured("gpt2", "cpu", {{"preset", std::string("tiny")}}, {.flops = 1e9, .bytes = 0}, 1e-2);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < steps; ++i) seconds.push_back(1e-3 + 1e-6 * static_cast<double>(i));
  run.metrics.push_back(stats::sampled_metric("samples_rate", "1/s", Better::higher, {800}));
  run.metrics.push_back(stats::sampled_metric("first_step", "s", Better::lower, {0.1}));
  run.metrics.push_back(stats::sampled_metric("phase.forward", "s", Better::lower, seconds));
  return rendered(sample.finish(), "md");
}

TEST(ReportOfModels, tells_phases_and_which_percentiles_so_few_steps_cannot_tell) {
  const auto few = report_of_phases(20), some = report_of_phases(60), many = report_of_phases(300);
  EXPECT_NE(few.find("needs 59"), std::string::npos) << few;
  EXPECT_NE(few.find("needs 299"), std::string::npos);
  EXPECT_EQ(some.find("needs 59"), std::string::npos) << some;
  EXPECT_NE(some.find("needs 299"), std::string::npos);
  EXPECT_EQ(many.find("needs"), std::string::npos) << many;
}

}  // namespace
}  // namespace warpmark::report
