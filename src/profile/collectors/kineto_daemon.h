// Asks PyTorch's own profiler, Kineto, for traces of a program that runs: answers the requests that its processes send
// where they were started with KINETO_USE_DAEMON=1, as the daemon of dynolog does. The protocol: dynolog/src/ipcfabric
// (datagrams between Unix sockets, a header of size and type) and dynolog/src/tracing/IPCMonitor.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"

namespace warpmark::profile {

struct KinetoRequest {
  std::filesystem::path folder;  ///< takes a trace of each process, trace_PID.json, and the marks of recording_parts.h
  double duration_s = 2;
  std::int64_t steps = 0;  ///< instead, where the program calls the profiler's step()
};

class KinetoDaemon {
 public:
  /// `socket_folder` as KINETO_IPC_SOCKET_DIR of the program; empty: an abstract socket. Environment error where a
  /// daemon listens already.
  [[nodiscard]] static Result<KinetoDaemon> listen(const std::string& socket_folder, KinetoRequest request);
  KinetoDaemon(KinetoDaemon&& other) noexcept;
  KinetoDaemon& operator=(KinetoDaemon&&) = delete;
  ~KinetoDaemon();

  /// Answers what has come: each of these processes is asked once. Never blocks.
  void answer(const std::set<std::int64_t>& processes);

 private:
  KinetoDaemon(int socket, std::string path, KinetoRequest request)
      : socket_(socket), path_(std::move(path)), request_(std::move(request)) {}
  void note_traces();

  int socket_;
  std::string path_;  ///< of the socket; empty: it is abstract
  KinetoRequest request_;
  struct Trace {
    std::uintmax_t bytes = 0;
    std::chrono::steady_clock::time_point since;  ///< it has this size
  };
  std::map<std::int64_t, Trace> asked_;  ///< by process
};

}  // namespace warpmark::profile
