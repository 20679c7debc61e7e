#include "watch/server/server.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

#include "http/socket.h"
#include "watch/server/connection.h"

namespace warpmark::watch {

using namespace serving_parts;
namespace sockets = warpmark::http;  // `http` is Beast's here

namespace {

constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr std::size_t kOtherFiles = 128;  // of databases, sensors and the program itself

/// Of an address, or the first one of a name such as localhost.
Result<asio::ip::address> address_of(const std::string& host) {
  Code code;
  auto address = asio::ip::make_address(host, code);
  if (!code) return address;
  const auto found = sockets::resolve(host, 0);
  if (!found.ok()) return usage_error("--host: " + found.error().what, "as in localhost, 127.0.0.1, ::1 or 0.0.0.0");
  const auto* storage = &found->front().storage;
  if (storage->ss_family == AF_INET) {
    return asio::ip::address(
        asio::ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(storage)->sin_addr.s_addr)));
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(storage)->sin6_addr, bytes.size());
  return asio::ip::address(asio::ip::address_v6(bytes));
}

}  // namespace

struct Server::State {
  Shared shared;  // outlives the connections that the context destroys
  std::optional<asio::ssl::context> tls;
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  asio::ip::address address;
  std::optional<asio::thread_pool> workers;
  std::thread thread;

  void take(Tcp::socket socket) {
    if (tls) {
      std::make_shared<TlsConnection>(shared, std::move(socket), *tls)->start();
    } else {
      std::make_shared<PlainConnection>(shared, std::move(socket))->start();
    }
  }

  void accept() {
    acceptor.async_accept([this](Code code, Tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (code && code != asio::error::connection_aborted) return accept_later();
      // Twice as many are let in as are served, so that those too many hear why; the rest is closed at once.
      if (!code && shared.connections < 2 * shared.options.most_connections) take(std::move(socket));
      accept();
    });
  }

  /// At the limit of open files every attempt fails at once, until some connection has ended.
  void accept_later() {
    pause.expires_after(kPauseAfterFailure);
    pause.async_wait([this](Code code) {
      if (!code) accept();
    });
  }

  Status load_certificate() {
    const auto& options = shared.options;
    if (options.certificate_file.empty() && options.key_file.empty()) return {};
    if (options.certificate_file.empty() || options.key_file.empty()) {
      return usage_error("a certificate and its key go together", "give both files");
    }
    Code code;
    tls.emplace(asio::ssl::context::tls_server);
    tls->set_options(
        asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, code);
    if (!code) tls->use_certificate_chain_file(options.certificate_file, code);
    if (code) return usage_error("cannot use the certificate " + options.certificate_file + ": " + code.message());
    tls->use_private_key_file(options.key_file, asio::ssl::context::pem, code);
    if (code) return usage_error("cannot use the key " + options.key_file + ": " + code.message());
    return {};
  }

  Status check_exposure() const {
    const auto& options = shared.options;
    if (address.is_loopback()) return {};
    if (options.token.empty()) {
      return usage_error("listening on " + options.host + " without a token would show this machine to all",
                         "give a file that holds one with --token-file");
    }
    if (options.needs_tls && !tls) {
      return usage_error("listening on " + options.host + " without TLS would show the token to the network",
                         "give a certificate with --tls-cert and --tls-key, or stay on loopback behind a proxy or ssh");
    }
    return {};
  }
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler) {
  auto state = std::make_unique<State>();
  Code code;
  WM_ASSIGN(state->address, address_of(options.host));
  state->shared.options = options;
  state->shared.handler = std::move(handler);
  state->shared.local_names_only = options.checks_names && state->address.is_loopback() && options.token.empty();
  WM_TRY(state->load_certificate());
  WM_TRY(state->check_exposure());
  if (const Status allowed = sockets::allow_open_files(2 * options.most_connections + kOtherFiles); !allowed.ok()) {
    const auto limit = static_cast<std::size_t>(sockets::limit_of_open_files());
    state->shared.options.most_connections = std::max<std::size_t>(limit, kOtherFiles + 2) / 2 - kOtherFiles / 2;
  }
  const Tcp::endpoint endpoint(state->address, options.port);
  state->acceptor.open(endpoint.protocol(), code);
  if (!code) state->acceptor.set_option(Tcp::acceptor::reuse_address(true), code);
  if (!code) state->acceptor.bind(endpoint, code);
  if (!code) state->acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) {
    return environment_error(fmt::format("cannot listen on {} port {}: {}", options.host, options.port, code.message()),
                             "--port 0 takes a free one");
  }
  state->workers.emplace(options.handlers);
  state->shared.workers = &*state->workers;
  state->accept();
  state->thread = std::thread([raw = state.get()] { raw->context.run(); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::~Server() {
  state_->workers->stop();
  state_->workers->join();  // before the context: answers go there
  state_->context.stop();
  state_->thread.join();
}

void Server::publish(const std::string& data) {
  asio::post(state_->context, [state = state_.get(), event = "data: " + data + "\n\n"] {
    state->shared.newest_event = event;
    const auto listeners = state->shared.listeners;  // sending may end some
    for (Listener* listener : listeners) {
      if (state->shared.listeners.contains(listener)) listener->send(event);
    }
  });
}

std::size_t Server::streams() const { return state_->shared.streams; }

std::uint16_t Server::port() const { return state_->acceptor.local_endpoint().port(); }

std::string Server::url() const {
  const std::string host = state_->address.to_string();
  return fmt::format("{}://{}:{}/", state_->tls ? "https" : "http", state_->address.is_v6() ? "[" + host + "]" : host,
                     port());
}

namespace {

/// Code that the loader wrote into is private to this process: letting it go would bring back the file's own bytes.
bool has_text_relocations(const dl_phdr_info& object, std::span<const ElfW(Phdr)> headers) {
  for (const auto& header : headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

int give_back_object(dl_phdr_info* object, std::size_t, void*) {
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  if (object->dlpi_name == nullptr || has_text_relocations(*object, headers)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& header : headers) {
    // Writable segments hold what was relocated (RELRO is a part of them) and data: only the others are the file's.
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const auto begin = (object->dlpi_addr + header.p_vaddr + page - 1) / page * page;
    const auto end = (object->dlpi_addr + header.p_vaddr + header.p_filesz) / page * page;
    // An error leaves them where they are.
    if (begin < end) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

}  // namespace

void give_back_unused() {
  ::dl_iterate_phdr(give_back_object, nullptr);
  ::malloc_trim(0);
}

}  // namespace warpmark::watch
