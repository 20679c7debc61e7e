#include "watch/dashboard/pages.h"

#include <algorithm>

#include "generated/dashboard_script.h"
#include "generated/dashboard_web.h"
#include "report/formats/html.h"
#include "report/timeline/timeline_html.h"

namespace warpmark::watch {
namespace {

std::string embedded(std::string_view name) {
  for (const auto& file : generated::kDashboardWeb) {
    if (file.name == name) return std::string(file.text);
  }
  return {};
}

std::string script() { return std::string(generated::kDashboardScript[0].text); }

}  // namespace

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
