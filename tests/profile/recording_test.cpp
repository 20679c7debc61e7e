// warpmark's own recording: what is written is read back, and a file cut anywhere gives what was whole before the cut.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "profile/collectors/tools.h"
#include "profile/read_session.h"
#include "profile/recording/convert.h"
#include "profile/recording/writer.h"
#include "profile/timeline_builder.h"
#include "support/timeline_scene.h"

namespace warpmark::profile {
namespace {

using recording::EventRecord;
using recording::RecordingWriter;

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-recording-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

Result<ProfileSession> read(const std::string& bytes) {
  const auto source = memory_source(bytes, "test.wmrec");
  return read_source(*source);
}

/// A launch, the kernel it started, and a counter; `flush_each` puts every event into a chunk of its own.
void record_two_events(RecordingWriter& writer, bool flush_each) {
  writer.metadata("host", "node7");
  writer.metadata("gpu", "0|NVIDIA H100|85000000000|132|9|0|2048|GPU-b5");
  writer.metadata("sampled_gpu", "0|GPU-a4");
  recording::TrackRecord thread;
  thread.process = 41;
  thread.thread = 42;
  recording::TrackRecord stream;
  stream.kind = static_cast<std::uint8_t>(TrackKind::gpu_stream);
  stream.process = 41;
  stream.thread = 7;
  stream.device = 0;
  EventRecord launch;
  launch.start_ns = 1'700'000'000'000'000'123;
  launch.duration_ns = 4'001;
  launch.name = writer.name("cudaLaunchKernel");
  launch.track = writer.track(thread, "main");
  launch.correlation = 9;
  launch.kind = static_cast<std::uint8_t>(EventKind::runtime_api);
  writer.event(launch);
  if (flush_each) writer.flush();
  recording::ShapeRecord shape;
  shape.grid[0] = 132;
  shape.block[0] = 256;
  EventRecord kernel;
  kernel.start_ns = launch.start_ns + 9'000;
  kernel.duration_ns = 12'345;
  kernel.name = writer.name("_Z3addPfS_i");
  kernel.track = writer.track(stream, {});
  kernel.correlation = 9;
  kernel.detail = writer.shape(shape);
  kernel.kind = static_cast<std::uint8_t>(EventKind::kernel);
  writer.event(kernel);
  writer.counter("sm_clock", "Hz", 0, {launch.start_ns + 50'000, 1.98e9});
}

TEST_F(Recording, reads_back_what_was_written) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  record_two_events(writer, false);
  writer.finish();
  const auto session = read_session(std::vector{path("a.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  const Timeline& timeline = session->ranks[0];
  EXPECT_EQ(timeline.format, "warpmark");
  EXPECT_EQ(timeline.host, "node7");
  ASSERT_EQ(timeline.gpus.size(), 1U);
  EXPECT_EQ(timeline.gpus[0].sm_count, 132);
  EXPECT_EQ(timeline.gpus[0].uuid, "GPU-b5");
  EXPECT_EQ(timeline.origin_ns, 1'700'000'000'000'000'123);
  ASSERT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.name_of(0), "cudaLaunchKernel");
  EXPECT_EQ(timeline.name_of(1), "add(float*, float*, int)");
  EXPECT_EQ(timeline.events.start[1], 9'000);
  EXPECT_EQ(timeline.events.duration[1], 12'345);
  EXPECT_EQ(timeline.events.correlation[0], timeline.events.correlation[1]);
  EXPECT_EQ(timeline.launch_shapes[timeline.events.detail[1]].grid[0], 132U);
  EXPECT_EQ(timeline.tracks[timeline.events.track[0]].name, "main");
  ASSERT_EQ(timeline.counters.size(), 1U);
  EXPECT_EQ(timeline.counters[0].times[0], 50'000);
  EXPECT_EQ(timeline.counters[0].gpu, "GPU-a4") << "the sampler counts all GPUs, the program those that it sees";
  EXPECT_TRUE(timeline.quality.empty());
}

TEST_F(Recording, leaves_out_what_an_earlier_window_left_unfinished) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  writer.metadata("recording_begin_ns", "1700000000000005000");  // the launch began before, the kernel after
  record_two_events(writer, false);
  recording::TrackRecord stream;
  stream.kind = static_cast<std::uint8_t>(TrackKind::gpu_stream);
  EventRecord kernel;
  kernel.start_ns = 1'699'999'998'000'000'000;
  kernel.duration_ns = 2'000'100'000;  // CUPTI wrote the end of a later replay of the same graph
  kernel.name = writer.name("add");
  kernel.track = writer.track(stream, {});
  kernel.kind = static_cast<std::uint8_t>(EventKind::kernel);
  writer.event(kernel);
  writer.finish();
  const auto session = read_session(std::vector{path("a.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Timeline& timeline = session->ranks.at(0);
  EXPECT_EQ(timeline.events.size(), 2U);
  EXPECT_EQ(timeline.origin_ns, 1'700'000'000'000'000'123);
  ASSERT_EQ(timeline.quality.size(), 1U);
  EXPECT_EQ(timeline.quality[0].id, "earlier_window");
}

TEST_F(Recording, cut_at_any_byte_gives_the_whole_chunks_before_the_cut) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  record_two_events(writer, true);
  writer.finish();
  const auto whole = read_file(path("a.wmrec"));
  ASSERT_TRUE(whole.ok());
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole->size(); ++size) {
    const auto session = read(whole->substr(0, size));
    const std::size_t events = session.ok() && !session->ranks.empty() ? session->ranks[0].events.size() : 0;
    EXPECT_GE(events, most) << size;  // more bytes never give less
    most = std::max(most, events);
    if (events > 0) {
      EXPECT_FALSE(session->ranks[0].quality.empty()) << size;
    }
  }
  EXPECT_EQ(most, 2U);
}

TEST_F(Recording, joined_files_are_several_processes) {
  std::string joined;
  for (const char* rank : {"1", "0"}) {
    RecordingWriter writer;
    ASSERT_TRUE(writer.open(path(rank).c_str()));
    writer.metadata("rank", rank);
    record_two_events(writer, false);
    writer.finish();
    joined += *read_file(path(rank));
  }
  const auto session = read(joined);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->ranks.size(), 2U);
}

TEST_F(Recording, keeps_rows_apart_that_differ_in_their_name_only) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  recording::TrackRecord row;
  row.kind = static_cast<std::uint8_t>(TrackKind::other);
  EXPECT_NE(writer.track(row, "memory"), writer.track(row, "recording"));
  EXPECT_EQ(writer.track(row, "memory"), writer.track(row, "memory"));
  writer.finish();
}

TEST_F(Recording, converts_a_session_without_loss) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  record_two_events(writer, false);
  writer.finish();
  const auto first = read_session(std::vector{path("a.wmrec")});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(kRecordingFormat.write(*first, path("b.wmrec")).ok());
  const auto second = read_session(std::vector{path("b.wmrec")});
  ASSERT_TRUE(second.ok()) << second.error().what;
  const Timeline &a = first->ranks[0], &b = second->ranks[0];
  ASSERT_EQ(a.events.size(), b.events.size());
  EXPECT_EQ(a.origin_ns, b.origin_ns);
  for (EventIndex i = 0; i < a.events.size(); ++i) {
    EXPECT_EQ(a.name_of(i), b.name_of(i));
    EXPECT_EQ(a.events.start[i], b.events.start[i]);
    EXPECT_EQ(a.events.duration[i], b.events.duration[i]);
    EXPECT_EQ(a.events.kind[i], b.events.kind[i]);
    EXPECT_EQ(a.tracks[a.events.track[i]], b.tracks[b.events.track[i]]);
  }
  EXPECT_EQ(a.gpus, b.gpus);
  EXPECT_EQ(b.counters[0].values, a.counters[0].values);
}

TEST_F(Recording, joins_parts_past_one_that_a_kill_cut) {
  std::vector<std::filesystem::path> parts;
  for (const char* name : {"a", "b", "c"}) {
    RecordingWriter writer;
    parts.push_back(path(name));
    ASSERT_TRUE(writer.open(parts.back().c_str()));
    record_two_events(writer, true);
    writer.finish();
  }
  std::filesystem::resize_file(parts[0], std::filesystem::file_size(parts[0]) - 30);
  ASSERT_TRUE(write_file(parts[1], "").ok());
  ASSERT_TRUE(recording::join_parts(parts, path("all.wmrec")).ok());
  const auto session = read_session(std::vector{path("all.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 2U);
  EXPECT_EQ(session->ranks[0].events.size(), 2U);
  EXPECT_EQ(session->ranks[1].events.size(), 2U);
  const auto& quality = session->ranks[0].quality;
  ASSERT_EQ(quality.size(), 1U);
  EXPECT_EQ(quality[0].id, "not_ended");
  EXPECT_TRUE(session->ranks[1].quality.empty());
  EXPECT_FALSE(recording::join_parts(parts, "/proc/nowhere/x").ok());
}

/// Gives the parts of a recording another version.
void set_version(const std::string& file, std::uint32_t version) {
  std::string bytes = *read_file(file);
  std::memcpy(bytes.data() + sizeof(recording::ChunkHeader), &version, sizeof version);
  recording::ChunkHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.checksum = recording::crc32({bytes.data() + sizeof header, sizeof version});
  std::memcpy(bytes.data(), &header, sizeof header);
  ASSERT_TRUE(write_file(file, bytes).ok());
}

TEST_F(Recording, of_older_versions_is_read_and_of_newer_ones_as_far_as_known) {
  constexpr std::uint32_t kNewer = recording::kVersion + 1;
  for (const std::uint32_t version : {1U, recording::kVersion, kNewer}) {
    RecordingWriter writer;
    ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
    record_two_events(writer, false);
    if (version == kNewer) writer.add_chunk(static_cast<recording::ChunkType>(77), "what only a newer reader knows");
    writer.finish();
    set_version(path("a.wmrec"), version);
    const auto session = read_session(std::vector{path("a.wmrec")});
    ASSERT_TRUE(session.ok()) << session.error().what;
    EXPECT_EQ(session->ranks[0].events.size(), 2U);
    const auto& quality = session->ranks[0].quality;
    if (version < kNewer) {
      EXPECT_TRUE(quality.empty());
    } else {
      ASSERT_EQ(quality.size(), 1U);
      EXPECT_EQ(quality[0].id, "newer_version");
    }
  }
}

TEST_F(Recording, takes_kernel_profiles_without_loss) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a").c_str()));
  record_two_events(writer, true);
  writer.finish();
  ASSERT_TRUE(recording::join_parts(std::vector<std::filesystem::path>{path("a")}, path("a.wmrec")).ok());
  ProfileSession measured;
  measured.kernels.push_back({.id = 3,
                              .process = 664,
                              .name = "saxpy(float, const float *)",
                              .grid = "(262144, 1, 1)",
                              .block = "(256, 1, 1)",
                              .stream = 7,
                              .device = 0,
                              .compute_capability = "9.0",
                              .ordinal = 2,
                              .metrics = {{"gpu__time_duration.sum", "ns", 123.5}, {"sm__cycles_active.avg", "", 7}},
                              .rules = {{"SOLBottleneck", "OPT", "memory\nbound", "global", 12.5}}});
  ASSERT_TRUE(add_kernels(measured, path("a.wmrec")).ok());
  const auto session = read_session(std::vector{path("a.wmrec")});
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->ranks.size(), 1U);
  EXPECT_EQ(session->ranks[0].events.size(), 2U);
  EXPECT_TRUE(session->quality.empty());
  ASSERT_EQ(session->kernels.size(), 1U);
  const auto& kernel = session->kernels[0];
  EXPECT_EQ(kernel.name, measured.kernels[0].name);
  EXPECT_EQ(kernel.grid, "(262144, 1, 1)");
  EXPECT_EQ(kernel.block, "(256, 1, 1)");
  EXPECT_EQ(kernel.compute_capability, "9.0");
  EXPECT_EQ(kernel.ordinal, 2);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.metric("gpu__time_duration.sum"), 123.5);
  EXPECT_EQ(kernel.metrics[0].unit, "ns");
  ASSERT_EQ(kernel.rules.size(), 1U);
  EXPECT_EQ(kernel.rules[0].description, "memory\nbound");
  EXPECT_EQ(kernel.rules[0].speedup_percent, 12.5);
  EXPECT_FALSE(add_kernels(measured, path("missing.wmrec")).ok());
}

TEST_F(Recording, tells_what_the_recorder_could_not_do) {
  RecordingWriter writer;
  ASSERT_TRUE(writer.open(path("a.wmrec").c_str()));
  record_two_events(writer, false);
  writer.metadata("problem_id", recording::kNoCupti);
  writer.metadata("problem", "CUPTI was not found");
  writer.metadata("dropped_records", "7");
  writer.finish();
  const auto session = read_session(std::vector{path("a.wmrec")});
  ASSERT_TRUE(session.ok());
  const auto& quality = session->ranks[0].quality;
  ASSERT_EQ(quality.size(), 2U);
  EXPECT_EQ(quality[0].id, "recorder_no_cupti");
  EXPECT_EQ(quality[0].example, "CUPTI was not found");
  EXPECT_EQ(quality[1].count, 7);
}

TEST(FunctionName, is_what_nsight_compute_filters_by) {
  EXPECT_EQ(function_name("void ns::gemm<float, 4>(float*, (anonymous namespace)::Shape)"), "gemm");
  EXPECT_EQ(function_name("void (anonymous namespace)::softmax<(int)4, at::X<a>>(int)"), "softmax");
  EXPECT_EQ(function_name("void at::native::(anonymous namespace)::elementwise<f<int>(g)>(int) const"), "elementwise");
  EXPECT_EQ(function_name("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(function_name("add(float*, int)"), "add");
}

/// Four steps of ten launches, of which two are of "gemm" and one of "softmax".
ProfileSession four_steps(bool steps_known) {
  testing_support::TimelineScene scene;
  for (int i = 0; i < 40; ++i) {
    scene.launch(i % 5 == 0 ? "void gemm<1>(float*)" : i % 10 == 7 ? "softmax" : "add", 1000);
  }
  if (steps_known) scene.timeline().metadata = {{"launches_per_step", "10"}};
  ProfileSession session;
  session.ranks.push_back(scene.build());
  return session;
}

TEST(LaunchWindow, is_one_step_behind_two_and_not_too_short) {
  EXPECT_EQ(launch_window(four_steps(true), {"gemm"}).skip, 2 * 2);
  EXPECT_EQ(launch_window(four_steps(true), {"gemm", "softmax"}).skip, 2 * 3);
  EXPECT_EQ(launch_window(four_steps(true), {"gemm"}).count, 8);
  EXPECT_EQ(launch_window(four_steps(false), {"gemm", "softmax"}).skip, 0);
  EXPECT_EQ(launch_window(ProfileSession{}, {"gemm"}).count, 8);
}

TEST(NcuCommand, quotes_what_a_regular_expression_would_take_for_its_own) {
  const auto words = ncu_command("ncu", {}, {"a_1", "operator+"}, {.skip = 4, .count = 9}, "k.csv", {"./program", "x"});
  const auto has = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  EXPECT_TRUE(has("regex:^(a_1|operator\\+)$"));
  EXPECT_TRUE(has("4"));
  EXPECT_TRUE(has("9"));
  EXPECT_EQ(words.back(), "x");
}

TEST(CostliestKernels, add_up_over_variants_and_leave_communication_out) {
  ProfileSession session;
  TimelineBuilder builder;
  const auto add = [&](const char* name, std::int64_t duration) {
    (void)builder.add({.start = static_cast<std::int64_t>(builder.size()) * 1000,
                       .duration = duration,
                       .name = builder.intern(name),
                       .track = builder.track({.kind = TrackKind::gpu_stream, .device = 0}),
                       .kind = EventKind::kernel});
  };
  add("void gemm<1>(float*)", 60);
  add("softmax", 100);
  add("void gemm<2>(float*)", 70);
  add("ncclDevKernel_AllReduce", 900);
  add("cheap", 1);
  session.ranks.push_back(builder.finish());
  EXPECT_EQ(costliest_kernels(session, 2), (std::vector<std::string>{"gemm", "softmax"}));
}

TEST(Crc32, is_that_of_gzip) { EXPECT_EQ(recording::crc32("123456789"), 0xCBF43926U); }

TEST_F(Recording, that_cannot_be_written_is_an_error_that_names_the_file) {
  ProfileSession session;
  session.ranks.emplace_back();
  const auto status = kRecordingFormat.write(session, "/proc/nowhere/x.wmrec");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("/proc/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::profile
