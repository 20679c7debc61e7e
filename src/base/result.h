// The only way to fail: a Result carries a value or an Error that names the cause and the fix.
// Exceptions are caught where a third-party call throws them and become an Error there. WM_CHECK states what our own
// code guarantees: a false one is a bug here, and stops the program with the place and the condition.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace warpmark {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace warpmark

#define WM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::warpmark::check_failed(#condition, __FILE__, __LINE__))

namespace warpmark {

/// What went wrong, from the user's point of view. Decides the exit code (see exit_code()).
enum class ErrorKind {
  usage,        ///< the command line or a config is wrong
  environment,  ///< this machine cannot do it now: memory, permissions, a missing library
  data,         ///< an input file or a stored record is malformed
  unsupported,  ///< valid, but not offered by this device, library or build
  internal,     ///< our own bug
};

/// What code decides by where the kind is not enough. Texts are for people: no code searches them.
enum class ErrorCode {
  none,
  deadline,            ///< it did not end in time
  out_of_memory,       ///< of a GPU or the host
  nothing_to_measure,  ///< nothing of what was asked for is on this machine
  no_such_path,        ///< of an HTTP request
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string what;  ///< the cause, with the names and numbers involved
  std::string hint;  ///< what to do about it; empty if nothing can be suggested
  ErrorCode code = ErrorCode::none;
};

[[nodiscard]] inline Error with_code(Error error, ErrorCode code) {
  error.code = code;
  return error;
}

[[nodiscard]] inline Error usage_error(std::string what, std::string hint = {}) {
  return {ErrorKind::usage, std::move(what), std::move(hint)};
}
[[nodiscard]] inline Error environment_error(std::string what, std::string hint = {}) {
  return {ErrorKind::environment, std::move(what), std::move(hint)};
}
[[nodiscard]] inline Error data_error(std::string what, std::string hint = {}) {
  return {ErrorKind::data, std::move(what), std::move(hint)};
}
[[nodiscard]] inline Error unsupported_error(std::string what, std::string hint = {}) {
  return {ErrorKind::unsupported, std::move(what), std::move(hint)};
}
[[nodiscard]] inline Error internal_error(std::string what, std::string hint = {}) {
  return {ErrorKind::internal, std::move(what), std::move(hint)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return WM_CHECK(ok()), std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return WM_CHECK(ok()), std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return WM_CHECK(ok()), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const { return WM_CHECK(!ok()), std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return WM_CHECK(!ok()), *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace warpmark

/// Returns the error of a failed Result or Status from the enclosing function.
#define WM_TRY(expression)                                \
  do {                                                    \
    if (auto wm_status = (expression); !wm_status.ok()) { \
      return wm_status.error();                           \
    }                                                     \
  } while (false)

#define WM_CONCAT_(a, b) a##b
#define WM_CONCAT(a, b) WM_CONCAT_(a, b)
#define WM_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                       \
  if (!temporary.ok()) {                               \
    return temporary.error();                          \
  }                                                    \
  declaration = std::move(temporary).value()

/// WM_ASSIGN(auto x, f()): x becomes the value of f(), or its error is returned.
#define WM_ASSIGN(declaration, expression) WM_ASSIGN_(WM_CONCAT(wm_result_, __COUNTER__), declaration, expression)
