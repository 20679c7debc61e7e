// The token split of opponent_balance as the timed CPU implementation does it: the same result as reference.h's
// split_tokens, without sorting.
#pragma once

#include <cstdint>
#include <span>

namespace warpmark::workloads::vision {

/// tokens[i] of relevance[i]; `keys` is scratch of at least as many entries. budget >= 64 n. Does not allocate.
void split_tokens_fast(std::span<const float> relevance, std::int64_t budget, std::span<std::uint64_t> keys,
                       std::span<std::int32_t> tokens);

}  // namespace warpmark::workloads::vision
