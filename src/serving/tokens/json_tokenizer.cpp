// tokenizer.json: tokens that are added by hand are found first, what stands between is changed, cut, and the pieces
// become tokens. Source: the file format and behaviour of huggingface/tokenizers.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "base/untrusted/input.h"
#include "serving/tokens/normalizers.h"
#include "serving/tokens/pieces.h"
#include "serving/tokens/subwords.h"
#include "serving/tokens/tokenizer.h"
#include "serving/tokens/utf8.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kMostRemembered = 1 << 16;
constexpr std::size_t kLongestRemembered = 64;

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool whole_word = false, takes_left = false, takes_right = false;  ///< single_word, lstrip, rstrip
};

/// Finds the longest of them at the leftmost place.
class AddedTokens {
 public:
  void add(AddedToken token) {
    if (token.content.empty()) return;
    auto& group = by_first_[static_cast<unsigned char>(token.content[0])];
    group.push_back(std::move(token));
    std::stable_sort(group.begin(), group.end(),
                     [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
  }

  /// The next one from `at` on; `begin` and `end` of what it takes up.
  [[nodiscard]] const AddedToken* next(std::string_view text, std::size_t at, std::size_t& begin,
                                       std::size_t& end) const {
    for (begin = at; begin < text.size(); ++begin) {
      for (const auto& token : by_first_[static_cast<unsigned char>(text[begin])]) {
        if (!text.substr(begin).starts_with(token.content)) continue;
        end = begin + token.content.size();
        if (token.whole_word && !stands_alone(text, begin, end)) continue;
        if (token.takes_right) {
          while (end < text.size() && is_space_character(text.substr(end))) end += character_bytes(text, end);
        }
        if (token.takes_left) begin = left_of_blanks(text, at, begin);
        return &token;
      }
    }
    return nullptr;
  }

 private:
  static std::size_t before(std::string_view text, std::size_t at) {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    return at;
  }
  static bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    const bool left = begin == 0 || !is_word_character(text.substr(before(text, begin)));
    return left && (end == text.size() || !is_word_character(text.substr(end)));
  }
  static std::size_t left_of_blanks(std::string_view text, std::size_t from, std::size_t begin) {
    while (begin > from && is_space_character(text.substr(before(text, begin)))) begin = before(text, begin);
    return begin;
  }
  std::vector<AddedToken> by_first_[256];
};

class JsonTokenizer final : public Tokenizer {
 public:
  explicit JsonTokenizer(std::unique_ptr<const Subwords> subwords) : subwords_(std::move(subwords)) {}

  static Result<std::shared_ptr<const Tokenizer>> of(const Json& json, const std::string& name) {
    const auto part = [&](const char* key) { return json.contains(key) ? json[key] : Json(); };
    WM_ASSIGN(auto cutter, cutter_of(part("pre_tokenizer")));
    WM_ASSIGN(auto subwords, subwords_of(part("model"), cutter.bytes, name));
    auto made = std::make_shared<JsonTokenizer>(std::move(subwords));
    made->cutter_ = std::move(cutter);
    WM_ASSIGN(made->changes_, normalizer_of(part("normalizer")));
    WM_TRY(made->read_added(part("added_tokens"), name));
    return std::shared_ptr<const Tokenizer>(std::move(made));
  }

  [[nodiscard]] Result<std::vector<std::uint32_t>> encode(std::string_view text) const override {
    const std::string valid = valid_utf8(text);
    std::vector<std::uint32_t> ids;
    std::size_t at = 0, begin = 0, end = 0;
    while (const AddedToken* token = raw_added_.next(valid, at, begin, end)) {
      WM_TRY(encode_changed(valid.substr(at, begin - at), at == 0, ids));
      ids.push_back(token->id);
      at = end;
    }
    WM_TRY(encode_changed(valid.substr(at), at == 0, ids));
    return ids;
  }
  [[nodiscard]] const char* kind() const override { return subwords_->kind(); }

 private:
  Status read_added(const Json& list, const std::string& name) {
    if (list.is_null()) return {};
    if (!list.is_array()) return data_error(name + ": added_tokens is no list");
    for (const auto& entry : list) {
      if (!entry.is_object() || !entry.contains("content") || !entry["content"].is_string() || !entry.contains("id") ||
          !entry["id"].is_number_unsigned()) {
        return data_error(name + ": an added token has no content or no id");
      }
      const auto truth = [&](const char* key, bool otherwise) {
        return entry.contains(key) && entry[key].is_boolean() ? entry[key].get<bool>() : otherwise;
      };
      AddedToken token{entry["content"].get<std::string>(), entry["id"].get<std::uint32_t>(),
                       truth("single_word", false), truth("lstrip", false), truth("rstrip", false)};
      if (!truth("normalized", !truth("special", false))) {
        raw_added_.add(std::move(token));
        continue;
      }
      WM_ASSIGN(token.content, changed(valid_utf8(token.content)));
      changed_added_.add(std::move(token));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> changed(std::string text) const {
    for (const auto& change : changes_) {
      WM_ASSIGN(text, change(std::move(text)));
    }
    return text;
  }

  Status encode_changed(std::string raw, bool first, std::vector<std::uint32_t>& ids) const {
    if (raw.empty()) return {};
    WM_ASSIGN(const std::string text, changed(std::move(raw)));
    std::size_t at = 0, begin = 0, end = 0;
    while (const AddedToken* token = changed_added_.next(text, at, begin, end)) {
      WM_TRY(encode_pieces(text.substr(at, begin - at), first && at == 0, ids));
      ids.push_back(token->id);
      at = end;
    }
    return encode_pieces(text.substr(at), first && at == 0, ids);
  }

  Status encode_pieces(std::string text, bool first, std::vector<std::uint32_t>& ids) const {
    if (text.empty()) return {};
    std::vector<std::string> pieces;
    pieces.push_back(std::move(text));
    for (const auto& step : cutter_.steps) {
      WM_ASSIGN(pieces, step(std::move(pieces), first));
    }
    for (const auto& piece : pieces) encode_piece(piece, ids);
    return {};
  }

  void encode_piece(const std::string& piece, std::vector<std::uint32_t>& ids) const {
    if (piece.size() > kLongestRemembered) return subwords_->encode(piece, ids);
    auto found = remembered_.find(piece);
    if (found == remembered_.end()) {
      if (remembered_.size() >= kMostRemembered) remembered_.clear();
      found = remembered_.emplace(piece, std::vector<std::uint32_t>()).first;
      subwords_->encode(piece, found->second);
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }

  AddedTokens raw_added_, changed_added_;
  std::vector<ChangeText> changes_;
  PieceCutter cutter_;
  std::unique_ptr<const Subwords> subwords_;
  mutable std::unordered_map<std::string, std::vector<std::uint32_t>> remembered_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> json_tokenizer(std::string_view text, const std::string& name) {
  WM_ASSIGN(const Json json, parse_json(text, name));
  if (!json.is_object()) return data_error(name + " is no tokenizer.json");
  return JsonTokenizer::of(json, name);
}

}  // namespace warpmark::serving
