// Against tokenizers that others wrote: Hugging Face's (Rust) and SentencePiece's Python module made golden.json, by
// tests/data/tokenizers/make_goldens.py. The vocabularies are small ones, made of this project's documents, in the
// files that GPT-2, Llama 2, Llama 3, Qwen 2, T5, ALBERT and BERT have.
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
  ASSERT_EQ(golden["ids"].size(), 10U);
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
  EXPECT_THAT(with(R"({"type": "WordLevel", "vocab": {"a": 0}})", ""), HasSubstr("of the kind WordLevel"));
  EXPECT_THAT(with(R"({"vocab": {"a": 0}})", ""), HasSubstr("of the kind unknown"));
  EXPECT_THAT(with("[]", ""), HasSubstr("no model"));
  EXPECT_THAT(with(R"({"type": "BPE"})", ""), HasSubstr("no vocabulary"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})", ""), HasSubstr("has no number"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})", ""), HasSubstr("merge 1"));
  EXPECT_THAT(with(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"})", ""),
              HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with(good, R"(, "normalizer": {"type": "Precompiled"})"), HasSubstr("no base64"));
  EXPECT_THAT(with(good, R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAEAAA=="})"),
              HasSubstr("cut off"));
  EXPECT_THAT(with(good, R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAD/"})"),
              HasSubstr("no UTF-8"));
  EXPECT_THAT(with(good, R"(, "normalizer": {"type": "Fold"})"), HasSubstr("Fold"));
  EXPECT_THAT(with(good, R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}})"), HasSubstr("cannot be"));
  EXPECT_THAT(with(good, R"(, "pre_tokenizer": {"type": "UnicodeScripts"})"), HasSubstr("UnicodeScripts"));
  EXPECT_THAT(with(good, R"(, "added_tokens": [{"id": 3}])"), HasSubstr("added token"));
  EXPECT_THAT(tokenizer_error("[]"), HasSubstr("no tokenizer.json"));
  EXPECT_FALSE(load_tokenizer(tokenizer_file("none.json")).ok());
  const auto neither = sentence_pieces("\x01\x02garbage", "x.model");
  ASSERT_FALSE(neither.ok());
  EXPECT_THAT(neither.error().what, HasSubstr("neither"));
}

TEST(Tokenizer, refuses_damaged_models_of_every_kind) {
  const auto model = [](const std::string& text) { return tokenizer_error("{\"model\": " + text + "}"); };
  EXPECT_EQ(model(R"({"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1.5]]})"), "");
  EXPECT_THAT(model(R"({"type": "Unigram", "unk_id": 0})"), HasSubstr("no vocabulary"));
  EXPECT_THAT(model(R"({"type": "Unigram", "unk_id": 0, "vocab": {"a": 1}})"), HasSubstr("no vocabulary"));
  EXPECT_THAT(model(R"({"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a"]]})"), HasSubstr("token 1 is no"));
  EXPECT_THAT(model(R"({"type": "Unigram", "unk_id": 1, "vocab": [["?", 0]]})"), HasSubstr("unk_id"));
  EXPECT_THAT(model(R"({"type": "Unigram", "unk_id": null, "vocab": [["?", 0]]})"), HasSubstr("unk_id"));
  EXPECT_EQ(model(R"({"type": "WordPiece", "vocab": {"[UNK]": 0}})"), "");
  EXPECT_THAT(model(R"({"type": "WordPiece", "vocab": {}})"), HasSubstr("no vocabulary"));
  EXPECT_THAT(model(R"({"type": "WordPiece", "vocab": {"a": "b"}})"), HasSubstr("has no number"));
  EXPECT_THAT(model(R"({"type": "WordPiece", "vocab": {"a": 0}})"), HasSubstr("unk_token"));
  EXPECT_THAT(model(R"({"type": "WordPiece", "vocab": {"[UNK]": 0}, "max_input_chars_per_word": -1})"),
              HasSubstr("max_input_chars_per_word"));
  EXPECT_THAT(tokenizer_error(R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}},
                                  "pre_tokenizer": {"type": "ByteLevel"}})"),
              HasSubstr("ByteLevel before WordPiece"));
}

std::string ids_by(const std::string& model, const std::string& text) {
  const auto made = json_tokenizer("{\"model\": " + model + "}", "t.json");
  if (!made.ok()) return made.error().what;
  return dump_json(Json(*(*made)->encode(text)), -1);
}

TEST(Tokenizer, takes_the_way_of_the_highest_score) {
  // The example of Hugging Face's documentation: abcd, a, cd, and what is unknown together.
  const std::string abcd = R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", 0], ["b", 0], ["c", 0],
                               ["d", 0], ["cd", 1], ["ab", 2], ["abc", 5], ["abcd", 10]]})";
  EXPECT_EQ(ids_by(abcd, "abcdacdxx"), "[8,1,5,0]");
  EXPECT_EQ(ids_by(abcd, "xabcéxcd"), "[0,7,0,5]");
  // Of a word that is there twice the later one counts, as in a map that is filled in order.
  EXPECT_EQ(ids_by(R"({"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["a", -9]]})", "aa"), "[2,2]");
  // Unknown characters as bytes, where all of them are there.
  const std::string bytes = R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["?", 0], ["a", -1],
                               ["<0xC3>", -2], ["<0xA9>", -2]]})";
  EXPECT_EQ(ids_by(bytes, "aé"), "[1,2,3]");
  EXPECT_EQ(ids_by(bytes, "aéb"), "[1,0]");
}

TEST(Tokenizer, cuts_words_at_the_longest_token_that_fits) {
  const std::string model = R"({"type": "WordPiece", "max_input_chars_per_word": 6, "vocab": {"[UNK]": 0, "ba": 1,
                                "##na": 2, "##n": 3, "é": 4, "##é": 5, "banan": 6}})";
  EXPECT_EQ(ids_by(model, "bana"), "[1,2]");
  EXPECT_EQ(ids_by(model, "banan"), "[6]");
  EXPECT_EQ(ids_by(model, "banana"), "[0]") << "the longest first, and then a rest";
  EXPECT_EQ(ids_by(model, "nana"), "[0]") << "no word begins so";
  EXPECT_EQ(ids_by(model, "ééé"), "[4,5,5]");
  EXPECT_EQ(ids_by(model, "ééééééé"), "[0]") << "more characters than a word may have";
}

TEST(Tokenizer, leaves_marks_with_their_words) {
  const auto made = json_tokenizer(R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "b": 2, ".": 3}},
                                       "pre_tokenizer": {"type": "Whitespace"}})",
                                   "t.json");
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(*(*made)->encode("a. a\u0301b \u24D0\u200Db"), (std::vector<std::uint32_t>{1, 3, 0, 0}));
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
  EXPECT_EQ(pieces_by(R"({"type": "BertPreTokenizer"})", " ab .a"), "[6,5,1]");
  EXPECT_EQ(pieces_by(R"({"type": "WhitespaceSplit"})", "ab  .a"), "[6,13]");
  EXPECT_EQ(pieces_by(R"({"type": "Punctuation"})", "a.b"), "[1,5,2]");
  EXPECT_EQ(pieces_by(R"({"type": "Metaspace", "prepend_scheme": "always"})", "a a"), "[12,12]");
  EXPECT_EQ(pieces_by(R"({"type": "Metaspace", "prepend_scheme": "never"})", "a a"), "[1,12]");
}

}  // namespace
}  // namespace warpmark::serving
