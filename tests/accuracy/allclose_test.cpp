#include "accuracy/columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/files.h"
#include "base/float_types.h"
#include "base/json.h"

namespace warpmark::accuracy {
namespace {

Column numbers(std::vector<double> values, std::string name = "x") {
  return {.name = std::move(name), .numbers = std::move(values)};
}

ColumnResult compared(std::vector<double> reference, std::vector<double> out, const AllcloseOptions& options = {}) {
  return allclose({numbers(std::move(reference))}, {numbers(std::move(out))}, options).at(0);
}

TEST(Allclose, allows_what_numpy_allows) {
  const AllcloseOptions options{.tolerance = {.relative = 0.01, .absolute = 0.1}};
  EXPECT_TRUE(compared({100}, {101.1}, options).ok());
  EXPECT_FALSE(compared({100}, {101.2}, options).ok());
  EXPECT_TRUE(compared({-100}, {-98.9}, options).ok());
  // Not symmetric: the reference scales the tolerance.
  const AllcloseOptions relative{.tolerance = {.relative = 0.1, .absolute = 0}};
  EXPECT_TRUE(compared({10}, {9}, relative).ok());
  EXPECT_FALSE(compared({9}, {10}, relative).ok());
}

TEST(Allclose, compares_very_many_columns_by_their_names) {
  Columns reference;
  for (int i = 0; i < 200'000; ++i) reference.push_back(numbers({1.0 * i}, std::to_string(i)));
  Columns out(reference.rbegin(), reference.rend());
  out.front().name = "another";
  const auto results = allclose(reference, out, {});  // minutes, if each were looked for among all
  ASSERT_EQ(results.size(), 200'001U);
  EXPECT_EQ(std::ranges::count_if(results, [](const ColumnResult& one) { return one.ok(); }), 199'999);
  EXPECT_EQ(results.back().problem, "missing in the reference");
}

TEST(Allclose, never_takes_nan_for_equal_by_accident) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(compared({1, nan, 3}, {1, nan, 3}).mismatches, 1);
  EXPECT_TRUE(compared({1, nan, 3}, {1, nan, 3}, {.equal_nan = true}).ok());
  EXPECT_EQ(compared({1, nan}, {nan, 2}, {.equal_nan = true}).mismatches, 2);
  EXPECT_TRUE(compared({infinity}, {infinity}).ok());
  EXPECT_FALSE(compared({infinity}, {-infinity}).ok());
  EXPECT_FALSE(compared({infinity}, {1e308}).ok());
  EXPECT_FALSE(compared({1}, {infinity}).ok());
}

TEST(Allclose, lists_the_worst_first) {
  const auto result = compared({1, 1, 1, 1}, {1.1, 1, 2, 1.5}, {.most_offenders = 2});
  EXPECT_EQ(result.mismatches, 3);
  ASSERT_EQ(result.offenders.size(), 2U);
  EXPECT_EQ(result.offenders[0].index, 2);
  EXPECT_EQ(result.offenders[1].index, 3);
  EXPECT_EQ(result.max_absolute, 1);
}

TEST(Allclose, compares_texts_and_exact_columns_as_they_are) {
  const Columns reference{numbers({1, 2}, "id"), {.name = "label", .numeric = false, .texts = {"cat", "dog"}}};
  Columns out = reference;
  EXPECT_TRUE(allclose(reference, out, {.exact = {"id"}})[0].ok());
  out[0].numbers[1] = 2.0001;
  EXPECT_TRUE(allclose(reference, out, {})[0].ok());
  EXPECT_FALSE(allclose(reference, out, {.exact = {"i*"}})[0].ok());
  out[1].texts[0] = "cow";
  EXPECT_EQ(allclose(reference, out, {})[1].mismatches, 1);
}

TEST(Allclose, takes_integers_for_keys_unless_a_tolerance_names_them) {
  const auto compare_tables = [](const std::string& a, const std::string& b, const AllcloseOptions& options) {
    return allclose(*parse_table(a, ',', "a.csv"), *parse_table(b, ',', "b.csv"), options);
  };
  const std::string reference = "id,score\n5000,1.0\n5001,2.0\n", out = "id,score\n5000,1.0001\n5002,2.0\n";
  const auto results = compare_tables(reference, out, {.tolerance = {.relative = 0.1, .absolute = 0.1}});
  EXPECT_EQ(results[0].mismatches, 1) << "one key is another";
  EXPECT_TRUE(results[0].whole);
  EXPECT_TRUE(results[1].ok());
  EXPECT_TRUE(compare_tables(reference, out, {.by_column = {{"id", {.relative = 0, .absolute = 1}}}})[0].ok());
  // Written as integers on one side only, it is a number like any other.
  EXPECT_TRUE(compare_tables("score\n2000\n", "score\n2000.5\n", {})[0].ok());
}

TEST(Allclose, takes_the_tolerance_of_a_column) {
  const AllcloseOptions options{.by_column = {{"sc*", {.relative = 0.5, .absolute = 0}}}};
  EXPECT_TRUE(allclose({numbers({1}, "score")}, {numbers({1.4}, "score")}, options)[0].ok());
  EXPECT_FALSE(allclose({numbers({1}, "loss")}, {numbers({1.4}, "loss")}, options)[0].ok());
}

TEST(Allclose, refuses_what_is_missing_or_of_another_shape) {
  const auto results = allclose({numbers({1}, "a"), numbers({1}, "b")}, {numbers({1, 2}, "b"), numbers({1}, "c")}, {});
  ASSERT_EQ(results.size(), 3U);
  for (const auto& result : results) EXPECT_FALSE(result.ok()) << result.name;
  EXPECT_EQ(results[0].problem, "missing in the output");
  EXPECT_EQ(results[2].problem, "missing in the reference");
  const Column square{.name = "m", .numbers = {1, 2, 3, 4}, .shape = {2, 2}};
  const Column flat{.name = "m", .numbers = {1, 2, 3, 4}, .shape = {4}};
  EXPECT_FALSE(allclose({square}, {flat}, {})[0].ok());
}

TEST(Table, knows_quotes_and_types) {
  const auto columns = parse_table("id,name,\"a, b\"\r\n1,\"x \"\"y\"\"\",0.5\r\n2,z,nan\r\n", ',', "t.csv");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  ASSERT_EQ(columns->size(), 3U);
  EXPECT_TRUE((*columns)[0].whole);
  EXPECT_EQ((*columns)[1].texts[0], "x \"y\"");
  EXPECT_EQ((*columns)[2].name, "a, b");
  EXPECT_TRUE(std::isnan((*columns)[2].numbers[1]));
}

TEST(Table, keeps_large_integers_exact) {
  const auto columns = parse_table("id\n9007199254740993\n", ',', "t.csv");
  EXPECT_EQ((*columns)[0].texts, (std::vector<std::string>{"9007199254740993"}));
}

TEST(Table, without_a_header_loses_no_row) {
  const auto columns = parse_table("s1\t0.95\tpos\ns2\t0.2\tneg\n", '\t', "prediction_results.txt");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  ASSERT_EQ(columns->size(), 3U);
  EXPECT_EQ((*columns)[1].name, "column 2");
  EXPECT_EQ((*columns)[1].numbers, (std::vector<double>{0.95, 0.2}));
  EXPECT_EQ(parse_table("1 , 2\n3,4\n", ',', "t")->front().size(), 2U);
  EXPECT_EQ(parse_table("id,top-1 5\n3,4\n", ',', "t")->front().name, "id");
}

TEST(Table, reports_what_cannot_be_read) {
  EXPECT_FALSE(parse_table("", ',', "t").ok());
  EXPECT_FALSE(parse_table("a,b\n1\n", ',', "t").ok());
  EXPECT_FALSE(parse_table("a,a\n1,2\n", ',', "t").ok());
  EXPECT_FALSE(parse_table("a\n\"1\n", ',', "t").ok());
}

TEST(JsonColumns, share_a_path_among_the_elements_of_an_array) {
  const auto columns = parse_json_columns(R"({"r": [{"t": 1, "n": "a"}, {"t": 2.5, "n": "b"}], "ok": true})", "t.json");
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ((*columns)[0].name, "r[].t");
  EXPECT_EQ((*columns)[0].numbers, (std::vector<double>{1, 2.5}));
  EXPECT_EQ((*columns)[1].texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*columns)[2].texts, (std::vector<std::string>{"true"}));
  EXPECT_FALSE(parse_json_columns("{", "t.json").ok());
}

TEST(JsonColumns, of_another_structure_are_not_the_same) {
  const auto same = [](const std::string& a, const std::string& b) {
    const auto results = allclose(*parse_json_columns(a, "a.json"), *parse_json_columns(b, "b.json"), {});
    return std::all_of(results.begin(), results.end(), [](const auto& result) { return result.ok(); });
  };
  EXPECT_TRUE(same(R"({"a": [[1.5], [2, 3]]})", R"({"a": [[1.5], [2, 3]]})"));
  EXPECT_FALSE(same(R"({"a": [[1, 2], [3]]})", R"({"a": [[1], [2, 3]]})")) << "the same numbers in other rows";
  EXPECT_FALSE(same(R"([{"k": 1}, {"j": 2}])", R"([{"j": 2}, {"k": 1}])"));
  EXPECT_FALSE(same(R"({"b": 1, "a": []})", R"({"b": 1})")) << "an empty list is something, too";
  EXPECT_FALSE(same(R"({"b": 1, "a": []})", R"({"b": 1, "a": {}})"));
  EXPECT_FALSE(parse_json_columns(R"({"a": [], "b": {}})", "a.json").ok()) << "no values at all";
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(118, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}

TEST(Npy, is_read_by_type_and_shape) {
  const float values[] = {1, 2.5, -3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  const auto columns = parse_npy(npy("<f4", "2, 3", data), "a.npy");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  EXPECT_EQ((*columns)[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ((*columns)[0].numbers, (std::vector<double>{1, 2.5, -3, 4, 5, 6}));
  EXPECT_FALSE(parse_npy(npy("<f4", "7", data), "a.npy").ok());
  EXPECT_FALSE(parse_npy(npy(">f4", "6", data), "a.npy").ok());
  EXPECT_FALSE(parse_npy(npy("<c8", "3", data), "a.npy").ok());
  EXPECT_FALSE(parse_npy(npy("<f4", "99999999999999, 99999999999999", data), "a.npy").ok());
  EXPECT_FALSE(parse_npy("\x93NUMPY", "a.npy").ok());
  EXPECT_FALSE(parse_npy(std::string("\x93NUMPY\x01\x00\xff\xff", 10) + "  ", "a.npy").ok());
}

TEST(Npy, headers_are_read_however_they_are_written) {
  const auto with_header = [](std::string header, const std::string& data) {
    header.resize(65'000, ' ');
    const auto low = static_cast<char>(65'000 & 0xFF), high = static_cast<char>(65'000 >> 8);
    return parse_npy(std::string("\x93NUMPY\x01\x00", 8) + low + high + header + data, "a.npy");
  };
  const auto python2 = with_header("{'shape' : (3L,),'fortran_order':False,'descr':'|u1'}", "abc");
  ASSERT_TRUE(python2.ok()) << python2.error().what;
  EXPECT_EQ((*python2)[0].shape, std::vector<std::int64_t>{3});
  const auto scalar = with_header("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", std::string(1, '\1'));
  ASSERT_TRUE(scalar.ok()) << scalar.error().what;
  EXPECT_EQ((*scalar)[0].numbers, std::vector<double>{1});
  EXPECT_FALSE(with_header("{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", "abc").ok());
  EXPECT_FALSE(with_header("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (3,)}", "abc").ok());
  EXPECT_FALSE(with_header("{'descr': '|u1', 'shape': 3}", "abc").ok());
  EXPECT_FALSE(with_header("{'descr': '|u1', 'shape': (-3,)}", "abc").ok());
  // 65,000 sizes: a regular expression took a stack frame for each character.
  EXPECT_FALSE(with_header("{'descr': '|u1', 'shape': (" + std::string(64'900, '1') + ")}", "abc").ok());
}

std::string safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

TEST(Safetensors, are_read_by_name) {
  const std::uint16_t halves[] = {float_to_bf16(1.5F), float_to_bf16(-2)};
  const std::int64_t whole[] = {(std::int64_t{1} << 53) + 1};
  const std::string data =
      std::string(reinterpret_cast<const char*>(halves), 4) + std::string(reinterpret_cast<const char*>(whole), 8);
  const auto columns = parse_safetensors(
      safetensors(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"n":{"dtype":"I64","shape":[1],)"
                  R"("data_offsets":[4,12]},"__metadata__":{"a":"b"}})",
                  data),
      "a.safetensors");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  ASSERT_EQ(columns->size(), 2U);
  EXPECT_EQ((*columns)[0].numbers, (std::vector<double>{1.5, -2}));
  EXPECT_EQ((*columns)[1].texts, (std::vector<std::string>{"9007199254740993"})) << "a double would round it";
  for (const auto* header : {"{", "[]", R"({"w":{}})", R"({"w":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}})",
                             R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[10,14]}})",
                             R"({"w":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}})"}) {
    EXPECT_FALSE(parse_safetensors(safetensors(header, data), "a.safetensors").ok()) << header;
  }
  EXPECT_FALSE(parse_safetensors("abc", "a.safetensors").ok());
}

TEST(Safetensors, of_eight_bits_are_numbers) {
  // 1, -1.5, the largest, the smallest above 0, and NaN, by each format's own layout
  const std::string e4m3("\x38\xBC\x7E\x01\x7F", 5), e5m2("\x3C\xBE\x7B\x01\x7E", 5);
  const auto columns = parse_safetensors(safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[5],"data_offsets":[0,5]},)"
                                                     R"("b":{"dtype":"F8_E5M2","shape":[5],"data_offsets":[5,10]}})",
                                                     e4m3 + e5m2),
                                         "a.safetensors");
  ASSERT_TRUE(columns.ok()) << columns.error().what;
  const std::vector<std::vector<double>> expected{{1, -1.5, 448, 0x1p-9}, {1, -1.5, 57344, 0x1p-16}};
  for (std::size_t c = 0; c < 2; ++c) {
    const auto& numbers = (*columns)[c].numbers;
    EXPECT_EQ(std::vector<double>(numbers.begin(), numbers.begin() + 4), expected[c]);
    EXPECT_TRUE(std::isnan(numbers[4]));
  }
}

/// Written by NumPy 1.24: weights = linspace(0, 1, 200) as f4 in 20 x 10, ids = arange(5).
std::string npz(const std::string& name) {
  const auto bytes = read_file(std::string(WARPMARK_SOURCE_DIR) + "/tests/data/npz/" + name);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

template <typename T>
std::string with_number(std::string bytes, std::size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof(T));
  return bytes;
}

TEST(Columns, reads_npz_as_numpy_writes_it) {
  for (const auto* name : {"stored.npz", "deflated.npz"}) {
    const auto columns = parse_npz(npz(name), name);
    ASSERT_TRUE(columns.ok()) << columns.error().what;
    ASSERT_EQ(columns->size(), 2U);
    EXPECT_EQ((*columns)[0].name, "weights");
    EXPECT_EQ((*columns)[0].shape, (std::vector<std::int64_t>{20, 10}));
    EXPECT_EQ((*columns)[0].numbers.size(), 200U);
    EXPECT_FLOAT_EQ(static_cast<float>((*columns)[0].numbers[199]), 1.0F);
    EXPECT_FLOAT_EQ(static_cast<float>((*columns)[0].numbers[1]), 1.0F / 199);
    EXPECT_EQ((*columns)[1].numbers, (std::vector<double>{0, 1, 2, 3, 4}));
  }
}

TEST(Columns, refuses_npz_that_is_damaged_cut_off_or_a_bomb) {
  const std::string whole = npz("deflated.npz");
  const std::size_t entry = whole.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  const auto refused = [](const std::string& bytes, const std::string& why) {
    const auto columns = parse_npz(bytes, "a.npz");
    ASSERT_FALSE(columns.ok());
    EXPECT_NE(columns.error().what.find(why), std::string::npos) << columns.error().what;
  };
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_npz(whole.substr(0, size), "a").ok());
  refused(with_number(whole, entry + 24, std::uint32_t{0x7fffffff}), "more than it can hold");
  refused(with_number(whole, entry + 24, std::uint32_t{1000}), "damaged");
  refused(with_number(whole, entry + 16, std::uint32_t{0}), "checksum");
  refused(with_number(whole, entry + 42, std::uint32_t{0xfffffff0}), "not where");
  refused(with_number(whole, entry + 10, std::uint16_t{14}), "method 14");
  refused(with_number(whole, entry + 8, std::uint16_t{1}), "encrypted");
  refused(with_number(whole, entry + 28, std::uint16_t{0xffff}), "cut off");
  refused(with_number(whole, whole.size() - 12, std::uint16_t{9}), "damaged");
  refused("", "too short");
  refused(std::string(100, 'x'), "zip");
  // Any one byte that lies must not be believed further than the file goes.
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char value : {'\x00', '\x7f', '\xff'}) (void)parse_npz(with_number(whole, place, value), "a.npz");
  }
}

}  // namespace
}  // namespace warpmark::accuracy
