#include "http/connection.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace warpmark::http {
namespace {

Error broken(int code) { return environment_error("the connection broke: " + errno_text(code)); }

/// Where distributions keep the certificates they trust; OpenSSL's own place is the first that is tried.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string last_openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown fault";
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "fault " + std::to_string(code) : reason;
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool load_system_certificates(SSL_CTX* context) {
  if (SSL_CTX_set_default_verify_paths(context) != 1) return false;
  for (const char* bundle : kBundles) {
    std::error_code ignored;
    if (std::filesystem::exists(bundle, ignored)) return SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1;
  }
  return true;
}

}  // namespace

Connection::Connection(Socket socket, std::unique_ptr<TlsSession> tls, bool connected)
    : socket_(std::move(socket)), tls_(std::move(tls)), connected_(connected) {}

Status Connection::advance(const Address& address) {
  if (!connected_) {
    WM_TRY(outcome_of_connect(socket_, address));
    connected_ = true;
  }
  if (!tls_ || tls_->ready()) return {};
  char buffer[16384];
  for (;;) {
    const Status shaken = tls_->handshake();
    WM_TRY(flush_tls());  // also an alert that says why it failed
    WM_TRY(shaken);
    if (tls_->ready()) return {};
    const Received got = receive_from(socket_, buffer);
    if (got.state == Received::State::would_block) return {};
    if (got.state == Received::State::failed) return broken(got.error);
    if (got.state == Received::State::ended) {
      return environment_error("the connection ended within the TLS handshake",
                               "does the server use https on this port?");
    }
    tls_->feed({buffer, got.bytes});
  }
}

Status Connection::send(std::string_view bytes) {
  if (tls_) {
    WM_TRY(tls_->write(bytes));
    return flush_tls();
  }
  if (pending_.empty()) {
    const SentBytes sent = send_to(socket_, bytes);
    if (sent.failed) return broken(sent.error);
    bytes.remove_prefix(sent.bytes);
  }
  pending_.append(bytes);
  return {};
}

Status Connection::flush() {
  if (tls_) return flush_tls();
  if (pending_.empty()) return {};
  const SentBytes sent = send_to(socket_, pending_);
  if (sent.failed) return broken(sent.error);
  pending_.erase(0, sent.bytes);
  return {};
}

Status Connection::flush_tls() {
  tls_blocked_ = false;
  for (auto outgoing = tls_->outgoing(); !outgoing.empty(); outgoing = tls_->outgoing()) {
    const SentBytes sent = send_to(socket_, outgoing);
    if (sent.failed) return broken(sent.error);
    tls_->sent(sent.bytes);
    if (sent.bytes < outgoing.size()) {
      tls_blocked_ = true;
      return {};
    }
  }
  return {};
}

Received Connection::receive(std::span<char> into) {
  Received got = tls_ ? receive_tls(into) : receive_from(socket_, into);
  if (got.state == Received::State::failed && got.error != 0) problem_ = broken(got.error).what;
  return got;
}

Received Connection::receive_tls(std::span<char> into) {
  char buffer[32768];
  for (;;) {
    const auto plain = tls_->read(into.data(), into.size());
    if (!plain.ok()) {
      problem_ = plain.error().what;
      return {Received::State::failed, 0, 0, 0};
    }
    if (*plain > 0) return {Received::State::data, *plain, kernel_time_ns_, 0};
    if (tls_->ended()) return {Received::State::ended, 0, 0, 0};
    const Received got = receive_from(socket_, buffer);
    if (got.state != Received::State::data) return got;
    kernel_time_ns_ = got.kernel_time_ns;
    tls_->feed({buffer, got.bytes});
  }
}

void Connection::close() { socket_.close(); }
void Connection::reset() { socket_.reset(); }

struct TlsContext::State {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{nullptr, &SSL_CTX_free};
  bool client = true;
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(const std::string& ca_file) {
  auto state = std::make_unique<State>();
  state->context.reset(SSL_CTX_new(TLS_client_method()));
  if (!state->context) return environment_error("TLS cannot be used: " + last_openssl_error());
  SSL_CTX* context = state->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (!ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1) {
      return data_error("no certificates can be read from " + ca_file + ": " + last_openssl_error(),
                        "a PEM file: -----BEGIN CERTIFICATE-----");
    }
  } else if (!load_system_certificates(context)) {
    return environment_error("the system's certificates cannot be read: " + last_openssl_error(),
                             "install ca-certificates, or name a PEM file");
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(state)));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(const std::string& certificate_file,
                                                                 const std::string& key_file) {
  auto state = std::make_unique<State>();
  state->client = false;
  state->context.reset(SSL_CTX_new(TLS_server_method()));
  if (!state->context) return environment_error("TLS cannot be used: " + last_openssl_error());
  SSL_CTX* context = state->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return data_error("no certificate can be read from " + certificate_file + ": " + last_openssl_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return data_error("the key in " + key_file + " is not the certificate's: " + last_openssl_error());
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(state)));
}

struct TlsSession::State {
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl{nullptr, &SSL_free};
  BIO* in = nullptr;   ///< owned by ssl
  BIO* out = nullptr;  ///< owned by ssl
  std::string outgoing;
  std::size_t outgoing_at = 0;
};

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, const std::string& host)
    : state_(std::make_unique<State>()), context_(std::move(context)), host_(host) {
  SSL* ssl = SSL_new(context_->state_->context.get());
  WM_CHECK(ssl != nullptr);
  state_->ssl.reset(ssl);
  state_->in = BIO_new(BIO_s_mem());
  state_->out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl, state_->in, state_->out);
  if (!context_->state_->client) {
    SSL_set_accept_state(ssl);
    return;
  }
  SSL_set_connect_state(ssl);
  if (is_address(host_)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host_.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, host_.c_str());
    SSL_set1_host(ssl, host_.c_str());
  }
}

TlsSession::~TlsSession() = default;

void TlsSession::feed(std::string_view encrypted) {
  const int taken = BIO_write(state_->in, encrypted.data(), static_cast<int>(encrypted.size()));
  WM_CHECK(taken == static_cast<int>(encrypted.size()));  // memory BIOs take everything
}

Status TlsSession::handshake() {
  if (ready_) return {};
  ERR_clear_error();
  const int result = SSL_do_handshake(state_->ssl.get());
  if (result == 1) {
    ready_ = true;
    return {};
  }
  const int reason = SSL_get_error(state_->ssl.get(), result);
  if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return {};
  const long verified = SSL_get_verify_result(state_->ssl.get());
  if (verified != X509_V_OK) {
    return environment_error(
        "the certificate of " + host_ + " is not trusted: " + X509_verify_cert_error_string(verified),
        "--ca-file FILE names the certificate of an authority of your own");
  }
  return environment_error("no TLS connection to " + host_ + ": " + last_openssl_error(),
                           "does the server use https on this port?");
}

Result<std::size_t> TlsSession::read(char* into, std::size_t size) {
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(state_->ssl.get(), into, size, &got);
  if (result == 1) return got;
  const int reason = SSL_get_error(state_->ssl.get(), result);
  if (reason == SSL_ERROR_ZERO_RETURN) ended_ = true;
  if (ended_ || reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return std::size_t{0};
  return environment_error("the TLS connection to " + host_ + " broke: " + last_openssl_error());
}

Status TlsSession::write(std::string_view plain) {
  if (plain.empty()) return {};
  ERR_clear_error();
  std::size_t written = 0;
  // A memory BIO grows, so everything is taken at once.
  if (SSL_write_ex(state_->ssl.get(), plain.data(), plain.size(), &written) == 1 && written == plain.size()) return {};
  return environment_error("the TLS connection to " + host_ + " broke: " + last_openssl_error());
}

std::string_view TlsSession::outgoing() {
  char buffer[16384];
  for (int got = BIO_read(state_->out, buffer, sizeof buffer); got > 0;
       got = BIO_read(state_->out, buffer, sizeof buffer)) {
    state_->outgoing.append(buffer, static_cast<std::size_t>(got));
  }
  return std::string_view(state_->outgoing).substr(state_->outgoing_at);
}

void TlsSession::sent(std::size_t bytes) {
  state_->outgoing_at += bytes;
  if (state_->outgoing_at < state_->outgoing.size()) return;
  state_->outgoing.clear();
  state_->outgoing_at = 0;
}

}  // namespace warpmark::http
