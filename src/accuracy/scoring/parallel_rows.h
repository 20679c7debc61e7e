// Work on many rows that do not depend on each other, shared among the processors.
#pragma once

#include <cstddef>
#include <functional>

namespace warpmark::accuracy {

/// Fewer rows than these for each thread are not worth one more.
inline constexpr std::size_t kRowsForAThread = 500;

/// Calls `work(first, last)` for consecutive pieces of 0 to `rows`, each on a thread of its own, as many as there are
/// processors for this process and at most 16; one on this thread where there are few rows. Returns when all are done;
/// an exception of one of them is thrown here then.
void share_rows(std::size_t rows, const std::function<void(std::size_t first, std::size_t last)>& work);

}  // namespace warpmark::accuracy
