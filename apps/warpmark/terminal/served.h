// What the verbs that listen have in common: the token, the database that may come and go, waiting for the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Of --token-file; empty without one. Usage error for one below 16 characters.
[[nodiscard]] Result<std::string> token_of(const ParsedOptions& options);

/// Opens a store that is there, each time that it is called, and makes no file. Waits for a lock so long and not half a
/// minute. Why a file is taken for one that nobody writes is said once.
using StoreOpener = std::function<Result<std::unique_ptr<store::Store>>()>;
[[nodiscard]] StoreOpener existing_store(Context& context, const std::string& location, double patience_s = 1);

/// False once the program is told to stop.
[[nodiscard]] bool wait(Context& context, double seconds);

}  // namespace warpmark::apps
