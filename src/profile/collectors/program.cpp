#include "profile/collectors/program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace warpmark::profile {
namespace {

/// Our environment with these variables set or replaced.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    bool replaced = false;
    for (const auto& [name, value] : changes) replaced = replaced || text.starts_with(name + "=");
    if (!replaced) variables.push_back(text);
  }
  for (const auto& [name, value] : changes) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Program> Program::start(const std::vector<std::string>& words,
                               const std::vector<std::pair<std::string, std::string>>& environment) {
  if (words.empty()) return usage_error("there is no command to run", "warpmark profile -- COMMAND ARGUMENTS");
  auto arguments = words;
  auto variables = environment_with(environment);
  pid_t id = 0;
  const int failure = posix_spawnp(&id, arguments[0].c_str(), nullptr, nullptr, pointers_to(arguments).data(),
                                   pointers_to(variables).data());
  if (failure != 0) {
    return environment_error("cannot start " + words[0] + ": " + std::strerror(failure), "check the command");
  }
  return Program(id);
}

std::optional<int> Program::poll() {
  int status = 0;
  if (waitpid(id_, &status, WNOHANG) != id_) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Program::send(int signal) const { kill(id_, signal); }

}  // namespace warpmark::profile
