// What is one document of YAML, and what is none.
#include "base/yaml.h"

#include <gmock/gmock.h>

#include "support/expect_refused.h"
#include "support/peak_memory.h"

namespace warpmark {
namespace {

using testing_support::expect_refused;

Result<std::string> first_key(std::string_view text) {
  return read_yaml(text, "file.yaml", [](const YAML::Node& root) -> Result<std::string> {
    return root.IsMap() ? root.begin()->first.Scalar() : std::string(root.IsNull() ? "nothing" : "no map");
  });
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
