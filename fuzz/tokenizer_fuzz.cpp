// A tokenizer.json that anybody may have written, and texts that servers answer with.
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "serving/tokens/tokenizer.h"

namespace {

std::shared_ptr<const warpmark::serving::Tokenizer> made_of(std::string_view json) {
  const auto made = warpmark::serving::json_tokenizer(json, "known");
  if (!made.ok()) __builtin_trap();
  return *made;
}

// Expressions, marks, bytes for what is unknown, added tokens: the parts that look at a text.
const auto& known_tokenizers() {
  static const std::array tokenizers{made_of(R"({
    "added_tokens": [{"id": 20, "content": "<s>", "special": true, "lstrip": true, "rstrip": true},
                     {"id": 21, "content": "yes", "normalized": true, "single_word": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Strip"}, {"type": "Lowercase"},
                   {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},
       "behavior": "MergedWithPrevious"},
      {"type": "Digits", "individual_digits": true}, {"type": "Metaspace"}]},
    "model": {"type": "BPE", "unk_token": "?", "fuse_unk": true, "byte_fallback": true,
              "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "abab": 4, "<0xE2>": 5, "\u2581": 6, "\u2581a": 7},
              "merges": ["a b", "ab ab", "\u2581 a"]}})"),
                                     made_of(R"({
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "StripAccents"},
                   {"type": "Precompiled", "precompiled_charsmap": "CAAAAABBAAAAQQAAYgA="}]},
    "pre_tokenizer": {"type": "Metaspace"},
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true,
              "vocab": [["?", 0], ["a", -2], ["ab", -3], ["\u2581a", -1], ["<0xC3>", -9], ["abab", -5]]}})"),
                                     made_of(R"({
    "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "##a": 3, "ab": 4, "\u4E2D": 5}}})")};
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& tokenizer : known_tokenizers()) {
    if (!tokenizer->encode(text).ok()) __builtin_trap();
  }
  const auto made = warpmark::serving::json_tokenizer(text, "fuzzed");
  if (made.ok()) (void)(*made)->encode(text).ok();
  return 0;
}
