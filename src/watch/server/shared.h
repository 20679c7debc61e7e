// What the connections of a server share. Internal to the server; all of it is used on the server's thread.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <set>
#include <string>

#include "watch/server/server.h"

// A named namespace: the state of a Server has these as fields, and files are compiled joined.
namespace warpmark::watch::serving_parts {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

/// Who is sent events.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void send(const std::string& event) = 0;
};

struct Shared {
  ServerOptions options;
  Handler handler;
  bool local_names_only = false;
  std::size_t connections = 0;
  std::set<Listener*> listeners;
  std::atomic<std::size_t> streams = 0;
  std::string newest_event;  ///< as it is sent; empty before the first
  asio::thread_pool* workers = nullptr;

  void remember(Listener* listener) {
    listeners.insert(listener);
    streams = listeners.size();
  }
  void forget(Listener* listener) {
    listeners.erase(listener);
    streams = listeners.size();
  }
};

}  // namespace warpmark::watch::serving_parts
