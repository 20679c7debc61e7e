// A catalog is a constant list of descriptors (plain const structs with an `id`), one file each, listed by hand in one
// place. Nothing registers itself: a static registrar in an archive member is dropped by the linker.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace warpmark {

template <typename Descriptor>
using Catalog = std::span<const Descriptor* const>;

/// The descriptor with this id, or nullptr.
template <typename Descriptor>
[[nodiscard]] const Descriptor* find_in(Catalog<Descriptor> catalog, std::string_view id) {
  for (const Descriptor* item : catalog) {
    if (item->id == id) return item;
  }
  return nullptr;
}

template <typename Descriptor>
[[nodiscard]] std::vector<std::string> ids_of(Catalog<Descriptor> catalog) {
  std::vector<std::string> ids;
  for (const Descriptor* item : catalog) ids.emplace_back(item->id);
  return ids;
}

}  // namespace warpmark
