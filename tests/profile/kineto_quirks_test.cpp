// What real files have that JSON forbids, or that makes no sense. Places where each was met: kineto_repair.cpp.
#include <gmock/gmock.h>

#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::issue_count;
using test::op;
using test::timeline_of;
using test::trace_of;

std::vector<std::string> names_of(const Timeline& timeline) {
  std::vector<std::string> names;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) names.emplace_back(timeline.name_of(i));
  return names;
}

TEST(KinetoQuirks, unescaped_quotes_in_a_name) {
  const Timeline timeline =
      timeline_of(trace_of(op("a", "1") + "," + op(R"(lambda "x", y "z")", "2") + "," + op("c", "3")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", R"(lambda "x", y "z")", "c"));
  EXPECT_EQ(issue_count(timeline, "malformed_event"), 1);
  EXPECT_EQ(timeline.events.link[1], 7U) << "fields behind the broken one are lost";
}

TEST(KinetoQuirks, categories_of_other_tools_are_named) {
  std::string events = op("known", "1");
  for (const char* category : {"forward", "backward", "a", "forward", "b", "c", "d"}) {
    events += std::string(R"(, {"ph": "X", "name": "n", "cat": ")") + category + R"(", "pid": 1, "tid": 2, "ts": 3})";
  }
  EXPECT_EQ(test::fact(timeline_of(trace_of(events)), "unknown_categories"), "forward, backward, a, b, c");
  EXPECT_EQ(test::fact(timeline_of(trace_of(op("known", "1"))), "unknown_categories"), "");
}

TEST(KinetoQuirks, one_stray_quote) {
  const Timeline timeline = timeline_of(trace_of(op("a", "1") + "," + op(R"(5" disk)", "2") + "," + op("c", "3")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", R"(5" disk)", "c"));
}

TEST(KinetoQuirks, unescaped_quotes_in_arguments) {
  const std::string broken =
      R"({"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 2, "ts": 2, "dur": 1,
      "args": {"Call stack": "file "x.py" [1", "External id": 9}})";
  const Timeline timeline = timeline_of(trace_of(op("a", "1") + ",\n" + broken + ",\n" + op("c", "3")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(timeline.events.link[1], 9U);
}

TEST(KinetoQuirks, control_characters_are_kept) {
  const Timeline timeline = timeline_of(trace_of(op("a\x01\n\tb", "1") + "," + op("c", "2")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a\x01\n\tb", "c"));
  EXPECT_EQ(issue_count(timeline, "control_character"), 1);
}

TEST(KinetoQuirks, bytes_that_are_no_utf8_are_replaced) {
  const Timeline timeline = timeline_of(trace_of(op("a\xC3\x28", "1") + "," + op("\xE2\x82\xAC", "2")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a\xEF\xBF\xBD(", "\xE2\x82\xAC"));
  EXPECT_EQ(issue_count(timeline, "bad_utf8"), 1);
}

TEST(KinetoQuirks, escapes_good_and_bad) {
  const Timeline timeline =
      timeline_of(trace_of(op(R"(q\"\\\/\u00e9\ud83d\ude00)", "1") + "," + op(R"(C:\Users\x)", "2")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("q\"\\/\xC3\xA9\xF0\x9F\x98\x80", R"(C:\Users\x)"));
  EXPECT_EQ(issue_count(timeline, "bad_escape"), 1);
}

TEST(KinetoQuirks, words_where_numbers_belong) {
  const std::string kernel =
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4, "dur": 1,
      "args": {"device": 0, "stream": 7,
      "blocks per SM": inf, "est. achieved occupancy %": NaN, "shared memory": N/A, "registers per thread": "inf",
      "correlation": -nan, "grid": [1, 2, 3]}})";
  const Timeline timeline = timeline_of(
      trace_of(op("a", "NaN") + "," + op("b", "2", "nan") + "," + op("c", "\"3.5\"", "\"1\"") + "," + kernel));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("b", "c", "k"));
  EXPECT_EQ(timeline.events.duration[0], 0);
  EXPECT_EQ(timeline.events.start[1], 1500);
  EXPECT_EQ(issue_count(timeline, "not_a_number"), 2);
  EXPECT_EQ(issue_count(timeline, "odd_argument"), 1) << "one event";
  const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[2]];
  EXPECT_EQ(shape.grid[2], 3U);
  EXPECT_LT(shape.blocks_per_sm, 0);
  EXPECT_LT(shape.occupancy, 0);
}

TEST(KinetoQuirks, ids_as_texts) {
  const Timeline timeline = timeline_of(trace_of(
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": "12", "tid": "34", "ts": 1, "dur": 1},
         {"ph": "X", "cat": "cpu_op", "name": "b", "pid": "Spans", "tid": "me", "ts": 2, "dur": 1},
         {"ph": "X", "cat": "cpu_op", "name": "c", "pid": "Spans", "tid": "me", "ts": 3, "dur": 1})"));
  ASSERT_EQ(timeline.events.size(), 3U);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]], (Track{TrackKind::cpu_thread, 12, 34, -1, ""}));
  EXPECT_EQ(timeline.tracks[timeline.events.track[1]].name, "Spans/me");
  EXPECT_EQ(timeline.events.track[1], timeline.events.track[2]);
  EXPECT_EQ(issue_count(timeline, "text_id"), 2) << "a number in quotes is a number";
}

TEST(KinetoQuirks, rows_of_autograds_profiler_without_kineto) {
  const Timeline timeline = timeline_of(trace_of(
      R"({"name": "ProfilerStep#3", "ph": "X", "ts": 1, "dur": 9, "tid": 5, "pid": "CPU functions", "args": {}},
         {"name": "aten::mm", "ph": "X", "ts": 2, "dur": 2, "tid": 5, "pid": "CPU functions", "args": {}},
         {"name": "aten::mm", "ph": "s", "ts": 2, "tid": 5, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda"},
         {"name": "sgemm", "ph": "f", "ts": 4, "tid": 1, "pid": "CUDA functions", "id": 1, "cat": "cpu_to_cuda"},
         {"name": "sgemm", "ph": "X", "ts": 4, "dur": 3, "tid": 1, "pid": "CUDA functions", "args": {}},
         {"name": "Memcpy HtoD", "ph": "X", "ts": 8, "dur": 1, "tid": 1, "pid": "CUDA functions", "args": {}})"));
  ASSERT_EQ(timeline.events.size(), 4U);
  const EventKind kinds[] = {EventKind::annotation, EventKind::op, EventKind::kernel, EventKind::memcpy};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(timeline.events.kind[i], kinds[i]) << i;
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]], (Track{TrackKind::cpu_thread, 0, 5, -1, ""}));
  EXPECT_EQ(timeline.tracks[timeline.events.track[3]], (Track{TrackKind::gpu_stream, 0, 0, 1, ""}));
  EXPECT_EQ(issue_count(timeline, "text_id"), 0);
}

TEST(KinetoQuirks, nonsense_times_are_left_out_and_counted) {
  const Timeline timeline = timeline_of(trace_of(op("a", "1") + "," + op("b", "2", "-3") + "," +
                                                 op("far", "9000000000000000") + "," + op("endless", "4", "1e15") +
                                                 "," + op("overflow", "99999999999999999999") + "," + op("z", "5")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", "b", "z"));
  EXPECT_EQ(timeline.events.duration[1], 0);
  EXPECT_EQ(issue_count(timeline, "negative_duration"), 1);
  EXPECT_EQ(issue_count(timeline, "nonsense_time"), 2);
  EXPECT_EQ(issue_count(timeline, "not_a_number"), 1);
}

TEST(KinetoQuirks, overlapping_calls_are_kept_and_counted) {
  const Timeline timeline =
      timeline_of(trace_of(op("a", "1", "10") + "," + op("b", "5", "10") + "," + op("c", "20", "1")));
  EXPECT_EQ(timeline.events.size(), 3U);
  EXPECT_EQ(issue_count(timeline, "overlapping_events"), 1);
}

TEST(KinetoQuirks, commas_too_many_and_too_few) {
  const std::string events = op("a", "1") + ",,\n" + op("b", "2") + "\n" + op("c", "3") + ",";
  EXPECT_THAT(names_of(timeline_of(trace_of(events))), testing::ElementsAre("a", "b", "c"));
  const std::string member = R"({"ph": "X", "cat": "cpu_op" "name": "d", "ts": 4, "dur": 1,})";
  EXPECT_THAT(names_of(timeline_of(trace_of(member + "," + op("e", "5")))), testing::ElementsAre("d", "e"));
}

TEST(KinetoQuirks, a_bracket_that_is_never_closed_costs_one_event_at_most) {
  const std::string broken =
      R"({"ph": "X", "name": "b", "cat": "cpu_op", "ts": 2, "dur": 1, "args": {"Input Dims": [[1, 2})";
  const Timeline timeline =
      timeline_of(trace_of(op("a", "1") + ",\n" + broken + "},\n" + op("c", "3") + ",\n" + op("d", "4")));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", "b", "c", "d"));
}

TEST(KinetoQuirks, a_file_without_events_keeps_its_facts) {
  const Timeline timeline = timeline_of(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}]})");
  EXPECT_EQ(timeline.events.size(), 0U);
  EXPECT_EQ(timeline.gpus.size(), 1U);
  EXPECT_EQ(issue_count(timeline, "no_events"), 1);
}

TEST(KinetoQuirks, keeps_a_thousand_facts) {
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [" + op("a", "1") + "]";
  for (int i = 0; i < 5000; ++i) text += ", \"a" + std::to_string(i) + "\": " + std::to_string(i);
  const Timeline timeline = timeline_of(text + "}");
  EXPECT_EQ(timeline.events.size(), 1U);
  EXPECT_EQ(timeline.metadata.size(), 1000U);
  EXPECT_GE(issue_count(timeline, "many_facts"), 4000);
}

TEST(KinetoQuirks, lists_of_objects_in_arguments_are_no_events) {
  const std::string nested =
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args":
         {"inputs": [{"name": "x", "ts": 9}, {"name": "y", "ts": 8}]}})";
  std::string events = nested;
  for (int i = 0; i < 50; ++i) events += ", " + nested;
  for (const std::size_t block : {std::size_t{0}, std::size_t{64}, std::size_t{100}, std::size_t{333}}) {
    EXPECT_EQ(timeline_of(trace_of(events), {.threads = 2, .block_bytes = block}).events.size(), 51U) << block;
  }
}

/// What a file cut off anywhere must give: every event that is whole.
TEST(KinetoQuirks, truncated_at_every_byte) {
  const std::string text = trace_of(op("a", "1") + ",\n  " + op(R"(q\"uo)", "2") + ",\n  " + op("c\xE2\x82\xAC", "3"));
  const std::size_t first_event = text.find("{\n    \"ph\"");
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    for (const std::size_t block : {std::size_t{0}, std::size_t{50}}) {
      const auto session = test::read_text(cut, {.threads = 1, .block_bytes = block});
      if (size <= first_event) continue;
      ASSERT_TRUE(session.ok()) << size;
      std::size_t whole = 0;
      for (std::size_t at = cut.find("\n    }\n  }"); at != std::string::npos; at = cut.find("\n    }\n  }", at + 1))
        ++whole;
      ASSERT_EQ(session->ranks.at(0).events.size(), whole) << cut;
      const bool list_ended =
          cut.find("\n  ],\n  \"traceName") != std::string::npos || cut.find("\n  ]") > cut.rfind("\"ph\"");
      EXPECT_TRUE(list_ended || issue_count(session->ranks[0], "unfinished_file") == 1) << cut;
    }
  }
}

TEST(KinetoQuirks, a_bare_list_need_not_be_closed) {
  const auto open = test::read_text("[\n" + op("a", "1") + ",\n" + op("b", "2") + ",\n");
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->ranks.at(0).events.size(), 2U);
  EXPECT_EQ(issue_count(open->ranks[0], "open_list"), 1);
  EXPECT_EQ(issue_count(open->ranks[0], "unfinished_file"), 0);
  EXPECT_EQ(issue_count(open->ranks[0], "truncated"), 0);
  const std::string text = "[\n" + op("a", "1") + ",\n" + op("b", "2");
  const auto cut = test::read_text(text.substr(0, text.size() - 10));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(issue_count(cut->ranks.at(0), "truncated"), 1) << "within an event it is cut off nevertheless";
}

TEST(KinetoQuirks, an_event_larger_than_any_block_is_read) {
  std::string dims = "[[1]";
  while (dims.size() < 200'000) dims += ", [1, 2, 3]";
  const std::string large =
      R"({"ph": "X", "cat": "cpu_op", "name": "large", "ts": 2, "dur": 1, "args": {"Input Dims": )" + dims + "]}}";
  const Timeline timeline =
      timeline_of(trace_of(op("a", "1") + ",\n" + large + ",\n" + op("c", "3")), {.threads = 2, .block_bytes = 1000});
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", "large", "c"));
}

TEST(KinetoQuirks, control_characters_within_facts_are_tolerated) {
  std::string text = trace_of(op("a", "1"));
  text.insert(1, "\"distributedInfo\": {\"backend\": \"nc\x01 cl\", \"rank\": 3, \"world_size\": 8},");
  const Timeline timeline = timeline_of(text);
  EXPECT_EQ(timeline.rank, 3);
  EXPECT_EQ(timeline.world_size, 8);
}

TEST(KinetoQuirks, broken_events_take_linear_time) {
  const std::string open = R"({"ph":"X","name":"b","ts":1,"args":{"x":[)";
  const std::string quote = R"({"ph":"X","name":"b","ts":1,"args":{"x":"y)";
  for (const std::string& event : {open, open + "},\n", quote + ",\n", quote + "\"}},\n{\"name\":\"a\"b,"}) {
    std::string events;
    for (int i = 0; i < 50'000; ++i) events += event;
    const Timeline timeline = timeline_of("{\"traceEvents\": [" + events);  // the test's timeout is the check
    EXPECT_GE(timeline.quality.size(), 1U) << event;
  }
}

TEST(KinetoQuirks, rows_of_a_file_merged_with_itself_count_once) {
  const std::string once = op("a", "1") + "," + op("b", "3") + "," + op("c", "3", "2.000");
  const Timeline timeline = timeline_of(trace_of(once + "," + once));
  EXPECT_THAT(names_of(timeline), testing::ElementsAre("a", "c", "b"));
  EXPECT_EQ(issue_count(timeline, "repeated_rows"), 3);
  const Timeline few = timeline_of(trace_of(once + "," + op("a", "1") + "," + op("d", "7")));
  EXPECT_EQ(few.events.size(), 5U) << "one row that is there twice may be what happened";
}

TEST(KinetoQuirks, times_in_nanoseconds_are_doubted) {
  const auto trace = [](const std::string& dur) {
    std::string events;
    for (int i = 0; i < 120; ++i) {
      const std::string ts = std::to_string(i * 100'000);
      events += op("aten::mm", ts, dur) + R"(, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": )" +
                ts + R"(, "dur": )" + dur + R"(, "pid": 1, "tid": 2, "args": {"correlation": )" +
                std::to_string(i + 1) + "}},\n";
    }
    return trace_of(events + op("aten::empty", "99000000", dur));
  };
  EXPECT_EQ(issue_count(timeline_of(trace("6000")), "slow_calls"), 241);
  EXPECT_EQ(issue_count(timeline_of(trace("6")), "slow_calls"), 0);
}

}  // namespace
}  // namespace warpmark::profile
