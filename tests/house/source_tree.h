// The project's own files as the rule tests see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmark::house {

struct SourceFile {
  std::string path;  ///< relative to the root, with '/'
  std::string text;
};

/// Regular files under `folders` whose name ends with one of `endings`, sorted by path. A folder that does not exist
/// yet has no files.
[[nodiscard]] std::vector<SourceFile> files_in(const std::vector<std::string>& folders,
                                               const std::vector<std::string>& endings);

/// C++ and CUDA sources and headers of src, apps and include: what users run.
[[nodiscard]] std::vector<SourceFile> product_sources();

/// product_sources() and tests, fuzz, bench, examples.
[[nodiscard]] std::vector<SourceFile> all_sources();

/// Everything a person reads: sources, scripts, build files, documents.
[[nodiscard]] std::vector<SourceFile> all_texts();

[[nodiscard]] SourceFile file_at(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);

/// The text with comments and the contents of string and character literals replaced by blanks; lines stay where they
/// are.
[[nodiscard]] std::string code_only(std::string_view text);

/// Sentences that a program shows: the contents of string literals with a blank in them, all else replaced by blanks.
[[nodiscard]] std::string sentences_only(std::string_view text);

[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace warpmark::house
