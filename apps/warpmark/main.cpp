#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

#include "warpmark/command.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/standard_output.h"

namespace {

const char* environment(const char* name) { return std::getenv(name); }

bool is_set(const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

/// COLUMNS, where somebody sets it, else what the terminal says.
int columns_of_terminal() {
  constexpr int kLeast = 40, kMost = 1000;
  const std::string_view text = is_set("COLUMNS") ? environment("COLUMNS") : "";
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    int wanted = kMost;  // stays for a number that an int does not hold
    std::from_chars(text.data(), text.data() + text.size(), wanted);
    if (wanted > 0) return std::clamp(wanted, kLeast, kMost);
  }
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<int>(kLeast, size.ws_col);
  return 80;
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    const std::string_view value = environment(name);
    return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos;
  }
  return false;
}

/// A standard stream that the caller closed is no number for the next file that we open: what we print would go into
/// that. Reading finds nothing, and writing to standard output fails.
void fill_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// What escapes in another thread ends the program by an error like any other, without a core dump.
[[noreturn]] void end_by_exception() {
  const std::string_view say =
      "warpmark: an unexpected error ended a thread; results so far are kept\n"
      "  are threads or memory limited here (ulimit -u, ulimit -v)?\n";
  (void)!::write(STDERR_FILENO, say.data(), say.size());
  ::_exit(warpmark::kEnvironment);
}

/// What was said to nobody is no success: a full disk must not leave half a report and exit code 0.
int after_output(std::ostream& out, int code) {
  out.flush();
  if (out) return code;
  std::cerr << "warpmark: the output could not be written whole\n  is the disk full?\n";
  return code == warpmark::kSuccess ? warpmark::kEnvironment : code;
}

}  // namespace

int main(int count, char** words) {
  fill_standard_streams();
  std::ios::sync_with_stdio(false);
  std::set_terminate(end_by_exception);
  warpmark::apps::handle_interrupts();
  const bool out_is_terminal = isatty(STDOUT_FILENO) == 1;
  const bool err_is_terminal = isatty(STDERR_FILENO) == 1;
  warpmark::apps::SafeBuffer safe_err(*std::cerr.rdbuf(), err_is_terminal);
  std::ostream err(&safe_err);
  err << std::unitbuf;
  warpmark::apps::Context context{
      .out = std::cout,
      .err = err,
      .out_is_terminal = out_is_terminal,
      .err_is_terminal = err_is_terminal,
      // NO_COLOR: any value that is not empty (no-color.org).
      .color =
          out_is_terminal && !is_set("NO_COLOR") && is_set("TERM") && std::string_view(environment("TERM")) != "dumb",
      .unicode = speaks_utf8(),
      .width = columns_of_terminal(),
      .whole_tables = !out_is_terminal && !is_set("COLUMNS"),
      .environment = environment,
      .interrupted = warpmark::apps::interrupt_flag(),
      .words = {words + 1, words + count},
  };
  return after_output(std::cout, warpmark::apps::run_command_line(context));
}
