// NCCL between GPUs: in the CUDA module, which loads libnccl.so.2 at run time.
#pragma once

#include <memory>

#include "base/result.h"
#include "collectives/calls/engine.h"
#include "collectives/calls/gpu_links.h"

namespace warpmark::collectives {

struct NcclOptions {
  int gpus = 0;  ///< that this process drives; 0: all with one process, else one
};

/// Environment error naming what is missing: driver, GPU, module, NCCL, or GPUs for so many ranks.
[[nodiscard]] Result<std::unique_ptr<Engine>> nccl_engine(Bootstrap& bootstrap, const NcclOptions& options);

/// What the CUDA module offers to this folder.
struct CollectivesModule {
  int abi;
  Result<std::unique_ptr<Engine>> (*engine)(Bootstrap& bootstrap, const NcclOptions& options);
  Result<Links> (*links)(const LinkOptions& options);
};
[[nodiscard]] Result<const CollectivesModule*> collectives_module();
inline constexpr int kCollectivesModuleAbi = 3;
extern "C" const CollectivesModule* warpmark_collectives_module();
inline constexpr const char* kCollectivesModuleSymbol = "warpmark_collectives_module";

}  // namespace warpmark::collectives
