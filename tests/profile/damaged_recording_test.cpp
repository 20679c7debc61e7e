// A recording of which bytes are missing or wrong gives what stands before, and says which of both it is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "profile/pack.h"
#include "profile/recording/writer.h"
#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using recording::EventRecord;
using recording::RecordingWriter;

/// Of one row with two events in a chunk each, closed as a program does that ends well.
std::string whole_recording() {
  const auto file = std::filesystem::temp_directory_path() / ("warpmark-whole-" + std::to_string(::getpid()));
  RecordingWriter writer;
  EXPECT_TRUE(writer.open(file.c_str()));
  EventRecord event;
  event.name = writer.name("work");
  event.track = writer.track({}, "main");
  event.duration_ns = 500;
  for (event.start_ns = 1'000'000; event.start_ns < 3'000'000; event.start_ns += 1'000'000) {
    writer.event(event);
    writer.flush();
  }
  writer.finish();
  std::string bytes = *read_file(file);
  std::filesystem::remove(file);
  return bytes;
}

Timeline last_timeline(const std::string& bytes) {
  auto session = test::read_text(bytes);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().what);
  if (!session.ok() || session->ranks.empty()) return {};
  return std::move(session->ranks.back());
}

TEST(DamagedRecording, with_a_wrong_byte_is_corrupt_and_of_no_killed_program) {
  std::string bytes = whole_recording();
  bytes[bytes.size() - 20] = static_cast<char>(bytes[bytes.size() - 20] ^ 0x40);
  const Timeline timeline = last_timeline(bytes);
  EXPECT_EQ(test::issue_count(timeline, "corrupt_chunk"), 1);
  EXPECT_EQ(test::issue_count(timeline, "torn_chunk"), 0);
  EXPECT_EQ(test::issue_count(timeline, "not_ended"), 0) << "nobody knows how the program ended";
}

TEST(DamagedRecording, packed_is_told_from_a_cut_one) {
  // Two frames, as where a part is appended: the first can be read whatever became of the second.
  const std::string frame = test::zstd(whole_recording());
  const std::string packed = frame + frame;
  const Timeline cut = last_timeline(packed.substr(0, packed.size() - 12));
  EXPECT_EQ(test::issue_count(cut, "torn_chunk"), 1);
  EXPECT_EQ(test::issue_count(cut, "not_ended"), 0);
  std::string bad = packed;
  for (std::size_t i = frame.size() + 4; i < bad.size(); ++i) bad[i] = static_cast<char>(~bad[i]);
  const Timeline corrupt = last_timeline(bad);
  EXPECT_EQ(test::issue_count(corrupt, "corrupt_chunk"), 1);
  EXPECT_EQ(test::issue_count(corrupt, "torn_chunk"), 0);
}

}  // namespace
}  // namespace warpmark::profile
