#include "warpmark/terminal/served.h"

#include <chrono>
#include <filesystem>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "device/machine.h"
#include "store/location.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::apps {

Result<std::string> token_of(const ParsedOptions& options) {
  if (!options.has("--token-file")) return std::string();
  WM_ASSIGN(const auto text, read_file(options.get("--token-file"), 1 << 16));
  std::string token(trim(text));
  if (token.size() < 16) {
    return usage_error("the token in " + options.get("--token-file") + " has fewer than 16 characters",
                       "make one with: openssl rand -hex 32");
  }
  return token;
}

StoreOpener existing_store(Context& context, const std::string& location, double patience_s) {
  const auto say = [&err = context.err, once = std::make_shared<std::once_flag>()](const std::string& reason) {
    std::call_once(*once, [&] { err << "warpmark: " << reason << '\n' << std::flush; });
  };
  return [location, patience_s, say]() -> Result<std::unique_ptr<store::Store>> {
    if (store::is_postgres(location)) return store::open_store(location);
    if (std::error_code code; !std::filesystem::exists(location, code) && !code) {
      return environment_error("there is no database at " + location,
                               "`warpmark run` makes it; --db FILE or WARPMARK_DB names another");
    }
    return store::open_sqlite(location, {.busy_timeout_s = patience_s, .reads_only = true, .on_immutable = say});
  };
}

bool wait(Context& context, double seconds) {
  const auto until_ns = monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (!context.interrupted.load() && monotonic_ns() < until_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return !context.interrupted.load();
}

Result<std::shared_ptr<watch::GpuInventory>> inventory_of(Context& context, const std::string& location,
                                                          const std::string& file) {
  std::filesystem::path path = file;
  if (file.empty()) {
    WM_ASSIGN(const auto folder, store::sibling_folder(location, context.environment));
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
