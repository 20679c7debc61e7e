#include "collectives/nccl/nccl_engine.h"

#include "device/cuda/backend.h"

namespace warpmark::collectives {

Result<const CollectivesModule*> collectives_module() {
  WM_ASSIGN(void* const symbol, device::cuda_module_symbol(kCollectivesModuleSymbol));
  const auto entry = reinterpret_cast<decltype(&warpmark_collectives_module)>(symbol);
  const CollectivesModule* module = entry();
  if (module == nullptr || module->abi != kCollectivesModuleAbi) {
    return environment_error("the CUDA module belongs to another build of warpmark",
                             "use the module that was built with this executable");
  }
  return module;
}

Result<std::unique_ptr<Engine>> nccl_engine(Bootstrap& bootstrap, const NcclOptions& options) {
  const auto support = device::kCudaBackend.available();
  if (!support.available) return environment_error("NCCL needs GPUs: " + support.reason, support.hint);
  WM_ASSIGN(const auto* module, collectives_module());
  return module->engine(bootstrap, options);
}

}  // namespace warpmark::collectives
