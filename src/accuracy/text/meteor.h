// METEOR (Lavie, Agarwal, WMT 2007) as NLTK's meteor_score: words are matched exactly, then by stem, then by synonym
// where a WordNet is given; F of precision and recall with recall weighted nine to one, less a penalty for the number
// of pieces that the matches fall into. 0 to 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace warpmark::accuracy {

class WordNet {
 public:
  /// Reads the database's files in this folder: 30 MB, 0.3 s. Data error for another format or a damaged file.
  [[nodiscard]] static Result<WordNet> read(const std::filesystem::path& folder);

  /// Single words of all synsets of the word, as they are written there.
  [[nodiscard]] std::set<std::string> synonyms(const std::string& word) const;

 private:
  struct PartOfSpeech {
    std::unordered_map<std::string, std::vector<std::uint32_t>> synsets;  ///< of a lemma, by their offsets
    std::unordered_map<std::string, std::vector<std::string>> exceptions;
    std::unordered_map<std::uint32_t, std::vector<std::string>> words;  ///< of a synset
  };
  [[nodiscard]] static Status read_index(const std::filesystem::path& path, PartOfSpeech& part);
  [[nodiscard]] static Status read_data(const std::filesystem::path& path, PartOfSpeech& part);
  [[nodiscard]] static Status read_exceptions(const std::filesystem::path& path, PartOfSpeech& part);
  std::vector<PartOfSpeech> parts_;  ///< nouns, verbs, adjectives, adverbs
};

/// Where Debian's wordnet-base puts it, and WNSEARCHDIR if the environment has it; empty where there is none.
[[nodiscard]] std::filesystem::path installed_wordnet(const char* named);

struct MeteorOptions {
  double alpha = 0.9;
  double beta = 3;
  double gamma = 0.5;
  const WordNet* wordnet = nullptr;  ///< no synonyms without it
};

/// Of words that are separated by white space (NLTK takes them tokenized); the best of several references.
[[nodiscard]] double meteor(std::span<const std::string> references, std::string_view hypothesis,
                            const MeteorOptions& options);

}  // namespace warpmark::accuracy
