#include "collectives/calls/exact_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/float_types.h"
#include "collectives/calls/engine.h"

namespace warpmark::collectives {
namespace {

constexpr DataType kAllTypes[] = {DataType::f64,  DataType::f32,   DataType::f16,   DataType::bf16,
                                  DataType::int8, DataType::uint8, DataType::int32, DataType::int64};

/// The value as the type stores it.
double stored(DataType type, double value) {
  if (type == DataType::f16) return f16_to_float(float_to_f16(static_cast<float>(value)));
  if (type == DataType::bf16) return bf16_to_float(float_to_bf16(static_cast<float>(value)));
  if (type == DataType::f32) return static_cast<float>(value);
  return value;
}

double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    case ReduceOp::sum:
    case ReduceOp::avg: return a + b;
  }
  return 0;
}

TEST(ExactValues, reduce_to_the_same_value_in_every_order) {
  std::mt19937 shuffle(7);
  for (const DataType type : kAllTypes) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
      for (const int ranks : {1, 2, 3, 8, 100}) {
        const auto input = exact_input(type, true, op, ranks);
        for (std::uint64_t index = 0; index < 40; ++index) {
          std::vector<int> order(static_cast<std::size_t>(ranks));
          std::iota(order.begin(), order.end(), 0);
          std::shuffle(order.begin(), order.end(), shuffle);
          double value = stored(type, static_cast<double>(exact_value(input, 3, index, order[0])));
          for (std::size_t i = 1; i < order.size(); ++i) {
            const auto next = stored(type, static_cast<double>(exact_value(input, 3, index, order[i])));
            value = stored(type, combined(op, value, next));
          }
          if (op == ReduceOp::avg) value = stored(type, value / ranks);
          ASSERT_EQ(value, static_cast<double>(exact_reduction(input, 3, index)))
              << name_of(type) << " " << name_of(op) << " " << ranks << " ranks, element " << index;
        }
      }
    }
  }
}

TEST(ExactValues, stay_within_what_bytes_hold) {
  for (const int ranks : {2, 64, 1000}) {
    const auto input = exact_input(DataType::int8, true, ReduceOp::sum, ranks);
    for (std::uint64_t index = 0; index < 100; ++index) {
      EXPECT_LE(exact_reduction(input, 1, index), 127);
      EXPECT_GE(exact_reduction(input, 1, index), 0);
    }
  }
}

TEST(ExactValues, differ_between_ranks_and_sets) {
  const auto input = exact_input(DataType::f32, false, ReduceOp::sum, 4);
  int same_rank = 0, same_salt = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    same_rank += exact_value(input, 0, index, 0) == exact_value(input, 0, index, 1) ? 1 : 0;
    same_salt += exact_value(input, 0, index, 0) == exact_value(input, 1, index, 0) ? 1 : 0;
  }
  EXPECT_LT(same_rank, 10);
  EXPECT_LT(same_salt, 10);
}

TEST(CountWrong, finds_one_changed_byte_and_what_was_never_written) {
  for (const DataType type : kAllTypes) {
    const auto input = exact_input(type, false, ReduceOp::sum, 2);
    const Expected expected{Collective::broadcast, input, 5, 64, 1, 0, 0};
    std::vector<std::byte> data(64 * size_of(type));
    fill_exact(data.data(), type, 64, input, 5, 0);  // what the root has
    EXPECT_EQ(count_wrong(data.data(), type, 64, expected), 0) << name_of(type);
    data[0] ^= std::byte{0x41};
    EXPECT_EQ(count_wrong(data.data(), type, 64, expected), 1) << name_of(type);
    std::fill(data.begin(), data.end(), std::byte{0xFF});
    EXPECT_GE(count_wrong(data.data(), type, 64, expected), 63) << name_of(type);
  }
}

TEST(Origins, say_where_each_element_comes_from) {
  EXPECT_TRUE(origin_of(Collective::all_reduce, 5, 8, 0, 0, 2).reduced);
  EXPECT_EQ(origin_of(Collective::all_gather, 9, 8, 0, 0, 2).rank, 1);
  EXPECT_EQ(origin_of(Collective::all_gather, 9, 8, 0, 0, 2).index, 1U);
  EXPECT_EQ(origin_of(Collective::reduce_scatter, 1, 8, 1, 0, 2).index, 9U);
  EXPECT_EQ(origin_of(Collective::alltoall, 9, 8, 0, 0, 2).rank, 1);
  EXPECT_EQ(origin_of(Collective::alltoall, 9, 8, 1, 0, 2).index, 9U);
  EXPECT_EQ(origin_of(Collective::sendrecv, 3, 8, 0, 0, 4).rank, 3);
  EXPECT_TRUE(origin_of(Collective::gather, 0, 8, 1, 0, 2).untouched);
  EXPECT_FALSE(origin_of(Collective::gather, 0, 8, 0, 0, 2).untouched);
}

}  // namespace
}  // namespace warpmark::collectives
