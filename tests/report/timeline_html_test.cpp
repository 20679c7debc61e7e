// The drawn timeline: what it shows of a step, that its data is what the recording says, and that a hostile recording
// stays data.
#include "report/timeline/timeline_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "report/timeline/timeline_view.h"
#include "support/text_measures.h"
#include "support/timeline_scene.h"

namespace warpmark::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::session_of;
using testing_support::TimelineScene;

constexpr std::uint32_t kHost = TimelineScene::kHost;

/// Steps of rank 0.
Analysis with_steps(std::vector<StepSpan> steps, std::int64_t median_ns) {
  Analysis analysis;
  RankAnalysis rank;
  rank.steps = std::move(steps);
  rank.median_step_ns = median_ns;
  analysis.ranks.push_back(std::move(rank));
  return analysis;
}

/// A step of 1000 ns from 10 000 on: a range with two operators, the second of which launches a kernel and a copy.
Timeline small_step() {
  TimelineScene scene;
  auto& timeline = scene.timeline();
  timeline.launch_shapes.push_back({{4, 2, 1}, {128, 1, 1}, 32, 1024, -1, 0.5F, 0});
  const std::uint32_t stream = scene.stream(7);
  const auto shapes = timeline.names.intern("[[8, 16]]");
  scene.add({EventKind::annotation, 9'900, 1'100, "step", kHost});
  scene.add({EventKind::op, 10'000, 200, "aten::view", kHost});
  scene.add({EventKind::op, 10'300, 400, "aten::add", kHost, 0, 0, shapes});
  scene.add({EventKind::runtime_api, 10'350, 50, "cudaLaunchKernel", kHost, 1});
  scene.add({EventKind::runtime_api, 10'500, 50, "cudaMemcpyAsync", kHost, 2});
  scene.add({EventKind::allocation, 10'510, 0, "[memory]", kHost, 0, 4096});
  scene.add({EventKind::kernel, 10'400, 100, "void add<float>(float*)", stream, 1, 0, 1});
  scene.add({EventKind::memcpy, 10'600, 300, "Memcpy HtoD", stream, 2, 3'000'000,
             copy_detail(CopyKind::host_to_device, HostMemory::pageable)});
  scene.add({EventKind::op, 11'000, 100, "next step", kHost});
  return scene.build();
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const auto start = text.find(from);
  if (start == std::string::npos) return {};
  const auto end = text.find(to, start + from.size());
  return text.substr(start + from.size(), end - start - from.size());
}

Json data_of(const std::string& html) {
  auto parsed = parse_json(between(html, "<script type=\"application/json\">", "</script>"), "timeline");
  EXPECT_TRUE(parsed.ok());
  return parsed.ok() ? std::move(parsed).value() : Json();
}

std::vector<std::int64_t> numbers(const Json& array) { return array.get<std::vector<std::int64_t>>(); }

TEST(TimelineHtml, holds_the_numbers_of_the_recording) {
  const auto session = session_of(small_step());
  const Json data = data_of(timeline_html(session, with_steps({{10'000, 11'000}}, 1'000)));
  EXPECT_EQ(data["length_ns"], 1'000);
  ASSERT_EQ(data["rows"].size(), 2U);
  const Json& stream = data["rows"][0];
  EXPECT_EQ(stream["name"], "GPU 0 stream 7");
  EXPECT_THAT(numbers(stream["start"]), ElementsAre(400, 200));  // each from the one before
  EXPECT_THAT(numbers(stream["duration"]), ElementsAre(100, 300));
  EXPECT_EQ(data["names"][stream["text"][0].get<std::size_t>()], "void add<float>(float*)");
  EXPECT_EQ(data["notes"][stream["note"][0].get<std::size_t>()],
            "grid 4 x 2 x 1, block 128 x 1 x 1, 32 registers, 1 KiB shared, occupancy 50.0 %");
  EXPECT_EQ(data["notes"][stream["note"][1].get<std::size_t>()],
            "host to device, pageable memory, 2.86 MiB, 10.0 TB/s");
  EXPECT_EQ(data["paints"][stream["paint"][1].get<std::size_t>()]["id"], "copy");

  const Json& thread = data["rows"][1];
  EXPECT_THAT(numbers(thread["start"]), ElementsAre(-100, 100, 300, 50, 150));
  EXPECT_THAT(numbers(thread["lane"]), ElementsAre(0, 1, 1, 2, 2));
  EXPECT_EQ(data["notes"][thread["note"][2].get<std::size_t>()], "[[8, 16]]");
  EXPECT_THAT(numbers(data["launches"]), ElementsAre(5, 0, 6, 1));  // events of the thread are numbered from 2
}

TEST(TimelineHtml, shows_when_the_gpu_idles) {
  const auto session = session_of(small_step());
  const std::string html = timeline_html(session, with_steps({{10'000, 11'000}}, 1'000));
  const Json idle = data_of(html)["idle"][0];
  EXPECT_EQ(idle["idle_ns"], 600);
  EXPECT_THAT(numbers(idle["start"]), ElementsAre(0, 500, 400));  // at 0, 500 and 900
  EXPECT_THAT(numbers(idle["duration"]), ElementsAre(400, 100, 100));
  EXPECT_THAT(html, HasSubstr("Step 1 of 1, 1.000 µs. The GPU idles for 600.0 ns of it (60.0 %)."));
  EXPECT_THAT(html, HasSubstr("1 event without a length"));
}

TEST(TimelineHtml, marks_the_events_of_findings) {
  const auto session = session_of(small_step());
  auto analysis = with_steps({{10'000, 11'000}}, 1'000);
  Finding finding;
  finding.rule = "host_transfer";
  finding.title = "Copies <block>";
  finding.severity = 0.5;
  const auto copy = static_cast<std::uint32_t>(session.ranks[0].events.size() - 2);
  ASSERT_EQ(session.ranks[0].name_of(copy), "Memcpy HtoD");
  finding.events = {
      {0, copy, "Memcpy HtoD", 10'600, 300}, {1, copy, "of another rank", 10'600, 300}, {0, 4'000'000, "", 0, 0}};
  analysis.findings.push_back(finding);
  const Json shown = data_of(timeline_html(session, analysis))["findings"][0];
  EXPECT_EQ(shown["title"], "Copies <block>");
  EXPECT_EQ(shown["severity"], "warning");
  EXPECT_THAT(numbers(shown["events"]), ElementsAre(1));
  EXPECT_EQ(shown["elsewhere"], 2);
}

TEST(TimelineHtml, keeps_hostile_names_as_data) {
  const std::string evil = "</script><script>alert(1)</script>\"'&<!--\x01\x7f\n\u202e\xff\xc3(\u2028)wm_text\"";
  TimelineScene scene;
  scene.timeline().tracks[kHost].name = evil;
  scene.add({EventKind::op, 0, 100, evil, kHost});
  scene.add({EventKind::op, 200, 100, std::string(1'000, 'x') + "\u00e4", kHost});
  scene.add({EventKind::op, 400, 100, std::string(399, 'y') + "\u00e4\u00e4", kHost});
  auto session = session_of(scene.build());
  Analysis analysis;
  Finding finding;
  finding.title = finding.rule = evil;
  finding.events.push_back({0, 0, evil, 0, 100});
  analysis.findings.push_back(finding);

  const std::string html = timeline_html(session, analysis, {.heading = evil});
  EXPECT_EQ(test::count_of(html, "<script"), 2U);
  EXPECT_EQ(test::count_of(html, "</script"), 2U);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("\xff")));
  const std::string block = between(html, "<script type=\"application/json\">", "</script>");
  EXPECT_EQ(block.find_first_of("<>&\x01\x7f\n"), std::string::npos);
  const Json data = data_of(html);
  const std::string name = data["names"][0];
  EXPECT_THAT(name, HasSubstr("</script><script>alert(1)</script>\"'&<!--\uFFFD\uFFFD \uFFFD\uFFFD"));
  EXPECT_EQ(data["names"][1], std::string(400, 'x') + "\u2026");
  EXPECT_EQ(data["names"][2], std::string(399, 'y') + "\u2026");  // not through a letter
}

TEST(TimelineHtml, keeps_the_longest_events_of_each_row_and_says_so) {
  TimelineScene scene;
  const std::uint32_t stream = scene.stream(7);
  for (int i = 0; i < 30'000; ++i) {
    scene.add({EventKind::op, i * 1'000, i % 10 == 0 ? 900 : 100 + i % 7, "op", kHost});
  }
  for (int i = 0; i < 10; ++i) scene.add({EventKind::kernel, i * 1'000'000, 5, "tiny", stream});
  const auto session = session_of(scene.build());
  Analysis analysis;
  Finding finding;  // its event is kept although it is among the shortest
  finding.events.push_back({0, 8, "op", 0, 0});
  analysis.findings.push_back(finding);

  const std::string html = timeline_html(session, analysis);
  const Json data = data_of(html);
  EXPECT_EQ(data["rows"][0]["start"].size(), 10U);
  EXPECT_EQ(data["rows"][1]["start"].size(), 19'990U);
  EXPECT_EQ(data["rows"][1]["left_out"], 10'010);
  EXPECT_EQ(data["findings"][0]["events"].size(), 1U);
  const auto durations = numbers(data["rows"][1]["duration"]);
  EXPECT_EQ(std::count(durations.begin(), durations.end(), 900), 3'000);
  EXPECT_THAT(
      html,
      HasSubstr("20\u202f000 of 30\u202f010 events are drawn, the longest of each row; 10\u202f010 are left out."));

  const TimelineView small = timeline_view(session, analysis, {.rank = {}, .step = {}, .max_events = 7});
  EXPECT_LE(small.drawn, 7U);
  EXPECT_EQ(small.drawn + small.left_out, 30'010U);
}

TEST(TimelineHtml, limits_the_lanes_of_deep_nesting) {
  TimelineScene scene;
  for (int i = 0; i < 50; ++i) scene.add({EventKind::op, i, 1'000 - 2 * i, "depth", kHost});
  for (int i = 0; i < 50; ++i) scene.add({EventKind::python, i, 1'000 - 2 * i, "frame", kHost});
  const auto view = timeline_view(session_of(scene.build()), {}, {});
  ASSERT_EQ(view.rows.size(), 1U);
  EXPECT_EQ(view.rows[0].lanes, 22);
  EXPECT_EQ(view.left_out, 78U);
  for (const ViewEvent& event : view.rows[0].events) EXPECT_LT(event.lane, 22);
}

TEST(TimelineHtml, chooses_the_median_step_of_the_slowest_rank) {
  ProfileSession session;
  for (int rank : {4, 5}) {
    Timeline timeline = small_step();
    timeline.rank = rank;
    session.ranks.push_back(std::move(timeline));
  }
  Analysis analysis = with_steps({{10'000, 11'000}}, 1'000);
  analysis.ranks.push_back(analysis.ranks[0]);
  analysis.ranks[0].rank = 4;
  analysis.ranks[1].rank = 5;
  analysis.ranks[1].steps = {{9'000, 9'400}, {10'000, 11'100}, {11'100, 13'100}};
  analysis.ranks[1].median_step_ns = 1'100;
  const auto view = timeline_view(session, analysis, {});
  EXPECT_EQ(view.rank_index, 1U);
  EXPECT_EQ(view.step, 2U);
  EXPECT_EQ(view.start_ns, 10'000);
  EXPECT_EQ(view.length_ns, 1'100);
  EXPECT_THAT(timeline_html(session, analysis), HasSubstr("Rank 5, step 2 of 3 (nearest to the median)"));
  const auto other = timeline_view(session, analysis, {.rank = 0, .step = 0});
  EXPECT_EQ(other.rank_index, 0U);
  EXPECT_EQ(other.step, 1U);
  EXPECT_FALSE(other.median);
}

TEST(TimelineHtml, draws_the_whole_recording_without_steps) {
  const auto session = session_of(small_step());
  const std::string html = timeline_html(session, {});
  EXPECT_THAT(html, HasSubstr("The whole recording, as it shows no steps, 1.200 µs."));
  EXPECT_EQ(data_of(html)["length_ns"], 1'200);
}

TEST(TimelineHtml, says_so_when_there_is_nothing_to_draw) {
  for (const bool with_timeline : {false, true}) {
    ProfileSession session;
    if (with_timeline) session.ranks.emplace_back();
    const std::string html = timeline_html(session, {});
    EXPECT_THAT(html, HasSubstr("no events with a duration"));
    EXPECT_THAT(html, Not(HasSubstr("<script")));
  }
  TimelineScene scene;
  scene.add({EventKind::mark, 5, 0, "instant", kHost});
  EXPECT_THAT(timeline_html(session_of(scene.build()), {}), HasSubstr("no events with a duration"));
  EXPECT_THAT(timeline_html(session_of(small_step()), with_steps({{50'000, 60'000}}, 10'000)),
              HasSubstr("no events with a duration"));
  EXPECT_THAT(timeline_html(session_of(small_step()), {}, {.view = {.rank = 9, .step = {}}}),
              HasSubstr("no events with a duration"));
}

TEST(TimelineHtml, names_the_row_of_waits_that_are_of_no_stream) {
  TimelineScene scene;
  scene.add({EventKind::kernel, 0, 10, "work", scene.stream(7)});
  scene.add({EventKind::sync_record, 10, 5, "Context Synchronize", scene.stream(-1)});
  const std::string html = timeline_html(session_of(scene.build()), {});
  EXPECT_THAT(html, HasSubstr("GPU 0 all streams"));
  EXPECT_THAT(html, Not(HasSubstr("stream -1")));
}

TEST(TimelineHtml, survives_broken_times) {
  TimelineScene scene;
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  scene.add({EventKind::op, -kLast, 100, "early", kHost});
  scene.add({EventKind::kernel, 0, kLast, "endless", scene.stream(7)});
  scene.add({EventKind::kernel, 50, -30, "backwards", scene.stream(7)});
  scene.add({EventKind::op, kLast, kLast, "late", kHost});
  const Json data = data_of(timeline_html(session_of(scene.build()), {}));
  for (const Json& row : data["rows"]) {
    for (const auto duration : numbers(row["duration"])) EXPECT_GE(duration, 0);
  }
}

TEST(TimelineHtml, gives_the_same_bytes_for_the_same_input) {
  const auto analysis = with_steps({{10'000, 11'000}}, 1'000);
  EXPECT_EQ(timeline_html(session_of(small_step()), analysis), timeline_html(session_of(small_step()), analysis));
}

TEST(TimelineHtml, brings_script_and_style_once_and_loads_nothing) {
  const auto session = session_of(small_step());
  const std::string first = timeline_html(session, {});
  EXPECT_THAT(first, HasSubstr("class TimelineView"));
  EXPECT_THAT(first, HasSubstr(".wm-view"));
  EXPECT_THAT(first, HasSubstr("<noscript>"));
  for (const char* loading :
       {"http:", "https:", "//cdn", " src=", "import(", "fetch(", "XMLHttpRequest", "innerHTML"}) {
    EXPECT_THAT(first, Not(HasSubstr(loading)));
  }
  const std::string second = timeline_html(session, {}, {.assets = false});
  EXPECT_THAT(second, Not(HasSubstr("<style>")));
  EXPECT_EQ(test::count_of(second, "<script"), 1U);
}

}  // namespace
}  // namespace warpmark::report
