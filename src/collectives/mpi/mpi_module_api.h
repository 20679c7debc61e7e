// The border between the executable, which links no MPI, and libwarpmark_mpi.so, which is built where MPI is found.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collectives/calls/engine.h"
#include "collectives/calls/operation.h"
#include "collectives/results/tuning.h"

namespace warpmark::collectives {

inline constexpr int kMpiModuleAbi = 1;

/// Functions return MPI's error codes, 0 is success.
struct MpiModule {
  int abi;
  void (*version)(char* text, int capacity);
  void (*error_text)(int code, char* text, int capacity);
  int (*start)(int* rank, int* ranks, int* local_rank);
  int (*finish)();
  int (*barrier)();
  int (*all_gather)(const double* mine, int count, double* all);
  int (*broadcast)(void* data, int bytes, int from);
  int (*send)(const void* data, int bytes, int to);
  int (*receive)(void* data, int bytes, int from);
  /// One collective on host memory, blocking. In place: `send` is where the rank's own data stands in the set.
  int (*call)(const Call* call, const void* send, void* receive);
};

/// Environment error saying where it was looked for and how to get it. Loaded once.
[[nodiscard]] Result<const MpiModule*> mpi_module();

extern "C" const MpiModule* warpmark_mpi_module();
inline constexpr const char* kMpiModuleSymbol = "warpmark_mpi_module";

/// Initializes MPI in this process; finalized when the object goes.
[[nodiscard]] Result<std::unique_ptr<Bootstrap>> mpi_bootstrap();

/// The engine over the processes of a bootstrap made by mpi_bootstrap().
[[nodiscard]] Result<std::unique_ptr<Engine>> mpi_engine(Bootstrap& bootstrap);

/// What `ompi_info` tells of its parameters, a line each. Environment error where it is not there: other libraries than
/// Open MPI have other ways.
[[nodiscard]] Result<std::string> open_mpi_parameters();

/// Those of its parameters that exist in this version: the algorithm of this collective (one setting each), how ranks
/// of one host copy, and from which size on; between hosts, links and interfaces of TCP. Without the default. Pure.
[[nodiscard]] std::vector<Settings> open_mpi_settings(Collective kind, std::string_view parameters, bool several_hosts,
                                                      const std::vector<std::string>& interfaces);

}  // namespace warpmark::collectives
