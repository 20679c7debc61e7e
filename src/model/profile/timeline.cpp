// Interned names. The texts never move, so that the index can hold views of them.
#include "model/profile/timeline.h"

namespace warpmark {

NameId NameTable::intern(std::string_view text) {
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const auto id = static_cast<NameId>(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return id;
}

std::optional<NameId> NameTable::find(std::string_view text) const {
  const auto known = ids_.find(text);
  if (known == ids_.end()) return std::nullopt;
  return known->second;
}

}  // namespace warpmark
