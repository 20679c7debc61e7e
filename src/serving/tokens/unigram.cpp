#include "serving/tokens/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

constexpr double kUnknownPenalty = 10;  ///< below the least score: SentencePiece's

}  // namespace

Result<Unigram> Unigram::of(const Json& model, const std::string& name) {
  Unigram made;
  WM_TRY(made.read_vocabulary(model, name));
  const auto unknown = model.find("unk_id");
  if (unknown == model.end() || !unknown->is_number_unsigned() ||
      unknown->get<std::uint64_t>() >= made.scores_.size()) {
    return data_error(name + ": unk_id is no token of the vocabulary", "without one, unknown characters have no count");
  }
  made.unknown_ = unknown->get<std::uint32_t>();
  made.index_words();
  made.byte_ids_.fill(kNoToken);
  for (unsigned byte = 0; truth_at(model, "byte_fallback", false) && byte < 256; ++byte) {
    made.byte_ids_[byte] = made.id_of(fmt::format("<0x{:02X}>", byte)).value_or(kNoToken);
  }
  return made;
}

Status Unigram::read_vocabulary(const Json& model, const std::string& name) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_array() || vocab->empty() || vocab->size() >= kNoToken) {
    return data_error(name + " has no vocabulary",
                      "a tokenizer.json with \"model\": {\"vocab\": [[\"a\", -1.5], ...]}");
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& entry : *vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return data_error(fmt::format("{}: token {} is no text with a score", name, scores_.size()));
    }
    words_.push_back({entry[0].get<std::string>(), static_cast<std::uint32_t>(scores_.size())});
    scores_.push_back(entry[1].get<double>());
    least = std::min(least, scores_.back());
  }
  unknown_score_ = least - kUnknownPenalty;
  return {};
}

void Unigram::index_words() {
  std::erase_if(words_, [](const Word& word) { return word.text.empty(); });
  // Of a word that is there twice the later one counts.
  std::stable_sort(words_.begin(), words_.end(),
                   [](const Word& a, const Word& b) { return a.text != b.text ? a.text < b.text : a.id > b.id; });
  words_.erase(std::unique(words_.begin(), words_.end(), [](const Word& a, const Word& b) { return a.text == b.text; }),
               words_.end());
  for (std::size_t byte = 0; byte <= 256; ++byte) {
    first_[byte] = static_cast<std::size_t>(
        std::partition_point(words_.begin(), words_.end(),
                             [&](const Word& word) { return static_cast<unsigned char>(word.text[0]) < byte; }) -
        words_.begin());
  }
}

std::optional<std::uint32_t> Unigram::id_of(std::string_view word) const {
  const auto found = std::lower_bound(words_.begin(), words_.end(), word,
                                      [](const Word& a, std::string_view text) { return a.text < text; });
  if (found == words_.end() || found->text != word) return std::nullopt;
  return found->id;
}

/// By each word that stands at `begin`, shortest first: the range of words that agree so far narrows byte by byte.
void Unigram::extend(std::string_view piece, std::size_t begin, std::vector<Step>& ends) const {
  const double so_far = ends[begin].score;
  const auto offer = [&](std::size_t end, double score, std::uint32_t id) {
    Step& step = ends[end];
    if (step.id == kNoToken || so_far + score > step.score) step = {so_far + score, begin, id};
  };
  const std::size_t single = character_bytes(piece, begin);
  bool single_known = false;
  const auto first = static_cast<unsigned char>(piece[begin]);
  auto low = words_.begin() + static_cast<std::ptrdiff_t>(first_[first]);
  auto high = words_.begin() + static_cast<std::ptrdiff_t>(first_[first + 1U]);
  for (std::size_t length = 1; low != high; ++length) {
    if (low->text.size() == length) {
      offer(begin + length, scores_[low->id], low->id);
      single_known = single_known || length == single;
      ++low;
    }
    if (begin + length == piece.size()) break;
    const auto next = static_cast<unsigned char>(piece[begin + length]);
    const auto byte = [length](const Word& word) { return static_cast<unsigned char>(word.text[length]); };
    low = std::partition_point(low, high, [&](const Word& word) { return byte(word) < next; });
    high = std::partition_point(low, high, [&](const Word& word) { return byte(word) == next; });
  }
  if (!single_known) offer(begin + single, unknown_score_, unknown_);
}

/// Neighbours that are unknown are one token, or their bytes.
void Unigram::add_unknown(std::string_view characters, std::vector<std::uint32_t>& ids) const {
  if (const auto known = id_of(characters)) return ids.push_back(*known);
  const auto byte_id = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (std::any_of(characters.begin(), characters.end(), [&](char c) { return byte_id(c) == kNoToken; })) {
    return ids.push_back(unknown_);
  }
  for (const char c : characters) ids.push_back(byte_id(c));
}

void Unigram::encode(std::string_view piece, std::vector<std::uint32_t>& ids) const {
  std::vector<Step> ends(piece.size() + 1);
  for (std::size_t begin = 0; begin < piece.size(); begin += character_bytes(piece, begin)) extend(piece, begin, ends);
  std::vector<std::size_t> way;
  for (std::size_t end = piece.size(); end > 0; end = ends[end].begin) way.push_back(end);
  for (std::size_t i = way.size(); i-- > 0;) {
    const Step& step = ends[way[i]];
    if (step.id != unknown_) {
      ids.push_back(step.id);
      continue;
    }
    while (i > 0 && ends[way[i - 1]].id == unknown_) --i;
    add_unknown(piece.substr(step.begin, way[i] - step.begin), ids);
  }
}

}  // namespace warpmark::serving
