#include "accuracy/scoring/each_answer.h"

#include <algorithm>
#include <future>
#include <thread>

namespace warpmark::accuracy {

void share_rows(std::size_t rows, const std::function<void(std::size_t first, std::size_t last)>& work) {
  constexpr std::size_t kMostThreads = 16;
  const std::size_t processors = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const std::size_t pieces = std::clamp<std::size_t>(rows / kRowsForAThread, 1, processors);
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < pieces; ++i) {
    others.push_back(std::async(std::launch::async, work, rows * i / pieces, rows * (i + 1) / pieces));
  }
  work(0, rows / pieces);
  for (auto& other : others) other.get();
}

}  // namespace warpmark::accuracy
