// What can stand at the end of a command line, from the verbs' tables. The scripts of bash, zsh and fish only ask
// `warpmark completion complete -- WORDS...` and show its answer, so that all shells offer the same.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "warpmark/command.h"

namespace warpmark::apps {

struct Candidate {
  std::string word;
  std::string help;  ///< may be empty
};

struct Candidates {
  std::vector<Candidate> words;  ///< those that begin as the last word does
  bool files = false;            ///< files are wanted as well
};

/// What `warpmark list KIND --ids` lists; `words` is the command line, which may name the database.
using Lister = std::function<std::vector<std::string>(const std::string& kind, std::span<const std::string> words)>;

/// `words` are those behind the program's name; the last one, which may be empty, is completed.
[[nodiscard]] Candidates complete(std::span<const std::string> words, const Lister& lister);

/// "bash", "zsh" or "fish"; empty for another one.
[[nodiscard]] std::string completion_script(const std::string& shell);

}  // namespace warpmark::apps
