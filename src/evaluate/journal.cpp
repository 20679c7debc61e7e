#include "evaluate/journal.h"

#include <utility>

#include "base/json.h"

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
  auto file = LineFile::open(path);
  if (!file.ok()) return environment_error(file.error().what, "name a folder that you can write with --run-dir");
  std::unique_ptr<Journal> journal(new Journal(std::move(*file)));
  WM_ASSIGN(const std::string text, journal->file_.read(kMostJournalBytes));
  WM_TRY(each_filled_line(text, path.string(), [&](std::string_view line, const std::string& place) -> Status {
    WM_ASSIGN(const Json json, parse_json(line, place));
    WM_ASSIGN(auto reply, reply_from(json, place));
    journal->replies_.insert_or_assign(reply.first, std::move(reply.second));
    return {};
  }));
  return journal;
}

const Reply* Journal::find(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = replies_.find(hash);
  return found == replies_.end() ? nullptr : &found->second;
}

Status Journal::append(const std::string& hash, const Reply& reply) {
  const std::string line = dump_json(reply_json(hash, reply), -1);
  const std::lock_guard lock(mutex_);
  if (const auto written = file_.append(line); !written.ok()) {
    return environment_error(written.error().what,
                             "free some disk space; answers so far are kept, and the run resumes from there");
  }
  replies_.insert_or_assign(hash, reply);
  return {};
}

std::size_t Journal::size() const {
  const std::lock_guard lock(mutex_);
  return replies_.size();
}

}  // namespace warpmark::evaluate
