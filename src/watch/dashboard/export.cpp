#include "watch/dashboard/export.h"

#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "watch/dashboard/files.h"

namespace warpmark::watch {
namespace {

using Params = std::map<std::string, std::string>;  ///< sorted, as the pages' name_of() sorts them

/// As URLSearchParams writes it (application/x-www-form-urlencoded), since the pages look answers up by that.
std::string encoded(const std::string& text) {
  constexpr std::string_view kPlain = "*-._";
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ') {
      out += '+';
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string query_of(const Params& params) {
  std::string out;
  for (const auto& [key, value] : params) {
    if (value.empty()) continue;
    out += (out.empty() ? "" : "&") + encoded(key) + "=" + encoded(value);
  }
  return out;
}

std::string name_of_answer(const std::string& what, const Params& params) {
  const std::string query = query_of(params);
  return query.empty() ? what : what + "?" + query;
}

/// As JavaScript: what would end a script block or a line of old JavaScript is escaped.
std::string script_text(const Json& json) {
  std::string out;
  for (const char c : dump_json(json, -1)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

/// The page of an export: its policy, which no server tells, and the index before the script.
std::string exported_page(std::string page) {
  const auto head = page.find("<title>");
  page.insert(
      head,
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self' file:; "
      "style-src 'self' file:; img-src 'self' file: data:; frame-src 'self' file:; base-uri 'none'; form-action "
      "'none'\">\n");
  const auto script = page.find("<script src=\"app.js\">");
  page.insert(script, "<script src=\"data/index.js\"></script>\n");
  return page;
}

class Exporting {
 public:
  Exporting(Dashboard& dashboard, const std::filesystem::path& folder, const ExportOptions& options)
      : dashboard_(dashboard), folder_(folder), options_(options) {}

  Result<Exported> write() {
    WM_TRY(make_named_folder(folder_ / "data"));
    WM_TRY(put("about", {}));
    WM_TRY(add_sessions());
    WM_TRY(add_cases());
    WM_TRY(add_changes());
    WM_TRY(put("fleet", {}));
    WM_TRY(add_documents());
    WM_TRY(add_files());
    for (const auto& file : page_files()) {
      const bool page = file.name == "index.html";
      WM_TRY(write_one(file.name, page ? exported_page(file.text) : file.text));
    }
    WM_TRY(write_one("data/index.js", "window.warpmark_export = " +
                                          script_text({{"made", format_utc(wall_clock_s())},
                                                       {"about", dashboard_.options().about},
                                                       {"answers", index_}}) +
                                          ";\n"));
    return written_;
  }

 private:
  Status write_one(const std::string& name, const std::string& text) {
    ++written_.files;
    return write_file(folder_ / name, text);
  }

  std::string next_file(const std::string& name) {
    const std::string file = std::to_string(index_.size());
    index_[name] = file;
    return file;
  }

  Status put_json(const std::string& name, const Json& json) {
    const std::string file = next_file(name);
    return write_one("data/" + file + ".js", "warpmark_answer(\"" + file + "\", " + script_text(json) + ");\n");
  }

  Status put(const std::string& what, const Params& params) {
    WM_ASSIGN(const auto json, dashboard_.api(what, query_of(params)));
    return put_json(name_of_answer(what, params), json);
  }

  Status add_sessions() {
    WM_ASSIGN(const auto sessions, dashboard_.api("sessions", "limit=" + std::to_string(options_.sessions)));
    WM_TRY(put_json("sessions", {{"schema", sessions["schema"]}, {"sessions", sessions["sessions"]}}));
    Json runs = Json::array();
    std::map<std::string, std::string> newer;  ///< by machine: the session after
    for (const auto& session : sessions["sessions"]) {
      ++written_.sessions;
      const std::string id = session["id"];
      WM_TRY(add_pair(id, newer, session["fingerprint"]));
      const auto room = options_.runs - static_cast<std::int64_t>(runs.size());
      if (room <= 0) continue;
      WM_ASSIGN(const auto of_session,
                dashboard_.api("runs", query_of({{"session", id},
                                                 {"limit", std::to_string(std::min<std::int64_t>(room, 1000))}})));
      for (const auto& run : of_session["runs"]) {
        WM_TRY(put("run", {{"session", id}, {"index", std::to_string(run["index"].get<std::int64_t>())}}));
        runs.push_back(run);
      }
    }
    return put_json("runs", {{"schema", "warpmark.runs/1"}, {"runs", std::move(runs)}});
  }

  /// Each session against the one before it on the same machine, where they have anything in common.
  Status add_pair(const std::string& id, std::map<std::string, std::string>& newer, const std::string& machine) {
    const auto after = newer.find(machine);
    if (after != newer.end()) {
      const Params params{{"a", id}, {"b", after->second}};
      const auto pair = dashboard_.api("pair", query_of(params));
      if (pair.ok()) WM_TRY(put_json(name_of_answer("pair", params), *pair));
    }
    newer[machine] = id;
    return {};
  }

  Status add_cases() {
    WM_ASSIGN(const auto cases, dashboard_.api("cases", "limit=" + std::to_string(options_.cases)));
    Json list = cases;
    list["total"] = cases["cases"].size();
    WM_TRY(put_json("cases", list));
    for (const auto& one : cases["cases"]) {
      ++written_.cases;
      Params params;
      for (const char* key : {"workload", "params", "device", "mode", "metric"}) params[key] = one[key];
      WM_ASSIGN(const auto series, dashboard_.api("series", query_of(params)));
      WM_TRY(put_json(name_of_answer("series", params), series));
      for (const auto& metric : series["metrics"]) {
        if (metric == one["metric"]) continue;
        params["metric"] = metric;
        WM_TRY(put("series", params));
      }
    }
    return {};
  }

  Status add_changes() {
    Json changes;
    do {
      WM_ASSIGN(changes, dashboard_.api("changes", ""));
    } while (changes["seen"] < changes["cases"]);
    return put_json("changes", changes);
  }

  Status add_documents() {
    WM_ASSIGN(const auto documents, dashboard_.api("documents", "limit=" + std::to_string(options_.documents)));
    WM_TRY(put_json("documents", {{"schema", documents["schema"]}, {"documents", documents["documents"]}}));
    for (const auto& one : documents["documents"]) {
      const auto index = std::to_string(one["index"].get<std::int64_t>());
      for (const char* what : {"document", "report"}) {
        WM_TRY(put(what, {{"session", one["session"]}, {"index", index}}));
      }
    }
    return {};
  }

  Status add_files() {
    WM_ASSIGN(const auto files, dashboard_.api("files", ""));
    WM_TRY(put_json("files", files));
    for (const auto& file : files["files"]) {
      const Params params{{"name", file["name"]}};
      const bool profile = file["kind"] == "profile";
      const auto json = dashboard_.api(profile ? "profile" : "document", query_of(params));
      if (!json.ok()) continue;  // it is no profile after all; the list has its name
      WM_TRY(put_json(name_of_answer(profile ? "profile" : "document", params), *json));
      if (!profile) WM_TRY(put("report", params));
      if (!profile || !(*json)["timeline"]) continue;
      WM_ASSIGN(auto page, dashboard_.files().timeline_page(query_of(params)));
      for (const char* asset : {"style.css", "timeline.js"}) {
        const auto at = page.rfind(std::string("\"") + asset + "\"");
        if (at != std::string::npos) page.insert(at + 1, "../");
      }
      WM_TRY(write_one("data/" + next_file(name_of_answer("timeline", params)) + ".html", page));
    }
    return {};
  }

  Dashboard& dashboard_;
  const std::filesystem::path& folder_;
  const ExportOptions& options_;
  std::map<std::string, std::string> index_;  ///< answers: name and file
  Exported written_;
};

}  // namespace

Result<Exported> export_dashboard(Dashboard& dashboard, const std::filesystem::path& folder,
                                  const ExportOptions& options) {
  return Exporting(dashboard, folder, options).write();
}

}  // namespace warpmark::watch
