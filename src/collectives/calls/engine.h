// An engine does collectives: MPI between processes on host memory, NCCL between GPUs. One object drives the ranks of
// one process: one with MPI, one or several GPUs with NCCL. An edge with a fake for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/calls/exact_values.h"
#include "collectives/calls/operation.h"

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

enum class Side { send, receive };

/// One collective, as every rank calls it.
struct Call {
  Collective kind = Collective::all_reduce;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  Counts counts;
  bool in_place = false;  ///< all data stands in the receive side
  int graph = 0;          ///< the whole loop is one CUDA graph, replayed so often; 0: no graph
};

/// Buffers of successive iterations: set s of both sides begins at s * stride_bytes.
struct SetLayout {
  std::size_t stride_bytes = 0;
  int sets = 1;
};

struct LoopRequest {
  int iterations = 1;
  int first = 0;                ///< iteration i uses set (first + i) % sets
  bool each = false;            ///< time every iteration; engines for which that costs nothing always do
  std::vector<double> delay_s;  ///< a planted fault: how long each local rank waits before each call; empty for none
};

/// One iteration of one rank.
struct Stamp {
  /// When the rank began: monotonic_ns of this host, or against the end of the call (Engine::begins_before_end).
  std::int64_t begin_ns = 0;
  double seconds = 0;  ///< of the call, or since the iteration before ended
};

struct RankLoop {
  double seconds = 0;       ///< of the whole loop
  std::vector<Stamp> each;  ///< empty unless asked for
};

/// A part of a buffer, in elements of one type.
struct Region {
  Side side = Side::receive;
  std::size_t offset_bytes = 0;
  std::int64_t count = 0;
  DataType type = DataType::f32;
};

/// What must stand in a receive region.
struct Expected {
  Collective kind = Collective::all_reduce;
  ExactInput input;
  std::uint64_t salt = 0;
  std::int64_t parameter = 0;  ///< Counts::parameter
  int rank = 0;
  int root = 0;
  double tolerance = 0;  ///< relative; above 0 only for an average whose division is not exact
};

class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual const char* id() const = 0;  ///< "mpi", "nccl"
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;  ///< of all processes
  [[nodiscard]] virtual int first_rank() const = 0;
  [[nodiscard]] virtual int local_ranks() const = 0;
  /// "Pid 545 on node1 device 0 [0000:00:06] NVIDIA H200", for the head of the table.
  [[nodiscard]] virtual std::string describe(int local) const = 0;
  [[nodiscard]] virtual bool times_each_for_free() const = 0;
  /// Where calls are queued and clocks of ranks are not of one kind: what makes ranks wait for each other ends for all
  /// at once, so the rank whose call took the least began last. Stamp::begin_ns is minus the call's own time then.
  [[nodiscard]] virtual bool begins_before_end() const { return false; }

  /// Of this host's memory, that allocate() would take in this process; 0 where it is not the host's.
  [[nodiscard]] virtual std::size_t host_bytes(std::size_t /*bytes_a_side*/) const { return 0; }
  /// Both sides of every local rank. Environment error naming the sizes.
  virtual Status allocate(std::size_t bytes_a_side) = 0;
  virtual Status fill(int local, const Region& region, const ExactInput& input, std::uint64_t salt, int rank) = 0;
  virtual Status poison(int local, const Region& region) = 0;
  virtual Result<std::int64_t> count_wrong(int local, const Region& region, const Expected& expected) = 0;
  /// Changes one byte: a planted fault.
  virtual Status corrupt(int local, Side side, std::size_t offset_bytes) = 0;

  /// In which element of the set the result of an in-place call begins.
  [[nodiscard]] virtual std::int64_t in_place_result(const Call& call, int rank) const = 0;
  /// Whether this engine can do it. Unsupported error with the reason.
  [[nodiscard]] virtual Status supports(const Call& call) const = 0;
  /// Runs the loop on all local ranks; returns when all have ended.
  virtual Result<std::vector<RankLoop>> run(const Call& call, const SetLayout& layout, const LoopRequest& request) = 0;
  /// B/s at which one rank copies within its own memory while all do: the limit of what goes over shared memory.
  /// 0 where that says nothing.
  virtual Result<double> copy_rate(std::size_t bytes) = 0;
};

// Filling and checking buffers in host memory with exact values.

/// Writes `count` elements of rank `rank` from index 0 on.
void fill_exact(void* to, DataType type, std::int64_t count, const ExactInput& input, std::uint64_t salt, int rank);

/// How many of the elements are not what they must be.
[[nodiscard]] std::int64_t count_wrong(const void* data, DataType type, std::int64_t count, const Expected& expected);

/// The value that must stand at an index of the receive region.
[[nodiscard]] std::int64_t expected_value(const Expected& expected, std::uint64_t index);

}  // namespace warpmark::collectives
