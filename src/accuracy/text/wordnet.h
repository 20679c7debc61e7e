// Synonyms from a WordNet 3.x database (wndb(5WN): index.*, data.*, *.exc), as NLTK's synsets(): a word is looked up as
// it is and by its base forms (morphy(7WN): the exception lists, else detaching endings), in all parts of speech.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
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

}  // namespace warpmark::accuracy
