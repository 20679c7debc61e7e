// A Store that forgets everything when it ends: for tests, and for runs that are told to keep nothing.
#pragma once

#include <memory>

#include "store/store.h"

namespace warpmark::store {

[[nodiscard]] std::unique_ptr<Store> make_memory_store();

}  // namespace warpmark::store
