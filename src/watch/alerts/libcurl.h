// Our own declarations of the few functions of libcurl that are used, loaded at run time as libpq is: mail is wanted by
// few, and curl's libraries (Kerberos, LDAP, SSH, ...) need not be shipped. Values are those of curl/curl.h;
// libcurl.so.4 has kept them since 2006 (curl.se/libcurl/abi.html).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

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

/// Environment error if libcurl is not installed, or with what it or the server says. Certificates are verified.
[[nodiscard]] Status send_smtp(const SmtpMail& mail);

}  // namespace warpmark::watch
