// What the verbs that listen have in common: the token, the database that may come and go, waiting for the end.
#pragma once

#include <memory>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "store/store.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Of --token-file; empty without one. Usage error for one below 16 characters.
[[nodiscard]] Result<std::string> token_of(const ParsedOptions& options);

/// Opens a store that is there; waits 1 s for a lock and not half a minute, as somebody waits for the answer. Makes no
/// file.
[[nodiscard]] Result<std::unique_ptr<store::Store>> open_existing(const std::string& location);

/// False once the program is told to stop.
[[nodiscard]] bool wait(Context& context, double seconds);

}  // namespace warpmark::apps
