// How functions of the library fail: a Result has a value or an Error that names the cause and the fix.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace warpmark::v0 {

enum class ErrorKind {
  usage,        ///< the arguments make no sense
  environment,  ///< this machine cannot do it now: memory, permissions, a missing library
  data,         ///< a file is malformed
  unsupported,  ///< not offered by this device or build
  internal,     ///< a bug of warpmark
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string what;  ///< the cause
  std::string hint;  ///< what to do about it; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// Throws std::runtime_error with cause and fix where there is none; ends the program where exceptions are turned
  /// off.
  [[nodiscard]] const T& value() const& { return check(), std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return check(), std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  const T* operator->() const { return &value(); }
  /// Only where there is no value.
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  void check() const {
    if (ok()) return;
    const std::string text = error().hint.empty() ? error().what : error().what + "; " + error().hint;
#if defined(__cpp_exceptions)
    throw std::runtime_error(text);
#else
    std::fprintf(stderr, "warpmark: %s\n", text.c_str());
    std::abort();
#endif
  }

  std::variant<T, Error> state_;
};

}  // namespace warpmark::v0
