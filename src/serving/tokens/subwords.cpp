#include "serving/tokens/subwords.h"

#include <fmt/format.h>

#include "base/json.h"
#include "serving/tokens/byte_pairs.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/unigram.h"
#include "serving/tokens/word_pieces.h"

namespace warpmark::serving {
namespace {

template <class Model>
Result<std::unique_ptr<const Subwords>> owned(Result<Model> made) {
  if (!made.ok()) return made.error();
  return std::unique_ptr<const Subwords>(std::make_unique<Model>(std::move(*made)));
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

}  // namespace warpmark::serving
