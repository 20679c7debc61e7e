#include "workloads/vision/token_split.h"

#include <algorithm>

#include "workloads/vision/constants.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads::vision {
namespace {

/// What is left for the patches below the cap.
struct Rest {
  std::int64_t extra;   ///< tokens beyond 64 each
  std::int64_t shares;  ///< sum of the shares
  [[nodiscard]] bool caps(std::int64_t share) const { return extra * share >= kExtraTokens * shares; }
};

/// Capping a patch raises the others' part or leaves it, so the capped set only grows and the loop ends at the same
/// set as capping one patch after another in order of relevance.
Rest settle(std::span<const float> relevance, std::int64_t budget) {
  const auto n = static_cast<std::int64_t>(relevance.size());
  const std::int64_t all = std::min(budget, kMaxTokens * n) - kMinTokens * n;
  Rest rest{all, 0};
  for (const float r : relevance) rest.shares += token_share(r);
  for (;;) {
    Rest next{all, 0};
    for (const float r : relevance) {
      const std::int64_t share = token_share(r);
      const bool capped = rest.caps(share);
      next.extra -= capped ? kExtraTokens : 0;
      next.shares += capped ? 0 : share;
    }
    if (next.extra == rest.extra) return rest;
    rest = next;
  }
}

}  // namespace

void split_tokens_fast(std::span<const float> relevance, std::int64_t budget, std::span<std::uint64_t> keys,
                       std::span<std::int32_t> tokens) {
  const Rest rest = settle(relevance, budget);
  std::int64_t left = rest.extra;
  std::size_t open = 0;
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    const std::int64_t share = token_share(relevance[i]);
    if (rest.shares == 0 || rest.caps(share)) {
      tokens[i] = static_cast<std::int32_t>(kMaxTokens);
      continue;
    }
    const std::int64_t part = rest.extra * share / rest.shares;
    tokens[i] = static_cast<std::int32_t>(kMinTokens + part);
    left -= part;
    keys[open++] = relevance_key(relevance[i], static_cast<std::uint32_t>(i));
  }
  // One more for the most relevant below the cap, as many as are left.
  const auto first = keys.begin();
  if (left > 0) {
    std::nth_element(first, first + (left - 1), first + static_cast<std::ptrdiff_t>(open));
    for (std::int64_t i = 0; i < left; ++i) ++tokens[static_cast<std::uint32_t>(first[i])];
  }
}

}  // namespace warpmark::workloads::vision
