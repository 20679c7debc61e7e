#include "profile/module/stacks/stack_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace warpmark::profile::module {

StackSignal::~StackSignal() {
  if (pipe_ >= 0) close(pipe_);
}

void StackSignal::tell(StackPhase phase) {
  const char* folder = std::getenv("WARPMARK_STACKS");
  if (folder == nullptr || *folder == '\0') return;
  if (pipe_ < 0) {
    const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".fifo";
    // Read and write: a pipe without a reader would end the program with SIGPIPE.
    pipe_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  const char letter = static_cast<char>(phase);
  if (pipe_ >= 0 && write(pipe_, &letter, 1) < 0) return;  // full: nobody reads, nothing is lost but stacks
}

}  // namespace warpmark::profile::module
