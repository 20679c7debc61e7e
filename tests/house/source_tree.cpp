#include "house/source_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace warpmark::house {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kCodeEndings{".h", ".hpp", ".cpp", ".cu", ".cuh"};

fs::path root() { return WARPMARK_SOURCE_DIR; }

bool ends_with_any(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const auto& ending) { return name.ends_with(ending); });
}

/// Replaces comments and literals by blanks, one at a time.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        blank_until("\n", false);
      } else if (starts("/*")) {
        blank_until("*/", true);
      } else if (starts("R\"") && !follows_word()) {
        blank_raw_string();
      } else if (text_[at_] == '"') {
        blank_quoted('"');
      } else if (text_[at_] == '\'' && !follows_word()) {  // after a word it separates digits: 1'000
        blank_quoted('\'');
      } else {
        result_ += text_[at_++];
      }
    }
    return result_;
  }

 private:
  bool starts(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool follows_word() const {
    return at_ > 0 && (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0 || text_[at_ - 1] == '_');
  }
  void blank_to(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) result_ += text_[at_] == '\n' ? '\n' : ' ';
  }
  void blank_until(std::string_view terminator, bool inclusive) {
    const auto found = text_.find(terminator, at_ + 2);
    blank_to(found == std::string_view::npos ? text_.size() : found + (inclusive ? terminator.size() : 0));
  }
  void blank_raw_string() {
    const auto open = text_.find('(', at_);
    const auto delimiter = text_.substr(at_ + 2, open - at_ - 2);
    const std::string terminator = ")" + std::string(delimiter) + "\"";
    const auto found = text_.find(terminator, open);
    blank_to(found == std::string_view::npos ? text_.size() : found + terminator.size());
  }
  void blank_quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2U : 1U;
    result_ += quote;
    ++at_;
    blank_to(end);
    if (at_ < text_.size() && text_[at_] == quote) result_ += text_[at_++];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::vector<SourceFile> files_in(const std::vector<std::string>& folders, const std::vector<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const auto& folder : folders) {
    if (!fs::is_directory(root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      const auto path = fs::relative(entry.path(), root()).generic_string();
      if (entry.is_regular_file() && ends_with_any(path, endings)) files.push_back(file_at(path));
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<SourceFile> product_sources() { return files_in({"src", "apps", "include"}, kCodeEndings); }

std::vector<SourceFile> all_sources() {
  return files_in({"src", "apps", "include", "tests", "fuzz", "bench", "examples"}, kCodeEndings);
}

std::vector<SourceFile> all_texts() {
  auto files = all_sources();
  const auto add = [&](std::vector<SourceFile> more) { files.insert(files.end(), more.begin(), more.end()); };
  add(files_in(
      {"src", "apps", "include", "tests", "fuzz", "bench", "corpus", "examples", "cmake", "docs", "suites", ".ci"},
      {".txt", ".cmake", ".in", ".md", ".sh", ".yaml", ".sql", ".supp", ".svg", "run"}));
  for (const auto& entry : fs::directory_iterator(root())) {
    const auto name = entry.path().filename().string();
    if (entry.is_regular_file() && name != ".git") files.push_back(file_at(name));
  }
  return files;
}

SourceFile file_at(const std::string& path) {
  const auto bytes = read_file(root() / path, std::int64_t{1} << 24);
  if (!bytes) ADD_FAILURE() << bytes.error().what;
  return {path, bytes ? *bytes : std::string()};
}

bool exists(const std::string& path) { return fs::exists(root() / path); }

std::string code_only(std::string_view text) { return Blanker(text).run(); }

std::string sentences_only(std::string_view text) {
  const std::string code = code_only(text);
  std::string sentences(text.size(), ' ');
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '\n') sentences[i] = '\n';
  }
  for (std::size_t open = code.find('"'); open != std::string::npos;) {
    const auto close = code.find('"', open + 1);
    if (close == std::string::npos) break;
    const auto content = text.substr(open + 1, close - open - 1);
    if (content.find(' ') != std::string_view::npos) sentences.replace(open + 1, content.size(), content);
    open = code.find('"', close + 1);
  }
  return sentences;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace warpmark::house
