#include "base/untrusted/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace warpmark {
namespace {

/// Closes on every path out.
struct Opened {
  int fd = -1;
  ~Opened() {
    if (fd >= 0) ::close(fd);
  }
};

/// Whether there is something to be read from the pipe, or somebody holds its other end, who may have been started just
/// now. tee(2) reads without taking away.
bool has_writer(int pipe) {
  constexpr int kAttempts = 20;
  std::array<int, 2> copy{};
  if (::pipe2(copy.data(), O_CLOEXEC) != 0) return true;
  const Opened out{copy[0]}, in{copy[1]};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const ssize_t got = ::tee(pipe, in.fd, 1, SPLICE_F_NONBLOCK);
    if (got != 0) return true;
    ::usleep(20'000);
  }
  return false;
}

/// Bytes of the character at the begin of the text; 0 where it is no UTF-8.
std::size_t character_at(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  const std::size_t size = c < 0x80                ? 1
                           : c >= 0xC2 && c < 0xE0 ? 2
                           : (c & 0xF0) == 0xE0    ? 3
                           : c >= 0xF0 && c < 0xF5 ? 4
                                                   : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((static_cast<unsigned char>(text[k]) & 0xC0) != 0x80) return 0;
  }
  if (size < 3) return size;
  const auto next = static_cast<unsigned char>(text[1]);  // overlong forms, surrogates, beyond U+10FFFF
  const bool wrong = (c == 0xE0 && next < 0xA0) || (c == 0xED && next >= 0xA0) || (c == 0xF0 && next < 0x90) ||
                     (c == 0xF4 && next >= 0x90);
  return wrong ? 0 : size;
}

}  // namespace

Result<int> open_input(const std::filesystem::path& path) {
  // A pipe without a writer would hold up open() for ever.
  Opened file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat facts {};
  if (file.fd < 0 || ::fstat(file.fd, &facts) != 0) return read_error(path, errno);
  if (S_ISDIR(facts.st_mode)) return read_error(path, EISDIR);
  if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode)) {
    return data_error("cannot read " + path.string() + ": it is a device", "name a file, or a pipe that ends");
  }
  if (S_ISFIFO(facts.st_mode)) {
    if (!has_writer(file.fd)) {
      return data_error("cannot read " + path.string() + ": the pipe has no writer", "start its writer first");
    }
    ::fcntl(file.fd, F_SETFL, ::fcntl(file.fd, F_GETFL) & ~O_NONBLOCK);
  }
  return std::exchange(file.fd, -1);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_at(text);
    out += size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string hide_secret(std::string text, std::string_view secret) {
  constexpr std::string_view kInstead = "***";
  constexpr std::size_t kLong = 8;
  const auto in_word = [&](std::size_t at) {
    const char c = at < text.size() ? ascii_lower(text[at]) : ' ';
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
  };
  for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != std::string::npos;) {
    const bool whole = !(at > 0 && in_word(at - 1)) && !in_word(at + secret.size());
    if (whole || secret.size() >= kLong) text.replace(at, secret.size(), kInstead);
    at += whole || secret.size() >= kLong ? kInstead.size() : 1;
  }
  return text;
}

}  // namespace warpmark
