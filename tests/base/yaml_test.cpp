// What is one document of YAML, and what is none.
#include "base/yaml.h"

#include <gmock/gmock.h>

namespace warpmark {
namespace {

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

}  // namespace
}  // namespace warpmark
