#include "collectives/calls/operation.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::collectives {
namespace {

/// Rows of a table that nccl-tests printed on two GPUs: size, count, time and bandwidths out of place.
struct PrintedRow {
  std::int64_t size = 0;
  std::int64_t count = 0;
  double time_us = 0;
  double algbw = 0;
  double busbw = 0;
};

std::vector<PrintedRow> printed_rows(const std::string& name) {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/tests/data/nccl_tests/nccl_" + name + ".txt");
  EXPECT_TRUE(text.ok()) << name;
  std::vector<PrintedRow> rows;
  for (const auto& line : split(text.ok() ? *text : "", '\n')) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    PrintedRow row;
    std::string type, op, root;
    words >> row.size >> row.count >> type >> op >> root >> row.time_us >> row.algbw >> row.busbw;
    if (words) rows.push_back(row);
  }
  return rows;
}

TEST(Counts, and_bandwidths_are_those_that_nccl_tests_prints) {
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv"}) {
    const auto kind = *parse_collective(name);
    const auto rows = printed_rows(name);
    ASSERT_GE(rows.size(), 10U) << name;
    std::int64_t asked = 8;
    for (const auto& row : rows) {
      const auto counts = counts_of(kind, asked, DataType::f32, 2);
      asked *= 8;
      EXPECT_EQ(counts.bytes, row.size) << name;
      EXPECT_EQ(counts.parameter, row.count) << name;
      const double algbw = algorithm_bytes(kind, counts, DataType::f32, 2) / (row.time_us * 1e-6) * 1e-9;
      EXPECT_NEAR(algbw, row.algbw, 0.006 + row.algbw * 2e-3) << name << " " << row.size;
      EXPECT_NEAR(algbw * bus_factor(kind, 2), row.busbw, 0.006 + row.busbw * 2e-3) << name << " " << row.size;
    }
  }
}

TEST(BusFactor, is_that_of_the_ring_for_any_number_of_ranks) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

TEST(Sizes, grow_by_a_factor_or_a_step) {
  EXPECT_EQ(*sizes_of({.from = 8, .to = 64, .factor = 2}), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(*sizes_of({.from = 8, .to = 20, .step = 5}), (std::vector<std::int64_t>{8, 13, 18}));
  EXPECT_EQ(*sizes_of({.from = 8, .to = 8}), std::vector<std::int64_t>{8});
  EXPECT_FALSE(sizes_of({.from = 9, .to = 8, .factor = 2}).ok());
  EXPECT_FALSE(sizes_of({.from = 8, .to = 1 << 20, .step = 1}).ok());
  EXPECT_FALSE(sizes_of({.from = 8, .to = 16, .factor = 1}).ok());
}

TEST(Sizes, are_read_as_nccl_tests_reads_them) {
  EXPECT_EQ(*parse_size("8"), 8);
  EXPECT_EQ(*parse_size("4K"), 4096);
  EXPECT_EQ(*parse_size("4G"), std::int64_t{4} << 30);
  EXPECT_EQ(*parse_size("2MiB"), 2 << 20);
  EXPECT_FALSE(parse_size("many").ok());
  EXPECT_FALSE(parse_size("").ok());
}

TEST(Names, of_both_tools_are_understood) {
  EXPECT_EQ(*parse_data_type("float"), DataType::f32);
  EXPECT_EQ(*parse_data_type("bf16"), DataType::bf16);
  EXPECT_EQ(*parse_collective("alltoall_perf"), Collective::alltoall);
  EXPECT_NE(parse_collective("all_redcue").error().hint.find("all_reduce"), std::string::npos);
  EXPECT_FALSE(parse_reduce_op("mean").ok());
}

}  // namespace
}  // namespace warpmark::collectives
