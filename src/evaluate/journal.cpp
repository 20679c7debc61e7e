#include "evaluate/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace warpmark::evaluate {
namespace {

constexpr std::int64_t kMostJournalBytes = std::int64_t{8} << 30;

Json reply_json(const std::string& hash, const Reply& reply) {
  Json json{{"hash", hash}, {"text", reply.text}, {"latency_s", reply.latency_s}};
  if (!reply.finish_reason.empty()) json["finish_reason"] = reply.finish_reason;
  if (reply.prompt_tokens) json["prompt_tokens"] = *reply.prompt_tokens;
  if (reply.output_tokens) json["output_tokens"] = *reply.output_tokens;
  if (!reply.tokens.empty()) {
    json["tokens"] = reply.tokens;
    json["token_logprobs"] = reply.token_logprobs;
  }
  if (!reply.extra.is_null()) json["extra"] = reply.extra;
  return json;
}

Result<std::pair<std::string, Reply>> reply_from(const Json& json, const std::string& where) {
  const bool fits = json.is_object() && json.contains("hash") && json["hash"].is_string() && json.contains("text") &&
                    json["text"].is_string() && json.contains("latency_s") && json["latency_s"].is_number();
  if (!fits) return data_error(where + " is no answer of a run", "name another folder with --run-dir");
  Reply reply;
  reply.text = json["text"].get<std::string>();
  reply.latency_s = json["latency_s"].get<double>();
  if (json.contains("finish_reason") && json["finish_reason"].is_string()) {
    reply.finish_reason = json["finish_reason"].get<std::string>();
  }
  const auto count = [&](const char* name) {
    return json.contains(name) && json[name].is_number_integer() ? std::optional(json[name].get<std::int64_t>())
                                                                 : std::nullopt;
  };
  reply.prompt_tokens = count("prompt_tokens");
  reply.output_tokens = count("output_tokens");
  if (json.contains("tokens") && json.contains("token_logprobs") && json["tokens"].is_array() &&
      json["token_logprobs"].is_array()) {
    for (const auto& token : json["tokens"]) {
      if (token.is_string()) reply.tokens.push_back(token.get<std::string>());
    }
    for (const auto& value : json["token_logprobs"]) {
      if (value.is_number()) reply.token_logprobs.push_back(value.get<double>());
    }
  }
  if (json.contains("extra")) reply.extra = json["extra"];
  return std::pair(json["hash"].get<std::string>(), std::move(reply));
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::filesystem::path& path) {
  std::unique_ptr<Journal> journal(new Journal);
  journal->name_ = path.string();
  std::error_code none;
  std::size_t whole = 0;
  if (std::filesystem::exists(path, none)) {
    WM_ASSIGN(const std::string text, read_file(path, kMostJournalBytes));
    for (std::size_t line = 1;; ++line) {
      const auto end = text.find('\n', whole);
      if (end == std::string::npos) break;  // nothing, or a line that was cut off
      const std::string where = fmt::format("{} line {}", path.string(), line);
      WM_ASSIGN(const Json json, parse_json(std::string_view(text).substr(whole, end - whole), where));
      WM_ASSIGN(auto reply, reply_from(json, where));
      journal->replies_.insert_or_assign(reply.first, std::move(reply.second));
      whole = end + 1;
    }
  }
  journal->descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (journal->descriptor_ < 0 || ::ftruncate(journal->descriptor_, static_cast<off_t>(whole)) != 0 ||
      ::lseek(journal->descriptor_, 0, SEEK_END) < 0) {
    return environment_error("cannot write " + path.string() + ": " + std::strerror(errno),
                             "name a folder that you can write with --run-dir");
  }
  return journal;
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

const Reply* Journal::find(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = replies_.find(hash);
  return found == replies_.end() ? nullptr : &found->second;
}

Status Journal::append(const std::string& hash, const Reply& reply) {
  const std::string line = dump_json(reply_json(hash, reply), -1) + "\n";
  const std::lock_guard lock(mutex_);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return environment_error(
          "cannot write " + name_ + ": " + std::strerror(errno),
          "free some disk space; what was answered before is kept, and the run goes on from there");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(descriptor_) != 0) return environment_error("cannot write " + name_ + ": " + std::strerror(errno));
  replies_.insert_or_assign(hash, reply);
  return {};
}

std::size_t Journal::size() const {
  const std::lock_guard lock(mutex_);
  return replies_.size();
}

}  // namespace warpmark::evaluate
