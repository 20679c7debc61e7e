#include "serving/tokens/subwords.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "serving/tokens/byte_pairs.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/unigram.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

template <class Model>
Result<std::unique_ptr<const Subwords>> owned(Result<Model> made) {
  if (!made.ok()) return made.error();
  return std::unique_ptr<const Subwords>(std::make_unique<Model>(std::move(*made)));
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_bytes(text, at)) ++count;
  return count;
}

}  // namespace

Result<std::unique_ptr<const Subwords>> subwords_of(const Json& model, bool bytes, const std::string& name) {
  if (!model.is_object()) return data_error(name + " has no model", "a tokenizer.json with \"model\": {...}");
  // Old files have no type: pairs are told by their merges.
  const std::string type = word_at(model, "type", model.contains("merges") ? "BPE" : "unknown");
  if (type == "BPE") return owned(BytePairs::of(model, bytes, name));
  if (bytes) return data_error(fmt::format("{}: ByteLevel before {} is not understood", name, type));
  if (type == "Unigram") return owned(Unigram::of(model, name));
  if (type == "WordPiece") return owned(WordPieces::of(model, name));
  return data_error(fmt::format("{} is of the kind {}, which is not understood", name, type),
                    "BPE, Unigram or WordPiece; of models with SentencePiece give their tokenizer.model");
}

Result<WordPieces> WordPieces::of(const Json& model, const std::string& name) {
  WordPieces made;
  WM_TRY(made.read_vocabulary(model, name));
  const auto unknown = made.beginnings_.find(word_at(model, "unk_token", "[UNK]"));
  if (unknown == made.beginnings_.end()) return data_error(name + ": unk_token is not in the vocabulary");
  made.unknown_ = unknown->second;
  if (const auto most = model.find("max_input_chars_per_word"); most != model.end()) {
    if (!most->is_number_unsigned()) return data_error(name + ": max_input_chars_per_word is no count");
    made.most_characters_ = most->get<std::uint64_t>();
  }
  return made;
}

Status WordPieces::read_vocabulary(const Json& model, const std::string& name) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_object() || vocab->empty()) {
    return data_error(name + " has no vocabulary", "a tokenizer.json with \"model\": {\"vocab\": {...}}");
  }
  const std::string mark = word_at(model, "continuing_subword_prefix", "##");
  for (const auto& [word, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0xFFFFFFFE) {
      return data_error(fmt::format("{}: the token \"{}\" has no number", name, word));
    }
    beginnings_[word] = id.get<std::uint32_t>();
    if (word.starts_with(mark)) continuations_[word.substr(mark.size())] = id.get<std::uint32_t>();
    longest_ = std::max(longest_, word.size());
  }
  return {};
}

void WordPieces::encode(std::string_view piece, std::vector<std::uint32_t>& ids) const {
  const std::size_t before = ids.size();
  const auto unknown = [&] {
    ids.resize(before);
    ids.push_back(unknown_);
  };
  if (characters_in(piece) > most_characters_) return unknown();
  for (std::size_t begin = 0; begin < piece.size();) {
    const Words& words = begin == 0 ? beginnings_ : continuations_;
    std::size_t end = std::min(piece.size(), begin + longest_);
    auto found = words.find(piece.substr(begin, end - begin));
    // The vocabulary is of whole characters, so an end within one finds nothing.
    while (found == words.end() && --end > begin) found = words.find(piece.substr(begin, end - begin));
    if (found == words.end()) return unknown();
    ids.push_back(found->second);
    begin = end;
  }
}

}  // namespace warpmark::serving
