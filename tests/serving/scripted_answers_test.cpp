// Rules of the reference server's answers.
#include "serving/reference/scripted_answers.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace warpmark::serving {
namespace {

Json said_to(std::vector<ScriptedAnswer>& answers, const std::string& body, int status = 200) {
  const auto bytes = scripted_reply(answers, body).bytes;
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 " + std::to_string(status))) << bytes;
  const auto json = parse_json(bytes.substr(bytes.find("\r\n\r\n") + 4), "answer");
  EXPECT_TRUE(json.ok()) << bytes;
  return json.ok() ? *json : Json();
}

TEST(ScriptedAnswers, are_given_by_the_first_rule_that_fits_as_often_as_it_says) {
  auto answers = *parse_scripted_answers(
      "{\"when\": [\"two\", \"plus\"], \"status\": 429, \"times\": 1, \"retry_after\": 0}\n"
      "{\"when\": \"two\", \"text\": \"4\"}\n{\"text\": \"who knows\", \"finish_reason\": \"length\"}\n",
      "rules");
  const std::string asked = R"({"messages": [{"role": "user", "content": "two plus two"}]})";
  said_to(answers, asked, 429);
  EXPECT_EQ(said_to(answers, asked)["choices"][0]["message"]["content"], "4");
  const Json other = said_to(answers, R"({"prompt": "what?"})")["choices"][0];
  EXPECT_EQ(other["text"], "who knows");
  EXPECT_EQ(other["finish_reason"], "length");
}

TEST(ScriptedAnswers, weigh_the_end_of_an_echoed_prompt) {
  auto answers = *parse_scripted_answers(R"({"ends": " New York", "log_likelihood": -3, "text": " is"})", "rules");
  const Json choice =
      said_to(answers, R"({"prompt": "Größe: New York", "echo": true, "logprobs": 1, "max_tokens": 1})")["choices"][0];
  EXPECT_EQ(choice["text"], "Größe: New York is");
  EXPECT_EQ(choice["logprobs"]["tokens"], (Json{"Größe:", " New", " York", " is"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], (Json{nullptr, -1.5, -1.5, -0.5}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], (Json{0, 6, 10, 15}));
  said_to(answers, R"({"prompt": "Größe: Bonn", "echo": true, "logprobs": 1})", 400);
}

TEST(ScriptedAnswers, embed_each_input_and_end_connections) {
  auto answers = *parse_scripted_answers(
      "{\"is\": \"a\", \"embedding\": [1, 0]}\n{\"is\": \"b\", \"embedding\": [[0, 1], [1, 1]]}\n"
      "{\"when\": \"gone\", \"close\": true}\n{\"when\": \"bad\", \"body_bytes\": [255, 123]}\n",
      "rules");
  const Json data = said_to(answers, R"({"input": ["a", "b"]})")["data"];
  EXPECT_EQ(data[0]["embedding"], (Json{1.0, 0.0}));
  EXPECT_EQ(data[1]["embedding"], (Json{{0.0, 1.0}, {1.0, 1.0}}));
  EXPECT_EQ(scripted_reply(answers, R"({"prompt": "gone"})").bytes, "");
  EXPECT_TRUE(scripted_reply(answers, R"({"prompt": "bad"})").bytes.ends_with("\r\n\r\n\xFF{"));
}

TEST(ScriptedAnswers, say_what_is_no_rule) {
  const auto refused = [](const std::string& rules, const std::string& said) {
    const auto answers = parse_scripted_answers(rules, "rules");
    ASSERT_FALSE(answers.ok()) << rules;
    EXPECT_NE((answers.error().what + answers.error().hint).find(said), std::string::npos) << answers.error().what;
  };
  refused("{\"text\": 4}\n", "rules line 1: 'text' must be a text");
  refused("{\"text\": \"x\"}\n\n{\"wen\": \"x\"}\n", "did you mean 'when'?");
  refused("{\"status\": 7}\n", "'status' must be 100 to 599");
  refused("{\"embedding\": [\"x\"]}\n", "'embedding' must be");
  refused("[1]\n", "is no rule");
  refused("", "has no rules");
}

}  // namespace
}  // namespace warpmark::serving
