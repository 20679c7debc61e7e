#include "optimize/apply/trial_journal.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/lines/line_file.h"

namespace warpmark::optimize {
namespace {

constexpr const char* kJournalSchema = "warpmark.optimize-journal/1";

}  // namespace

Result<TrialJournal> TrialJournal::open(const std::string& path, const std::string& request, bool fresh) {
  WM_TRY(make_folder(std::filesystem::absolute(path).parent_path()));
  WM_ASSIGN(auto file, LineFile::open(path));
  TrialJournal journal(std::move(file));
  if (!journal.file_.hold()) {
    return environment_error("another process optimizes this program: it holds " + path,
                             "wait for it to end, or change --seed to run a second one");
  }
  if (!fresh) WM_TRY(journal.read(request));
  if (journal.header_end_ == 0) {
    journal.lines_.clear();
    WM_TRY(journal.file_.shorten(0));
    WM_TRY(journal.file_.append(dump_json({{"schema", kJournalSchema}, {"request", request}}, -1)));
    journal.header_end_ = journal.file_.size();
  }
  return journal;
}

/// Leaves header_end_ at 0 where the journal must be started anew.
Status TrialJournal::read(const std::string& request) {
  WM_ASSIGN(const auto text, file_.read());
  std::size_t header = 0;
  std::int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = take_line(rest);
    const std::string place = fmt::format("{} line {}", file_.path().string(), ++number);
    WM_ASSIGN(auto json, parse_json(line, place));
    const std::size_t end = text.size() - rest.size();
    if (number == 1) {
      if (!json.is_object() || json.value("schema", Json()) != kJournalSchema ||
          json.value("request", Json()) != request) {
        return {};
      }
      header = end;
      continue;
    }
    if (json.contains("complete")) return {};
    if (!json.contains("question") || !json["question"].is_string() || !json.contains("answer")) {
      return data_error(place + ": question or answer is missing", "start over with --fresh");
    }
    lines_.push_back({json["question"].get<std::string>(), std::move(json["answer"]), end});
  }
  header_end_ = header;
  return {};
}

Result<std::optional<Json>> TrialJournal::recall(const std::string& question) {
  if (next_ >= lines_.size()) return std::optional<Json>{};
  if (lines_[next_].question == question) return std::optional<Json>(lines_[next_++].answer);
  const std::size_t keep = next_ == 0 ? header_end_ : lines_[next_ - 1].end;
  lines_.resize(next_);
  WM_TRY(file_.shorten(keep));
  return std::optional<Json>{};
}

Status TrialJournal::append(const std::string& question, const Json& answer) {
  WM_TRY(file_.append(dump_json({{"question", question}, {"answer", answer}}, -1)));
  lines_.push_back({question, answer, file_.size()});
  next_ = lines_.size();
  return {};
}

Status TrialJournal::complete() { return file_.append(R"({"complete":true})"); }

}  // namespace warpmark::optimize
