// The module's one exported symbol, and the GPU implementations that it offers.
#include "base/catalog.h"
#include "device/cuda/backend.h"
#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/library_loader.h"
#include "workloads/cuda_bridge.h"

// One line an implementation, which is in its own file.
#define WM_CUDA_IMPLEMENTATIONS(IMPLEMENTATION) \
  IMPLEMENTATION(kCudaCopy)                     \
  IMPLEMENTATION(kCudaTriad)                    \
  IMPLEMENTATION(kCudaRead)                     \
  IMPLEMENTATION(kCudaWrite)                    \
  IMPLEMENTATION(kCudaTransfer)                 \
  IMPLEMENTATION(kCudaLaunch)                   \
  IMPLEMENTATION(kCudaGemm)                     \
  IMPLEMENTATION(kCudaConv2d)                   \
  IMPLEMENTATION(kCudaAttention)                \
  IMPLEMENTATION(kCudaFusedTexture)             \
  IMPLEMENTATION(kCudaPatchScores)              \
  IMPLEMENTATION(kCudaTopKPatches)              \
  IMPLEMENTATION(kCudaOpponentBalance)          \
  IMPLEMENTATION(kCudaEmbedding)                \
  IMPLEMENTATION(kCudaEmbeddingCache)           \
  IMPLEMENTATION(kCudaLoader)

namespace warpmark::workloads {

#define WM_DECLARE(implementation) extern const CudaImplementation implementation;
WM_CUDA_IMPLEMENTATIONS(WM_DECLARE)

}  // namespace warpmark::workloads

namespace warpmark::device {
namespace {

#define WM_LIST(implementation) &workloads::implementation,
constexpr const workloads::CudaImplementation* kImplementations[] = {WM_CUDA_IMPLEMENTATIONS(WM_LIST)};

const void* workload(const char* id) { return find_in(Catalog<workloads::CudaImplementation>(kImplementations), id); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const CudaModule* warpmark_cuda_module() {
  static const CudaModule module{.abi = kCudaModuleAbi,
                                 .available = cuda_available,
                                 .devices = cuda_devices,
                                 .open = open_cuda_device,
                                 .libraries = library_report,
                                 .workload = workload};
  return &module;
}

}  // namespace warpmark::device
