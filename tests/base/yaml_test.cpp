// What is one document of YAML, and what is none; its nodes, and how a table of keys reads a map.
#include "base/yaml_keys.h"

#include <gmock/gmock.h>

#include "support/expect_refused.h"
#include "support/peak_memory.h"

namespace warpmark {
namespace {

using testing_support::expect_refused;

Result<std::string> first_key(std::string_view text) {
  WM_ASSIGN(const auto root, read_yaml(text, "file.yaml"));
  return root.is_map() ? root.pairs().front().first.text() : std::string(root.is_null() ? "nothing" : "no map");
}

TEST(Yaml, is_one_document_with_empty_ones_after_it) {
  EXPECT_EQ(*first_key("a: 1\n"), "a");
  EXPECT_EQ(*first_key("--- # first\na: 1\n...\n---\n---\n"), "a");
  for (const char* empty : {"", "# nothing\n", "---\n", "~", "---\n---\n"}) EXPECT_EQ(*first_key(empty), "nothing");
}

TEST(Yaml, refuses_a_second_document) {
  for (const char* text : {"a: 1\n---\nb: 2\n", "---\n---\n- 1\n", "[a]\n--- b"}) {
    const auto key = first_key(text);
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_EQ(key.error().what, "file.yaml has 2 documents, one is expected");
  }
}

TEST(Yaml, does_not_wait_for_the_end_of_a_stray_comma) {
  for (const char* text : {",", "\n\n,&", "--- ,", "&a ,", "!t ,", "a: 1\n---\n,"}) {
    const auto key = first_key(text);
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_THAT(key.error().what, testing::MatchesRegex("file.yaml line [1-3]: .*")) << text;
    EXPECT_EQ(key.error().hint, "the file must be valid YAML");
  }
}

std::string list_of(std::size_t count, const std::string& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += item + ",";
  return text + "]";
}

TEST(Yaml, refuses_more_values_than_anybody_writes) {
  EXPECT_EQ(*first_key("a: " + list_of(kMostYamlValues - 3, "1")), "a");  // beside the map, the key and the list
  expect_refused(first_key("a: " + list_of(kMostYamlValues - 2, "1")), "file.yaml has more than 20000 keys and values");
  expect_refused(first_key("a: " + list_of(20, "[[], {}, '', null]") + "\nb: " + list_of(7'000, "{a: b}")),
                 "file.yaml has more than 20000 keys and values");
  expect_refused(first_key(std::string(static_cast<std::size_t>(kLargestYamlBytes), '#') + "\na: 1\n"),
                 "file.yaml is larger than 262144 bytes");
}

TEST(Yaml, counts_an_alias_as_all_that_it_stands_for) {
  EXPECT_EQ(*first_key("a: &a " + list_of(100, "1") + "\nb: " + list_of(100, "*a")), "a");
  expect_refused(first_key("a: &a " + list_of(200, "1") + "\nb: " + list_of(200, "*a")), "more than 20000 keys");
  std::string laughs = "a0: &a0 [1, 1]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string before = " *a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "]\n";
  }
  expect_refused(first_key(laughs), "more than 20000 keys");
  expect_refused(first_key("a: &a [1, *a]"), "file.yaml has an alias inside of what it names");
}

TEST(YamlNode, tells_an_absent_key_from_null) {
  const auto root = *read_yaml("a: ~\nb:\n  c: 1\n  d:\n  e: 'null'\n", "f");
  EXPECT_TRUE(root["a"]);
  EXPECT_TRUE(root["a"].is_null());
  EXPECT_TRUE(root["b"]["d"].is_null());
  EXPECT_EQ(root["b"]["e"].text(), "null");
  const auto absent = root["b"]["x"];
  EXPECT_FALSE(absent);
  EXPECT_FALSE(absent.is_null() || absent.is_scalar() || absent.is_list() || absent.is_map());
  EXPECT_EQ(absent.line(), 3);  // where b's map begins
  EXPECT_FALSE(absent["y"]["z"]);
  EXPECT_TRUE(absent.items().empty() && absent.pairs().empty() && absent.text().empty());
}

TEST(YamlNode, has_items_pairs_and_lines) {
  const auto root = *read_yaml("list:\n  - 1\n  - [2, 3]\nmap: {a: b,\n  c: d}\n? [x]\n: y\n", "f");
  ASSERT_EQ(root.pairs().size(), 3U);
  const auto items = root["list"].items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].text(), "1");
  EXPECT_EQ(items[0].line(), 2);
  EXPECT_EQ(items[1].items()[1].text(), "3");
  EXPECT_EQ(items[1].line(), 3);
  EXPECT_TRUE(root["list"].pairs().empty());
  const auto pairs = root["map"].pairs();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1].first.text() + pairs[1].second.text(), "cd");
  EXPECT_EQ(pairs[1].first.line(), 5);
  EXPECT_TRUE(root["map"].items().empty());
  EXPECT_TRUE(root.pairs()[2].first.is_list());
  EXPECT_FALSE(root["x"]);
}

TEST(YamlNode, shares_what_an_alias_names_and_outlives_the_root) {
  const auto b = [] { return (*read_yaml("a: &a {x: [1, 2]}\nb: *a\nc: &n ~\nd: *n\n", "f"))["b"]; }();
  EXPECT_TRUE(b.is_map());
  EXPECT_EQ(b["x"].items()[1].text(), "2");
  EXPECT_EQ(b.line(), 1);
  EXPECT_TRUE((*read_yaml("c: &n ~\nd: *n\n", "f"))["d"].is_null());
}

TEST(YamlNode, is_null_where_nothing_is_written) {
  for (const char* empty : {"", "# nothing\n", "~", "\n\n---\n"}) {
    const auto root = *read_yaml(empty, "f");
    EXPECT_TRUE(root && root.is_null()) << empty;
    EXPECT_EQ(root.line(), 1) << empty;
  }
}

enum class Color { red, green };
struct ColorName {
  Color value;
  const char* text;
};
constexpr ColorName kColors[] = {{Color::red, "red"}, {Color::green, "green"}};
std::span<const ColorName> names_of(Color) { return kColors; }

struct Part {
  double ratio = 0;
};
struct Settings {
  std::string name;
  std::string mode = "fast";
  bool flag = false;
  int count = 7;
  double time_s = 0;
  double bytes = 0;
  double amount = 0;
  Color color = Color::red;
  std::vector<std::string> list;
  YamlPairs set;
  Part part;
  std::string twice;
};

Status read_twice(const YamlReader& reader, const YamlNode& node, const YamlKey& key, std::string& into) {
  WM_TRY(reader.value(node, key, into));
  into += into;
  return {};
}
Status read_both(const YamlReader& reader, const YamlNode& node, const YamlKey& key, Settings& into) {
  into.name += "!";
  return node.is_scalar() ? Status() : Status(reader.error(node, std::string(key.key) + " is odd"));
}

constexpr YamlKey kPartKeys[] = {yaml_key<&Part::ratio>("ratio", yaml::ratio).needed()};
constexpr YamlKey kSettingsKeys[] = {
    yaml_schema("test/1"),
    yaml_key<&Settings::name>("name", yaml::one_line).needed("a test needs a name", "name: x"),
    yaml_key<&Settings::mode>("mode", yaml::words("fast, slow")),
    yaml_key<&Settings::flag>("flag"),
    yaml_key<&Settings::count>("count", yaml::whole(1, 100)),
    yaml_key<&Settings::time_s>("time", yaml::duration),
    yaml_key<&Settings::time_s>("wait", yaml::duration_or_zero),
    yaml_key<&Settings::bytes>("memory", yaml::quantity("B")),
    yaml_key<&Settings::amount>("amount"),
    yaml_key<&Settings::color>("color"),
    yaml_key<&Settings::list>("list"),
    yaml_key<&Settings::set>("set", yaml::like("{a: 1}")),
    yaml_key<&Settings::part>("part", yaml::map<kPartKeys>("part must be a map")),
    yaml_key<&Settings::twice, read_twice>("twice"),
    yaml_key<read_both>("both"),
    yaml_key("elsewhere"),
};

Result<Settings> settings(std::string_view text) {
  WM_ASSIGN(const auto root, read_yaml(text, "f"));
  Settings into;
  WM_TRY(YamlReader("f").fill(root, "settings must be a map", kSettingsKeys, into));
  return into;
}

TEST(YamlKeys, give_each_member_and_leave_the_others) {
  const auto read = settings(
      "schema: test/1\nname: n\nmode: slow\nflag: Yes\ncount: 100\ntime: 2m\nmemory: 2 kB\namount: -1.5\ncolor: green\n"
      "list: one\nset: {m: 1, k: x}\npart: {ratio: 5%}\ntwice: ab\nboth: 1\nelsewhere: [odd]\n");
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(read->name, "n!");
  EXPECT_EQ(read->mode, "slow");
  EXPECT_TRUE(read->flag);
  EXPECT_EQ(read->count, 100);
  EXPECT_EQ(read->time_s, 120);
  EXPECT_EQ(read->bytes, 2000);
  EXPECT_EQ(read->amount, -1.5);
  EXPECT_EQ(read->color, Color::green);
  EXPECT_EQ(read->list, std::vector<std::string>{"one"});
  EXPECT_EQ(read->set, (YamlPairs{{"m", "1"}, {"k", "x"}}));
  EXPECT_EQ(read->part.ratio, 0.05);
  EXPECT_EQ(read->twice, "abab");
  const auto few = settings("name: n\nwait: 0\n");
  ASSERT_TRUE(few.ok()) << few.error().what;
  EXPECT_EQ(few->count, 7);
  EXPECT_EQ(few->mode, "fast");
}

TEST(YamlKeys, say_what_does_not_fit_and_where) {
  const struct {
    const char* text;
    const char* error;
  } kWrong[] = {
      {"- 1", "f line 1: settings must be a map"},
      {"", "f line 1: settings must be a map"},
      {"name: a\nnmae: b", "f line 2: unknown key 'nmae'"},
      {"name: a\nflag: on\nname: b", "f line 3: 'name' is there twice"},
      {"name: a\n? [x]\n: y", "f line 2: keys must be single words"},
      {"flag: on", "f line 1: a test needs a name"},
      {"name: a\npart: {}", "f line 2: there is no ratio"},
      {"name: a\npart: 5", "f line 2: part must be a map"},
      {"name: a\nschema: test/2", "f line 2: schema 'test/2' is not known"},
      {"name: [a]", "f line 1: name must be a single value"},
      {"name: ~", "f line 1: name must be a single value"},
      {"name: \"a\\nb\"", "f line 1: name has control characters"},
      {"name: a\nmode: slwo", "f line 2: mode is 'slwo'"},
      {"name: a\ncolor: blue", "f line 2: color is 'blue'"},
      {"name: a\nflag: maybe", "f line 2: flag must be true or false"},
      {"name: a\nflag: yEs", "f line 2: flag must be true or false"},
      {"name: a\ncount: 0", "f line 2: count is 0, must be 1 to 100"},
      {"name: a\ncount: 101", "f line 2: count is 101, must be 1 to 100"},
      {"name: a\ncount: 1.5", "f line 2: count: "},
      {"name: a\ntime: 0", "f line 2: time must be above 0"},
      {"name: a\nmemory: 2 s", "f line 2: memory: "},
      {"name: a\namount: many", "f line 2: amount: "},
      {"name: a\nlist: [{b: c}]", "f line 2: list must be a single value"},
      {"name: a\nset: 1", "f line 2: set must be a map such as {a: 1}"},
      {"name: a\nset: {m: [1]}", "f line 2: set.m must be a single value"},
      {"name: a\nboth: [1]", "f line 2: both is odd"},
  };
  for (const auto& wrong : kWrong) {
    const auto read = settings(wrong.text);
    ASSERT_FALSE(read.ok()) << wrong.text;
    EXPECT_THAT(read.error().what, testing::StartsWith(wrong.error)) << wrong.text;
  }
  EXPECT_EQ(settings("name: a\nmode: slwo").error().hint, "did you mean 'slow'? one of: fast, slow");
  EXPECT_EQ(settings("name: a\nnmae: b").error().hint, "did you mean 'name'?");
  EXPECT_EQ(settings("flag: on").error().hint, "name: x");
}

TEST(YamlKeys, take_the_truth_values_of_yaml) {
  for (const char* yes : {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    EXPECT_TRUE(settings(std::string("name: a\nflag: ") + yes)->flag) << yes;
  }
  for (const char* no : {"n", "N", "no", "false", "FALSE", "off", "Off"}) {
    EXPECT_FALSE(settings(std::string("name: a\nflag: ") + no)->flag) << no;
  }
}

TEST(Memory, of_settings_is_bounded) {
  if (!testing_support::memory_can_be_measured()) GTEST_SKIP() << "a sanitizer changes what memory costs";
  for (const std::string& text : {list_of(kMostYamlValues - 1, "1"), list_of(100'000, "1"), list_of(1000, "&a"),
                                  "'" + std::string(200'000, 'a') + "'"}) {
    const std::int64_t peak = testing_support::peak_bytes_beyond_this([&] { return (void)first_key(text), true; });
    ASSERT_GE(peak, 0);
    EXPECT_LE(peak, 10 * static_cast<std::int64_t>(text.size()) + (32 << 20)) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace warpmark
