#include "watch/alerts/libcurl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace warpmark::watch {
namespace {

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

}  // namespace

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

}  // namespace warpmark::watch
