#include "serving/reference/reference_server.h"

#include <sched.h>

#include <thread>
#include <utility>

#include "serving/reference/reference_loop.h"

namespace warpmark::serving {
namespace {
constexpr std::size_t kMostConnections = 65'536;
}  // namespace

struct ReferenceServer::State {
  ReferenceServerOptions options;
  http::Address address;
  ReferenceCounts counts;
  std::atomic<bool> stop{false};
  std::unique_ptr<ReferenceLoop> loop;
  std::thread thread;
};

ReferenceServer::ReferenceServer(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread([shared = state_.get()] {
    if (shared->options.cpu >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(shared->options.cpu), &set);
      (void)::sched_setaffinity(0, sizeof set, &set);  // where it is not allowed it runs anywhere
    }
    shared->loop->run(shared->stop);
  });
}

ReferenceServer::~ReferenceServer() {
  state_->stop.store(true);
  state_->thread.join();
}

Result<std::unique_ptr<ReferenceServer>> ReferenceServer::start(const ReferenceServerOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  std::shared_ptr<const http::TlsContext> tls;
  if (!options.certificate_file.empty()) {
    WM_ASSIGN(tls, http::TlsContext::for_server(options.certificate_file, options.key_file));
  }
  (void)http::allow_open_files(kMostConnections);  // fewer serve as many as the limit lets
  WM_ASSIGN(const auto addresses, http::resolve(options.host, options.port));
  WM_ASSIGN(http::Socket listening, http::listen_on(addresses.front()));
  state->address = http::local_address(listening);
  state->loop = std::make_unique<ReferenceLoop>(state->options, std::move(listening), std::move(tls), state->counts);
  WM_TRY(state->loop->open());
  return std::unique_ptr<ReferenceServer>(new ReferenceServer(std::move(state)));
}

std::uint16_t ReferenceServer::port() const { return state_->address.port(); }

std::string ReferenceServer::url() const {
  const bool secure = !state_->options.certificate_file.empty();
  return (secure ? "https://" : "http://") + state_->address.text();
}

const ReferenceCounts& ReferenceServer::counts() const { return state_->counts; }

}  // namespace warpmark::serving
