// Images divided among threads, each with room for the order of one image's patches that lasts from launch to launch,
// as a timed launch must not allocate.
#pragma once

#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpmark::workloads::vision {

using PatchKeys = std::vector<std::uint64_t>;

class ImageLoop {
 public:
  explicit ImageLoop(std::int64_t patches)
      : keys_(static_cast<std::size_t>(omp_get_max_threads()), PatchKeys(static_cast<std::size_t>(patches))) {}

  /// Calls body(image, keys) once for every image; keys hold what an earlier image left. The body must not throw.
  template <typename Body>
  void run(std::int64_t images, const Body& body) {
    const int threads = static_cast<int>(keys_.size());
#pragma omp parallel num_threads(threads)
    {
      PatchKeys& keys = keys_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(static)
      for (std::int64_t image = 0; image < images; ++image) body(static_cast<std::size_t>(image), keys);
    }
  }

 private:
  std::vector<PatchKeys> keys_;  ///< one a thread
};

}  // namespace warpmark::workloads::vision
