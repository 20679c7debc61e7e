// How the processes of a launch find one another before and between the timed calls: over MPI, or alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::collectives {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual int process() const = 0;
  [[nodiscard]] virtual int processes() const = 0;
  [[nodiscard]] virtual int local_process() const = 0;  ///< its number among those of this host
  virtual Status barrier() = 0;
  /// All processes give equally many values and get those of all, by process.
  virtual Result<std::vector<double>> all_gather(std::span<const double> mine) = 0;
  virtual Status broadcast(std::span<std::byte> bytes, int from) = 0;
  /// What must be added to this host's clock (monotonic_ns) to get that of process 0; from the fastest of 20 exchanged
  /// messages each (Cristian, "Probabilistic clock synchronization", 1989). 0 on the host of process 0.
  virtual Result<std::int64_t> clock_offset_ns() = 0;
};

/// One process alone.
[[nodiscard]] std::unique_ptr<Bootstrap> solo_bootstrap();

/// The texts of all processes, by process; each is cut at `most` bytes.
[[nodiscard]] Result<std::vector<std::string>> gather_texts(Bootstrap& bootstrap, const std::string& mine,
                                                            std::size_t most = 200);

}  // namespace warpmark::collectives
