// Words in a text, and what the names of a timeline tell: names are few and events many, so each is looked at once.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// True if `text` holds one of the tokens.
[[nodiscard]] bool holds_any(std::string_view text, std::initializer_list<std::string_view> tokens);
/// True if `text` holds one of the tokens, ignoring ASCII case. Tokens are lower case.
[[nodiscard]] bool contains_any(std::string_view text, std::initializer_list<std::string_view> tokens);

/// True if one of the words of `text` is one of these: letters, digits and _ make a word.
[[nodiscard]] bool holds_word(std::string_view text, std::initializer_list<std::string_view> words);

/// Without its period.
[[nodiscard]] std::string_view first_sentence(std::string_view text);

/// What `tell(name)` says of each name, by NameId.
template <typename Know>
[[nodiscard]] auto known_by_names(const NameTable& names, Know notify) {
  std::vector<std::invoke_result_t<Know, std::string_view>> reported;
  reported.reserve(names.size());
  for (NameId i = 0; i < names.size(); ++i) reported.push_back(notify(names.at(i)));
  return reported;
}

/// The names of which `wanted(name)` holds.
class NameSet {
 public:
  template <typename Wanted>
  NameSet(const NameTable& names, Wanted wanted)
      : contains_(known_by_names(names, wanted)), any_(std::ranges::find(contains_, true) != contains_.end()) {}
  [[nodiscard]] bool contains(NameId name) const { return contains_[name]; }
  [[nodiscard]] bool any() const { return any_; }

 private:
  std::vector<bool> contains_;
  bool any_;
};

/// Whether `wanted(name)` holds of any name.
template <typename Wanted>
[[nodiscard]] bool any_name(const NameTable& names, Wanted wanted) {
  for (NameId i = 0; i < names.size(); ++i) {
    if (wanted(names.at(i))) return true;
  }
  return false;
}

}  // namespace warpmark::analyze
