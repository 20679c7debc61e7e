#include "warpmark/terminal/standard_output.h"

#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "report/draw/format.h"

namespace warpmark::apps {

Result<StandardOutput> StandardOutput::redirect(ParsedOptions& options) {
  StandardOutput output;
  const bool json = options.get("--json") == "-", html = options.get("--html") == "-";
  if (!json && !html) return output;
  if (json && html) return usage_error("--json and --html cannot both go to standard output", "name a file for one");
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "warpmark-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return environment_error("cannot make a temporary folder as " + name, "set TMPDIR to a folder that you can write");
  }
  output.folder_ = name;
  options.replace(json ? "--json" : "--html", (output.folder_ / "output").string());
  return output;
}

StandardOutput::StandardOutput(StandardOutput&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

StandardOutput::~StandardOutput() {
  std::error_code none;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, none);
}

Status StandardOutput::print(std::ostream& out) const {
  std::error_code none;
  const auto file = folder_ / "output";
  if (folder_.empty() || !std::filesystem::exists(file, none)) return {};
  WM_ASSIGN(const auto text, read_file(file));
  out << text << std::flush;
  return {};
}

namespace {

/// Bytes of a sequence of ours at the begin of the text: ESC [ digits and one of "AHJKm". 0: none; npos: it is cut.
std::size_t own_sequence(std::string_view text) {
  if (text.size() == 1) return std::string_view::npos;
  if (text[1] != '[') return 0;
  std::size_t at = 2;
  while (at < text.size() && at < 8 && (is_digit(text[at]) || text[at] == ';')) ++at;
  if (at == text.size()) return std::string_view::npos;
  constexpr std::string_view kOurs = "AHJKm";
  return kOurs.find(text[at]) == std::string_view::npos ? 0 : at + 1;
}

/// Bytes at the end that may go on in what comes next.
std::size_t unfinished(std::string_view text, bool is_terminal) {
  constexpr std::size_t kLongest = 8;
  const auto escape = text.rfind('\x1b');
  if (is_terminal && escape != std::string_view::npos && text.size() - escape <= kLongest &&
      own_sequence(text.substr(escape)) == std::string_view::npos) {
    return text.size() - escape;
  }
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const std::size_t whole = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return whole > back ? back : 0;
  }
  return 0;
}

}  // namespace

SafeBuffer::int_type SafeBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char c = traits_type::to_char_type(byte);
  return xsputn(&c, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize SafeBuffer::xsputn(const char* text, std::streamsize size) {
  waiting_.append(text, static_cast<std::size_t>(size));
  const std::size_t later = unfinished(waiting_, is_terminal_);
  const std::string now = shown(std::string_view(waiting_).substr(0, waiting_.size() - later));
  waiting_.erase(0, waiting_.size() - later);
  return write(now) ? size : 0;
}

int SafeBuffer::sync() { return to_.pubsync(); }

void SafeBuffer::finish() {
  if (write(shown(waiting_))) sync();
  waiting_.clear();
}

bool SafeBuffer::write(const std::string& text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return to_.sputn(text.data(), size) == size;
}

std::string SafeBuffer::shown(std::string_view text) const {
  if (!is_terminal_) return report::without_controls(text);
  std::string safe;
  while (!text.empty()) {
    const auto special = text.find_first_of("\x1b\r");
    safe += report::without_controls(text.substr(0, special));
    if (special == std::string_view::npos) break;
    text.remove_prefix(special);
    const std::size_t own = text[0] == '\r' ? 1 : own_sequence(text);
    const bool is_ours = own != 0 && own != std::string_view::npos;
    safe += is_ours ? std::string(text.substr(0, own)) : "?";
    text.remove_prefix(is_ours ? own : 1);
  }
  return safe;
}

}  // namespace warpmark::apps
