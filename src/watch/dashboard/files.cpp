#include "watch/dashboard/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "analyze/analyze.h"
#include "base/clock.h"
#include "base/files.h"
#include "generated/dashboard_script.h"
#include "generated/dashboard_web.h"
#include "model/fields/fields.h"
#include "model/json/json_analysis.h"
#include "profile/read_session.h"
#include "report/build/analysis_report.h"
#include "report/formats/html.h"
#include "report/timeline/timeline_html.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/query.h"

namespace warpmark::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 1000;
constexpr int kDeepest = 6;
constexpr std::int64_t kLargestDocument = 64 << 20;
constexpr std::int64_t kLargestProfile = std::int64_t{1} << 30;
constexpr std::size_t kMostAnalysed = 8;
constexpr std::size_t kMostRows = 200;  ///< of each table of a profile

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// "matrix" of a document that begins like one of ours: {"schema": "warpmark.matrix/1"}. The key may stand anywhere
/// near the beginning or the end, as keys are sorted.
std::string schema_of(const fs::path& path, std::int64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  constexpr std::int64_t kChunk = 1 << 16;
  const auto probe = [&](std::int64_t from, bool first_key) -> std::string {
    std::string text(static_cast<std::size_t>(std::min(kChunk, bytes - from)), '\0');
    file.clear();
    file.seekg(from);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    for (const std::string_view key : {"\"schema\": \"warpmark.", "\"schema\":\"warpmark."}) {
      const auto at = first_key ? text.find(key) : text.rfind(key);
      if (first_key && at != text.find_first_not_of("{ \t\r\n")) continue;
      const auto slash = at == std::string::npos ? at : text.find('/', at);
      if (slash == std::string::npos) continue;
      const auto begin = at + key.size();
      if (slash - begin < 40) return text.substr(begin, slash - begin);
    }
    return {};
  };
  // As verbs write it. What is within a document, such as the bisection of a check, has a schema of its own.
  if (auto written = probe(0, true); !written.empty()) return written;
  const auto at_end = probe(std::max<std::int64_t>(0, bytes - kChunk), false);
  return at_end.empty() ? probe(0, false) : at_end;
}

std::string kind_of(const fs::path& path, std::int64_t bytes) {
  const std::string name = path.filename().string();
  if (name.ends_with(".json")) {
    const auto schema = schema_of(path, bytes);
    return schema.empty() ? "profile" : schema;
  }
  return ends_with_any(name, {".json.gz", ".json.zst", ".sqlite", ".wmprof", ".wmp", ".csv"}) ? "profile" : "";
}

std::string embedded(std::string_view name) {
  for (const auto& file : generated::kDashboardWeb) {
    if (file.name == name) return std::string(file.text);
  }
  return {};
}

std::string script() { return std::string(generated::kDashboardScript[0].text); }

}  // namespace

std::map<std::string, FileRow> Files::entries() const {
  std::map<std::string, FileRow> found;
  std::error_code code;
  if (folder_.empty()) return found;
  fs::recursive_directory_iterator walk(folder_, fs::directory_options::skip_permission_denied, code);
  for (; !code && walk != fs::recursive_directory_iterator() && found.size() < kMostFiles; walk.increment(code)) {
    if (walk.depth() >= kDeepest) walk.disable_recursion_pending();
    struct stat facts {};
    if (lstat(walk->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    FileRow entry{.name = walk->path().lexically_relative(folder_).generic_string(),
                  .kind = kind_of(walk->path(), facts.st_size),
                  .bytes = facts.st_size,
                  .modified = format_utc(static_cast<double>(facts.st_mtime))};
    if (!entry.kind.empty()) found.emplace(entry.name, entry);
  }
  return found;
}

Result<FileRow> Files::find(const std::string& name) const {
  const auto all = entries();
  const auto found = all.find(name);
  if (found == all.end()) return usage_error("there is no file '" + name + "' in the folder", "/api/files lists them");
  return found->second;
}

Result<Json> Files::list(const std::string& text) const {
  WM_TRY(Query::parse(text, {}));
  FilesPage page{.folder = !folder_.empty(), .files = {}};
  for (auto& [name, entry] : entries()) page.files.push_back(entry);
  return write(kFilesPage, page);
}

Result<Json> Files::document(const std::string& text) const {
  WM_ASSIGN(const auto query, Query::parse(text, {"name"}));
  WM_ASSIGN(const auto entry, find(query.get("name")));
  if (entry.kind == "profile") return usage_error("'" + entry.name + "' is a profile", "/api/profile shows it");
  WM_ASSIGN(const auto bytes, read_file(folder_ / entry.name, kLargestDocument));
  return parse_json(bytes, entry.name);
}

Result<const Files::Analysed*> Files::analysed(const std::string& text) {
  WM_ASSIGN(const auto query, Query::parse(text, {"name"}));
  WM_ASSIGN(const auto entry, find(query.get("name")));
  if (entry.kind != "profile") return usage_error("'" + entry.name + "' is no profile", "/api/document shows it");
  if (entry.bytes > kLargestProfile) {
    return usage_error("'" + entry.name + "' is larger than 1 GiB", "warpmark analyze reads it: --html FILE");
  }
  const auto known = analysed_.find(entry.name);
  if (known != analysed_.end() && known->second.modified == entry.modified) return &known->second;
  const std::array<fs::path, 1> paths{folder_ / entry.name};
  WM_ASSIGN(const auto session, profile::read_session(paths));
  Analysis analysis = analyze::analyze(session);
  analysis.sources = {entry.name};
  Analysed made{.modified = entry.modified, .json = {}, .page = {}};
  made.json = {
      {"schema", "warpmark.profile/1"},
      {"name", entry.name},
      {"timeline", !session.ranks.empty()},
      {"report",
       write(kShownReport,
             shown_report(report::build_analysis_report(
                 analysis, {.top = analysis.findings.size() + 1, .table_rows = kMostRows, .whole_tables = true})))},
      {"analysis", to_json(analysis)}};
  if (!session.ranks.empty()) made.page = report::timeline_page(session, analysis);
  if (analysed_.size() >= kMostAnalysed) analysed_.erase(analysed_.begin());
  return &analysed_.insert_or_assign(entry.name, std::move(made)).first->second;
}

// One recording is read at a time, as that may take much memory.
Result<Json> Files::profile(const std::string& query) {
  const std::lock_guard lock(mutex_);
  WM_ASSIGN(const auto* const found, analysed(query));
  return found->json;
}

Result<std::string> Files::timeline_page(const std::string& query) {
  const std::lock_guard lock(mutex_);
  WM_ASSIGN(const auto* const found, analysed(query));
  if (found->page.empty()) return usage_error("it has no timeline");
  return found->page;
}

const std::vector<PageFile>& page_files() {
  static const std::vector<PageFile> kFiles = {
      {"index.html", "text/html; charset=utf-8", embedded("index.html")},
      {"app.js", "text/javascript; charset=utf-8", script()},
      {"timeline.js", "text/javascript; charset=utf-8", report::timeline_script()},
      {"style.css", "text/css; charset=utf-8",
       std::string(report::html_style()) + report::timeline_style() + embedded("dashboard.css")},
      {"icon.svg", "image/svg+xml", embedded("icon.svg")},
  };
  return kFiles;
}

}  // namespace warpmark::watch
