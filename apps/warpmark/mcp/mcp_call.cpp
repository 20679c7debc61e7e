#include "warpmark/mcp/mcp_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "warpmark/command.h"
#include "warpmark/terminal/help_text.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestReport = 8000;
constexpr std::size_t kLongestComplaint = 4000;
constexpr std::size_t kLargestAnswer = 8 << 20;

/// The beginning and the end of what is too long.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto whole = [&text](std::size_t at) {  // no character is cut in two
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  const auto head = whole(most / 4 * 3), tail = whole(text.size() - most / 4);
  return text.substr(0, head) + fmt::format("\n[... {} bytes left out ...]\n", tail - head) + text.substr(tail);
}

std::string last_line_of(const std::string& text) {
  const auto end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return {};
  const auto begin = text.find_last_of("\r\n", end);
  auto line =
      text.substr(begin == std::string::npos ? 0 : begin + 1, end + 1 - (begin == std::string::npos ? 0 : begin + 1));
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  return line.substr(0, 200);
}

/// The first rows, as Markdown; the structure has them all.
std::string table_of(const Json& rows) {
  constexpr std::size_t kMostRows = 10, kLongestCell = 60;
  if (!rows.is_array() || rows.empty() || !rows.front().is_object()) return "";
  std::string text = "|", rule = "|";
  for (const auto& [name, value] : rows.front().items()) {
    text += " " + name + " |";
    rule += " --- |";
  }
  text += "\n" + rule + "\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text += "|";
    for (const auto& [name, value] : rows[i].items()) {
      std::string cell = value.is_string() ? value.get<std::string>() : dump_json(value, -1);
      std::ranges::replace_if(
          cell, [](char c) { return c == '|' || static_cast<unsigned char>(c) < ' '; }, ' ');
      text += " " + shortened(cell, kLongestCell) + " |";
    }
    text += "\n";
  }
  return text;
}

/// How many there are, the first of them, and how to ask for less where some are left out.
std::string text_of_rows(const Json& answer) {
  const Json &rows = answer["rows"], &left_out = answer["rows_left_out"];
  std::string text = fmt::format("{} rows", rows.size());
  if (left_out != 0) {
    text += fmt::format(
        " of {}{}. Ask for less: WHERE, GROUP BY with count(*) and sum(), or ORDER BY with LIMIT; a larger limit is "
        "for "
        "rows that you need one by one.",
        answer["all_rows_counted"] == true ? "" : "more than ", rows.size() + left_out.get<std::size_t>());
  }
  return text + "\n" + table_of(rows);
}

class Call {
 public:
  Call(const McpConfig& config, const McpCallOptions& options)
      : config_(config), options_(options), begin_ns_(monotonic_ns()), shown_ns_(begin_ns_) {}

  McpOutcome answer(const McpPlan& plan) {
    auto folder = ScratchFolder::make("mcp");
    if (!folder.ok()) return failure(folder.error());
    folder_ = std::move(*folder);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const bool last = i + 1 == plan.steps.size();
      auto output = run(plan.steps[i]);
      if (!output.ok()) return failure(output.error());
      complaints_ += output->err;
      code_ = output->exit_code;
      if (last && plan.json_is_printed) return with_json(plan, output->out);
      report_ += output->out;
      if (!last && (code_ == kUsage || code_ == kEnvironment || code_ >= 126)) return failed_text();
    }
    std::error_code none;
    if (fs::file_size(json_file(), none) > kLargestAnswer && !none) return too_large();
    const auto written = read_file(json_file());
    return with_json(plan, written.ok() ? *written : std::string());
  }

 private:
  [[nodiscard]] std::string json_file() const { return folder_.path() / "result.json"; }
  [[nodiscard]] double elapsed_s() const { return static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9; }

  Result<ProcessOutput> run(const std::vector<std::string>& step) {
    std::vector<std::string> words{options_.executable};
    for (auto word : step) {
      if (const auto at = word.find(kMcpJsonFile); at != std::string::npos) {
        word.replace(at, std::strlen(kMcpJsonFile), json_file());
      }
      words.push_back(std::move(word));
    }
    ProcessOptions process;
    process.deadline_s = std::max(0.1, config_.longest_s - elapsed_s());
    process.output_cap_bytes = kLargestAnswer + 1;
    process.directory = config_.folder.string();
    if (!config_.db.empty()) process.environment.emplace_back("WARPMARK_DB", config_.db);
    process.own_group = true;
    process.grace_s = 2;  // it ends what it measures, and keeps what it has measured
    process.should_stop = [this] {
      notify_progress();
      return options_.should_stop && options_.should_stop();
    };
    process.on_err = [this](std::string_view piece) {
      crash_message_ = shortened(crash_message_ + std::string(piece), 1000);
    };
    return run_process(words, process);
  }

  void notify_progress() {
    constexpr std::int64_t kInterval = 1'000'000'000;
    if (!options_.progress || monotonic_ns() - shown_ns_ < kInterval) return;
    shown_ns_ = monotonic_ns();
    options_.progress(elapsed_s(), last_line_of(crash_message_));
  }

  McpOutcome with_json(const McpPlan& plan, const std::string& text) {
    if (text.size() > kLargestAnswer) return too_large();
    auto json = parse_json(text, "result");
    if (text.empty() || !json.ok()) return failed_text();
    McpOutcome outcome{.exit_code = code_};
    outcome.text = shortened(plan.rows ? text_of_rows(*json) : report_, kLongestReport);
    outcome.json = std::move(*json);
    if (!plan.note.empty()) outcome.text += plan.note + "\n";
    if (code_ != kSuccess) outcome.text += fmt::format("Exit code {}: {}.\n", code_, meaning_of_exit(code_));
    return outcome;
  }

  McpOutcome too_large() const {
    return failure(usage_error("the answer has more than 8 MiB", "ask for less: fewer cases, sessions or profiles"));
  }

  McpOutcome failure(const Error& error) const {
    return {.failed = true,
            .text = error_text(error, 0) + shortened(complaints_, kLongestComplaint),
            .json = {},
            .exit_code = exit_code_of(error)};
  }

  McpOutcome failed_text() const {
    return {.failed = true,
            .text = shortened(complaints_.empty() ? report_ : complaints_, kLongestComplaint) +
                    fmt::format("warpmark ended with exit code {} and no result.\n", code_),
            .json = {},
            .exit_code = code_};
  }

  const McpConfig& config_;
  const McpCallOptions& options_;
  ScratchFolder folder_;
  std::int64_t begin_ns_;
  std::int64_t shown_ns_;
  std::string report_;
  std::string complaints_;
  std::string crash_message_;
  int code_ = 0;
};

}  // namespace

McpOutcome call_mcp_tool(const McpTool& tool, const Json& arguments, const McpConfig& config,
                         const McpCallOptions& options) {
  const auto refused = [](const Error& error) {
    return McpOutcome{.failed = true, .text = error_text(error, 0), .json = {}, .exit_code = exit_code_of(error)};
  };
  const auto read = read_mcp_arguments(tool, arguments, config);
  if (!read.ok()) return refused(read.error());
  const auto plan = tool.plan(*read);
  if (!plan.ok()) return refused(plan.error());
  return Call(config, options).answer(*plan);
}

}  // namespace warpmark::apps
