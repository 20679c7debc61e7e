#include "workloads/catalog.h"

#include <array>

namespace warpmark::workloads {

// One line a workload: its descriptor, defined in a file of its own. The list is expanded twice, to declarations and to
// the array.
// clang-format off
#define WARPMARK_WORKLOADS(item) \
  item(kCopy)                    \
  item(kTriad)                   \
  item(kRead)                    \
  item(kWrite)                   \
  item(kTransfer)                \
  item(kLaunch)                  \
  item(kGemm)                    \
  item(kConv2d)                  \
  item(kAttention)               \
  item(kFusedTexture)            \
  item(kPatchScores)             \
  item(kTopKPatches)             \
  item(kOpponentBalance)         \
  item(kRelevancePipeline)       \
  item(kResnet50)                \
  item(kBert)                    \
  item(kGpt2)                    \
  item(kLlama)                   \
  item(kDlrm)                    \
  item(kVit)                     \
  item(kUnet3d)                  \
  item(kStorage)                 \
  item(kLoader)                  \
  item(kCollate)                 \
  item(kEmbedding)               \
  item(kEmbeddingCache)
// clang-format on

#define WARPMARK_DECLARE(name) extern const measure::Workload name;
WARPMARK_WORKLOADS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<measure::Workload> catalog() {
#define WARPMARK_POINTER(name) &(name),
  static constexpr std::array kWorkloads{WARPMARK_WORKLOADS(WARPMARK_POINTER)};
#undef WARPMARK_POINTER
  return kWorkloads;
}

}  // namespace warpmark::workloads
