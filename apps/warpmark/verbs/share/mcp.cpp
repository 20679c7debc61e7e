// Measured truth for coding agents and editors: a server of the Model Context Protocol over standard input and output.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ostream>

#include "base/subprocess.h"
#include "session/new_session.h"
#include "warpmark/command.h"
#include "warpmark/mcp/mcp_server.h"
#include "warpmark/terminal/interrupt.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kMcpOptions[] = {
    {"--config", "FILE", "what the agent may do (warpmark.mcp/1, docs/mcp.md); without it no commands"},
    {"--check", "", "read the configuration, say what is allowed, and end"},
};

Result<McpConfig> config_of(const ParsedOptions& options) {
  if (options.has("--config")) return load_mcp_config(options.get("--config"));
  return default_mcp_config(".");
}

std::string allowed_text(const McpConfig& config) {
  std::string text = "runs in    " + config.folder.string() + "\nfiles of\n";
  for (const auto& folder : config.folders) text += "  " + folder.string() + "\n";
  text += "commands\n";
  for (const auto& command : config.commands) text += "  " + command.name + ": " + join(command.run, " ") + "\n";
  if (config.commands.empty()) text += "  none; a configuration names them (docs/mcp.md)\n";
  for (const auto& [name, path] : config.projects) text += "project    " + name + ": " + path.string() + "\n";
  return text;
}

/// Lines from a file descriptor, until it ends or the program is interrupted. What is longer than a message may be is
/// handed on cut, so that it is refused, and its rest is dropped.
template <typename Take>
void read_lines(int input, const std::atomic<bool>& interrupted, Take take) {
  std::string line;
  bool dropping = false;
  std::array<char, 1 << 16> chunk{};
  while (!interrupted.load()) {
    pollfd end{input, POLLIN, 0};
    if (::poll(&end, 1, 100) <= 0) continue;
    const ssize_t got = ::read(input, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;
    for (const char c : std::string_view(chunk.data(), static_cast<std::size_t>(got))) {
      if (c == '\n') {
        if (!dropping) take(std::string_view(line));
        line.clear();
        dropping = false;
      } else if (!dropping) {
        line += c;
        if (line.size() <= kLongestMessage) continue;
        take(std::string_view(line));
        dropping = true;
      }
    }
  }
}

Result<int> run_mcp(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto config, config_of(options));
  if (options.has("--check")) {
    context.out << allowed_text(config);
    return kSuccess;
  }
  if (context.out_is_terminal) context.err << "warpmark: waiting for messages of an agent; Ctrl-C ends\n";
  WM_ASSIGN(const auto executable, own_executable());
  set_grace(5);
  {
    McpServer server({.config = config,
                      .version = session::build_info().version,
                      .call =
                          [&](const McpTool& tool, const Json& arguments, const McpCallOptions& call) {
                            auto with_us = call;
                            with_us.executable = executable.string();
                            return call_mcp_tool(tool, arguments, config, with_us);
                          },
                      .send = [&](const std::string& line) { context.out << line << '\n'
                                                                         << std::flush; }});
    read_lines(STDIN_FILENO, context.interrupted, [&](std::string_view line) { server.take(line); });
  }
  return kSuccess;
}

}  // namespace

extern const Command mcp_command{
    .id = "mcp",
    .summary = "let a coding agent measure, diagnose and compare (MCP server)",
    .details =
        "Offers tools that answer with measurements, intervals and verdicts: doctor, run, profile, analyze, query, "
        "compare, check, optimize and history. Agents and editors start the server from their settings; it uses the "
        "Model Context Protocol over standard input and output (docs/mcp.md).\n"
        "\n"
        "An agent can use only the commands, projects and folders of the configuration. Commands run without a shell, "
        "and the server opens no network connection. Calls run one after the other and report progress. A cancelled "
        "call, or a disconnect, ends all processes it started.",
    .options = kMcpOptions,
    .examples = "warpmark mcp --config warpmark-mcp.yaml --check\nwarpmark mcp --config warpmark-mcp.yaml",
    .run = run_mcp,
};

}  // namespace warpmark::apps
