#include "exchange/mllog/log.h"

#include <fmt/format.h>

#include "base/lines/lines.h"
#include "base/units.h"

namespace warpmark::exchange {
namespace {

constexpr std::string_view kToken = ":::MLLOG ";

/// The reference reads logs as Latin-1, so that no byte is wrong; ours are bytes above 127 in UTF-8 alike.
std::string as_utf8(std::string_view latin) {
  std::string text;
  for (const char c : latin) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

Result<MlLogEvent> event_of(std::string_view text, const std::string& place) {
  auto json = parse_json(std::string(text), place);
  if (!json.ok()) json = parse_json(as_utf8(text), place);
  if (!json.ok()) return json.error();
  if (!json->is_object()) return data_error(place + ": no JSON object follows :::MLLOG");
  for (const char* part : {"time_ms", "key", "value", "metadata"}) {
    if (!json->contains(part)) return data_error(place + ": the line has no '" + part + "'");
  }
  const Json& time = (*json)["time_ms"];
  const auto time_ms = time.is_string()   ? parse_number(time.get<std::string>())
                       : time.is_number() ? Result<double>(time.get<double>())
                                          : data_error("");
  if (!time_ms.ok() || !(*json)["key"].is_string()) {
    return data_error(place + ": time_ms must be a number and key a text");
  }
  MlLogEvent event;
  event.time_ms = *time_ms;
  event.key = (*json)["key"].get<std::string>();
  event.value = std::move((*json)["value"]);
  event.metadata = std::move((*json)["metadata"]);
  return event;
}

}  // namespace

Result<std::vector<MlLogEvent>> read_mllog(const std::string& name, std::string_view text) {
  std::vector<MlLogEvent> events;
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_line(text);
    const auto token = line.rfind(kToken);
    if (token == std::string_view::npos) continue;
    WM_ASSIGN(auto event, event_of(line.substr(token + kToken.size()), fmt::format("{} line {}", name, number)));
    event.line = number;
    events.push_back(std::move(event));
  }
  if (events.empty()) {
    return data_error(name + " has no line with :::MLLOG", "a log as of MLPerf's training, result_0.txt");
  }
  return events;
}

}  // namespace warpmark::exchange
