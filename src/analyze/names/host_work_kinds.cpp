#include "analyze/names/host_work_kinds.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

HostWorkKind kind_of_host_work(std::string_view name) {
  const bool compiles = contains_any(name, {"dynamo", "inductor", "compile", "nvrtc", "hiprtc"});
  if (compiles && !contains_any(name, {"re.compile", "sre_", "compiled"})) return HostWorkKind::compiling;
  if (contains_any(name, {"function collect>", "gc.collect", "gc_collect"})) return HostWorkKind::collecting_garbage;
  if (contains_any(name, {"function sleep>", "time.sleep", "nanosleep", "usleep"})) return HostWorkKind::sleeping;
  if (contains_any(name, {"mutex_lock", "rwlock", "futex", "sem_wait"})) return HostWorkKind::locking;
  const bool writes = contains_any(name, {"fsync", "'flush'", "'write'", "save", "serialization.py", "wandb",
                                          "tensorboard", "logging", "log_metrics"});
  return writes ? HostWorkKind::writing : HostWorkKind::other;
}

}  // namespace warpmark::analyze
