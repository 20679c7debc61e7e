#include "collectives/calls/engine.h"

#include <cmath>

#include "base/float_types.h"

namespace warpmark::collectives {
namespace {

class Solo final : public Bootstrap {
 public:
  [[nodiscard]] int process() const override { return 0; }
  [[nodiscard]] int processes() const override { return 1; }
  [[nodiscard]] int local_process() const override { return 0; }
  Status barrier() override { return {}; }
  Result<std::vector<double>> all_gather(std::span<const double> mine) override {
    return std::vector<double>(mine.begin(), mine.end());
  }
  Status broadcast(std::span<std::byte>, int) override { return {}; }
  Result<std::int64_t> clock_offset_ns() override { return std::int64_t{0}; }
};

template <typename T>
T stored_as(std::int64_t value) {
  return static_cast<T>(value);
}

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};
template <>
Half stored_as<Half>(std::int64_t value) {
  return {float_to_f16(static_cast<float>(value))};
}
template <>
Brain stored_as<Brain>(std::int64_t value) {
  return {float_to_bf16(static_cast<float>(value))};
}

template <typename T>
double number(T value) {
  return static_cast<double>(value);
}
template <>
double number(Half value) {
  return f16_to_float(value.bits);
}
template <>
double number(Brain value) {
  return bf16_to_float(value.bits);
}

/// Calls `work` with a value of the element's type.
template <typename Work>
auto with_type(DataType type, Work&& work) {
  switch (type) {
    case DataType::f64: return work(double{});
    case DataType::f32: return work(float{});
    case DataType::f16: return work(Half{});
    case DataType::bf16: return work(Brain{});
    case DataType::int8: return work(std::int8_t{});
    case DataType::uint8: return work(std::uint8_t{});
    case DataType::int32: return work(std::int32_t{});
    case DataType::int64: break;
  }
  return work(std::int64_t{});
}

}  // namespace

std::unique_ptr<Bootstrap> solo_bootstrap() { return std::make_unique<Solo>(); }

Result<std::vector<std::string>> gather_texts(Bootstrap& bootstrap, const std::string& mine, std::size_t most) {
  std::vector<double> letters(most, 0);
  for (std::size_t i = 0; i < mine.size() && i < most; ++i) letters[i] = static_cast<unsigned char>(mine[i]);
  WM_ASSIGN(const auto all, bootstrap.all_gather(letters));
  std::vector<std::string> texts;
  for (std::size_t at = 0; at + most <= all.size(); at += most) {
    std::string text;
    for (std::size_t i = at; i < at + most && all[i] > 0; ++i) text += static_cast<char>(static_cast<int>(all[i]));
    texts.push_back(std::move(text));
  }
  return texts;
}

void fill_exact(void* to, DataType type, std::int64_t count, const ExactInput& input, std::uint64_t salt, int rank) {
  with_type(type, [&](auto sample) {
    using T = decltype(sample);
    T* elements = static_cast<T*>(to);
    for (std::int64_t i = 0; i < count; ++i) {
      elements[i] = stored_as<T>(exact_value(input, salt, static_cast<std::uint64_t>(i), rank));
    }
    return 0;
  });
}

std::int64_t expected_value(const Expected& expected, std::uint64_t index) {
  const auto origin = origin_of(expected.kind, index, static_cast<std::uint64_t>(expected.parameter), expected.rank,
                                expected.root, expected.input.ranks);
  return origin.reduced ? exact_reduction(expected.input, expected.salt, origin.index)
                        : exact_value(expected.input, expected.salt, origin.index, origin.rank);
}

std::int64_t count_wrong(const void* data, DataType type, std::int64_t count, const Expected& expected) {
  return with_type(type, [&](auto sample) {
    using T = decltype(sample);
    const T* elements = static_cast<const T*>(data);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto wanted = static_cast<double>(expected_value(expected, static_cast<std::uint64_t>(i)));
      // Written so that a NaN, which unwritten elements are, is wrong.
      if (!(std::fabs(number(elements[i]) - wanted) <= expected.tolerance * std::fabs(wanted))) ++wrong;
    }
    return wrong;
  });
}

}  // namespace warpmark::collectives
