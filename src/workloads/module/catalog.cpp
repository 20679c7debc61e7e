#include "workloads/module/catalog.h"

#include <array>

namespace warpmark::workloads {

// One line an implementation, in its own file.
extern const CudaImplementation kCudaCopy;
extern const CudaImplementation kCudaTriad;
extern const CudaImplementation kCudaRead;
extern const CudaImplementation kCudaWrite;
extern const CudaImplementation kCudaTransfer;
extern const CudaImplementation kCudaLaunch;
extern const CudaImplementation kCudaGemm;
extern const CudaImplementation kCudaConv2d;
extern const CudaImplementation kCudaAttention;
extern const CudaImplementation kCudaFusedTexture;
extern const CudaImplementation kCudaPatchScores;
extern const CudaImplementation kCudaTopKPatches;
extern const CudaImplementation kCudaOpponentBalance;
extern const CudaImplementation kCudaEmbedding;
extern const CudaImplementation kCudaEmbeddingCache;
extern const CudaImplementation kCudaLoader;

namespace {

constexpr std::array kImplementations{
    &kCudaCopy,
    &kCudaTriad,
    &kCudaRead,
    &kCudaWrite,
    &kCudaTransfer,
    &kCudaLaunch,
    &kCudaGemm,
    &kCudaConv2d,
    &kCudaAttention,
    &kCudaFusedTexture,
    &kCudaPatchScores,
    &kCudaTopKPatches,
    &kCudaOpponentBalance,
    &kCudaEmbedding,
    &kCudaEmbeddingCache,
    &kCudaLoader,
};

}  // namespace

Catalog<CudaImplementation> cuda_implementations() { return kImplementations; }

}  // namespace warpmark::workloads
