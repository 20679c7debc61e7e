// copy, triad, read, write: right results for every kernel and thread count, their costs, and their cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "base/units.h"
#include "workloads/memory/kernels.h"
#include "workloads/memory/stream.h"
#include "workloads/run_workload.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {
namespace {

constexpr std::array kIds{"copy", "triad", "read", "write"};

TEST(StreamWorkloads, tell_right_from_wrong_on_one_thread_and_on_all) {
  // One element, odd tails, exactly one block, several threads; all beyond the small device's cache or within it.
  for (const char* id : kIds) {
    for (const char* size : {"4", "4KiB", "65532", "64KiB", "1048588", "4MiB"}) {
      test::expect_right_and_wrong_told_apart(id, {{"size", size}});
    }
  }
}

TEST(StreamWorkloads, say_how_they_run) {
  test::Prepared small("copy", {{"size", "4KiB"}}, 1);
  EXPECT_EQ(small.note("threads"), "1");
  EXPECT_EQ(small.note("stores"), "ordinary");
  test::Prepared large("copy", {{"size", "4MiB"}}, 1);
  EXPECT_EQ(large.note("stores"), "non-temporal");  // 8 MiB against 1 MiB of cache
  test::Prepared rotating("write", {{"size", "64KiB"}}, 32);
  EXPECT_EQ(rotating.note("stores"), "non-temporal");
  test::Prepared read("read", {{"size", "4MiB"}}, 1);
  EXPECT_EQ(read.note("stores"), "");
}

TEST(StreamWorkloads, count_bytes_as_stream_does) {
  const std::array<double, 4> arrays{2, 3, 1, 1};
  const std::array<double, 4> flops_per_element{0, 2, 1, 0};
  for (std::size_t i = 0; i < kIds.size(); ++i) {
    const auto cost = test::cost_of(kIds[i], {{"size", "1MiB"}});
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(cost->bytes, arrays[i] * 1048576) << kIds[i];
    EXPECT_EQ(cost->footprint_bytes, static_cast<std::int64_t>(arrays[i]) * 1048576) << kIds[i];
    EXPECT_EQ(cost->flops, flops_per_element[i] * 262144) << kIds[i];
    EXPECT_EQ(cost->flop_type, "f32");
  }
}

TEST(StreamWorkloads, refuse_sizes_that_make_no_sense) {
  EXPECT_EQ(test::cost_error("copy", {{"size", "0"}}),
            "size is 0, but must be at least 4 | set size to 4 or more: --set size=...");
  EXPECT_EQ(test::cost_error("triad", {{"size", "4097"}}),
            "size is 4097 bytes, but must be a multiple of 4, the bytes of an f32 | --set size=4096");
  EXPECT_EQ(test::cost_error("triad", {{"size", "4611686018427387904"}}),
            "the product arrays=3 * size=4611686018427387904 is above 2^62 | choose a smaller shape with --set");
}

TEST(StreamWorkloads, report_too_little_memory_with_the_sizes) {
  auto device = test::small_cpu();
  const auto params = resolve_params(test::workload("copy").params, {{"size", "4GiB"}});
  ASSERT_TRUE(params.ok());
  const auto& copy = test::workload("copy");
  const auto prepared = copy.prepare(copy, {.device = device, .params = *params, .sets = 1, .seed = 1});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::environment);
  EXPECT_NE(prepared.error().what.find("85899"), std::string::npos) << prepared.error().what;
}

TEST(StreamCases, cover_every_cache_level_and_the_memory) {
  const DeviceInfo device = test::small_cpu().info();
  for (const char* id : kIds) {
    const auto cases = test::workload(id).cases(test::workload(id), device);
    const auto arrays = test::cost_of(id, {{"size", "4KiB"}})->footprint_bytes / 4096;
    std::set<std::string> levels;
    std::int64_t largest = 0;
    for (const auto& overrides : cases) {
      const std::int64_t size = *parse_bytes(overrides.at(0).second);
      EXPECT_EQ(size % 4, 0);
      largest = std::max(largest, size);
      const bool hot = overrides.at(1).second == "hot";
      EXPECT_EQ(hot, arrays * size <= 2 * device.last_level_cache_bytes);
      const std::int64_t footprint = arrays * size;
      levels.insert(footprint <= 48 << 10    ? "L1"
                    : footprint <= 256 << 10 ? "L2"
                    : footprint <= 1 << 20   ? "L3"
                                             : "memory");
    }
    EXPECT_EQ(levels.size(), 4U) << id;
    EXPECT_EQ(largest, 8 << 20) << id;
    EXPECT_EQ(cases.front().at(0).second, "4096") << id;
  }
}

TEST(PartOf, covers_all_elements_once_in_whole_blocks) {
  for (const std::size_t elements : {std::size_t{1}, kSumBlock, 5 * kSumBlock + 7, 64 * kSumBlock}) {
    for (int threads = 1; threads <= 9; ++threads) {
      std::size_t next = 0;
      for (int i = 0; i < threads; ++i) {
        const Part part = part_of(elements, i, threads);
        EXPECT_EQ(part.begin, next);
        EXPECT_EQ(part.begin % kSumBlock == 0 || part.count == 0, true);
        next = part.begin + part.count;
      }
      EXPECT_EQ(next, elements);
    }
  }
}

struct alignas(64) Line {
  std::array<float, 16> values{};
};

TEST(StreamKernels, agree_with_plain_loops_at_every_tail) {
  std::vector<Line> b(40);
  std::vector<Line> c(40);
  std::vector<Line> a(40);
  float* to = a[0].values.data();
  float* from = b[0].values.data();
  float* other = c[0].values.data();
  for (std::size_t i = 0; i < 600; ++i) {
    from[i] = static_cast<float>(i) * 0.5F;
    other[i] = static_cast<float>(i % 7);
  }
  for (const auto* kernels : stream_kernels()) {
    SCOPED_TRACE(kernels->instructions);
    for (const std::size_t count : {0UL, 1UL, 15UL, 63UL, 64UL, 65UL, 127UL, 300UL, 600UL}) {
      const auto expect = [&](auto run, auto value_at) {
        for (std::size_t i = 0; i < 601; ++i) to[i] = -1;
        run();
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(to[i], value_at(i)) << i << " of " << count;
        EXPECT_EQ(to[count], -1) << "written past the end";
      };
      const auto copied = [&](std::size_t i) { return from[i]; };
      const auto added = [&](std::size_t i) { return from[i] + 2 * other[i]; };
      const auto constant = [](std::size_t) { return 7.0F; };
      expect([&] { kernels->copy(to, from, count); }, copied);
      expect([&] { kernels->copy_past_cache(to, from, count); }, copied);
      expect([&] { kernels->triad(to, from, other, 2, count); }, added);
      expect([&] { kernels->triad_past_cache(to, from, other, 2, count); }, added);
      expect([&] { kernels->write(to, 7, count); }, constant);
      expect([&] { kernels->write_past_cache(to, 7, count); }, constant);
      EXPECT_FLOAT_EQ(kernels->sum(from, count), std::accumulate(from, from + count, 0.0F));
    }
  }
}

TEST(CountDifferent, counts_every_changed_element) {
  std::vector<float> a(1000, 1.0F);
  std::vector<float> b = a;
  EXPECT_EQ(count_different(a, b), 0);
  b[0] = 2;
  b[999] = std::nanf("");
  EXPECT_EQ(count_different(a, b), 2);
}

TEST(SetMemory, keeps_arrays_apart_and_aligned) {
  auto device = test::small_cpu();
  const std::array<std::size_t, 3> sizes{100, 4096, 1};
  const auto memory = SetMemory::make(device, 3, sizes);
  ASSERT_TRUE(memory.ok());
  for (std::size_t set = 0; set < 3; ++set) {
    for (std::size_t array = 0; array < 3; ++array) {
      const auto bytes = memory->bytes(set, array);
      ASSERT_EQ(bytes.size(), sizes[array]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0U);
      std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(set * 3 + array));
    }
  }
  memory->poison(1);
  for (std::size_t set = 0; set < 3; ++set) {
    for (std::size_t array = 0; array < 3; ++array) {
      const auto expected = array == 1 ? std::byte{0xFF} : static_cast<std::byte>(set * 3 + array);
      const auto bytes = memory->bytes(set, array);
      EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == expected; }));
    }
  }
}

TEST(SetMemory, allocates_nothing_for_an_array_that_is_given) {
  auto device = test::small_cpu();
  std::vector<std::byte> others(200, std::byte{7});
  const std::array<std::span<std::byte>, 2> given{std::span(others).first(100), std::span(others).last(100)};
  const std::array<std::size_t, 2> sizes{100, 64};
  const auto memory = SetMemory::make(device, 2, sizes, given);
  ASSERT_TRUE(memory.ok());
  memory->poison(1);
  for (std::size_t set = 0; set < 2; ++set) {
    EXPECT_EQ(memory->bytes(set, 0).data(), given[set].data());
    EXPECT_EQ(memory->bytes(set, 0).size(), 100U);
    EXPECT_EQ(memory->bytes(set, 1).size(), 64U);
  }
  EXPECT_TRUE(std::ranges::all_of(others, [](std::byte b) { return b == std::byte{7}; }));
}

}  // namespace
}  // namespace warpmark::workloads
