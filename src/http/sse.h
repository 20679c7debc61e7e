// Server-sent events (WHATWG HTML, section 9.2.6) out of bytes as they arrive: lines end by CR, LF or CRLF wherever the
// pieces are cut, a leading byte order mark and comments are passed over, several data lines are joined. Characters are
// never looked at one by one, so UTF-8 that is cut in two arrives whole. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpmark::http {

struct SseEvent {
  std::string_view type;  ///< of "event:", empty if not given
  std::string_view data;
};

struct SseLimits {
  std::size_t line_bytes = 8 << 20;
  std::size_t event_bytes = 16 << 20;
};

class SseParser {
 public:
  explicit SseParser(const SseLimits& limits = {}) : limits_(limits) {}

  /// For the next stream.
  void begin();
  /// The next event, after removing its bytes from the front of `bytes`; nothing if it is not there yet, all bytes
  /// being removed then, or after a fault. The event's texts live until the next call.
  [[nodiscard]] std::optional<SseEvent> next(std::string_view& bytes);
  /// What came after the last empty line: an event by the letter of no specification, but some servers end so.
  [[nodiscard]] std::optional<SseEvent> unfinished();

  [[nodiscard]] bool failed() const { return problem_ != nullptr; }
  [[nodiscard]] const char* problem() const { return problem_ == nullptr ? "" : problem_; }
  [[nodiscard]] std::uint64_t comments() const { return comments_; }

 private:
  /// True if the line ended an event.
  bool take_line(std::string_view line);
  void take_field(std::string_view name, std::string_view value);

  SseLimits limits_;
  std::string line_;  ///< the beginning of a line whose end has not arrived
  std::string type_;
  std::string data_;
  bool has_data_ = false;
  bool given_ = false;  ///< data_ was handed out and is to be forgotten
  bool after_cr_ = false;
  bool at_start_ = true;
  std::uint64_t comments_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace warpmark::http
