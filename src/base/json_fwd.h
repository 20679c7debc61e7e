// The name of a JSON document, for declarations that only pass it on: a quarter of the compiler's time for base/json.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace warpmark {

/// Keeps the order in which keys were added, so that files read top-down.
using Json = nlohmann::ordered_json;

}  // namespace warpmark
