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

constexpr std::string_view kReplacement = "\uFFFD";

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

constexpr std::string_view kHidden = "***";

/// Ends a URL in a command line or a message.
constexpr std::string_view kAfterUrl = " \t\r\n'\"";

/// The URL (all of it) without its passwords.
std::string hide_in_url(std::string_view url) {
  constexpr std::string_view kKey = "password=";
  std::string shown(url);
  for (auto at = shown.find(kKey); at != std::string::npos; at = shown.find(kKey, at + kKey.size())) {
    if (at == 0 || (shown[at - 1] != '?' && shown[at - 1] != '&')) continue;  // a part of another word
    const auto begin = at + kKey.size();
    shown.replace(begin, std::min(shown.find('&', begin), shown.size()) - begin, kHidden);
  }
  const auto start = shown.find("://") + 3;
  // A database's password may hold '@' and '/' by mistake: up to the last '@' before the options. Elsewhere a path may
  // hold '@', as that of a model.
  const auto end = std::min(
      shown.find_first_of((url.starts_with("postgres://") || url.starts_with("postgresql://")) ? "?" : "/?#", start),
      shown.size());
  const auto at = shown.rfind('@', end);
  const auto colon = shown.find(':', start);
  if (at == std::string::npos || at < start || colon == std::string::npos || colon > at) return shown;
  return shown.substr(0, colon + 1) + std::string(kHidden) + shown.substr(at);
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

Character character_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[size] || code > 0x10FFFF || surrogate ? Character{} : Character{code, size};
}

bool may_be_shown(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool direction = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
  return !control && !direction && code != 0x2028 && code != 0x2029;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_at(text).bytes;
    out += size == 0 ? kReplacement : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string shown_text(std::string_view text, std::string_view instead) {
  std::string out;
  while (!text.empty()) {
    const Character next = character_at(text);
    const bool plain = may_be_shown(next.code) || next.code == '\n' || next.code == '\t';
    out += next.bytes == 0 ? kReplacement : plain ? text.substr(0, next.bytes) : instead;
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return out;
}

std::string hide_secret(std::string text, std::string_view secret) {
  constexpr std::size_t kLong = 8;
  const auto in_word = [&](std::size_t at) {
    const char c = at < text.size() ? ascii_lower(text[at]) : ' ';
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
  };
  for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != std::string::npos;) {
    const bool whole = !(at > 0 && in_word(at - 1)) && !in_word(at + secret.size());
    if (whole || secret.size() >= kLong) text.replace(at, secret.size(), kHidden);
    at += whole || secret.size() >= kLong ? kHidden.size() : 1;
  }
  return text;
}

std::string hide_password(std::string_view text) {
  std::string shown;
  while (true) {
    const auto mark = text.find("://");
    if (mark == std::string_view::npos) return shown + std::string(text);
    const auto before = text.find_last_of(kAfterUrl, mark);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto end = std::min(text.find_first_of(kAfterUrl, mark), text.size());
    shown += std::string(text.substr(0, begin)) + hide_in_url(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace warpmark
