// The promise on memory: at most 64 bytes an event beyond the names, and never more than the text itself.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <vector>

#include "profile/timeline_builder.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"
#include "support/peak_memory.h"

namespace warpmark::profile {
namespace {

// So many that what the blocks in flight hold, which depends on when threads run, is nothing beside the events.
constexpr int kFewEvents = 100'000, kEvents = 800'000;

/// Text of real proportions: some 330 bytes an event.
std::int64_t write_trace(const std::filesystem::path& path, int events) {
  std::ofstream file(path);
  file << "{\"traceEvents\": [";
  for (int i = 0; i < events; ++i) {
    file << (i == 0 ? "\n  " : ",\n  ") << R"({
    "ph": "X", "cat": "cpu_op", "name": "aten::operator_)"
         << i % 100 << R"(", "pid": 515, "tid": )" << i % 3 << R"(,
    "ts": )"
         << 4361643201600 + (i * 7919LL) % 1'000'003 << R"(.795, "dur": 2.382,
    "args": {
      "External id": )"
         << i
         << R"(,"Record function id": 0, "Concrete Inputs": ["", "[4096, 32000]"], "Input type": ["float", "Scalar"], )"
         << R"("Input Strides": [[32000, 1], []], "Input Dims": [[4096, )" << i % 50 << R"(], []], "Ev Idx": )" << i
         << R"(
    }
  })";
  }
  file << "\n]}\n";
  file.close();
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

/// Of a child that reads the file; -1 if it failed.
std::int64_t peak_bytes(const std::filesystem::path& path, int events) {
  return testing_support::peak_bytes([&] {
    const std::array<std::filesystem::path, 1> paths{path};
    const auto session = read_session(paths, {.threads = 1});
    return session.ok() && session->ranks[0].events.size() == static_cast<std::size_t>(events);
  });
}

TEST(Memory, is_bounded_by_events_and_by_the_text) {
  if (!testing_support::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer changes what memory costs";
  const warpmark::test::FakeTree tree;
  const std::int64_t small_text = write_trace(tree.root() / "small.json", kFewEvents);
  const std::int64_t text = write_trace(tree.root() / "large.json", kEvents);
  const std::int64_t base = peak_bytes(tree.root() / "small.json", kFewEvents);
  const std::int64_t peak = peak_bytes(tree.root() / "large.json", kEvents);
  ASSERT_GT(base, 0);
  ASSERT_GT(peak, 0);
  EXPECT_GT(small_text, 10'000'000) << "the small file must fill all buffers already";
  EXPECT_LE(static_cast<double>(peak - base) / (kEvents - kFewEvents), 64.0) << "bytes an event";
  EXPECT_LE(peak, text);
}

TEST(Memory, of_thousands_of_small_timelines_is_small) {
  if (!testing_support::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer changes what memory costs";
  constexpr int kTimelines = 4000;
  const std::int64_t taken = testing_support::peak_bytes_beyond_this([] {
    std::vector<Timeline> kept;
    for (int i = 0; i < kTimelines; ++i) {
      TimelineBuilder builder;
      for (std::int64_t at = 0; at < 4; ++at) {
        builder.add({.start = at, .duration = 1, .name = builder.intern("work"), .kind = EventKind::kernel});
      }
      kept.push_back(builder.finish());
    }
    return kept.size() == kTimelines && kept.back().events.size() == 4;
  });
  ASSERT_GT(taken, 0);
  EXPECT_LT(taken / kTimelines, 8'000) << "bytes a timeline";
}

}  // namespace
}  // namespace warpmark::profile
