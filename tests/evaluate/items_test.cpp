#include "evaluate/items.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "evaluate/runner.h"

namespace warpmark::evaluate {
namespace {

Task task_of(const std::string& yaml) {
  const auto task = parse_task(yaml, "task.yaml");
  EXPECT_TRUE(task.ok()) << task.error().what;
  return task.ok() ? *task : Task{};
}

accuracy::Record choice_record() {
  return {.id = "q",
          .text = "B",
          .has_text = true,
          .fields = Json{{"question", "Which one is the largest number?"}, {"choices", {"1", "30", "2"}}}};
}

TEST(Task, is_read_with_all_its_parts_and_refuses_unknown_ones) {
  const Task task = task_of(
      "name: t\ndata: {file: d.csv, format: mmlu, limit: 5}\nprompt: p\nfew_shot: {file: dev.csv, n: 5}\n"
      "generation: {max_tokens: 8, temperature: 0.5, stop: ['\\n'], samples: 3, logprobs: true, chat: false}\n"
      "extract: letter\nmetrics: [mmlu]\nvariants: [typos, choice_order]\n");
  EXPECT_EQ(task.data.limit, 5);
  EXPECT_EQ(task.shots, 5);
  EXPECT_EQ(task.generation.samples, 3);
  EXPECT_FALSE(task.generation.chat);
  EXPECT_EQ(task.extraction, Extraction::letter);
  for (const char* wrong : {"name: t\n", "[]", "name: t\ndata: d\nprompt: p\nmetrics: [x]\nvariant: [typos]\n",
                            "name: t\ndata: d\nprompt: p\nmetrics: [x]\nvariants: [typo]\n",
                            "name: t\ndata: d\nprompt: p\nmetrics: [x]\nextract: regex\n",
                            "name: t\ndata: d\nprompt: p\nmetrics: [x]\npattern: '('\nextract: regex\n"}) {
    EXPECT_FALSE(parse_task(wrong, "task.yaml").ok()) << wrong;
  }
}

TEST(Items, fill_templates_with_shots_and_choices) {
  const Task task = task_of(
      "name: t\ndata: d\nprompt: \"{{question}}\\n{{choices}}\\nAnswer:\"\nfew_shot: {file: d, n: 1}\nmetrics: "
      "[mmlu]\n");
  const auto items = items_of(task, {choice_record()}, {choice_record()}, "m", 1);
  ASSERT_TRUE(items.ok());
  EXPECT_EQ((*items)[0].request["messages"][0]["content"].get<std::string>(),
            "Which one is the largest number?\nA. 1\nB. 30\nC. 2\nAnswer: B\n\n"
            "Which one is the largest number?\nA. 1\nB. 30\nC. 2\nAnswer:");
}

TEST(Items, have_a_hash_for_each_sample_model_and_variant) {
  const Task task = task_of(
      "name: t\ndata: d\nprompt: '{{question}} {{choices}}'\ngeneration: {samples: 3, temperature: 1}\nmetrics: "
      "[mmlu]\n"
      "variants: [typos, upper_case, choice_order]\n");
  std::set<std::string> hashes;
  for (const char* model : {"a", "b"}) {
    const auto items = items_of(task, {choice_record()}, {}, model, 1);
    ASSERT_TRUE(items.ok());
    ASSERT_EQ(items->size(), 12U);
    for (const auto& item : *items) hashes.insert(item.hash);
  }
  EXPECT_GE(hashes.size(), 18U);  // typos and orders may leave a short question as it was
}

TEST(Items, of_another_choice_order_are_read_back_in_the_original_one) {
  const Task task = task_of("name: t\ndata: d\nprompt: '{{choices}}'\nextract: letter\nmetrics: [mmlu]\n");
  EXPECT_EQ(extracted(task, "The answer is A.", 3, {1, 2, 0}), "B");
  EXPECT_EQ(extracted(task, "C", 3, {1, 2, 0}), "A");
  EXPECT_EQ(extracted(task, "none of them", 3, {}), "");
}

TEST(Extraction, takes_code_lines_and_patterns) {
  Task task = task_of("name: t\ndata: d\nprompt: p\nextract: code\nmetrics: [mmlu]\n");
  EXPECT_EQ(extracted(task, "Sure:\n```python\nx = 1\n```\nDone", 0, {}), "x = 1\n");
  EXPECT_EQ(extracted(task, "    return 1\n", 0, {}), "    return 1\n");
  task = task_of("name: t\ndata: d\nprompt: p\npattern: 'is (\\d+)'\nextract: regex\nmetrics: [mmlu]\n");
  EXPECT_EQ(extracted(task, "it is 3, no, it is 45.", 0, {}), "45");
  task = task_of("name: t\ndata: d\nprompt: p\npattern: 'x*'\nextract: regex\nmetrics: [mmlu]\n");
  EXPECT_EQ(extracted(task, "axxb", 0, {}), "");
  task = task_of("name: t\ndata: d\nprompt: p\npattern: 'Answer:'\nextract: after\nmetrics: [mmlu]\n");
  EXPECT_EQ(extracted(task, "Thinking. Answer: 5 \n", 0, {}), "5");
}

TEST(Journal, keeps_answers_and_drops_a_line_that_was_cut_off) {
  const auto path = std::filesystem::temp_directory_path() / ("warpmark-journal-" + std::to_string(getpid()));
  std::filesystem::remove(path);
  {
    const auto journal = Journal::open(path);
    ASSERT_TRUE(journal.ok()) << journal.error().what;
    ASSERT_TRUE((*journal)->append("h1", {.text = "one", .output_tokens = 3}).ok());
    ASSERT_TRUE((*journal)->append("h2", {.text = "two\xFF"}).ok());
  }
  auto text = *read_file(path);
  ASSERT_TRUE(write_file(path, text + "{\"hash\":\"h3\",\"te").ok());
  {
    const auto journal = Journal::open(path);
    ASSERT_TRUE(journal.ok()) << journal.error().what;
    EXPECT_EQ((*journal)->size(), 2U);
    ASSERT_NE((*journal)->find("h1"), nullptr);
    EXPECT_EQ((*journal)->find("h1")->text, "one");
    EXPECT_EQ((*journal)->find("h1")->output_tokens, 3);
    EXPECT_EQ((*journal)->find("h3"), nullptr);
    ASSERT_TRUE((*journal)->append("h3", {.text = "three"}).ok());
  }
  EXPECT_EQ((*Journal::open(path))->size(), 3U);
  ASSERT_TRUE(write_file(path, "something else\n").ok());
  EXPECT_FALSE(Journal::open(path).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace warpmark::evaluate
