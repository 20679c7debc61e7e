#include "profile/source.h"

#include <gtest/gtest.h>

#include <random>

#include "profile/pack.h"
#include "profile/timeline_builder.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

std::string everything(ByteSource& source, std::size_t step) {
  std::string all, piece(step, '\0');
  for (;;) {
    const auto got = source.read({piece.data(), piece.size()});
    EXPECT_TRUE(got.ok());
    if (!got.ok() || *got == 0) return all;
    all.append(piece, 0, *got);
  }
}

std::string some_text(std::size_t size) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < size) text += "event " + std::to_string(random() % 5000) + "\n";
  return text;
}

TEST(Source, unpacks_what_is_packed_in_pieces_of_any_size) {
  const std::string text = some_text(700'000);
  for (const std::string& packed : {text, test::gzip(text), test::zstd(text)}) {
    for (const std::size_t step : {std::size_t{1000}, std::size_t{65'536}, std::size_t{2'000'000}}) {
      const auto source = memory_source(packed);
      ASSERT_EQ(everything(*source, step), text);
      EXPECT_EQ(source->damage(), "");
    }
  }
}

TEST(Source, joins_members_and_frames) {
  const std::string a = some_text(300'000), b = some_text(70'000);
  EXPECT_EQ(everything(*memory_source(test::gzip(a) + test::gzip(b) + test::gzip("")), 4096), a + b);
  EXPECT_EQ(everything(*memory_source(test::zstd(a) + test::zstd(b)), 4096), a + b);
  const std::string padded = test::gzip(a) + std::string(512, '\0');
  const auto source = memory_source(padded);
  EXPECT_EQ(everything(*source, 4096), a);
  EXPECT_EQ(source->damage(), "");
}

TEST(Source, gives_what_comes_before_the_damage) {
  const std::string text = some_text(400'000);
  for (const std::string& packed : {test::gzip(text), test::zstd(text)}) {
    const std::string half = packed.substr(0, packed.size() / 2);
    const auto source = memory_source(half);
    const std::string got = everything(*source, 10'000);
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_LT(got.size(), text.size());
    EXPECT_NE(source->damage(), "");
    for (std::size_t cut = 0; cut < 40; ++cut) (void)everything(*memory_source(packed.substr(0, cut)), 100);
  }
  std::string wrong = test::gzip(text);
  wrong[wrong.size() - 6] ^= 1;  // the checksum
  const auto source = memory_source(wrong);
  (void)everything(*source, 10'000);
  EXPECT_NE(source->damage(), "");
}

TEST(Source, head_does_not_consume) {
  const std::string text = some_text(100'000), packed = test::gzip(text);
  const auto source = memory_source(packed);
  EXPECT_EQ(source->head(10).value(), text.substr(0, 10));
  EXPECT_EQ(source->head(50'000).value(), text.substr(0, 50'000));
  EXPECT_EQ(everything(*source, 777), text);
}

TEST(Source, says_why_a_file_cannot_be_opened) {
  const warpmark::test::FakeTree tree;
  const auto missing = open_source(tree.root() / "missing.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::data);
  EXPECT_NE(missing.error().what.find("missing.json"), std::string::npos);
  EXPECT_FALSE(open_source(tree.root()).ok());
}

TEST(Source, packed_traces_read_like_plain_ones) {
  const std::string text = test::trace_of(test::op("a", "1") + "," + test::op("b", "2"));
  for (const std::string& packed : {text, test::gzip(text), test::zstd(text)}) {
    EXPECT_EQ(test::timeline_of(packed).events.size(), 2U);
  }
  const std::string packed = test::gzip(text);
  const Timeline cut = test::timeline_of(packed.substr(0, packed.size() - 20));
  EXPECT_EQ(test::issue_count(cut, "cut_archive"), 1);
  EXPECT_EQ(test::issue_count(cut, "damaged_archive"), 0);
  std::string bad = packed;
  bad[bad.size() - 6] = static_cast<char>(~bad[bad.size() - 6]);  // of the checksum
  EXPECT_EQ(test::issue_count(test::timeline_of(bad), "damaged_archive"), 1);
}

TEST(Builder, orders_events_and_their_collectives) {
  TimelineBuilder builder;
  std::mt19937 random(6);
  const NameId name = builder.intern("x");
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t start = static_cast<std::int64_t>(random() % 5000) * 1'000'003;
    const auto duration = static_cast<std::int64_t>(random() % 3);
    const EventIndex at = builder.add({.start = start, .duration = duration, .value = i, .name = name});
    if (i % 100 == 0) builder.add_collective({.event = at, .in_elements = i});
    expected.emplace_back(start, -duration);
  }
  std::stable_sort(expected.begin(), expected.end());
  const Timeline timeline = builder.finish();
  ASSERT_EQ(timeline.events.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(timeline.events.start[i], expected[i].first - expected[0].first);
    ASSERT_EQ(timeline.events.duration[i], -expected[i].second);
    const bool tie = i > 0 && expected[i] == expected[i - 1];
    ASSERT_TRUE(!tie || timeline.events.value[i - 1] < timeline.events.value[i]) << "the sort is not stable";
  }
  ASSERT_EQ(timeline.collectives.size(), 200U);
  for (const Collective& one : timeline.collectives) EXPECT_EQ(timeline.events.value[one.event], one.in_elements);
}

TEST(Builder, drops_nonsense_with_its_collectives) {
  TimelineBuilder builder;
  for (std::int64_t i = 0; i < 100; ++i) {
    const bool far = i % 10 == 3;
    const EventIndex at = builder.add({.start = far ? INT64_MAX / 2 - i : i, .value = i});
    builder.add_collective({.event = at, .in_elements = i});
  }
  EXPECT_EQ(builder.add({.start = INT64_MAX}), kNoEvent);
  EXPECT_EQ(builder.add({.start = INT64_MIN, .duration = INT64_MAX}), kNoEvent);
  const Timeline timeline = builder.finish();
  EXPECT_EQ(timeline.events.size(), 90U);
  EXPECT_EQ(timeline.collectives.size(), 90U);
  for (const Collective& one : timeline.collectives) EXPECT_EQ(timeline.events.value[one.event], one.in_elements);
  EXPECT_EQ(test::issue_count(timeline, "nonsense_time"), 12);
}

TEST(Builder, an_empty_one_finishes_empty) {
  TimelineBuilder builder;
  builder.set_clock_origin(5);
  const Timeline timeline = builder.finish();
  EXPECT_EQ(timeline.events.size(), 0U);
  EXPECT_EQ(timeline.origin_ns, 5);
}

}  // namespace
}  // namespace warpmark::profile
