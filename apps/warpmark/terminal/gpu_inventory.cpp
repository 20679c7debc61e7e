#include "warpmark/terminal/gpu_inventory.h"

#include <ostream>

#include "base/clock.h"
#include "device/machine.h"
#include "store/location.h"

namespace warpmark::apps {

Result<std::shared_ptr<watch::GpuInventory>> inventory_of(Context& context, const std::string& location,
                                                          const std::string& file) {
  std::filesystem::path path = file;
  if (file.empty()) {
    WM_ASSIGN(const auto folder, store::folder_beside(location, context.environment));
    path = folder / ("gpus-" + device::host_name() + ".json");
  }
  return std::make_shared<watch::GpuInventory>(path, wall_clock_s(), [&context](const std::string& problem) {
    context.err << "warpmark: " << problem << '\n' << std::flush;
  });
}

monitor::GpuPollOptions remembering(const Context& context, const std::shared_ptr<watch::GpuInventory>& inventory) {
  return {.interrupted = &context.interrupted,
          .remembered = inventory->gpus(),
          .listed = [inventory](const auto& gpus) { inventory->seen(gpus, wall_clock_s()); }};
}

}  // namespace warpmark::apps
