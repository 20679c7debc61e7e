#include "warpmark/history/history_exchange.h"

#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "exchange/import.h"
#include "model/names.h"
#include "store/keep.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

struct ReadFile {
  std::string path;
  std::vector<Session> sessions;
};

/// All of them before the first is stored, so that a typo in the last name stores nothing.
Result<std::vector<ReadFile>> read_files(const std::vector<std::string>& paths, const exchange::ImportOptions& import) {
  std::vector<ReadFile> files;
  for (const auto& path : paths) {
    WM_ASSIGN(auto sessions, read_result_file(path, import));
    files.push_back({path, std::move(sessions)});
  }
  return files;
}

std::string kept_text(const Session& session, const store::KeptSession& kept) {
  if (kept.added == 0) return fmt::format("{}: stored already", session.id);
  std::string text = fmt::format("{}: {} {}", session.id, kept.added, kept.added == 1 ? "result" : "results");
  if (kept.known > 0) text += fmt::format(" ({} were stored already)", kept.known);
  if (!session.commit.empty()) text += " of commit " + session.commit.substr(0, 10);
  return text;
}

}  // namespace

Result<int> import_files(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  const std::vector<std::string> paths(words.begin() + 1, words.end());
  if (paths.empty()) {
    return usage_error("which files?", std::string("warpmark history import FILE...; ") + exchange::kFormatsHint);
  }
  WM_ASSIGN(const auto import, read_as(options));
  WM_ASSIGN(const auto files, read_files(paths, import));
  bool unknown_machine = false;
  Json imported = Json::array();
  for (const auto& file : files) {
    context.out << file.path << '\n';
    for (const Session& session : file.sessions) {
      if (context.interrupted.load()) return kInterrupted;
      WM_ASSIGN(const auto kept, store::keep_session(store, session));
      context.out << "  " << kept_text(session, kept) << std::endl;
      imported.push_back({{"file", file.path},
                          {"session", session.id},
                          {"added", kept.added},
                          {"known", kept.known},
                          {"commit", session.commit},
                          {"remarks", session.remarks}});
      for (const auto& remark : session.remarks) context.err << "  " << remark << '\n';
      unknown_machine = unknown_machine || session.machine.fingerprint == kUnknownMachine;
    }
  }
  WM_TRY(write_json(options, {{"schema", "warpmark.imported/1"}, {"sessions", std::move(imported)}}));
  if (unknown_machine) {
    context.err << "A file does not name its machine: --machine NAME keeps results of different machines apart.\n";
  }
  return kSuccess;
}

Result<int> export_session(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  if (!options.has("--format")) {
    return usage_error("in which format?", std::string("add --format FORMAT; ") + exchange::kFormatsHint);
  }
  const std::string id = options.get("--format");
  const auto* format = find_in(exchange::formats(), id);
  if (format == nullptr || format->write == nullptr) {
    const auto meant = nearest(id, exchange::writable_formats());
    return usage_error((format == nullptr ? "there is no format '" : "there is no writing of '") + id + "'",
                       (meant.empty() ? "" : "did you mean '" + meant + "'? ") + exchange::kFormatsHint);
  }
  if (options.has("--out")) WM_TRY(check_writable(options.get("--out")));
  WM_ASSIGN(const auto session, load_session(store, words.size() > 1 ? words[1] : "last"));
  WM_ASSIGN(const auto exported, format->write(session));
  const std::string file = options.get("--out");
  if (file.empty()) {
    context.out << exported.text;
  } else {
    WM_TRY(write_file(file, exported.text));
    context.err << fmt::format("{} of {} written to {}\n", id, session.id, file);
  }
  for (const auto& what : exported.left_out) context.err << "left out: " << what << '\n';
  return kSuccess;
}

}  // namespace warpmark::apps
