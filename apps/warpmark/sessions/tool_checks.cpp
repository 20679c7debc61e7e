#include "warpmark/sessions/tool_checks.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/subprocess.h"
#include "base/text.h"
#include "validate/commands/frameworks.h"

namespace warpmark::apps {
namespace {

struct Tool {
  const char* id;
  const char* title;
  const char* command;  ///< prints the version
  const char* before;   ///< the version stands behind this word; empty: it is the first number with a dot
  const char* gives;
};

constexpr Tool kTools[] = {
    {"nsys", "Nsight Systems (nsys)", "nsys --version", "", "warpmark profile --nsys; without it CUPTI records"},
    {"ncu", "Nsight Compute (ncu)", "ncu --version", "", "warpmark profile --ncu: metrics of single kernels"},
    {"dcgm", "DCGM (dcgmi)", "dcgmi --version", "", "SM and tensor-core activity in its logs, which analyze reads"},
    {"mpi", "MPI (mpirun)", "mpirun --version", "", "warpmark collective, scale and load --clients over hosts"},
    {"nccl", "NCCL", "/sbin/ldconfig -p", "libnccl.so.", "warpmark collective and links between GPUs"},
};

constexpr std::pair<const char*, const char*> kFrameworks[] = {
    {"PyTorch", "the models of warpmark run, optimize's settings, torch.profiler's steps"},
    {"JAX", "versions in results; analyze reads its profiles"},
};

/// "2024.5.1" of "NVIDIA Nsight Systems version 2024.5.1.113-245134619542v0".
std::string version_in(const std::string& text, const std::string& before) {
  const auto start = before.empty() ? 0 : text.find(before);
  if (start == std::string::npos) return {};
  for (std::size_t at = start + before.size(); at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    const std::string number = text.substr(at, end - at);
    if (!before.empty() || number.find('.') != std::string::npos)
      return number.substr(0, number.find_last_not_of('.') + 1);
    at = end;
  }
  return {};
}

/// `missing`: what to say without a version.
HealthCheck check_of(std::string id, std::string title, const std::string& version, const std::string& gives,
                     const char* missing = "not installed") {
  HealthCheck check{.id = "tool_" + std::move(id), .title = std::move(title)};
  check.state = version.empty() ? HealthState::info : HealthState::good;
  check.found = (version.empty() ? std::string(missing) + "; it gives: " : version + "; gives: ") + gives;
  return check;
}

}  // namespace

std::vector<HealthCheck> tool_checks(const AskTool& ask) {
  std::vector<HealthCheck> checks;
  for (const Tool& tool : kTools) {
    const auto version = version_in(ask(split(tool.command, ' ')), tool.before);
    checks.push_back(check_of(tool.id, tool.title, version, tool.gives));
  }
  const auto installed = validate::framework_versions({"python3"});
  for (const auto& [name, gives] : kFrameworks) {
    const auto found = std::ranges::find(installed, name, [](const auto& item) { return item.first; });
    checks.push_back(check_of(ascii_lower(name), name, found == installed.end() ? "" : found->second, gives,
                              "not in the python3 on PATH"));
  }
  return checks;
}

std::string ask_tool(const std::vector<std::string>& words) {
  const auto said = run_process(words, {.deadline_s = 10, .output_cap_bytes = 1 << 20, .own_group = true});
  return said.ok() && said->exit_code == 0 ? said->out + said->err : std::string();
}

}  // namespace warpmark::apps
