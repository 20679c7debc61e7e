#include "serving/tokens/tokenizer.h"

#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kMostTokenizerBytes = 256 << 20;

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

}  // namespace warpmark::serving
