#include "report/timeline/timeline_html.h"

#include <fmt/format.h>

#include <cmath>

#include "generated/timeline_web.h"
#include "report/draw/format.h"
#include "report/draw/svg.h"
#include "report/timeline/timeline_json.h"

namespace warpmark::report {
namespace {

std::string asset(std::string_view name) {
  for (const auto& file : generated::kTimelineWeb) {
    if (file.name == name) return std::string(file.text);
  }
  return {};
}

std::string count(std::size_t number) { return format_count(static_cast<std::int64_t>(number)); }

std::string quiet(const std::string& sentence) {
  return sentence.empty() ? "" : "<p class=\"quiet\">" + escape_markup(sentence) + "</p>\n";
}

/// "Rank 1, step 3 of 8 (nearest to the median), 56.2 ms. The GPU idles for 12.1 ms of it (21.5 %)."
std::string summary(const TimelineView& view, const ProfileSession& session) {
  const double length = static_cast<double>(view.length_ns) * 1e-9;
  const int rank = session.ranks[view.rank_index].rank;
  std::string text;
  if (session.ranks.size() > 1) text += fmt::format("Rank {}, ", rank >= 0 ? rank : static_cast<int>(view.rank_index));
  if (view.step == 0) {
    text += "the whole recording, as it shows no steps";
  } else {
    text += fmt::format("step {} of {}{}", view.step, view.steps,
                        view.median && view.steps > 1 ? " (nearest to the median)" : "");
  }
  text[0] = text[0] == 't' ? 'T' : text[0] == 's' ? 'S' : text[0];
  text += ", " + format_seconds(length) + ".";
  for (const GpuIdle& idle : view.idle) {
    const double seconds = static_cast<double>(idle.idle_ns) * 1e-9;
    text += fmt::format(" {} idles for {} of it ({}).",
                        view.idle.size() == 1 ? std::string("The GPU") : fmt::format("GPU {}", idle.device),
                        format_seconds(seconds), format_percent(seconds / length));
  }
  return text;
}

std::string left_out(const TimelineView& view) {
  std::string text;
  if (view.left_out > 0) {
    text += fmt::format("{} of {} events are drawn, the longest of each row; {} are left out", count(view.drawn),
                        count(view.drawn + view.left_out), count(view.left_out));
    if (view.rows_left_out > 0) {
      text += fmt::format(", with {} whole", format_plural(view.rows_left_out, "row", "rows"));
    }
    text += ".";
  }
  if (view.not_drawable > 0) {
    text += fmt::format("{}{} without a length (instants, samples) are not drawn.", text.empty() ? "" : " ",
                        format_plural(view.not_drawable, "event", "events"));
  }
  return text;
}

}  // namespace

std::string timeline_page(const ProfileSession& session, const Analysis& analysis) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Timeline</title>\n"
         "<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body class=\"framed\">\n<main>\n" +
         timeline_html(session, analysis, {.view = {}, .assets = false}) +
         "</main>\n<script src=\"timeline.js\"></script>\n</body>\n</html>\n";
}

std::string timeline_script() {
  return "\"use strict\";\n(() => {\n" + asset("timeline_data.js") + asset("timeline_paint.js") +
         asset("timeline_draw.js") + asset("timeline_hands.js") + asset("timeline.js") + "})();\n";
}

std::string timeline_style() { return asset("timeline.css"); }

std::string timeline_html(const ProfileSession& session, const Analysis& analysis, const TimelineHtmlOptions& options) {
  const TimelineView view = timeline_view(session, analysis, options.view);
  std::string out = "<section class=\"wm-timeline\"><h2>" + escape_markup(options.heading) + "</h2>\n";
  if (view.rows.empty()) {
    return out + quiet("There are no events with a duration to draw.") + "</section>\n";
  }
  out += "<p>" + escape_markup(summary(view, session)) + "</p>\n" + quiet(left_out(view));
  out +=
      "<noscript><p class=\"quiet\">The drawing needs JavaScript, which is off here; the tables of this page say the "
      "same in numbers.</p></noscript>\n<div class=\"wm-view\"></div>\n";
  out += "<script type=\"application/json\">" + timeline_json(view, session.ranks[view.rank_index], analysis) +
         "</script>\n";
  if (options.assets) {
    out += "<style>\n" + timeline_style() + "</style>\n<script>\n" + timeline_script() + "</script>\n";
  }
  return out + "</section>\n";
}

}  // namespace warpmark::report
