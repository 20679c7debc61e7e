// A Store that forgets everything when it ends: what the stores that keep things are held against, and without a file.
#pragma once

#include <memory>

#include "store/store.h"

namespace warpmark::store {

[[nodiscard]] std::unique_ptr<Store> make_memory_store();

}  // namespace warpmark::store
