#include "report/build/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "report/draw/format.h"
#include "report/draw/svg.h"
#include "report/formats/html.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kSparkline = 20;

std::vector<double> values_of(const TrendSeries& series) {
  std::vector<double> values;
  for (const auto& item : series.points) values.push_back(item.point.value);
  return values;
}

std::string where_of(const HistoryPoint& point) {
  const std::string day = point.started.substr(0, 10);
  return point.commit.empty() ? day + " " + point.session : day + " " + point.commit.substr(0, 10);
}

Tone tone_of_change(const TrendChange& change) {
  return change.worse ? (*change.worse ? Tone::bad : Tone::good) : Tone::plain;
}

std::string size_of(const TrendChange& change) {
  return change.before != 0 ? format_change(change.after / change.before) : "from 0";
}

/// A change needs three sessions on each side: one alone may be an outlier, and two have no spread.
constexpr std::size_t kFewestSessions = 6;
bool has_too_few(const TrendSeries& series) { return series.points.size() < kFewestSessions; }

Table overview(const Trend& trend, bool unicode) {
  Table table{{{"benchmark"},
               {"metric"},
               {"trend"},
               {"newest", Align::right},
               {"sessions", Align::right, 2},
               {"last change", Align::right},
               {"at", Align::left, 1}},
              {}};
  for (const auto& series : trend.series) {
    std::vector<Cell> row{{series.label}, {series.metric}, {sparkline(values_of(series), kSparkline, unicode)}};
    row.push_back({format_quantity(series.points.back().point.value, series.unit)});
    row.push_back({format_count(static_cast<std::int64_t>(series.points.size())), Tone::quiet});
    if (series.changes.empty()) {
      row.push_back({has_too_few(series) ? "too few sessions" : "none", Tone::quiet});
      row.emplace_back();
    } else {
      const auto& change = series.changes.back();
      row.push_back({size_of(change), tone_of_change(change)});
      row.push_back({where_of(series.points[static_cast<std::size_t>(change.index)].point), Tone::quiet});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// All changes of all series, the newest first.
Table changes_table(const Trend& trend) {
  struct Row {
    std::string started;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  for (const auto& series : trend.series) {
    for (const auto& change : series.changes) {
      const auto& point = series.points[static_cast<std::size_t>(change.index)].point;
      rows.push_back({point.started,
                      {{where_of(point)},
                       {series.label},
                       {series.metric},
                       {size_of(change), tone_of_change(change)},
                       {format_quantity(change.before, series.unit), Tone::quiet},
                       {format_quantity(change.after, series.unit), Tone::quiet},
                       {change.p < 0.001 ? "<0.001" : fmt::format("{:.3f}", change.p), Tone::quiet}}});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.started > b.started; });
  Table table{{{"first at"},
               {"benchmark"},
               {"metric"},
               {"change", Align::right},
               {"before", Align::right, 1},
               {"after", Align::right, 2},
               {"p", Align::right, 3}},
              {}};
  for (auto& row : rows) table.rows.push_back(std::move(row.cells));
  return table;
}

/// Series whose level creeps, the steepest first.
std::optional<Table> drift_table(const Trend& trend) {
  Table table{{{"benchmark"},
               {"metric"},
               {"since"},
               {"in all", Align::right},
               {"interval", Align::right},
               {"a session", Align::right},
               {"p", Align::right, 1}},
              {}};
  std::vector<const TrendSeries*> found;
  for (const auto& series : trend.series) {
    if (series.drift && series.drift->marked) found.push_back(&series);
  }
  if (found.empty()) return std::nullopt;
  std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) {
    return std::fabs(std::log1p(a->drift->change)) > std::fabs(std::log1p(b->drift->change));
  });
  for (const auto* series : found) {
    const auto& drift = *series->drift;
    const auto tone = drift.worse ? (*drift.worse ? Tone::bad : Tone::good) : Tone::plain;
    table.rows.push_back({{series->label},
                          {series->metric},
                          {where_of(series->points[static_cast<std::size_t>(drift.from)].point), Tone::quiet},
                          {format_change(1 + drift.change), tone},
                          {fmt::format("{} .. {}", format_change(1 + drift.change_interval.low),
                                       format_change(1 + drift.change_interval.high)),
                           Tone::quiet},
                          {format_change(1 + drift.per_session), Tone::quiet},
                          {format_p(drift.p), Tone::quiet}});
  }
  return table;
}

/// A session alone is no change; one far from the one before is to be measured again.
std::string newest_apart(const Trend& trend) {
  constexpr double kFar = 1.2;
  const TrendSeries* farthest = nullptr;
  double most = kFar;
  const auto ratio_of = [](const TrendSeries& series) {
    const std::size_t n = series.points.size();
    const double before = n < 2 ? 0 : series.points[n - 2].point.value;
    return before > 0 && series.points[n - 1].point.value > 0 ? series.points[n - 1].point.value / before : 1;
  };
  for (const TrendSeries& series : trend.series) {
    const double apart = std::max(ratio_of(series), 1 / ratio_of(series));
    if (apart > most) farthest = &series, most = apart;
  }
  if (farthest == nullptr) return "";
  return fmt::format(
      " The newest session of {} {} is {} of the one before: one session alone is not a change, measure again.",
      farthest->label, farthest->metric, format_times(ratio_of(*farthest)));
}

/// The latest change of a series, for the worse before others.
Paragraph headline(const Trend& trend) {
  const TrendSeries* series = nullptr;
  const TrendChange* latest = nullptr;
  const auto started = [](const TrendSeries& of, const TrendChange& change) -> const std::string& {
    return of.points[static_cast<std::size_t>(change.index)].point.started;
  };
  for (const auto& each : trend.series) {
    for (const auto& change : each.changes) {
      const bool worse = change.worse.value_or(false), known = latest != nullptr && latest->worse.value_or(false);
      const bool newer = latest == nullptr || worse != known ? latest == nullptr || worse
                                                             : started(each, change) > started(*series, *latest);
      if (newer) series = &each, latest = &change;
    }
  }
  if (latest == nullptr) {
    const auto few = static_cast<std::size_t>(std::ranges::count_if(trend.series, has_too_few));
    const std::string newest = newest_apart(trend);
    std::string text;
    if (few < trend.series.size()) {
      text = fmt::format("No change of {} or more in {}.", format_percent(trend.threshold),
                         format_plural(trend.series.size() - few, "series", "series"));
    }
    if (few > 0) {
      text +=
          fmt::format("{}Too few sessions to find a change in {}: a change needs {} or more, half of them after it.",
                      text.empty() ? "" : " ", format_plural(few, "series", "series"), kFewestSessions);
    }
    return {text + newest, few == 0 && newest.empty() ? Tone::plain : Tone::warning};
  }
  return {fmt::format("{} {}: {} at {}, p {}.", series->label, series->metric, size_of(*latest),
                      where_of(series->points[static_cast<std::size_t>(latest->index)].point), format_p(latest->p)),
          tone_of_change(*latest)};
}

std::vector<std::string> machine_sentences(const Trend& trend) {
  std::vector<std::string> sentences;
  for (const auto& series : trend.series) {
    for (const auto& change : series.machines) {
      const auto& point = series.points.at(static_cast<std::size_t>(change.index)).point;
      const std::string sentence = where_of(point) + ": another machine from here on: " + change.what;
      if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
    }
  }
  return sentences;
}

std::string trend_method_text(const Trend& trend) {
  return fmt::format(
      "Changes of at least {} by E-divisive means over windows of 50 sessions, p at most 0.001 with autocorrelation "
      "taken into account, on one machine at a time; a single outlier is no change. A change begins at the session "
      "that is named; the commit that made it may be any since the session before.",
      format_percent(trend.threshold));
}

std::string subtitle_of(const Trend& trend) {
  std::string text = trend.branch.empty() ? "all branches" : "branch " + trend.branch;
  if (!trend.since.empty()) text += " since " + trend.since;
  if (!trend.until.empty()) text += " until " + trend.until;
  return text;
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kLetters{"_", ".", ",", "-", "~", "=", "*", "#"};
  const std::size_t columns = std::min(width, values.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t begin = i * values.size() / columns, end = (i + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t j = begin; j < end; ++j) sum += values[j];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  if (means.empty()) return {};
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  // Noise is not stretched over the whole height: a full block is at least 10 %.
  const double middle = (*low + *high) / 2;
  const double range = std::max(*high - *low, 0.1 * std::fabs(middle));
  std::string text;
  for (const double mean : means) {
    const double place = range > 0 ? 0.5 + (mean - middle) / range : 0.5;
    const auto step = static_cast<std::size_t>(std::clamp(place * 8, 0.0, 7.0));
    text += unicode ? kBlocks[step] : kLetters[step];
  }
  return text;
}

Report build_report(const Trend& trend, bool unicode) {
  Report report{.title = "Trend", .subtitle = subtitle_of(trend), .sections = {}};
  Section section{"Metrics", {}, false};
  section.blocks.emplace_back(headline(trend));
  section.blocks.emplace_back(overview(trend, unicode));
  report.sections.push_back(std::move(section));
  Section changes{"Change points", {}, false};
  if (auto table = changes_table(trend); !table.rows.empty()) {
    changes.blocks.emplace_back(std::move(table));
  } else {
    changes.blocks.emplace_back(Paragraph{"none", Tone::quiet});
  }
  for (const auto& left : trend.left_out)
    changes.blocks.emplace_back(Paragraph{"Left out: " + left + ".", Tone::warning});
  for (const auto& sentence : machine_sentences(trend)) changes.blocks.emplace_back(Paragraph{sentence, Tone::warning});
  changes.blocks.emplace_back(Paragraph{trend_method_text(trend), Tone::quiet});
  report.sections.push_back(std::move(changes));
  if (auto table = drift_table(trend)) {
    report.sections.push_back(
        {"Slow drift",
         {std::move(*table), Paragraph{"The median of all slopes between two sessions (Sen), with its interval, where "
                                       "a slope fits the sessions better than steps; no single session is the cause.",
                                       Tone::quiet}},
         false});
  }
  return report;
}

std::string render_trend_svg_file(const TrendSeries& series) {
  std::string svg = render_trend_svg(series);
  const auto end = svg.find('>');
  const std::string style = "<style>" + std::string(html_style()) + "svg { background: var(--page); }</style>";
  return svg.insert(end + 1, style);
}

std::string render_trend_html(const Trend& trend) {
  std::string html = render_html(build_report(trend, true));
  std::string charts = "<section><h2>Charts</h2>\n";
  for (const auto& series : trend.series) {
    charts += "<figure><figcaption>" + escape_markup(series.label + " " + series.metric) +
              "</figcaption><div class=\"scroll\">\n" + render_trend_svg(series) + "</div></figure>\n";
  }
  charts += "</section>\n";
  const auto end = html.rfind("</main>");
  return html.insert(end, charts);
}

}  // namespace warpmark::report
