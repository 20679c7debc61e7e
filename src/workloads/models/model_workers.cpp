#include "workloads/models/model_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/json.h"

namespace warpmark::workloads {
namespace {

using workers::ModelWorker;
using workers::RecordKind;

constexpr double kClocksAgree = 0.01;  // our window and the worker's
constexpr double kPhasesAgree = 0.01;  // a step and the sum of its phases
constexpr double kTurn_s = 0.01;       // of waiting for one rank where there is something else to do
constexpr double kRecord_s = 2e-5;     // what a worker may take to note a phase, when all are done
constexpr double kMessage_s = 0.01;    // and what two messages may take on a busy machine

/// torchrun's, so that a program in the user's Python finds what it is used to.
std::vector<std::string> rank_variables(int rank, int ranks) {
  if (ranks == 1) return {};
  return {fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank), fmt::format("WORLD_SIZE={}", ranks),
          fmt::format("LOCAL_WORLD_SIZE={}", ranks)};
}

Json knobs_of(const Params& params) {
  Json knobs = Json::object();
  if (params.text("channels_last") == "yes") knobs["channels_last"] = "yes";
  if (params.text("checkpoint") == "yes") knobs["checkpoint.blocks"] = "yes";
  if (params.text("compile") != "no") knobs["compile"] = params.text("compile");
  if (params.text("optimizer") != "default") knobs["optimizer.implementation"] = params.text("optimizer");
  if (params.text("attention") != "auto") knobs["attention.backend"] = params.text("attention");
  return knobs;
}

}  // namespace

Result<double> answered_number(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  if (found == answer.end() || !found->is_number()) {
    return data_error(fmt::format("the worker's answer has no number '{}'", name));
  }
  return found->get<double>();
}

std::string other_torches(const Json& hello) {
  const auto places = hello.find("places");
  if (places == hello.end() || !places->is_array() || places->size() < 2) return "";
  std::string others;
  for (const auto& place : *places) {
    if (!place.is_string() || place == hello.value("imported", Json())) continue;
    others += (others.empty() ? "" : ", ") + place.get<std::string>();
  }
  return others + "; measured was " + answered_text(hello, "imported");
}

std::string answered_text(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::unique_ptr<ModelWorkers>> ModelWorkers::start(const Place& place) {
  std::unique_ptr<ModelWorkers> all(new ModelWorkers(place));
  WM_ASSIGN(all->folder_, ScratchFolder::make("model"));
  const auto& folder = all->folder_.path();
  WM_TRY(workers::write_model_worker(folder));
  for (int rank = 0; rank < place.ranks; ++rank) {
    WM_ASSIGN(auto worker, ModelWorker::start({.words = {place.python, "-u", folder / "warpmark_worker.py"},
                                               .printed = folder / fmt::format("printed{}.txt", rank),
                                               .variables = rank_variables(rank, place.ranks),
                                               .interrupted = place.interrupted}));
    all->workers_.push_back(std::move(worker));
  }
  return all;
}

std::string ModelWorkers::device_of(int rank) const {
  const auto colon = place_.device.find(':');
  if (colon == std::string::npos) return place_.device;
  return fmt::format("{}:{}", place_.device.substr(0, colon), std::stoi(place_.device.substr(colon + 1)) + rank);
}

Result<Json> ModelWorkers::ask_each(const std::vector<Json>& questions, double deadline_s) {
  const auto of_rank = [&](std::size_t rank, Error error) {
    if (workers_.size() > 1) error.what = fmt::format("rank {}: {}", rank, error.what);
    return error;
  };
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (const Status posted = workers_[i]->post(questions[i]); !posted.ok()) return of_rank(i, posted.error());
  }
  const std::int64_t last = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
  longest_wait_s_ = 0;
  std::vector<std::optional<Json>> answers(workers_.size());
  while (std::any_of(answers.begin(), answers.end(), [](const auto& answer) { return !answer; })) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      // The others wait for a rank that died: whoever has something to say is heard.
      const double left_s = std::max(0.0, static_cast<double>(last - monotonic_ns()) * 1e-9);
      if (answers[i]) continue;
      const bool in_turns = workers_.size() > 1 || waiting_;
      if (in_turns && left_s > 0 && !workers_[i]->has_answer(kTurn_s)) {
        call_while_waiting();
        continue;
      }
      auto answer = workers_[i]->answer(left_s);
      if (!answer.ok()) return of_rank(i, answer.error());
      answers[i] = std::move(*answer);
    }
    if (place_.interrupted != nullptr && place_.interrupted->load()) return environment_error("interrupted");
  }
  return std::move(*answers.front());
}

void ModelWorkers::call_while_waiting() {
  if (!waiting_) return;
  const std::int64_t begin = monotonic_ns();
  waiting_();
  longest_wait_s_ = std::max(longest_wait_s_, static_cast<double>(monotonic_ns() - begin) * 1e-9);
}

Result<Json> ModelWorkers::ask(const Json& question, double deadline_s) {
  return ask_each(std::vector<Json>(workers_.size(), question), deadline_s);
}

Result<Json> ModelWorkers::prepare(const Json& question, double deadline_s) {
  std::vector<Json> questions;
  for (int rank = 0; rank < ranks(); ++rank) {
    questions.push_back(question);
    questions.back()["device"] = device_of(rank);
    questions.back()["rank"] = rank;
    questions.back()["world"] = ranks();
    questions.back()["meeting"] = (folder_.path() / "meeting").string();
  }
  return ask_each(questions, deadline_s);
}

Result<ModelWindow> ModelWorkers::window(std::int64_t count, bool losses, double deadline_s) {
  const std::int64_t asked = monotonic_ns();
  WM_ASSIGN(const Json answer, ask({{"ask", "run"}, {"steps", count}, {"phases", false}}, deadline_s));
  const std::int64_t answered = monotonic_ns();
  WM_ASSIGN(const double begin, answered_number(answer, "begin_ns"));
  WM_ASSIGN(const double end, answered_number(answer, "end_ns"));
  WM_ASSIGN(const auto noted, records());
  ModelWindow window;
  std::int64_t seen = 0, last = static_cast<std::int64_t>(begin);
  bool ordered = true;
  for (const auto& record : noted) {
    if (record.kind == static_cast<std::int64_t>(RecordKind::step)) {
      ordered = ordered && record.step == seen && record.time_ns >= last && static_cast<double>(record.time_ns) <= end;
      last = record.time_ns;
      ++seen;
    }
    if (record.kind == static_cast<std::int64_t>(RecordKind::loss)) window.losses.push_back(record.value);
  }
  const double ours = static_cast<double>(answered - asked) * 1e-9, theirs = (end - begin) * 1e-9;
  const auto reported = static_cast<std::int64_t>(window.losses.size());
  if (seen != count || (losses && reported != count)) {
    window.doubt = fmt::format("the worker was asked for {} steps and noted {} with {} losses", count, seen, reported);
  } else if (!ordered || begin < static_cast<double>(asked) || end > static_cast<double>(answered) || !(theirs > 0)) {
    window.doubt = "the worker's times of steps lie outside of the window in which they were asked for";
  } else if (ours - theirs > kClocksAgree * ours + kMessage_s + longest_wait_s_) {
    window.doubt = fmt::format("the worker says {:.4g} s for steps that took {:.4g} s by our clock", theirs, ours);
  }
  window.seconds = theirs / static_cast<double>(std::max<std::int64_t>(count, 1));
  return window;
}

Result<ModelPhases> ModelWorkers::phases(std::int64_t count, double deadline_s) {
  const std::int64_t asked = monotonic_ns();
  WM_TRY(ask({{"ask", "run"}, {"steps", count}, {"phases", true}}, deadline_s));
  const double ours = static_cast<double>(monotonic_ns() - asked) * 1e-9;
  WM_ASSIGN(const auto noted, records());
  std::map<std::int64_t, std::vector<double>> parts;
  std::vector<double> whole(static_cast<std::size_t>(count), 0.0), sums = whole;
  for (const auto& record : noted) {
    if (record.step < 0 || record.step >= count) return data_error("the worker reported an unrequested step");
    const auto step = static_cast<std::size_t>(record.step);
    const auto phase = record.kind - static_cast<std::int64_t>(RecordKind::first_phase);
    if (record.kind == static_cast<std::int64_t>(RecordKind::whole)) whole[step] = record.value;
    if (phase < 0 || phase >= static_cast<std::int64_t>(std::size(workers::kModelPhases))) continue;
    parts[phase].push_back(record.value);
    sums[step] += record.value;
  }
  ModelPhases phases;
  double reported = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    reported += whole[i];
    phases.step_s += sums[i] / static_cast<double>(count);
    if (std::abs(sums[i] - whole[i]) <= kPhasesAgree * whole[i]) continue;
    phases.doubt = fmt::format("the phases of a step add up to {:.4g} s, the step took {:.4g} s", sums[i], whole[i]);
  }
  const double noting = kMessage_s + kRecord_s * static_cast<double>(noted.size());
  if (phases.doubt.empty() &&
      (reported - ours > kClocksAgree * ours || ours - reported > kClocksAgree * ours + noting)) {
    phases.doubt =
        fmt::format("the worker says {:.4g} s for steps with marks that took {:.4g} s by our clock", reported, ours);
  }
  for (auto& [phase, seconds] : parts) phases.seconds.emplace_back(workers::kModelPhases[phase], std::move(seconds));
  return phases;
}

Json prepare_question(const std::string& model, const Params& params, const ModelShape& shape, std::uint64_t seed) {
  Json config = Json::object();
  for (const auto& [name, value] : shape.sizes) config[name] = value;
  if (!shape.rows.empty()) config["rows"] = shape.rows;
  if (!shape.hots.empty()) config["hots"] = shape.hots;
  return {{"ask", "prepare"},
          {"model", model},
          {"config", config},
          {"batch", shape.batch},
          {"pass", params.text("pass")},
          {"precision", params.text("precision")},
          {"accumulate", params.integer("accumulate")},
          {"workers", params.integer("workers")},
          {"new_tokens", shape.new_tokens},
          {"seed", static_cast<std::int64_t>(seed % 1'000'000'007)},
          {"rate", 1e-3},
          {"knobs", knobs_of(params)}};
}

}  // namespace warpmark::workloads
