#include "watch/alerts/deliver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "http/client.h"
#include "report/draw/format.h"

namespace warpmark::watch {
namespace {

// Our own declarations of the few functions of libcurl that are used, loaded at run time as libpq is: mail is wanted by
// few, and curl's libraries (Kerberos, LDAP, SSH, ...) need not be shipped. Values are those of curl/curl.h;
// libcurl.so.4 has kept them since 2006 (curl.se/libcurl/abi.html).

struct SmtpMail {
  std::string host;
  std::uint16_t port = 0;
  MailTls tls = MailTls::starttls;
  std::string user;
  std::string password;
  std::string ca_file;
  std::string from;
  std::vector<std::string> to;
  std::string text;  ///< with CRLF
  double deadline_s = 10;
  const std::atomic<bool>* interrupted = nullptr;
};

using Handle = void*;
using List = void*;

// CURLoption; the thousands tell the type of the value.
constexpr int kUploadOption = 46, kNoProgress = 43, kNoSignal = 99, kUseSsl = 119, kTimeoutMs = 155, kProtocols = 181;

constexpr int kWriteData = 10001, kUrlOption = 10002, kReadData = 10009, kErrorBuffer = 10010, kProgressData = 10057,
              kCaFile = 10065, kUserName = 10173, kPasswordOption = 10174, kMailFrom = 10186, kMailTo = 10187;

constexpr int kWriteFunction = 20011, kReadFunction = 20012, kProgressFunction = 20219;
constexpr int kResponseCode = 0x200002;            // CURLINFO
constexpr long kSslAll = 3;                        // CURLUSESSL_ALL: without TLS nothing is sent
constexpr long kSmtp = 1 << 16, kSmtps = 1 << 17;  // CURLPROTO_*
constexpr std::size_t kErrorSize = 256;            // CURL_ERROR_SIZE
constexpr long kGlobalDefault = 3;                 // CURL_GLOBAL_DEFAULT

struct CurlApi {
  int (*global_init)(long) = nullptr;
  Handle (*easy_init)() = nullptr;
  int (*setopt)(Handle, int, ...) = nullptr;
  int (*perform)(Handle) = nullptr;
  int (*getinfo)(Handle, int, ...) = nullptr;
  void (*cleanup)(Handle) = nullptr;
  const char* (*strerror)(int) = nullptr;
  List (*append)(List, const char*) = nullptr;
  void (*free_all)(List) = nullptr;
};

Result<CurlApi> load_curl() {
  void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (library == nullptr) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return environment_error("libcurl, which sends mail, was not found (libcurl.so.4)",
                             "install it: the package libcurl4 of Debian and Ubuntu, libcurl elsewhere");
  }
  CurlApi api;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(api.global_init, "curl_global_init");
  find(api.easy_init, "curl_easy_init");
  find(api.setopt, "curl_easy_setopt");
  find(api.perform, "curl_easy_perform");
  find(api.getinfo, "curl_easy_getinfo");
  find(api.cleanup, "curl_easy_cleanup");
  find(api.strerror, "curl_easy_strerror");
  find(api.append, "curl_slist_append");
  find(api.free_all, "curl_slist_free_all");
  if (!complete || api.global_init(kGlobalDefault) != 0) {
    return environment_error("libcurl.so.4 lacks functions or does not start", "install a newer one");
  }
  return api;
}

/// Loaded once; threads that come at the same time wait for it.
const Result<CurlApi>& curl_api() {
  static const Result<CurlApi> api = load_curl();
  return api;
}

std::size_t give_bytes(char* into, std::size_t size, std::size_t count, void* data) {
  auto& rest = *static_cast<std::string_view*>(data);
  const std::size_t bytes = std::min(size * count, rest.size());
  std::memcpy(into, rest.data(), bytes);
  rest.remove_prefix(bytes);
  return bytes;
}

std::size_t drop_bytes(const char*, std::size_t size, std::size_t count, void*) { return size * count; }

int ask_to_go_on(void* data, long long, long long, long long, long long) {
  const auto* interrupted = static_cast<const std::atomic<bool>*>(data);
  return interrupted != nullptr && interrupted->load() ? 1 : 0;
}

/// What curl frees at the end.
struct CurlSession {
  explicit CurlSession(const CurlApi& functions) : api(functions), handle(api.easy_init()) {}
  ~CurlSession() {
    if (recipients != nullptr) api.free_all(recipients);
    if (handle != nullptr) api.cleanup(handle);
  }
  CurlSession(const CurlSession&) = delete;
  CurlSession& operator=(const CurlSession&) = delete;
  const CurlApi& api;
  Handle handle;
  List recipients = nullptr;
};

/// Environment error if libcurl is not installed, or with what it or the server says. Certificates are verified.
Status send_smtp(const SmtpMail& mail) {
  const auto& api = curl_api();
  if (!api.ok()) return api.error();
  CurlSession session(*api);
  if (session.handle == nullptr) return environment_error("libcurl has no memory for a mail");
  std::array<char, kErrorSize> problem{};
  std::string_view rest = mail.text;
  const bool bracket = mail.host.find(':') != std::string::npos;
  const std::string url = fmt::format("{}://{}{}{}:{}", mail.tls == MailTls::smtps ? "smtps" : "smtp",
                                      bracket ? "[" : "", mail.host, bracket ? "]" : "", mail.port);
  for (const auto& to : mail.to) session.recipients = api->append(session.recipients, ("<" + to + ">").c_str());
  const auto set = [&](int option, auto value) { return api->setopt(session.handle, option, value) == 0; };
  bool good = set(kUrlOption, url.c_str()) && set(kProtocols, kSmtp | kSmtps) && set(kErrorBuffer, problem.data()) &&
              set(kNoSignal, 1L) && set(kTimeoutMs, static_cast<long>(mail.deadline_s * 1e3)) &&
              set(kMailFrom, ("<" + mail.from + ">").c_str()) && set(kMailTo, session.recipients) &&
              set(kUploadOption, 1L) && set(kReadFunction, give_bytes) && set(kReadData, static_cast<void*>(&rest)) &&
              set(kWriteFunction, drop_bytes) && set(kWriteData, static_cast<void*>(nullptr)) && set(kNoProgress, 0L) &&
              set(kProgressFunction, ask_to_go_on) &&
              set(kProgressData, const_cast<void*>(static_cast<const void*>(mail.interrupted)));
  if (mail.tls == MailTls::starttls) good = good && set(kUseSsl, kSslAll);
  if (!mail.ca_file.empty()) good = good && set(kCaFile, mail.ca_file.c_str());
  if (!mail.user.empty())
    good = good && set(kUserName, mail.user.c_str()) && set(kPasswordOption, mail.password.c_str());
  if (!good) return environment_error("this libcurl cannot send mail", "install one with SMTP and TLS");
  const int code = api->perform(session.handle);
  if (code == 0) return {};
  long answer = 0;  // of SMTP
  if (api->getinfo(session.handle, kResponseCode, &answer) != 0) answer = 0;
  return environment_error(fmt::format("{}:{}: {}{}", mail.host, mail.port,
                                       problem[0] != '\0' ? problem.data() : api->strerror(code),
                                       answer >= 400 ? fmt::format(" (it answered {})", answer) : ""));
}

constexpr double kLongestPause_s = 3600;  // however long a server asks to be left alone

std::string printable(std::string_view text) {
  std::string line = report::without_controls(text.substr(0, 300));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return std::string(trim(line));
}

Delivery failed(const Error& error) { return {false, printable(error.what), 0}; }

Delivery run_command(const CommandSink& sink, double timeout_s, const Message& message,
                     const DeliveryOptions& options) {
  ProcessOptions process{.deadline_s = timeout_s, .output_cap_bytes = 4096, .own_group = true};
  process.interrupted = options.interrupted;
  process.grace_s = 0.5;
  process.input = dump_json(write(kMessage, message)) + "\n";
  for (const auto& name : options.hidden) process.environment.emplace_back(name, "");
  const auto ended = run_process(sink.words, process);
  if (!ended.ok()) return failed(ended.error());
  if (ended->exit_code == 0) return {true, {}, 0};
  const std::string said = printable(ended->err.empty() ? ended->out : ended->err);
  return {false, fmt::format("{} ended with {}{}", sink.words[0], ended->exit_code, said.empty() ? "" : ": " + said),
          0};
}

/// A name that begins with "127." is somebody's.
bool is_loopback(const std::string& host) {
  const bool four = host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || four;
}

struct Post {
  std::string url;
  std::string token;
  std::string body;
  std::string ca_file;
  http::Headers headers;
};

/// 2xx is delivered; all else is tried again, as what is wrong now may be fixed (RFC 9110, section 15).
Delivery post(const Post& wanted, double timeout_s, const DeliveryOptions& options) {
  const auto url = http::parse_url(wanted.url);
  if (!url.ok()) return {false, "its URL is none", 0};  // which may be a secret
  if (!wanted.token.empty() && !url->secure() && !is_loopback(url->host)) {
    return {false, "a token is not sent without TLS: use https", 0};
  }
  http::RequestOptions how{.deadline_s = timeout_s, .body_cap_bytes = 1 << 20};
  how.interrupted = options.interrupted;
  if (url->secure()) {
    auto tls = http::TlsContext::for_client(wanted.ca_file);
    if (!tls.ok()) return failed(tls.error());
    how.tls = std::move(*tls);
  }
  http::Request request{.method = "POST", .url = *url, .headers = wanted.headers, .body = wanted.body};
  request.headers.push_back({"Content-Type", "application/json"});
  if (!wanted.token.empty()) request.headers.push_back({"Authorization", "Bearer " + wanted.token});
  const auto answer = http::request(request, how);
  if (!answer.ok()) return failed(answer.error());
  if (answer->status >= 200 && answer->status < 300) return {true, {}, 0};
  Delivery refused{false, fmt::format("{} answered {} {}", url->host, answer->status, printable(answer->reason)), 0};
  if (const auto* after = http::find_header(answer->headers, "Retry-After")) {
    const auto seconds = parse_integer(*after);
    if (seconds.ok() && *seconds > 0) {
      refused.retry_after_s = std::min(static_cast<double>(*seconds), kLongestPause_s);
    }
  }
  return refused;
}

Delivery post_webhook(const WebhookSink& sink, double timeout_s, const Message& message,
                      const DeliveryOptions& options) {
  Post wanted{.url = sink.url, .token = {}, .body = {}, .ca_file = sink.ca_file, .headers = {}};
  for (const auto& [secret, into] : {std::pair(&sink.secret_url, &wanted.url), std::pair(&sink.token, &wanted.token)}) {
    if (!secret->given()) continue;
    auto text = read_secret(*secret, options.environment);
    if (!text.ok()) return failed(text.error());
    *into = std::move(*text);
  }
  const Json body = sink.format == WebhookFormat::slack   ? slack_json(message)
                    : sink.format == WebhookFormat::teams ? teams_json(message)
                                                          : write(kMessage, message);
  wanted.body = dump_json(body, -1);
  return post(wanted, timeout_s, options);
}

/// docs.github.com/rest/issues/comments, "Create an issue comment".
Delivery post_github(const GithubSink& sink, double timeout_s, const Message& message, const DeliveryOptions& options) {
  auto token = read_secret(sink.token, options.environment);
  if (!token.ok()) return failed(token.error());
  Post wanted{.url = fmt::format("{}/repos/{}/issues/{}/comments", sink.api, sink.repository, sink.issue),
              .token = std::move(*token),
              .body = dump_json({{"body", github_comment(message)}}, -1),
              .ca_file = sink.ca_file,
              .headers = {{"Accept", "application/vnd.github+json"}, {"X-GitHub-Api-Version", "2022-11-28"}}};
  return post(wanted, timeout_s, options);
}

Delivery send_mail(const MailSink& sink, double timeout_s, const Message& message, const DeliveryOptions& options) {
  SmtpMail mail{.host = sink.host, .port = sink.port, .tls = sink.tls, .user = sink.user};
  if (sink.password.given()) {
    auto password = read_secret(sink.password, options.environment);
    if (!password.ok()) return failed(password.error());
    mail.password = std::move(*password);
  }
  mail.ca_file = sink.ca_file;
  mail.from = sink.from;
  mail.to = sink.to;
  mail.text = mail_text(message, {sink.from, sink.to}, wall_clock_s());
  mail.deadline_s = timeout_s;
  mail.interrupted = options.interrupted;
  const auto sent = send_smtp(mail);
  return sent.ok() ? Delivery{true, {}, 0} : failed(sent.error());
}

/// The secrets of a sink, and the files it names.
struct SinkNeeds {
  std::vector<Secret> secrets;
  std::string ca_file;
};

SinkNeeds needs_of(const Sink& sink) {
  if (const auto* webhook = std::get_if<WebhookSink>(&sink.kind)) {
    return {{webhook->secret_url, webhook->token}, webhook->ca_file};
  }
  if (const auto* mail = std::get_if<MailSink>(&sink.kind)) return {{mail->password}, mail->ca_file};
  if (const auto* github = std::get_if<GithubSink>(&sink.kind)) return {{github->token}, github->ca_file};
  return {};
}

}  // namespace

Result<std::string> read_secret(const Secret& secret, const SecretLookup& environment) {
  std::string text, where;
  if (!secret.variable.empty()) {
    where = "the variable " + secret.variable;
    const char* value = environment(secret.variable.c_str());
    if (value == nullptr) return usage_error(where + " is not set", "it holds a secret of a sink");
    text = value;
  } else {
    where = "the file " + secret.file;
    WM_ASSIGN(text, read_file(secret.file, 1 << 16));
  }
  const std::string found(trim(text));
  if (found.empty()) return usage_error(where + " is empty", "it holds a secret of a sink");
  const bool clean = std::none_of(found.begin(), found.end(),
                                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!clean) return usage_error(where + " has control characters within", "a secret is one line");
  return found;
}

Status check_sinks(const AlertRules& rules, std::string_view file, const SecretLookup& environment) {
  for (const auto& sink : rules.sinks) {
    const auto needs = needs_of(sink);
    for (const auto& secret : needs.secrets) {
      if (!secret.given()) continue;
      const auto found = read_secret(secret, environment);
      if (found.ok()) continue;
      return usage_error(fmt::format("{} line {}: sink '{}': {}", file, sink.line, sink.name, found.error().what),
                         found.error().hint);
    }
    if (std::error_code code; !needs.ca_file.empty() && !std::filesystem::exists(needs.ca_file, code)) {
      return usage_error(
          fmt::format("{} line {}: sink '{}': there is no file {}", file, sink.line, sink.name, needs.ca_file),
          "ca names certificates in PEM");
    }
  }
  return {};
}

Delivery deliver(const Sink& sink, const Message& message, const DeliveryOptions& options) {
  if (const auto* command = std::get_if<CommandSink>(&sink.kind)) {
    return run_command(*command, sink.timeout_s, message, options);
  }
  if (const auto* webhook = std::get_if<WebhookSink>(&sink.kind)) {
    return post_webhook(*webhook, sink.timeout_s, message, options);
  }
  if (const auto* mail = std::get_if<MailSink>(&sink.kind)) return send_mail(*mail, sink.timeout_s, message, options);
  return post_github(std::get<GithubSink>(sink.kind), sink.timeout_s, message, options);
}

std::string place_of(const Sink& sink) {
  if (const auto* command = std::get_if<CommandSink>(&sink.kind)) return "command " + printable(command->words[0]);
  if (const auto* mail = std::get_if<MailSink>(&sink.kind)) return "mail by " + mail->host;
  if (const auto* github = std::get_if<GithubSink>(&sink.kind)) {
    return fmt::format("issue {}#{}", github->repository, github->issue);
  }
  const auto& webhook = std::get<WebhookSink>(sink.kind);
  const auto url = http::parse_url(webhook.url);
  return url.ok() ? "webhook " + url->host : "webhook";
}

std::vector<std::string> secret_variables(const std::vector<Sink>& sinks) {
  std::vector<std::string> names;
  for (const auto& sink : sinks) {
    for (const auto& secret : needs_of(sink).secrets) {
      if (!secret.variable.empty()) names.push_back(secret.variable);
    }
  }
  return names;
}

}  // namespace warpmark::watch
