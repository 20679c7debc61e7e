// Scores of one or several systems' answers, with intervals, printed, written and stored.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/clock.h"
#include "base/text.h"
#include "report/draw/table.h"
#include "session/new_session.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

std::string interval_text(const accuracy::ScoreInterval& interval) {
  return interval.method.empty() ? "" : fmt::format("{:.4f} to {:.4f}", interval.low, interval.high);
}

Table score_table(const std::vector<accuracy::Score>& scores) {
  const bool any_unanswered =
      std::any_of(scores.begin(), scores.end(), [](const auto& score) { return score.unanswered > 0; });
  const double confidence = scores.empty() ? 0.95 : scores.front().confidence;
  Table table{{{"metric"},
               {"system"},
               {"score", Align::right},
               {fmt::format("{:g} % interval", 100 * confidence), Align::right},
               {"n", Align::right},
               {any_unanswered ? "no answer" : "", Align::right, 1}},
              {}};
  for (const auto& score : scores) {
    const std::string n = score.groups > 0 ? fmt::format("{} in {}", score.n, score.groups) : std::to_string(score.n);
    table.rows.push_back({{score.metric},
                          {score.system},
                          {score.undefined.empty() ? fmt::format("{:.4f}", score.value) : "undefined"},
                          {interval_text(score.interval)},
                          {n},
                          {score.unanswered > 0 ? std::to_string(score.unanswered) : "", Tone::warning}});
  }
  return table;
}

Table subject_table(const accuracy::Score& score) {
  Table table{{{"subject"}, {"score", Align::right}, {"interval", Align::right}, {"n", Align::right}}, {}};
  for (const auto& part : score.by) {
    table.rows.push_back({{part.subject},
                          {fmt::format("{:.4f}", part.value)},
                          {interval_text(part.interval)},
                          {std::to_string(part.n)}});
  }
  return table;
}

Json scores_document(const Context& context, const std::vector<accuracy::Score>& scores, const Json& auxiliary) {
  Json json = accuracy::to_json(scores);
  json["command"] = command_line_of(context);
  json["created"] = format_utc(wall_clock_s());
  json.update(auxiliary);
  return json;
}

}  // namespace

void print_scores(Context& context, const std::vector<accuracy::Score>& scores, const accuracy::Examples& examples) {
  const auto render = render_options(context);
  context.out << report::render_table(score_table(scores), render);
  if (context.quiet) return;
  for (const auto& score : scores) {
    if (score.by.empty()) continue;
    context.out << fmt::format("\n{} of {} by subject\n", score.metric, score.system)
                << report::render_table(subject_table(score), render);
  }
  for (const auto& score : scores) {
    if (score.undefined.empty()) continue;
    print_lines(context, fmt::format("{} of {} is undefined: {}", score.metric, score.system, score.undefined));
  }
  std::vector<std::string> reported;
  for (const auto& score : scores) {
    if (std::find(reported.begin(), reported.end(), score.metric) != reported.end()) continue;
    reported.push_back(score.metric);
    print_lines(context, fmt::format("{}: {}", score.metric, score.signature));
    if (!score.warning.empty()) print_lines(context, fmt::format("Warning: {}: {}", score.metric, score.warning));
  }
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    const auto problems = accuracy::problems_of(examples, s);
    if (!problems.empty()) {
      print_lines(context, fmt::format("{}: counted as wrong: {}", examples.systems[s], join(problems, "; ")));
    }
  }
}

Status keep_scores(Context& context, const ParsedOptions& options, const EvalRequest& request,
                   const std::vector<accuracy::Score>& scores, const Json& auxiliary) {
  WM_TRY(write_json(options, scores_document(context, scores, auxiliary)));
  if (!request.stores) return {};
  WM_ASSIGN(const auto store, open_store(context, options));
  Session session = session::new_session(command_line_of(context));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Run run = accuracy::run_of(scores[i]);
    run.index = static_cast<std::int64_t>(i);
    run.id = fmt::format("{}.{}", session.id, i);
    run.started = session.started;
    run.repro = session.command;
    session.runs.push_back(std::move(run));
  }
  WM_TRY(store->begin(session));
  WM_TRY(store->append_runs(session.id, session.runs));
  WM_TRY(store->finish(session.id, {}));
  if (request.format == "text") context.err << stored_note(session.id);
  return {};
}

void print_scores_as(Context& context, const std::string& format, const std::vector<accuracy::Score>& scores,
                     const accuracy::Examples& examples, const Json& auxiliary) {
  if (format == "json") {
    context.out << dump_json(scores_document(context, scores, auxiliary)) << '\n';
  } else {
    print_scores(context, scores, examples);
  }
}

Result<int> eval_score(Context& context, const ParsedOptions& options, const EvalRequest& request) {
  const auto& words = options.positionals();
  if (words.size() < 2) {
    return usage_error("which metric?",
                       "warpmark eval score bleu --ref ref.txt --predictions a.txt b.txt; eval list shows all");
  }
  auto outputs = request.predictions;
  outputs.insert(outputs.end(), words.begin() + 2, words.end());
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  WM_ASSIGN(const auto metrics, eval_metrics(context, request.settings, words[1]));
  WM_ASSIGN(const auto inputs, eval_inputs(context, request, outputs));
  const auto score_options = eval_score_options(request, inputs.sha256);
  WM_ASSIGN(const auto scores, accuracy::score_systems(inputs.examples, metrics.metrics, score_options));
  print_scores_as(context, request.format, scores, inputs.examples, Json::object());
  WM_TRY(keep_scores(context, options, request, scores, Json::object()));
  return kSuccess;
}

Result<int> eval_list(Context& context, const ParsedOptions& options) {
  Table table{{{"metric"}, {"what it is"}}, {}};
  for (const auto* metric : accuracy::score_metrics()) table.rows.push_back({{metric->id}, {metric->summary}});
  for (const auto& task : accuracy::official_tasks()) {
    const std::vector<std::string> parts(task.metrics.begin(), task.metrics.end());
    table.rows.push_back({{task.id}, {"its official metric: " + join(parts, ", ")}});
  }
  WM_TRY(show_table(context, options, "eval metrics", table));
  return kSuccess;
}

}  // namespace warpmark::apps
