#include "loadtest/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/untrusted/input.h"
#include "loadtest/pages/load_page.h"
#include "report/formats/html.h"
#include "serving/files/exports.h"
#include "serving/files/genai_folder.h"
#include "serving/results/load_runs.h"
#include "session/new_session.h"
#include "store/keep.h"
#include "store/location.h"

namespace warpmark::loadtest {
namespace {

namespace fs = std::filesystem;
using serving::LoadReport;
using serving::ScenarioResult;

std::string label_of(const LoadReport& report, const std::string& key) {
  const auto found =
      std::find_if(report.target.begin(), report.target.end(), [&](const auto& pair) { return pair.first == key; });
  return found == report.target.end() ? "" : found->second;
}

/// As genai-bench names its folders.
std::string own_folder_name(const LoadReport& report) {
  std::vector<std::string> parts;
  for (const char* key : {"backend", "engine", "engine_version", "task", "model"}) {
    std::string part = label_of(report, key);
    for (char& c : part) {
      if (c == '/' || c == ' ' || static_cast<unsigned char>(c) < 32) c = '-';
    }
    if (!part.empty()) parts.push_back(part);
  }
  std::string stamp;
  for (const char c : report.started.substr(0, 19)) {
    if (is_digit(c)) stamp += c;
    if (c == 'T') stamp += '_';
  }
  parts.push_back(stamp);
  return join(parts, "_");
}

bool holds_experiment(const std::string& folder) {
  std::error_code none;
  return fs::exists(folder + "/experiment_metadata.json", none) || fs::exists(folder + "/warpmark_load.json", none);
}

/// Files of loads that are measured again, as they were interrupted, or that the report does not know.
void remove_other_runs(const std::string& folder, const std::vector<ScenarioResult>& kept, const std::string& task) {
  std::vector<std::string> names;
  for (const auto& scenario : kept) names.push_back(serving::run_file_name(scenario, task));
  std::error_code none;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_run = name.ends_with("s.json") && name.find("_time_") != std::string::npos;
    if (is_run && std::find(names.begin(), names.end(), name) == names.end()) others.push_back(entry.path());
  }
  for (const auto& path : others) fs::remove(path, none);
}

Status take_folder(LoadOutputs& outputs) {
  const auto &base = outputs.files.base_folder, &own = outputs.files.folder_name;
  if (own.empty() && base.empty()) return {};
  const std::string name = own.empty() ? own_folder_name(outputs.report) : own;
  outputs.folder = base.empty() ? name : (fs::path(base) / name).string();
  if (!base.empty()) WM_TRY(make_folder(base, "choose another --experiment-base-dir"));
  WM_TRY(check_output_folder(outputs.folder));
  WM_TRY(make_named_folder(outputs.folder));
  if (!outputs.files.resumes && holds_experiment(outputs.folder)) {
    return usage_error(outputs.folder + " holds an experiment already: their loads would be mixed",
                       "--resume continues it; or choose another --experiment-folder-name");
  }
  outputs.records_file = outputs.folder + "/unfinished.records";
  return {};
}

/// The report of the run that is gone on with, from the experiment folder or from --json.
Status take_earlier(LoadOutputs& outputs) {
  if (!outputs.files.resumes) return {};
  const std::string file = outputs.folder.empty() ? outputs.files.json : outputs.folder + "/warpmark_load.json";
  if (file.empty()) {
    return usage_error("--resume continues a file", "give the same --json FILE or --experiment-folder-name DIR");
  }
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  WM_ASSIGN(const std::string text, read_file(file));
  WM_ASSIGN(const Json json, parse_json(text, file));
  auto earlier = serving::load_report_from_json(json);
  if (!earlier.ok()) {
    return data_error(file + " is no report of a load: " + earlier.error().what,
                      "--resume continues a file of the same command");
  }
  for (const auto& [key, value] : outputs.report.target) {
    const std::string its = label_of(*earlier, key);
    if (its != value) {
      return usage_error(fmt::format("{} is of another load: {} is {} there and {} here", file, key,
                                     its.empty() ? "null" : dump_json(its, -1), dump_json(value, -1)),
                         "without --resume a new report is begun");
    }
  }
  auto& kept = outputs.report.earlier;
  kept = std::move(earlier->scenarios);
  std::erase_if(kept, [](const ScenarioResult& scenario) { return scenario.interrupted; });
  outputs.around.say(fmt::format("note: {} loads are done already", kept.size()));
  if (!outputs.folder.empty()) remove_other_runs(outputs.folder, kept, label_of(outputs.report, "task"));
  return {};
}

/// What comes piece by piece, as it is too much for memory.
Status write_pieces(const std::string& file, const std::function<void(const serving::TakeText&)>& write) {
  const auto temporary = temporary_for(file);
  std::ofstream out(temporary, std::ios::binary);
  write([&](std::string_view piece) { out << piece; });
  out.close();
  if (out) return put_in_place(temporary, file);
  std::error_code none;
  fs::remove(temporary, none);
  return environment_error("cannot write " + file, "is there room on the disk?");
}

Status write_requests(const LoadReport& report, const std::string& file) {
  return write_pieces(file, [&](const serving::TakeText& take) { serving::write_requests_csv(report, take); });
}

/// Rows of the loads that are done already stay where they are.
Status write_csv(const LoadOutputs& outputs) {
  const auto& file = outputs.files.requests_csv;
  return file.empty() ? Status() : write_requests(outputs.report, file);
}

/// What was measured before the program was killed has no numbers, as how it ended is not known, but its requests are
/// there.
Status rescue_unfinished(const LoadOutputs& outputs) {
  std::error_code none;
  if (outputs.records_file.empty() || !fs::exists(outputs.records_file, none)) return {};
  auto records = serving::RequestRecords::of_unfinished(outputs.records_file);
  if (!records.ok()) return records.error();
  LoadReport report;
  auto& load = report.scenarios.emplace_back();
  load.scenario = "unfinished";
  if (!records->empty()) load.began_ns = records->begin()->intended_ns;
  const std::size_t count = records->size();
  load.records = std::move(*records);
  const std::string file = outputs.folder + "/unfinished_requests.csv";
  if (count > 0) WM_TRY(write_requests(report, file));
  fs::remove(outputs.records_file, none);
  if (count > 0) {
    outputs.around.say(fmt::format("note: {} requests of a load that was killed are in {}", count, file));
  }
  return {};
}

Status write_report_json(const LoadOutputs& outputs) {
  const auto& file = outputs.files.json;
  if (file.empty() && outputs.folder.empty()) return {};
  const std::string text = dump_json(to_json(outputs.report)) + "\n";
  const Status written = file.empty() ? Status() : write_file(file, text);
  if (outputs.folder.empty()) return written;
  const Status in_folder = write_file(outputs.folder + "/warpmark_load.json", text);
  return written.ok() ? in_folder : written;
}

Status write_page(const LoadOutputs& outputs) {
  const auto& file = outputs.files.html;
  return file.empty() || outputs.report.scenarios.empty()
             ? Status()
             : write_file(file, report::render_html(whole_page_of(outputs.report)));
}

Status write_vllm_json(const LoadOutputs& outputs) {
  const auto& file = outputs.files.vllm_json;
  if (file.empty() || outputs.report.scenarios.empty()) return {};
  return write_pieces(file, [&](const serving::TakeText& take) {
    serving::write_vllm_json(outputs.report, outputs.report.scenarios.back(), take);
  });
}

Status write_experiment_folder(const LoadOutputs& outputs) {
  if (outputs.folder.empty()) return {};
  for (const auto& [name, write] : serving::genai_files(outputs.report)) {
    WM_TRY(write_pieces(outputs.folder + "/" + name, write));
  }
  return {};
}

using TargetLabels = std::vector<std::pair<std::string, std::string>>;

TargetLabels target_labels(const PreparedLoad& request) {
  if (!request.workload.empty()) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : request.network.set) settings.push_back(name + "=" + value);
    return {{"base", "this machine"},
            {"model", request.workload},
            {"api", "workload"},
            {"task", name_of(request.mlperf->scenario)},
            {"settings", join(settings, " ")},
            {"device", request.network.device},
            {"backend", "workload"}};
  }
  return {{"base", request.target.bases.front().text()},
          {"model", request.target.model},
          {"api", request.target.api->id},
          {"task", request.target.api->task},
          {"backend", request.server.backend}};
}

/// The whole report, beside the runs that were stored one by one.
Status store_load_report(LoadOutputs& outputs) {
  const auto title = label_of(outputs.report, "model") + " at " + label_of(outputs.report, "base");
  return store::attach_report(*outputs.store, outputs.session.id, to_json(outputs.report), title);
}

Status write_all(const LoadOutputs& outputs) {
  // Where one cannot be written, the others are all the same.
  Status all;
  for (const auto write : {write_report_json, write_csv, write_page, write_vllm_json, write_experiment_folder}) {
    if (const Status written = write(outputs); all.ok() && !written.ok()) all = written;
  }
  for (const auto& result : outputs.report.scenarios) {
    if (const Status read = result.records.status(); all.ok() && !read.ok()) all = read;
  }
  return all;
}

}  // namespace

Result<LoadOutputs> open_outputs(const PreparedLoad& load, const Surroundings& around) {
  const LoadFiles& files = load.files;
  for (const auto& file : {files.json, files.html, files.requests_csv, files.vllm_json}) {
    if (!file.empty()) WM_TRY(check_writable(file));
  }
  LoadOutputs outputs{.around = around,
                      .files = files,
                      .store = nullptr,
                      .session = session::new_session(around.command),
                      .report = {},
                      .folder = {},
                      .records_file = {}};
  if (files.resumes && !files.requests_csv.empty()) {
    return usage_error("--requests-csv would hold only what --resume adds",
                       "give it another file name without --resume");
  }
  LoadReport& report = outputs.report;
  report.id = outputs.session.id;
  report.started = outputs.session.started;
  report.command = outputs.session.command;
  for (const auto& [name, values] : load.given) {
    for (const auto& value : values) report.options[name].push_back(hide_password(value));
  }
  report.version = outputs.session.build.version;
  report.host = outputs.session.machine.hostname;
  report.complete = false;
  report.target = target_labels(load);
  report.settings = {{"max_time_per_run_s", load.steps.front().traffic.duration_s},
                     {"max_requests_per_run", static_cast<double>(load.steps.front().traffic.most_requests)}};
  if (!load.levels.dataset.empty()) report.dataset = load.levels.dataset;
  if (!load.task.empty()) report.dataset = load.task;
  report.target.insert(report.target.end(), load.labels.begin(), load.labels.end());
  WM_TRY(take_folder(outputs));
  WM_TRY(take_earlier(outputs));
  WM_TRY(rescue_unfinished(outputs));
  if (!files.stores) return outputs;
  WM_ASSIGN(const auto location, store::location_of(files.database, around.environment));
  WM_ASSIGN(outputs.store, store::open_store(location));
  WM_TRY(outputs.store->begin(outputs.session));
  return outputs;
}

bool done_earlier(const LoadReport& report, const LoadStep& step) {
  const auto& traffic = step.traffic;
  return std::ranges::any_of(report.earlier, [&](const ScenarioResult& earlier) {
    if (earlier.scenario != traffic.scenario.text || earlier.batch != traffic.batch ||
        earlier.turns != traffic.conversations.turns || earlier.arrivals != to_text(traffic.arrivals) ||
        earlier.parameters != step.parameters) {
      return false;
    }
    const bool closed = traffic.arrivals.kind == serving::ArrivalKind::closed;
    return closed ? earlier.users == traffic.users : earlier.rate == traffic.arrivals.rate;
  });
}

Status keep_load(LoadOutputs& outputs, serving::ScenarioResult result) {
  outputs.report.scenarios.push_back(std::move(result));
  const auto index = static_cast<std::int64_t>(outputs.report.scenarios.size()) - 1;
  Status stored;
  if (outputs.store != nullptr) {
    const Run run = serving::run_of(outputs.report, outputs.report.scenarios.back(), index);
    stored = outputs.store->append_run(outputs.session.id, run);
  }
  const Status written = write_all(outputs);
  auto& kept = outputs.report.scenarios.back();
  if (stored.ok() && written.ok()) kept.records.remove_name();
  if (!kept.problem.empty()) return environment_error(kept.problem, "results so far are shown above");
  return stored.ok() ? written : stored;
}

Status finish_outputs(LoadOutputs& outputs, const Status& measured, bool interrupted) {
  outputs.report.complete = !interrupted && measured.ok();
  if (!measured.ok()) return measured;
  // Files of requests were written with each load; how all of it ended is known now.
  if (outputs.report.scenarios.empty()) {
    WM_TRY(write_all(outputs));
  } else {
    WM_TRY(write_report_json(outputs));
    WM_TRY(write_page(outputs));
  }
  if (outputs.store == nullptr) return {};
  WM_TRY(store_load_report(outputs));
  return interrupted ? Status() : outputs.store->finish(outputs.session.id, {});
}

}  // namespace warpmark::loadtest
