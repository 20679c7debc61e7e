// Data sets and traces as their makers write them.
#include "serving/traffic/dataset.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"

namespace warpmark::serving {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-data-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / name, text).ok());
    return folder_ / name;
  }
  std::filesystem::path folder_;
};
using Dataset = Files;
using TraceFile = Files;

TEST_F(Dataset, of_sharegpt_gives_questions_and_answers) {
  const auto rows = read_dataset(file("s.json", R"([
    {"id":"1","conversations":[{"from":"system","value":"x"},{"from":"human","value":"q1"},
     {"from":"gpt","value":"a1"},{"from":"human","value":"q2"},{"from":"gpt","value":"a2"}]},
    {"id":"2","conversations":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]},
    {"id":"3","conversations":[{"from":"gpt","value":"alone"}]}, {"id":"4"}])"));
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].turns, (std::vector<std::string>{"q1", "a1", "q2", "a2"}));
  ASSERT_EQ((*rows)[0].messages.size(), 2U) << "what the system says is sent, too";
  EXPECT_EQ((*rows)[0].messages[0].role, "system");
  EXPECT_EQ((*rows)[0].messages[0].text, "x");
  EXPECT_EQ((*rows)[1].messages[0].text, "q");
}

TEST_F(Dataset, of_lines_takes_prompts_messages_and_whole_bodies) {
  const auto rows = read_dataset(
      file("p.jsonl",
           "{\"prompt\":\"hi\",\"output_tokens\":7}\n\n{\"messages\":[{\"role\":\"user\",\"content\":\"you\"}]}\n"
           "{\"model\":\"m\",\"messages\":[],\"max_tokens\":5}\n"));
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[0].output_tokens, 7);
  EXPECT_EQ((*rows)[1].messages[0].text, "you");
  EXPECT_EQ((*rows)[2].body, R"({"model":"m","messages":[],"max_tokens":5})");
  EXPECT_EQ((*rows)[2].output_tokens, 5);
}

TEST_F(Dataset, of_text_and_csv_gives_a_prompt_a_line_and_row) {
  EXPECT_EQ(read_dataset(file("p.txt", "one\n\n two \r\n"))->size(), 2U);
  const auto rows = read_dataset(file("p.csv", "id,question\n1,\"a, b\"\n2,c\n"), {.column = "question"});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)[0].messages[0].text, "a, b");
}

TEST_F(Dataset, that_cannot_be_read_says_where) {
  const auto expect = [](const auto& rows, const char* text) {
    ASSERT_FALSE(rows.ok());
    EXPECT_NE((rows.error().what + rows.error().hint).find(text), std::string::npos) << rows.error().what;
  };
  expect(read_dataset(file("bad.jsonl", "{\"prompt\":\"a\"}\n{\"x\":1}\n")), "line 2");
  expect(read_dataset(file("bad2.jsonl", "{\"prompt\":\"a\"}\n{\n")), "line 2");
  expect(read_dataset(file("p.csv", "id,question\n1,a\n")), "question");
  expect(read_dataset(file("empty.txt", "\n\n")), "no prompt");
  expect(read_dataset(file("o.json", "{}")), "no list");
  expect(read_dataset(folder_ / "none.txt"), "none.txt");
}

TEST_F(TraceFile, of_mooncake_burstgpt_and_azure_is_told_by_its_content) {
  const auto mooncake =
      read_trace(file("m",
                      "{\"timestamp\":1000,\"input_length\":10,\"output_length\":2,\"hash_ids\":[4,5]}\n"
                      "{\"timestamp\":500,\"input_length\":7,\"output_length\":3}\n"));
  ASSERT_TRUE(mooncake.ok()) << mooncake.error().what;
  EXPECT_EQ(mooncake->format, "Mooncake");
  EXPECT_EQ(mooncake->rows[0].input_tokens, 7);
  EXPECT_EQ(mooncake->rows[0].at_s, 0);
  EXPECT_NEAR(mooncake->rows[1].at_s, 0.5, 1e-9);
  EXPECT_EQ(mooncake->rows[1].blocks, (std::vector<std::int64_t>{4, 5}));

  const auto burst = read_trace(
      file("b.csv",
           "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
           "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,API log\n118,GPT-4,417,276,693,API log\n"));
  ASSERT_TRUE(burst.ok()) << burst.error().what;
  EXPECT_EQ(burst->format, "BurstGPT");
  EXPECT_EQ(burst->rows.size(), 2U);
  EXPECT_EQ(burst->left_out, 1) << "no answer is a failure there";
  EXPECT_EQ(burst->rows[1].at_s, 113);

  const auto azure = read_trace(file("a.csv",
                                     "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 "
                                     "23:59:59.5000000,374,44\n2023-11-17 00:00:01.2500000,396,109\n"));
  ASSERT_TRUE(azure.ok()) << azure.error().what;
  EXPECT_EQ(azure->format, "Azure");
  EXPECT_NEAR(azure->rows[1].at_s, 1.75, 1e-6);
}

TEST_F(TraceFile, that_is_none_says_what_is_known) {
  const auto unknown = read_trace(file("x.csv", "a,b\n1,2\n"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().hint.find("Mooncake"), std::string::npos);
  const auto broken = read_trace(file("y.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n"));
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().what.find("row 2"), std::string::npos);
  EXPECT_FALSE(read_trace(file("z", "{\"timestamp\":1}\n")).ok());
}

TEST_F(Dataset, of_json_lines_has_the_limits_of_its_rows) {
  const auto rows = read_dataset(file("r.jsonl", R"({"prompt":"a","max_tokens":7}
{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"max_completion_tokens":8}
{"prompt":"b","output_tokens":9}
{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"max_tokens":5}
)"));
  ASSERT_TRUE(rows.ok()) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0].output_tokens, 7);
  EXPECT_EQ((*rows)[1].output_tokens, 8);
  EXPECT_EQ((*rows)[1].messages[0].role, "system");
  EXPECT_EQ((*rows)[2].output_tokens, 9);
  EXPECT_NE((*rows)[3].body.find("\"type\":\"text\""), std::string::npos) << "parts are sent as they are";
}

}  // namespace
}  // namespace warpmark::serving
