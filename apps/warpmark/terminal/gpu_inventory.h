// The GPUs of this host from the last start on, for verbs that run as services.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "monitor/gpu_poll.h"
#include "warpmark/command.h"
#include "watch/exporter/inventory.h"

namespace warpmark::apps {

/// In `file`, or where that is empty in a file of this host beside the store.
[[nodiscard]] Result<std::shared_ptr<watch::GpuInventory>> inventory_of(Context& context, const std::string& location,
                                                                        const std::string& file);

/// A poll that knows the inventory's GPUs and keeps it up to date.
[[nodiscard]] monitor::GpuPollOptions remembering(const Context& context,
                                                  const std::shared_ptr<watch::GpuInventory>& inventory);

}  // namespace warpmark::apps
