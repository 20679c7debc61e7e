#include "serving/tokens/byte_pairs.h"

#include <fmt/format.h>

#include <queue>

#include "base/json.h"
#include "serving/tokens/json_parts.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

/// GPT-2 writes bytes as characters that can be printed: those that can stand for themselves, the others are 256, 257,
/// ... in their order.
const std::unordered_map<std::string, char>& byte_of_stand_in() {
  static const auto table = [] {
    std::unordered_map<std::string, char> made;
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printed = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      const unsigned code = printed ? byte : next++;
      std::string text;
      if (code < 0x80) {
        text = static_cast<char>(code);
      } else {
        text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
      }
      made.emplace(std::move(text), static_cast<char>(byte));
    }
    return made;
  }();
  return table;
}

/// Nothing for words with other characters, as special tokens have them.
std::optional<std::string> plain_bytes(const std::string& word) {
  std::string out;
  for (std::size_t at = 0, bytes = 0; at < word.size(); at += bytes) {
    bytes = character_bytes(word, at);
    const auto found = byte_of_stand_in().find(word.substr(at, bytes));
    if (found == byte_of_stand_in().end()) return std::nullopt;
    out += found->second;
  }
  return out;
}

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }

struct LinkedSymbol {
  std::uint32_t id;
  int before, behind;  ///< -1: none
};

struct Candidate {
  std::uint32_t rank;
  int at;
  std::uint32_t left, right, merged;
  bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

bool is_empty_text(const Json& model, const char* key) {
  const auto found = model.find(key);
  return found == model.end() || found->is_null() || (found->is_string() && found->get<std::string>().empty());
}

}  // namespace

Result<BytePairs> BytePairs::of(const Json& model, bool bytes, const std::string& name) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!is_empty_text(model, key)) return data_error(fmt::format("{}: {} is not understood", name, key));
  }
  BytePairs pairs;
  pairs.bytes_ = bytes;
  pairs.whole_words_first_ = truth_at(model, "ignore_merges", false);
  pairs.byte_fallback_ = truth_at(model, "byte_fallback", false);
  pairs.fuse_unknown_ = truth_at(model, "fuse_unk", false);
  WM_TRY(pairs.read_vocabulary(model, name));
  WM_TRY(pairs.read_merges(model, name));
  pairs.read_alphabet();
  return pairs;
}

Status BytePairs::read_vocabulary(const Json& model, const std::string& name) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_object() || vocab->empty()) {
    return data_error(name + " has no vocabulary", "a tokenizer.json with \"model\": {\"vocab\": {...}}");
  }
  vocabulary_.reserve(vocab->size());
  for (const auto& [word, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kNoToken) {
      return data_error(fmt::format("{}: the token \"{}\" has no number", name, word));
    }
    const auto plain = bytes_ ? plain_bytes(word) : std::optional(word);
    if (plain) vocabulary_[*plain] = id.get<std::uint32_t>();
  }
  if (is_empty_text(model, "unk_token")) return {};
  const auto& unknown = model.at("unk_token");
  if (!unknown.is_string() || !vocab->contains(unknown.get<std::string>())) {
    return data_error(name + ": unk_token is not in the vocabulary");
  }
  unknown_ = vocab->at(unknown.get<std::string>()).get<std::uint32_t>();
  return {};
}

/// "a b", or as newer files have it ["a", "b"].
Status BytePairs::read_merges(const Json& model, const std::string& name) {
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array()) return data_error(name + " has no merges");
  merges_.reserve(merges->size());
  for (std::uint32_t rank = 0; rank < merges->size(); ++rank) {
    const Json& entry = (*merges)[rank];
    std::string left, right;
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      left = entry[0].get<std::string>(), right = entry[1].get<std::string>();
    } else if (entry.is_string()) {
      const auto text = entry.get<std::string>();
      const auto blank = text.find(' ');
      if (blank != std::string::npos) left = text.substr(0, blank), right = text.substr(blank + 1);
    }
    if (bytes_) left = plain_bytes(left).value_or(""), right = plain_bytes(right).value_or("");
    const auto a = id_of(left), b = id_of(right), both = id_of(left + right);
    if (left.empty() || right.empty() || !a || !b || !both) {
      return data_error(fmt::format("{}: merge {} is of words that the vocabulary has not", name, rank + 1));
    }
    merges_.try_emplace(pair_key(*a, *b), Merge{rank, *both});
  }
  return {};
}

void BytePairs::read_alphabet() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string word = bytes_ ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte);
    byte_ids_[byte] = id_of(word).value_or(kNoToken);
  }
}

std::optional<std::uint32_t> BytePairs::id_of(const std::string& word) const {
  const auto found = vocabulary_.find(word);
  return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
}

const BytePairs::Merge* BytePairs::merge_of(std::uint32_t left, std::uint32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> BytePairs::symbols_of(std::string_view piece) const {
  std::vector<std::uint32_t> symbols;
  bool unknown_before = false;
  const auto add_unknown = [&] {
    if (unknown_ != kNoToken && !(fuse_unknown_ && unknown_before)) symbols.push_back(unknown_);
    unknown_before = true;
  };
  for (std::size_t at = 0, bytes = 1; at < piece.size(); at += bytes) {
    bytes = bytes_ ? 1 : character_bytes(piece, at);
    const std::string_view character = piece.substr(at, bytes);
    const auto known =
        bytes_ ? byte_ids_[static_cast<unsigned char>(character[0])] : id_of(std::string(character)).value_or(kNoToken);
    if (known != kNoToken) {
      symbols.push_back(known);
      unknown_before = false;
      continue;
    }
    bool all = byte_fallback_ && !bytes_;
    for (const char c : character) all = all && byte_ids_[static_cast<unsigned char>(c)] != kNoToken;
    if (!all) {
      add_unknown();
      continue;
    }
    for (const char c : character) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    unknown_before = false;
  }
  return symbols;
}

void BytePairs::encode(std::string_view piece, std::vector<std::uint32_t>& ids) const {
  if (whole_words_first_) {
    if (const auto whole = id_of(std::string(piece))) return ids.push_back(*whole);
  }
  std::vector<LinkedSymbol> symbols;
  for (const std::uint32_t id : symbols_of(piece)) {
    const int at = static_cast<int>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  }
  if (symbols.empty()) return;
  symbols.back().behind = -1;
  std::priority_queue<Candidate> queue;
  const auto consider = [&](int at) {
    if (at < 0 || symbols[static_cast<std::size_t>(at)].behind < 0) return;
    const auto& left = symbols[static_cast<std::size_t>(at)];
    const auto& right = symbols[static_cast<std::size_t>(left.behind)];
    if (const Merge* merge = merge_of(left.id, right.id)) queue.push({merge->rank, at, left.id, right.id, merge->id});
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(static_cast<int>(i));
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    auto& left = symbols[static_cast<std::size_t>(best.at)];
    // One of the two may have been joined with another since.
    if (left.id != best.left || left.behind < 0) continue;
    auto& right = symbols[static_cast<std::size_t>(left.behind)];
    if (right.id != best.right) continue;
    left.id = best.merged;
    right.id = kNoToken;
    left.behind = right.behind;
    if (left.behind >= 0) symbols[static_cast<std::size_t>(left.behind)].before = best.at;
    consider(left.before);
    consider(best.at);
  }
  for (int at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].behind) {
    ids.push_back(symbols[static_cast<std::size_t>(at)].id);
  }
}

}  // namespace warpmark::serving
