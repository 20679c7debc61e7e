// What a thread's processor time tells about the gaps between its calls.
#include "profile/module/blocked_time.h"

#include <gtest/gtest.h>

namespace warpmark::profile::module {
namespace {

/// A thread whose processor time is set by hand; counts how often it is read.
struct Thread {
  BlockedTime blocked;
  std::int64_t processor_ns = 0;
  int reads = 0;

  BlockedTime::Gap call(std::int64_t begin_ns, std::int64_t length_ns, std::int64_t processor_at_begin_ns) {
    processor_ns = processor_at_begin_ns;
    const auto clock = [this] { return ++reads, processor_ns; };
    const BlockedTime::Gap gap = blocked.call_begins(begin_ns, clock);
    processor_ns += length_ns;
    blocked.call_ends(begin_ns, begin_ns + length_ns, clock);
    return gap;
  }
};

TEST(BlockedTime, is_what_the_processor_time_lacks_of_a_gap) {
  Thread thread;
  thread.call(1'000'000, 50'000, 500'000);                                // long: the time is read at its end
  const BlockedTime::Gap gap = thread.call(3'050'000, 5'000, 1'050'000);  // 0.5 of the 2 ms on the processor
  EXPECT_EQ(gap.length_ns, 2'000'000);
  EXPECT_EQ(gap.blocked_ns, 1'500'000);
}

TEST(BlockedTime, is_none_where_the_thread_worked) {
  Thread thread;
  thread.call(1'000'000, 50'000, 500'000);
  EXPECT_EQ(thread.call(3'050'000, 5'000, 2'545'000).blocked_ns, 0);  // 5 us of interrupts
}

TEST(BlockedTime, looks_at_no_short_gaps_and_calls) {
  Thread thread;
  for (int i = 0; i < 1000; ++i) thread.call(1'000'000 + i * 30'000, 5'000, 100'000);
  EXPECT_EQ(thread.reads, 0);
}

TEST(BlockedTime, of_a_first_gap_is_not_known) {
  Thread thread;
  thread.call(1'000'000, 5'000, 0);
  EXPECT_EQ(thread.call(9'000'000, 5'000, 0).blocked_ns, 0);
  EXPECT_EQ(thread.call(10'005'000, 5'000, 5'000).blocked_ns, 1'000'000);
}

}  // namespace
}  // namespace warpmark::profile::module
