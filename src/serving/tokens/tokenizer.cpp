#include "serving/tokens/tokenizer.h"

#include <sentencepiece_processor.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/untrusted/input.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMostTokenizerBytes = 256 << 20;

class SentencePieces final : public Tokenizer {
 public:
  [[nodiscard]] Status load(std::string_view bytes, const std::string& name) {
    // Before 0.1.97 it takes a string_view of its own.
    const auto loaded = processor_.LoadFromSerializedProto({bytes.data(), bytes.size()});
    if (loaded.ok()) return {};
    return data_error(name + " is neither a tokenizer.json nor a model of SentencePiece: " + loaded.ToString());
  }
  [[nodiscard]] Result<std::vector<std::uint32_t>> encode(std::string_view text) const override {
    std::vector<int> ids;
    const auto encoded = processor_.Encode(valid_utf8(text), &ids);
    if (!encoded.ok()) return data_error("SentencePiece gives up: " + encoded.ToString());
    return std::vector<std::uint32_t>(ids.begin(), ids.end());
  }
  [[nodiscard]] const char* kind() const override { return "SentencePiece"; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string file = path;
  if (fs::is_directory(path, ignored)) {
    const fs::path folder(path);
    const bool json = fs::exists(folder / "tokenizer.json", ignored);
    if (!json && !fs::exists(folder / "tokenizer.model", ignored)) {
      return data_error(path + " has neither a tokenizer.json nor a tokenizer.model");
    }
    file = (folder / (json ? "tokenizer.json" : "tokenizer.model")).string();
  }
  WM_ASSIGN(const std::string content, read_file(file, kMostTokenizerBytes));
  return trim(content).starts_with('{') ? json_tokenizer(content, file) : sentence_pieces(content, file);
}

// SentencePiece's models (Kudo and Richardson, EMNLP 2018), by their own library.

Result<std::shared_ptr<const Tokenizer>> sentence_pieces(std::string_view bytes, const std::string& name) {
  auto made = std::make_shared<SentencePieces>();
  WM_TRY(made->load(bytes, name));
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

}  // namespace warpmark::serving
