#include "validate/compare/journal.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/lines/line_file.h"
#include "model/json/json.h"

namespace warpmark::validate {
namespace {

constexpr const char* kSchema = "warpmark.compare-journal/1";

/// Empty if the line has no such text.
std::string text_of(const Json& line, const char* key) {
  const auto found = line.is_object() ? line.find(key) : line.end();
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

Result<AbSample> sample_of(const Json& line) {
  if (!line.contains("variant") || !line["variant"].is_number_integer() || !line.contains("round") ||
      !line["round"].is_number_integer() || !line.contains("ends_round") || !line["ends_round"].is_boolean() ||
      !line.contains("run")) {
    return data_error("variant, round, ends_round or run is missing");
  }
  AbSample sample;
  sample.slot = {line["variant"].get<int>(), line["round"].get<std::int64_t>(), line["ends_round"].get<bool>()};
  WM_ASSIGN(sample.run, run_from_json(line["run"]));
  return sample;
}

}  // namespace

Result<Journal> Journal::open(const std::string& path, const std::string& request, const std::string& id, bool fresh) {
  WM_TRY(make_folder(std::filesystem::absolute(path).parent_path()));
  WM_ASSIGN(auto file, LineFile::open(path));
  Journal journal(std::move(file));
  if (!journal.file_.hold()) {
    return environment_error("another process runs this comparison: it holds " + path,
                             "wait for it to end, or change --seed to run a second one");
  }
  if (!fresh) WM_TRY(journal.read(request));
  if (journal.id_.empty()) {
    journal.samples_.clear();
    journal.pieces_.clear();
    journal.count_ = 0;
    WM_TRY(journal.file_.shorten(0));
    journal.id_ = id;
    WM_TRY(journal.file_.append(dump_json(Json{{"schema", kSchema}, {"id", id}, {"request", request}}, -1)));
  }
  return journal;
}

/// Leaves id_ empty where the journal must be started anew.
Status Journal::read(const std::string& request) {
  WM_ASSIGN(const auto text, file_.read());
  std::int64_t number = 0;
  std::string id;
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = take_line(rest);
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{} line {}", file_.path().string(), number);
    WM_ASSIGN(const auto json, parse_json(line, place));
    if (number == 1) {
      if (text_of(json, "schema") != kSchema || text_of(json, "request") != request) return {};
      id = text_of(json, "id");
      continue;
    }
    if (json.contains("complete")) return {};
    if (json.contains("piece")) {
      pieces_.push_back(samples_.size());
      continue;
    }
    auto sample = sample_of(json);
    if (!sample.ok()) return data_error(place + ": " + sample.error().what, "start over with --fresh");
    samples_.push_back(std::move(*sample));
  }
  count_ = samples_.size();
  id_ = id;
  return {};
}

Status Journal::append(const AbSample& sample) {
  WM_TRY(file_.append(dump_json(Json{{"variant", sample.slot.variant},
                                     {"round", sample.slot.round},
                                     {"ends_round", sample.slot.ends_round},
                                     {"run", to_json(sample.run)}},
                                -1)));
  ++count_;
  return {};
}

Status Journal::end_piece() {
  if (count_ == (pieces_.empty() ? 0 : pieces_.back())) return {};
  WM_TRY(file_.append(dump_json(Json{{"piece", count_}}, -1)));
  pieces_.push_back(count_);
  return {};
}

Status Journal::complete() { return file_.append(R"({"complete":true})"); }

}  // namespace warpmark::validate
