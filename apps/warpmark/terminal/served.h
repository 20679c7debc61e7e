// What the verbs that listen have in common: the token, the database that may come and go, waiting for the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "monitor/gpu_poll.h"
#include "store/store.h"
#include "warpmark/command.h"
#include "watch/exporter/inventory.h"

namespace warpmark::apps {

/// Of --token-file; empty without one. Usage error for one below 16 characters.
[[nodiscard]] Result<std::string> token_of(const ParsedOptions& options);

/// Opens a store that is there, each time that it is called, and makes no file. Waits for a lock so long and not half a
/// minute. Why a file is taken for one that nobody writes is said once.
using StoreOpener = std::function<Result<std::unique_ptr<store::Store>>()>;
[[nodiscard]] StoreOpener existing_store(Context& context, const std::string& location, double patience_s = 1);

/// False once the program is told to stop.
[[nodiscard]] bool wait(Context& context, double seconds);

/// In `file`, or where that is empty in a file of this host beside the store.
[[nodiscard]] Result<std::shared_ptr<watch::GpuInventory>> inventory_of(Context& context, const std::string& location,
                                                                        const std::string& file);

/// A poll that knows the inventory's GPUs and keeps it up to date.
[[nodiscard]] monitor::GpuPollOptions remembering(const Context& context,
                                                  const std::shared_ptr<watch::GpuInventory>& inventory);

}  // namespace warpmark::apps
