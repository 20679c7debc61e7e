// The data of a drawn timeline as the page's script reads it. Numbers are integers in ns.
#pragma once

#include <string>

#include "report/timeline/timeline_view.h"

namespace warpmark::report {

/// {"length_ns", "paints": [{"id", "name"}], "names": [text], "notes": [text], "rows": [{"name", "gpu", "lanes",
/// "left_out", "start", "duration", "lane", "paint", "text", "note"}], "idle": [{"device", "idle_ns", "start",
/// "duration"}], "findings": [{"rule", "title", "severity", "lost_ns", "elsewhere", "events"}], "launches": [call,
/// work,
/// ...]}. The columns of a row are parallel; a start is the distance to the start before it (the first to the
/// window's); "text" indexes names, "note" notes. Events are numbered through all rows in order, from 0. One line,
/// without any < > & so that it can stand in a <script>.
[[nodiscard]] std::string timeline_json(const TimelineView& view, const Timeline& timeline, const Analysis& analysis);

}  // namespace warpmark::report
