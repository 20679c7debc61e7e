// Against tokenizers that others wrote: @huggingface/tokenizers 1.x (JavaScript) and SentencePiece's Python module made
// tests/data/tokenizers/golden.json. The vocabularies are small ones, trained on this project's documents, in the files
// that GPT-2, Llama 2, Llama 3 and Qwen 2 have.
#include "serving/tokens/tokenizer.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "base/json.h"

namespace warpmark::serving {
namespace {

using ::testing::HasSubstr;

std::string tokenizer_file(const std::string& name) { return WARPMARK_SOURCE_DIR "/tests/data/tokenizers/" + name; }

Json golden_tokens() { return *parse_json(*read_file(tokenizer_file("golden.json")), "golden.json"); }

TEST(Tokenizer, agrees_with_tokenizers_of_others) {
  const Json golden = golden_tokens();
  ASSERT_EQ(golden["ids"].size(), 6U);
  for (const auto& [name, wanted] : golden["ids"].items()) {
    const auto tokenizer = load_tokenizer(tokenizer_file(name));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().what;
    for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
      const auto text = golden["texts"][i].get<std::string>();
      const auto ids = (*tokenizer)->encode(text);
      ASSERT_TRUE(ids.ok()) << ids.error().what;
      EXPECT_EQ(Json(*ids), wanted[i]) << name << ": " << text;
      EXPECT_EQ(Json(*(*tokenizer)->encode(text)), wanted[i]) << "once more, from memory";
    }
  }
}

TEST(Tokenizer, takes_bytes_that_are_no_text) {
  const auto tokenizer = load_tokenizer(tokenizer_file("gpt2_like.json"));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(*(*tokenizer)->encode("a\xFF\xC3"), *(*tokenizer)->encode("a\uFFFD\uFFFD"));
}

std::string tokenizer_error(const std::string& json) {
  const auto made = json_tokenizer(json, "t.json");
  return made.ok() ? "" : made.error().what;
}

TEST(Tokenizer, refuses_what_it_would_count_wrongly) {
  const auto with = [](const std::string& model, const std::string& more) {
    return tokenizer_error("{\"model\": " + model + more + "}");
  };
  const std::string good = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";
  EXPECT_EQ(with(good, ""), "");
  EXPECT_THAT(with(R"({"type": "WordPiece", "vocab": {"a": 0}})", ""), HasSubstr("of the kind WordPiece"));
  EXPECT_THAT(with(R"({"type": "BPE"})", ""), HasSubstr("no vocabulary"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})", ""), HasSubstr("has no number"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})", ""), HasSubstr("merge 1"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"})", ""),
              HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with(good, R"(, "normalizer": {"type": "Precompiled"})"), HasSubstr("Precompiled"));
  EXPECT_THAT(with(good, R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}})"), HasSubstr("cannot be"));
  EXPECT_THAT(with(good, R"(, "pre_tokenizer": {"type": "UnicodeScripts"})"), HasSubstr("UnicodeScripts"));
  EXPECT_THAT(with(good, R"(, "added_tokens": [{"id": 3}])"), HasSubstr("added token"));
  EXPECT_THAT(tokenizer_error("[]"), HasSubstr("no tokenizer.json"));
  EXPECT_FALSE(load_tokenizer(tokenizer_file("none.json")).ok());
  const auto neither = sentence_pieces("\x01\x02garbage", "x.model");
  ASSERT_FALSE(neither.ok());
  EXPECT_THAT(neither.error().what, HasSubstr("neither"));
}

std::string pieces_by(const std::string& pre_tokenizer, const std::string& text) {
  // Every character is a token, so that a piece is as many tokens as it has characters, and "ab" shows what was cut.
  const auto made = json_tokenizer(
      R"({"model": {"type": "BPE", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "1": 3, "2": 4, ".": 5,
          "ab": 6, "12": 7, "a.": 8, ".b": 9, "b1": 10, "▁": 11, "▁a": 12, ".a": 13},
          "merges": ["a b", "1 2", "a .", ". b", "b 1", "▁ a", ". a"]}, "pre_tokenizer": )" +
          pre_tokenizer + "}",
      "t.json");
  if (!made.ok()) return made.error().what;
  const auto ids = (*made)->encode(text);
  return ids.ok() ? dump_json(Json(*ids), -1) : ids.error().what;
}

TEST(Tokenizer, cuts_as_each_behaviour_says) {
  const auto split = [](const char* behaviour, const char* more = "") {
    return std::string(R"({"type": "Split", "pattern": {"String": "."}, "behavior": ")") + behaviour + "\"" + more +
           "}";
  };
  EXPECT_EQ(pieces_by("null", "ab.b"), "[6,9]");
  EXPECT_EQ(pieces_by(split("Isolated"), "a.b"), "[1,5,2]");
  EXPECT_EQ(pieces_by(split("Removed"), "a.b"), "[1,2]");
  EXPECT_EQ(pieces_by(split("MergedWithPrevious"), "a.b"), "[8,2]");
  EXPECT_EQ(pieces_by(split("MergedWithNext"), "a.b"), "[1,9]");
  EXPECT_EQ(pieces_by(split("Contiguous"), "a..b"), "[1,5,5,2]");
  EXPECT_EQ(pieces_by(split("Removed", ", \"invert\": true"), "a.b"), "[5]");
  EXPECT_THAT(pieces_by(split("Sometimes"), "a"), HasSubstr("Sometimes"));
  EXPECT_EQ(pieces_by(R"({"type": "Digits", "individual_digits": true})", "b12"), "[2,3,4]");
  EXPECT_EQ(pieces_by(R"({"type": "Digits", "individual_digits": false})", "b12"), "[2,7]");
  EXPECT_EQ(pieces_by(R"({"type": "Whitespace"})", "ab .a"), "[6,5,1]");
  EXPECT_EQ(pieces_by(R"({"type": "WhitespaceSplit"})", "ab  .a"), "[6,13]");
  EXPECT_EQ(pieces_by(R"({"type": "Punctuation"})", "a.b"), "[1,5,2]");
  EXPECT_EQ(pieces_by(R"({"type": "Metaspace", "prepend_scheme": "always"})", "a a"), "[12,12]");
  EXPECT_EQ(pieces_by(R"({"type": "Metaspace", "prepend_scheme": "never"})", "a a"), "[1,12]");
}

}  // namespace
}  // namespace warpmark::serving
