#include "accuracy/text/meteor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "accuracy/text/rouge.h"
#include "accuracy/text/unicode.h"
#include "base/files.h"
#include "base/lines/line_file.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

struct PlacedWord {
  std::size_t place = 0;
  std::string word;
};

using PlacedWords = std::vector<PlacedWord>;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

PlacedWords placed_words(std::string_view text) {
  const std::string lower = lower_case(text);
  PlacedWords result;
  for (const auto word : words_of(lower)) result.push_back({result.size(), std::string(word)});
  return result;
}

/// From the last word to the first, each with the last one that it matches; what is matched leaves both lists.
template <typename Accept>
void match_words(PlacedWords& hypothesis, PlacedWords& reference, Matches& matches, Accept accept) {
  for (std::size_t i = hypothesis.size(); i-- > 0;) {
    const auto accepts = accept(hypothesis[i].word);
    for (std::size_t j = reference.size(); j-- > 0;) {
      if (!accepts(reference[j].word)) continue;
      matches.emplace_back(hypothesis[i].place, reference[j].place);
      hypothesis.erase(hypothesis.begin() + static_cast<std::ptrdiff_t>(i));
      reference.erase(reference.begin() + static_cast<std::ptrdiff_t>(j));
      break;
    }
  }
}

auto equal_word(const std::string& ours) {
  return [ours](const std::string& theirs) { return ours == theirs; };
}

double meteor_of(std::string_view reference_text, std::string_view hypothesis_text, const MeteorOptions& options) {
  PlacedWords hypothesis = placed_words(hypothesis_text), reference = placed_words(reference_text);
  const auto ours = static_cast<double>(hypothesis.size()), theirs = static_cast<double>(reference.size());
  Matches matches;
  match_words(hypothesis, reference, matches, equal_word);
  for (auto* words : {&hypothesis, &reference}) {
    for (auto& item : *words) item.word = porter_stem(item.word);
  }
  match_words(hypothesis, reference, matches, equal_word);
  if (options.wordnet != nullptr) {
    match_words(hypothesis, reference, matches, [&](const std::string& word) {
      std::set<std::string> synonyms = options.wordnet->synonyms(word);
      synonyms.insert(word);
      return [synonyms = std::move(synonyms)](const std::string& other) { return synonyms.contains(other); };
    });
  }
  if (matches.empty()) return 0;
  std::sort(matches.begin(), matches.end());
  double chunks = 1;
  for (std::size_t i = 0; i + 1 < matches.size(); ++i) {
    const bool continues =
        matches[i + 1].first == matches[i].first + 1 && matches[i + 1].second == matches[i].second + 1;
    chunks += continues ? 0 : 1;
  }
  const auto count = static_cast<double>(matches.size());
  const double precision = count / ours, recall = count / theirs;
  const double mean = precision * recall / (options.alpha * precision + (1 - options.alpha) * recall);
  return (1 - options.gamma * std::pow(chunks / count, options.beta)) * mean;
}

constexpr std::int64_t kMostDatabaseBytes = 256 << 20;
constexpr const char* kPartNames[] = {"noun", "verb", "adj", "adv"};

using Ending = std::pair<std::string_view, std::string_view>;

std::span<const Ending> endings_of(std::size_t part) {
  static constexpr Ending kNouns[] = {{"s", ""},      {"ses", "s"},   {"ves", "f"},   {"xes", "x"}, {"zes", "z"},
                                      {"ches", "ch"}, {"shes", "sh"}, {"men", "man"}, {"ies", "y"}};
  static constexpr Ending kVerbs[] = {{"s", ""},   {"ies", "y"}, {"es", "e"},  {"es", ""},
                                      {"ed", "e"}, {"ed", ""},   {"ing", "e"}, {"ing", ""}};
  static constexpr Ending kAdjectives[] = {{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}};
  if (part == 0) return kNouns;
  if (part == 1) return kVerbs;
  if (part == 2) return kAdjectives;
  return {};
}

Result<std::uint32_t> number_in(std::string_view field, int base, const std::filesystem::path& path) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), value, base);
  if (failure == std::errc() && end == field.data() + field.size()) return value;
  return data_error(path.string() + " is no WordNet file: '" + std::string(field) + "' should be a number",
                    "is the folder that of WordNet's dict?");
}

/// Fields between single spaces of each line that is no licence.
template <typename Line>
Status each_database_line(const std::filesystem::path& path, Line use) {
  WM_ASSIGN(const std::string text, read_file(path, kMostDatabaseBytes));
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (line.empty() || line.front() == ' ') continue;
    const auto fields = split(line, ' ');
    WM_TRY(use(fields));
  }
  return {};
}

Error too_few_fields(const std::filesystem::path& path) {
  return data_error(path.string() + " is no WordNet file: a line has too few fields",
                    "is the folder that of WordNet's dict?");
}

}  // namespace

double meteor(std::span<const std::string> references, std::string_view hypothesis, const MeteorOptions& options) {
  double best = 0;
  for (const auto& reference : references) best = std::max(best, meteor_of(reference, hypothesis, options));
  return best;
}

Status WordNet::read_index(const std::filesystem::path& path, PartOfSpeech& part) {
  // lemma pos synset_cnt p_cnt [ptr_symbol...] sense_cnt tagsense_cnt synset_offset...
  return each_database_line(path, [&](const std::vector<std::string>& fields) -> Status {
    if (fields.size() < 6) return too_few_fields(path);
    WM_ASSIGN(const auto count, number_in(fields[2], 10, path));
    WM_ASSIGN(const auto pointers, number_in(fields[3], 10, path));
    const std::size_t first = 6 + pointers;
    if (pointers > fields.size() || fields.size() < first + count) return too_few_fields(path);
    auto& offsets = part.synsets[fields[0]];
    for (std::size_t i = 0; i < count; ++i) {
      WM_ASSIGN(const auto offset, number_in(fields[first + i], 10, path));
      offsets.push_back(offset);
    }
    return {};
  });
}

Status WordNet::read_data(const std::filesystem::path& path, PartOfSpeech& part) {
  // synset_offset lex_filenum ss_type w_cnt(hexadecimal) (word lex_id)... ; adjectives have a marker in parentheses.
  return each_database_line(path, [&](const std::vector<std::string>& fields) -> Status {
    if (fields.size() < 4) return too_few_fields(path);
    WM_ASSIGN(const auto offset, number_in(fields[0], 10, path));
    WM_ASSIGN(const auto count, number_in(fields[3], 16, path));
    if (fields.size() < 4 + 2 * static_cast<std::size_t>(count)) return too_few_fields(path);
    auto& words = part.words[offset];
    for (std::size_t i = 0; i < count; ++i) {
      const std::string word = fields[4 + 2 * i].substr(0, fields[4 + 2 * i].find('('));
      if (word.find('_') == std::string::npos) words.push_back(word);
    }
    return {};
  });
}

Status WordNet::read_exceptions(const std::filesystem::path& path, PartOfSpeech& part) {
  return each_database_line(path, [&](const std::vector<std::string>& fields) -> Status {
    if (fields.size() < 2) return too_few_fields(path);
    auto& bases = part.exceptions[fields[0]];
    bases.insert(bases.end(), fields.begin() + 1, fields.end());
    return {};
  });
}

Result<WordNet> WordNet::read(const std::filesystem::path& folder) {
  WordNet wordnet;
  for (const std::string name : kPartNames) {
    PartOfSpeech part;
    WM_TRY(read_index(folder / ("index." + name), part));
    WM_TRY(read_data(folder / ("data." + name), part));
    WM_TRY(read_exceptions(folder / (name + ".exc"), part));
    wordnet.parts_.push_back(std::move(part));
  }
  return wordnet;
}

std::set<std::string> WordNet::synonyms(const std::string& word) const {
  std::set<std::string> result;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const PartOfSpeech& part = parts_[p];
    std::set<std::string> forms{word};
    const auto irregular = part.exceptions.find(word);
    if (irregular != part.exceptions.end()) {
      forms.insert(irregular->second.begin(), irregular->second.end());
    } else {
      for (const auto& [ending, base] : endings_of(p)) {
        if (word.ends_with(ending)) forms.insert(word.substr(0, word.size() - ending.size()) + std::string(base));
      }
    }
    for (const auto& form : forms) {
      const auto lemma = part.synsets.find(form);
      if (lemma == part.synsets.end()) continue;
      for (const auto offset : lemma->second) {
        const auto synset = part.words.find(offset);
        if (synset != part.words.end()) result.insert(synset->second.begin(), synset->second.end());
      }
    }
  }
  return result;
}

std::filesystem::path installed_wordnet(const char* named) {
  std::vector<std::filesystem::path> places;
  if (named != nullptr && *named != '\0') places.emplace_back(named);
  places.emplace_back("/usr/share/wordnet");
  for (const auto& place : places) {
    std::error_code none;
    if (std::filesystem::exists(place / "index.noun", none)) return place;
  }
  return {};
}

}  // namespace warpmark::accuracy
