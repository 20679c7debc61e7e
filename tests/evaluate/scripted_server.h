// A task put to a reference server with scripted answers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "accuracy/scoring/scores.h"
#include "evaluate/models/model.h"
#include "evaluate/run_task.h"
#include "http/url.h"
#include "serving/reference/reference_server.h"

namespace warpmark::evaluate::testing_support {

inline std::unique_ptr<serving::ReferenceServer> scripted_server(const std::string& rules) {
  serving::ReferenceServerOptions options;
  options.script.ttft_s = 0;
  options.script.itl_s = 0;
  const auto answers = serving::parse_scripted_answers(rules, "rules");
  EXPECT_TRUE(answers.ok()) << answers.error().what;
  if (answers.ok()) options.script.answers = *answers;
  auto server = serving::ReferenceServer::start(options);
  EXPECT_TRUE(server.ok()) << server.error().what;
  return server.ok() ? std::move(*server) : nullptr;
}

inline MakeModel asking(const std::string& url) {
  return [url]() -> Result<std::unique_ptr<Model>> {
    return endpoint_model({.url = *http::parse_url(url + "/v1"), .model = "m", .api_key = {}});
  };
}

/// A folder of its own, gone with it.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("warpmark-evaluate-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline TaskOutcome outcome_from(const std::string& yaml, const std::vector<accuracy::Record>& data,
                                const std::string& rules, const std::filesystem::path& folder) {
  const auto task = parse_task(yaml, "task.yaml");
  EXPECT_TRUE(task.ok()) << task.error().what;
  const auto pictures = pictures_of(*task, data, folder);
  EXPECT_TRUE(pictures.ok()) << pictures.error().what;
  const auto items = items_of(*task, data, {}, "m", 1, *pictures);
  EXPECT_TRUE(items.ok()) << items.error().what;
  const auto journal = Journal::open(folder / "journal.jsonl");
  EXPECT_TRUE(journal.ok()) << journal.error().what;
  const auto server = scripted_server(rules);
  const auto asked =
      ask_all(*items, **journal, asking(server->url()),
              {.concurrency = 3, .retries = 2, .deadline_s = 60, .first_wait_s = 0.01}, [](const RunnerProgress&) {});
  EXPECT_TRUE(asked.ok()) << asked.error().what;
  const auto outcome = outcome_of(
      *task, data, *items, *asked, [&](const std::string& hash) { return (*journal)->find(hash); }, "m", nullptr);
  EXPECT_TRUE(outcome.ok()) << outcome.error().what;
  return *outcome;
}

inline double score_of(const TaskOutcome& outcome, const std::string& metric, std::size_t system = 0) {
  const auto metrics = accuracy::metrics_named({metric}, {});
  EXPECT_TRUE(metrics.ok());
  const auto scores = accuracy::score_systems(outcome.examples, *metrics, {});
  EXPECT_TRUE(scores.ok()) << scores.error().what;
  return scores.ok() ? (*scores)[system].value : -1;
}

}  // namespace warpmark::evaluate::testing_support
