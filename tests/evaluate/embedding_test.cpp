// Embeddings from a server, for the metrics that compare them.
#include "evaluate/runner.h"

#include "base/files.h"
#include "evaluate/scripted_server.h"

namespace warpmark::evaluate {
namespace {

using testing_support::asking;
using testing_support::Folder;
using testing_support::score_of;
using testing_support::scripted_server;

accuracy::Examples examples_of(const std::vector<std::pair<std::string, accuracy::Answer>>& pairs) {
  accuracy::Examples examples;
  examples.systems = {"a"};
  examples.answers.emplace_back();
  for (const auto& [reference, answer] : pairs) {
    examples.examples.push_back({.id = std::to_string(examples.size()), .references = {reference}});
    examples.answers[0].push_back(answer);
  }
  return examples;
}

TaskOutcome embedded(accuracy::Examples examples, const std::string& rules, const Folder& folder, bool works = true) {
  const auto server = scripted_server(rules);
  const auto journal = Journal::open(folder.path() / "embeddings.jsonl");
  EXPECT_TRUE(journal.ok());
  const Status done =
      embed_examples(examples, **journal, asking(server->url()),
                     {.identity = "m", .folders = {folder.path()}, .runner = {.retries = 0, .deadline_s = 60}},
                     [](const RunnerProgress&) {});
  EXPECT_EQ(done.ok(), works) << done.error().what;
  return {.examples = examples, .records = {}, .efficiency = {}};
}

TEST(Embeddings, of_texts_are_asked_once_and_what_is_missing_is_named) {
  const Folder folder;
  const auto outcome = embedded(
      examples_of(
          {{"one", {.text = "eins"}}, {"one", {.text = "one"}}, {"one", {.text = " "}}, {"one", {.text = "?"}}}),
      "{\"is\": \"one\", \"embedding\": [3, 4], \"times\": 1}\n{\"is\": \"eins\", \"embedding\": [4, 3]}\n"
      "{\"is\": \"?\", \"status\": 400}\n",
      folder);
  EXPECT_NEAR(score_of(outcome, "cosine"), (0.96 + 1 + 0 + 0) / 4, 1e-12);
  EXPECT_EQ(outcome.examples.answers[0][2].problem, "is empty");
  EXPECT_NE(outcome.examples.answers[0][3].problem.find("status 400"), std::string::npos);
}

TEST(Embeddings, of_tokens_and_of_pictures_make_bertscore_and_clipscore) {
  const Folder folder;
  const auto tokens = embedded(
      examples_of({{"a b", {.text = "b"}}}),
      "{\"is\": \"a b\", \"embedding\": [[1, 0], [0, 1]]}\n{\"is\": \"b\", \"embedding\": [[0, 1]]}\n", folder);
  EXPECT_NEAR(score_of(tokens, "bertscore"), 2 * 1 * 0.5 / 1.5, 1e-12) << "precision 1, recall 1/2";
  ASSERT_TRUE(write_file(folder.path() / "red.png", "\x89PNG\r\n\x1a\nred").ok());
  const auto pictures = embedded(examples_of({{"red", {.text = "", .fields = Json{{"image", "red.png"}}}}}),
                                 "{\"is\": \"red\", \"embedding\": [1, 0]}\n"
                                 "{\"when\": \"data:image/png;base64,iVBORw0KGgpyZWQ=\", \"embedding\": [0.6, 0.8]}\n",
                                 folder);
  EXPECT_NEAR(score_of(pictures, "clipscore"), 2.5 * 0.6, 1e-12);
}

TEST(Embeddings, need_every_reference) {
  const Folder folder;
  embedded(examples_of({{"one", {.text = "eins"}}}), "{\"is\": \"eins\", \"embedding\": [1]}\n", folder, false);
}

}  // namespace
}  // namespace warpmark::evaluate
