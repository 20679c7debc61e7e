// The files that the dashboard serves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "watch/dashboard/documents.h"

namespace warpmark::watch {

/// Thread safe.
class Files {
 public:
  /// An empty path: there is none.
  explicit Files(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// "warpmark.files/1": names below the folder with their kind: "profile", or the name of the schema of a document
  /// ("matrix", "scaling", "load", "optimization", "acceptance", "across", "compare", "check", "bisect", "analysis",
  /// ...). Links are not followed; at most 1000 files, 6 levels deep.
  [[nodiscard]] Result<Json> list(const std::string& query) const;
  /// The document itself (name); usage error for a name that the list does not have.
  [[nodiscard]] Result<Json> document(const std::string& query) const;
  /// "warpmark.profile/1": a recording's analysis ("warpmark.analysis/1") and its report, and whether there is a
  /// timeline (name).
  [[nodiscard]] Result<Json> profile(const std::string& query);
  /// The page with the timeline of one step, for a frame (name). Its script and styles are files beside it.
  [[nodiscard]] Result<std::string> timeline_page(const std::string& query);

 private:
  struct Analysed {
    std::string modified;
    Json json;
    std::string page;
  };
  [[nodiscard]] std::map<std::string, FileRow> entries() const;
  [[nodiscard]] Result<FileRow> find(const std::string& name) const;
  /// Reads it once; `mutex_` is held.
  [[nodiscard]] Result<const Analysed*> analysed(const std::string& query);

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::string, Analysed> analysed_;  ///< of profiles, as reading them may take seconds
};

// The files that a browser asks for: one page, its script and its style sheet.

struct PageFile {
  std::string name;  ///< "index.html"
  std::string type;  ///< media type
  std::string text;
};

/// All of them. In a build without esbuild the script only says so.
[[nodiscard]] const std::vector<PageFile>& page_files();

/// What scripts, styles and frames of the pages may be: files of this server, and nothing within a page.
inline constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

}  // namespace warpmark::watch
