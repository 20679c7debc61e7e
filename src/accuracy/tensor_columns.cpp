// Binary arrays: NumPy's .npy (numpy.lib.format, versions 1.0 to 3.0) and Hugging Face's safetensors (a JSON header of
// dtypes, shapes and offsets before the data). Sizes in a file are never trusted: all are checked against its length.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "accuracy/columns.h"
#include "base/float_types.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::accuracy {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read as they lie in the file");

template <typename T>
std::vector<double> decoded(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(value);
  }
  return numbers;
}

std::vector<double> decoded_halves(std::string_view bytes, float (*convert)(std::uint16_t)) {
  std::vector<double> numbers(bytes.size() / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * 2, 2);
    numbers[i] = static_cast<double>(convert(bits));
  }
  return numbers;
}

/// OCP's 8-bit formats (Micikevicius et al., arXiv 2209.05433): E5M2 is the upper byte of a half.
float e5m2_to_float(std::uint8_t bits) { return f16_to_float(static_cast<std::uint16_t>(bits << 8)); }

/// E4M3: bias 7, no infinity, NaN where all bits but the sign are set.
float e4m3_to_float(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const auto magnitude =
      static_cast<float>(exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

std::vector<double> decoded_bytes(std::string_view bytes, float (*convert)(std::uint8_t)) {
  std::vector<double> numbers;
  for (const char byte : bytes) numbers.push_back(static_cast<double>(convert(static_cast<std::uint8_t>(byte))));
  return numbers;
}

struct Type {
  const char* npy;
  const char* safetensors;
  std::size_t size;
  bool whole;
  std::vector<double> (*decode)(std::string_view);
};

constexpr Type kTypes[] = {
    {"f8", "F64", 8, false, decoded<double>},
    {"f4", "F32", 4, false, decoded<float>},
    {"f2", "F16", 2, false, [](std::string_view bytes) { return decoded_halves(bytes, f16_to_float); }},
    {"", "BF16", 2, false, [](std::string_view bytes) { return decoded_halves(bytes, bf16_to_float); }},
    {"", "F8_E4M3", 1, false, [](std::string_view bytes) { return decoded_bytes(bytes, e4m3_to_float); }},
    {"", "F8_E5M2", 1, false, [](std::string_view bytes) { return decoded_bytes(bytes, e5m2_to_float); }},
    {"i8", "I64", 8, true, decoded<std::int64_t>},
    {"i4", "I32", 4, true, decoded<std::int32_t>},
    {"i2", "I16", 2, true, decoded<std::int16_t>},
    {"i1", "I8", 1, true, decoded<std::int8_t>},
    {"u8", "U64", 8, true, decoded<std::uint64_t>},
    {"u4", "U32", 4, true, decoded<std::uint32_t>},
    {"u2", "U16", 2, true, decoded<std::uint16_t>},
    {"u1", "U8", 1, true, decoded<std::uint8_t>},
    {"b1", "BOOL", 1, true, decoded<std::uint8_t>},
};

/// Number of elements; nothing if a dimension is negative or the product overflows.
std::optional<std::size_t> elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto factor = static_cast<std::size_t>(size);
    if (factor != 0 && count > (std::size_t{1} << 48) / factor) return std::nullopt;
    count *= factor;
  }
  return count;
}

/// Integers that a double cannot hold become texts, which are compared exactly.
Column column_of(std::string name, const Type& type, std::vector<std::int64_t> shape, std::string_view bytes) {
  Column column{.name = std::move(name), .whole = type.whole, .numbers = type.decode(bytes), .texts = {}, .shape = {}};
  column.shape = std::move(shape);
  if (!type.whole || type.size < 8) return column;
  bool exact = true;
  for (const double value : column.numbers) exact = exact && value < 9007199254740992.0 && value > -9007199254740992.0;
  if (exact) return column;
  column.numeric = false;
  for (std::size_t i = 0; i < column.numbers.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * 8, 8);
    column.texts.push_back(type.npy[0] == 'u' ? std::to_string(bits) : std::to_string(static_cast<std::int64_t>(bits)));
  }
  column.numbers.clear();
  return column;
}

/// What stands behind a key of a .npy header, which is a Python dictionary; empty if there is no such key.
std::string_view behind(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  header = trim(header.substr(at + key.size()));
  return header.starts_with(':') ? trim(header.substr(1)) : std::string_view();
}

/// Nothing if the text does not begin with `open` or has no `close`.
std::optional<std::string_view> between(std::string_view text, char open, char close) {
  const auto end = text.find(close, 1);
  if (!text.starts_with(open) || end == std::string_view::npos) return std::nullopt;
  return text.substr(1, end - 1);
}

/// "64, 3L," and "" (one value); nothing if it is something else.
std::optional<std::vector<std::int64_t>> sizes_of(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(text, ',')) {
    std::string_view digits = trim(part);
    if (digits.ends_with('L')) digits.remove_suffix(1);  // Python 2
    if (digits.empty()) continue;
    const auto size = digits.size() > 15 ? Result<std::int64_t>(data_error("too large")) : parse_integer(digits);
    if (!size.ok()) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

Error npy_error(std::string_view name, const std::string& what) {
  return data_error(fmt::format("{} is no array that can be read: {}", name, what));
}

}  // namespace

Result<Columns> parse_npy(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12) return npy_error(name, "it does not begin as .npy");
  const std::size_t length_bytes = bytes[6] == 1 ? 2 : 4;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  const std::size_t begin = 8 + length_bytes;
  if (length > bytes.size() - begin || length > 65'536) return npy_error(name, "its header is longer than the file");
  const std::string_view header = bytes.substr(begin, length);
  const auto type_name = between(behind(header, "'descr'"), '\'', '\'');
  if (!type_name || type_name->size() < 2) return npy_error(name, "its header names no plain type");
  const auto shape_text = between(behind(header, "'shape'"), '(', ')');
  auto shape = shape_text ? sizes_of(*shape_text) : std::nullopt;
  if (!shape) return npy_error(name, "its header has no shape");
  if (type_name->front() == '>') return npy_error(name, "its byte order is not this machine's");
  if (behind(header, "'fortran_order'").starts_with("True")) {
    return npy_error(name, "it is in Fortran order; save it with np.ascontiguousarray");
  }
  const Type* type = nullptr;
  for (const auto& candidate : kTypes) {
    if (type_name->substr(1) == candidate.npy) type = &candidate;
  }
  if (type == nullptr) return npy_error(name, "its type " + std::string(*type_name) + " is not known");
  const auto count = elements_of(*shape);
  const auto data = bytes.substr(begin + length);
  if (!count || *count * type->size != data.size()) return npy_error(name, "its shape does not fit its length");
  return Columns{column_of("array", *type, std::move(*shape), data)};
}

Result<Columns> parse_safetensors(std::string_view bytes, std::string_view name) {
  std::uint64_t length = 0;
  if (bytes.size() < 8) return data_error(fmt::format("{} is too short", name));
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8) return data_error(fmt::format("{}: its header is longer than the file", name));
  WM_ASSIGN(const auto header, parse_json(bytes.substr(8, length), name));
  const auto data = bytes.substr(8 + length);
  if (!header.is_object()) return data_error(fmt::format("{}: its header is no object", name));
  Columns columns;
  for (const auto& item : header.items()) {
    const std::string& tensor = item.key();
    const Json& facts = item.value();
    if (tensor == "__metadata__") continue;
    const auto broken = [&](const std::string& what) {
      return data_error(fmt::format("{}: tensor '{}' {}", name, tensor, what));
    };
    const Type* type = nullptr;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;
    try {
      for (const auto& candidate : kTypes) {
        if (facts.at("dtype").get<std::string>() == candidate.safetensors) type = &candidate;
      }
      shape = facts.at("shape").get<std::vector<std::int64_t>>();
      begin = facts.at("data_offsets").at(0).get<std::uint64_t>();
      end = facts.at("data_offsets").at(1).get<std::uint64_t>();
    } catch (const Json::exception&) {
      return broken("has no dtype, shape or data_offsets");
    }
    if (type == nullptr) return broken("has a dtype that is not known");
    const auto count = elements_of(shape);
    if (begin > end || end > data.size() || !count || *count * type->size != end - begin) {
      return broken("does not fit its offsets");
    }
    columns.push_back(column_of(tensor, *type, std::move(shape), data.substr(begin, end - begin)));
  }
  if (columns.empty()) return data_error(fmt::format("{} holds no tensors", name));
  return columns;
}

}  // namespace warpmark::accuracy
