// Names of functions as recordings have them.
#include "analyze/names/host_work_kinds.h"

#include <gtest/gtest.h>

namespace warpmark::analyze {
namespace {

TEST(HostWorkKind, is_told_by_the_name) {
  const std::pair<const char*, HostWorkKind> kNames[] = {
      {"compile_fx (compile_fx.py:1500)", HostWorkKind::compiling},
      {"convert_frame.py(900): _compile_dynamo", HostWorkKind::compiling},
      {"compile (triton/compiler/compiler.py:240)", HostWorkKind::compiling},
      {"backend_compile", HostWorkKind::compiling},
      {"<built-in function collect>", HostWorkKind::collecting_garbage},
      {"<built-in function sleep>", HostWorkKind::sleeping},
      {"clock_nanosleep", HostWorkKind::sleeping},
      {"<method 'flush' of '_io.TextIOWrapper' objects>", HostWorkKind::writing},
      {"save (serialization.py:850)", HostWorkKind::writing},
      {"log (wandb_run.py:1700)", HostWorkKind::writing},
      {"pthread_mutex_lock", HostWorkKind::locking},
      {"resize (Image.py:1190)", HostWorkKind::other},
      {"schedule (scheduler.py:180)", HostWorkKind::other},
      {"re.compile", HostWorkKind::other},
      {"__call__ (CompiledFxGraph)", HostWorkKind::other},
      {"<built-in method compile_to_cubin>", HostWorkKind::compiling},
      {"collect_rollouts (ppo.py:10)", HostWorkKind::other},
  };
  for (const auto& [name, kind] : kNames) EXPECT_EQ(kind_of_host_work(name), kind) << name;
}

}  // namespace
}  // namespace warpmark::analyze
