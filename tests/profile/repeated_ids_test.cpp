// Calls that CUPTI gave one correlation id are told apart when a recording is read.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <vector>

#include "profile/read_session.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {
namespace {

using recording::EventRecord;
using recording::RecordingWriter;

/// What CUPTI numbered alike: a kernel of before the recording, then `launches` of a kernel each, with waits between.
void record_calls_of_one_number(RecordingWriter& writer, int launches, const char* launch_name) {
  recording::TrackRecord thread, stream;
  thread.thread = 42;
  stream.kind = static_cast<std::uint8_t>(TrackKind::gpu_stream);
  stream.device = 0;
  const auto add = [&](EventKind kind, std::int64_t start, std::int64_t length, const char* name,
                       std::uint32_t number) {
    EventRecord event;
    event.start_ns = 1'700'000'000'000'000'000 + start;
    event.duration_ns = length;
    event.name = writer.name(name);
    event.track = is_gpu_work(kind) ? writer.track(stream, {}) : writer.track(thread, "main");
    event.correlation = number;
    event.kind = static_cast<std::uint8_t>(kind);
    writer.event(event);
  };
  add(EventKind::kernel, 0, 500, "before", 77);
  add(EventKind::kernel, 1'050, 100, "before", 77);  // queued, too
  add(EventKind::driver_api, 300, 10, "cuLaunchKernelEx", 80);
  add(EventKind::kernel, 600, 10, "other", 80);
  for (int i = 0; i < launches; ++i) {
    const std::int64_t start = 1'000 * (i + 1);
    add(EventKind::driver_api, start, 100, launch_name, 77);
    add(EventKind::kernel, start + 250 * (i % 2 == 0 ? 4 : 1), 200, "step", 77);  // now and then after the next launch
    add(EventKind::driver_api, start + 700, 100, "cuCtxSynchronize", 77);
  }
}

class CallsOfOneNumber : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-numbers-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Result<ProfileSession> recorded(int launches, const char* launch_name) const {
    const std::filesystem::path path = folder_ / "a.wmrec";
    RecordingWriter writer;
    EXPECT_TRUE(writer.open(path.c_str()));
    record_calls_of_one_number(writer, launches, launch_name);
    writer.finish();
    return read_session(std::vector{path});
  }

  std::filesystem::path folder_;
};

TEST_F(CallsOfOneNumber, join_kernels_to_launches_in_order) {
  const auto session = recorded(40, "cuLaunchKernelEx");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const Timeline& timeline = session->ranks[0];
  const EventColumns& events = timeline.events;
  std::vector<std::uint32_t> launched, ran;
  std::set<std::uint32_t> of_calls;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::driver_api) of_calls.insert(events.correlation[i]);
    if (events.correlation[i] == 80) continue;
    if (timeline.name_of(i) == "cuLaunchKernelEx") launched.push_back(events.correlation[i]);
    if (timeline.name_of(i) == "step") ran.push_back(events.correlation[i]);
    if (timeline.name_of(i) == "before") {
      EXPECT_EQ(events.correlation[i], 0U);
    }
  }
  EXPECT_EQ(launched, ran);
  EXPECT_EQ(launched.size(), 40U);
  EXPECT_EQ(of_calls.size(), 81U);  // each its own
  ASSERT_EQ(timeline.quality.size(), 1U);
  EXPECT_EQ(timeline.quality[0].id, "repeated_call_number");
  EXPECT_EQ(timeline.quality[0].count, 80);
}

TEST_F(CallsOfOneNumber, keep_it_if_they_launch_graphs) {
  const auto session = recorded(5, "cuGraphLaunch");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_TRUE(session->ranks[0].quality.empty());
  EXPECT_EQ(session->ranks[0].events.correlation[0], 77U);
}

}  // namespace
}  // namespace warpmark::profile
