// One step of a recording as an interactive drawing for an HTML page: a section with the events as JSON, and the script
// and style that draw them on a canvas. Nothing is loaded from elsewhere. Takes its colours from the style sheet of
// report/html.h where the page has it.
#pragma once

#include <string>

#include "model/analysis.h"
#include "model/profile/profile_session.h"
#include "report/timeline/timeline_view.h"

namespace warpmark::report {

struct TimelineHtmlOptions {
  TimelineViewOptions view = {};
  std::string heading = "Timeline";
  bool assets = true;  ///< with script and style; false for all but the first timeline of a page
};

/// A <section>, to be put into the <body>. Also for an empty session: then a sentence that says so. The same input
/// gives the same bytes. Names from the recording are escaped.
[[nodiscard]] std::string timeline_html(const ProfileSession& session, const Analysis& analysis,
                                        const TimelineHtmlOptions& options = {});

/// The same as a page of its own for a server that forbids scripts and styles within pages: it asks for "style.css"
/// (html_style() and timeline_style()) and "timeline.js" (timeline_script()) beside it.
[[nodiscard]] std::string timeline_page(const ProfileSession& session, const Analysis& analysis);
[[nodiscard]] std::string timeline_script();
[[nodiscard]] std::string timeline_style();

}  // namespace warpmark::report
