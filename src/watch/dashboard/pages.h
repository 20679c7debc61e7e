// The files that a browser asks for: one page, its script and its style sheet.
#pragma once

#include <string>
#include <vector>

namespace warpmark::watch {

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
