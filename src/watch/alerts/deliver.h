// One message to one sink, now, with a deadline.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

/// getenv, or a test's replacement: nullptr for a variable that is not set.
using SecretLookup = std::function<const char*(const char* name)>;

/// The text of a variable or a file without the white space around it. Usage error that names the variable or the file,
/// and never its content, if it is not there, empty, or has control characters.
[[nodiscard]] Result<std::string> read_secret(const Secret& secret, const SecretLookup& environment);

/// Whether all secrets and files of the sinks are there now.
[[nodiscard]] Status check_sinks(const AlertRules& rules, std::string_view file, const SecretLookup& environment);

struct DeliveryOptions {
  SecretLookup environment;
  std::vector<std::string> hidden;  ///< variables that a command must not see: secrets of other sinks
  const std::atomic<bool>* interrupted = nullptr;
};

struct Delivery {
  bool delivered = false;
  std::string problem;       ///< why not, without secrets
  double retry_after_s = 0;  ///< as the sink asked
};
[[nodiscard]] Delivery deliver(const Sink& sink, const Message& message, const DeliveryOptions& options);

/// Where it goes, for people: "command page", "webhook hooks.slack.com". No secrets.
[[nodiscard]] std::string place_of(const Sink& sink);

/// All variables that hold secrets of these sinks.
[[nodiscard]] std::vector<std::string> secret_variables(const std::vector<Sink>& sinks);

}  // namespace warpmark::watch
