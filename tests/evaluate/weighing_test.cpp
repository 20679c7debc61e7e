// Log-likelihoods of choices and of letters, and P(yes) of a question about a picture, through a server's own answers.
#include "evaluate/run_task.h"

#include <cmath>

#include "base/files.h"
#include "evaluate/scripted_server.h"

namespace warpmark::evaluate {
namespace {

using testing_support::Folder;
using testing_support::outcome_from;
using testing_support::score_of;

accuracy::Record capital(const std::string& country, const std::vector<std::string>& choices,
                         const std::string& answer) {
  return {.id = country,
          .text = answer,
          .has_text = true,
          .fields = Json{{"country", country}, {"choices", choices}, {"answer", answer}}};
}

std::string weighed(const std::string& country, const std::string& choice, double value) {
  return dump_json(
             {{"when", {"capital of " + country}}, {"ends", " " + choice}, {"log_likelihood", value}, {"text", " and"}},
             -1) +
         "\n";
}

constexpr const char* kCapitals =
    "name: capitals\ndata: d\nask: choices\nprompt: \"What is the capital of {{country}}?\\nAnswer:\"\n"
    "metrics: [acc, acc_norm]\n";

TEST(Weighing, of_choices_takes_log_likelihoods_and_their_length) {
  const Folder folder;
  // As it is, France is wrong and Peru right; by length both are right: -4 / 5 against -3 / 2, and -2 / 4 against -9
  // / 9.
  const auto outcome =
      outcome_from(kCapitals, {capital("France", {"Paris", "Lö"}, "A"), capital("Peru", {"Lima", "Cajamarca"}, "0")},
                   weighed("France", "Paris", -4) + weighed("France", "Lö", -3) + weighed("Peru", "Lima", -2) +
                       weighed("Peru", "Cajamarca", -9),
                   folder.path());
  EXPECT_EQ(score_of(outcome, "acc"), 0.5);
  EXPECT_EQ(score_of(outcome, "acc_norm"), 1);
  const auto& fields = outcome.examples.answers[0][0].fields;
  EXPECT_NEAR(fields["log_likelihoods"][0].get<double>(), -4, 1e-12);
  EXPECT_NEAR(fields["log_likelihoods"][1].get<double>(), -3, 1e-12);
  EXPECT_EQ(fields["output"], "B");
  EXPECT_EQ(outcome.efficiency.latencies_s.size(), 4U);
}

TEST(Weighing, of_choices_in_another_order_is_read_back_in_the_original_one) {
  const Folder folder;
  std::string rules;
  for (const char* country : {"A", "B", "C", "D", "E", "F"}) {
    rules += weighed(country, "one", -1) + weighed(country, "two", -2) + weighed(country, "six", -3);
  }
  std::vector<accuracy::Record> data;
  for (const char* country : {"A", "B", "C", "D", "E", "F"})
    data.push_back(capital(country, {"two", "six", "one"}, "C"));
  const auto outcome = outcome_from(std::string(kCapitals) + "variants: [choice_order]\n", data, rules, folder.path());
  EXPECT_EQ(score_of(outcome, "acc"), 1);
  EXPECT_EQ(score_of(outcome, "acc", 1), 1);
}

TEST(Weighing, names_a_choice_that_was_not_answered_and_never_scores_it_as_right) {
  const Folder folder;
  const auto outcome = outcome_from(
      kCapitals, {capital("France", {"Paris", "Rome"}, "A"), capital("Peru", {"Lima", "Quito"}, "A")},
      weighed("France", "Paris", -1) + weighed("Peru", "Lima", -1) + weighed("Peru", "Quito", -2), folder.path());
  EXPECT_EQ(score_of(outcome, "acc"), 0.5);
  EXPECT_NE(outcome.examples.answers[0][0].problem.find("no scripted answer"), std::string::npos)
      << outcome.examples.answers[0][0].problem;
}

TEST(Weighing, of_letters_takes_completions_or_the_first_token_of_a_chat) {
  const Folder folder;
  const std::string yaml = "name: letters\ndata: d\nask: letters\nprompt: \"{{country}}\\n{{choices}}\\nAnswer:\"\n";
  const auto plain = outcome_from(
      yaml + "metrics: [mmlu]\n", {capital("France", {"Rome", "Paris"}, "B")},
      "{\"ends\": \" A\", \"log_likelihood\": -2}\n{\"ends\": \" B\", \"log_likelihood\": -1}\n", folder.path());
  EXPECT_EQ(score_of(plain, "mmlu"), 1);
  const auto chat = outcome_from(
      yaml + "generation: {chat: true}\nmetrics: [mmlu]\n",
      {capital("France", {"Rome", "Paris", "Bonn"}, "B"), capital("Peru", {"Lima", "Rome"}, "A")},
      // B is likelier than A by its two spellings together; of Peru nothing but a word without a letter.
      "{\"when\": \"France\", \"text\": \"A\", \"top_logprobs\": {\"A\": -1, \"B\": -1.2, \" B\": -1.2, \"The\": -3}}\n"
      "{\"when\": \"Peru\", \"text\": \"The\", \"top_logprobs\": {\"The\": -0.1, \" C\": -4}}\n",
      folder.path());
  EXPECT_EQ(score_of(chat, "mmlu"), 0.5);
  const auto& values = chat.examples.answers[0][0].fields["log_likelihoods"];
  EXPECT_NEAR(values[1].get<double>(), -1.2 + std::log(2), 1e-12);
  EXPECT_EQ(values[2].get<double>(), -3) << "no more than the least that is listed";
  EXPECT_NE(chat.examples.answers[0][1].problem.find("lists no letter"), std::string::npos);
}

constexpr const char* kQuestion =
    "name: pictures\ndata: d\nask: yes\nimages: \"{{image}}\"\n"
    "prompt: \"Does this figure show \\\"{{prompt}}\\\"? Please answer yes or no.\"\nmetrics: [vqascore]\n";

accuracy::Record picture(const std::string& prompt, const std::string& file) {
  return {.id = prompt, .text = prompt, .has_text = true, .fields = Json{{"prompt", prompt}, {"image", file}}};
}

TEST(Vqascore, is_the_mass_of_yes_on_the_pictures_that_were_shown) {
  const Folder folder;
  const std::string png = "\x89PNG\r\n\x1a\nred";
  ASSERT_TRUE(write_file(folder.path() / "red.png", png).ok());
  // The rules fit the bytes of this picture only: iVBORw0KGgpyZWQ= are its base64 digits.
  const std::string shown = "\"data:image/png;base64,iVBORw0KGgpyZWQ=\"";
  const auto outcome = outcome_from(
      kQuestion, {picture("red", "red.png"), picture("blue", "red.png"), picture("none", "http://127.0.0.1/x.png")},
      "{\"when\": [\"red\\\"?\", " + shown +
          "], \"text\": \"Yes\", \"top_logprobs\": {\"Yes\": -0.5, \" yes\": -2, \"No\": -2}}\n"
          "{\"when\": [\"blue\\\"?\", " +
          shown +
          "], \"text\": \"No\", \"top_logprobs\": {\"No\": -0.01, \"no\": -6}}\n"
          "{\"when\": [\"none\\\"?\", \"http://127.0.0.1/x.png\"], \"text\": \"Yes\"}\n",
      folder.path());
  const auto& answers = outcome.examples.answers[0];
  EXPECT_NEAR(score_of(outcome, "vqascore"), (std::exp(-0.5) + std::exp(-2)) / 3, 1e-12);
  EXPECT_EQ(answers[1].problem, "") << "no is an answer";
  EXPECT_EQ(answers[2].problem, "comes without log-probabilities of the first token");
}

TEST(Vqascore, refuses_what_is_no_picture) {
  const Folder folder;
  ASSERT_TRUE(write_file(folder.path() / "a.png", "text").ok());
  const auto task = parse_task(kQuestion, "task.yaml");
  ASSERT_TRUE(task.ok()) << task.error().what;
  const auto refused = [&](const accuracy::Record& record, const std::string& said) {
    const auto pictures = pictures_of(*task, {record}, folder.path());
    ASSERT_FALSE(pictures.ok());
    EXPECT_NE(pictures.error().what.find(said), std::string::npos) << pictures.error().what;
  };
  refused(picture("x", "a.png"), "is no picture");
  refused(picture("x", "none.png"), "none.png");
}

Reply reply_from(const Json& logprobs, const std::string& text) {
  const auto reply = reply_of({{"choices", {{{"text", text}, {"logprobs", logprobs}, {"finish_reason", "length"}}}}});
  EXPECT_TRUE(reply.ok());
  return *reply;
}

TEST(LogLikelihood, knows_marks_of_the_beginning_and_where_the_choice_begins) {
  Item item;
  item.request = Json{{"prompt", "Ä b cd"}};
  item.context_characters = 3;
  item.whole_characters = 6;
  const Json values{nullptr, -9, -8, -1, -2, -7};
  const Json tokens{"<s>", "Ä", " b", " c", "d", " e"};
  // Offsets with the mark counted, as some servers have them, and without any.
  for (const Json& offsets : {Json{0, 3, 4, 6, 8, 9}, Json()}) {
    Json logprobs{{"tokens", tokens}, {"token_logprobs", values}};
    if (!offsets.is_null()) logprobs["text_offset"] = offsets;
    const auto sum = log_likelihood_of(item, reply_from(logprobs, "Ä b cd e"));
    ASSERT_TRUE(sum.ok()) << sum.error().what;
    EXPECT_EQ(*sum, -3);
  }
  // A token across the border belongs to the choice, as to lm-evaluation-harness.
  const auto across = log_likelihood_of(
      item, reply_from({{"tokens", {"Ä", " b c", "d"}}, {"token_logprobs", {nullptr, -4, -5}}}, "Ä b cd"));
  ASSERT_TRUE(across.ok()) << across.error().what;
  EXPECT_EQ(*across, -9);
}

TEST(LogLikelihood, is_refused_where_the_server_does_not_tell_it) {
  Item item;
  item.request = Json{{"prompt", "a b"}};
  item.context_characters = 1;
  item.whole_characters = 3;
  const auto what = [&](const Reply& reply) {
    const auto sum = log_likelihood_of(item, reply);
    return sum.ok() ? std::string("a sum") : sum.error().what;
  };
  EXPECT_EQ(what(reply_from(nullptr, "a b")), "comes without log-probabilities of the prompt");
  EXPECT_EQ(what(reply_from({{"tokens", {" c"}}, {"token_logprobs", {-1}}}, " c")), "does not echo the prompt");
  EXPECT_EQ(what(reply_from({{"tokens", {"a", " b"}}, {"token_logprobs", {nullptr, nullptr}}}, "a b")),
            "comes without log-probabilities of the prompt");
  EXPECT_EQ(what(reply_from({{"tokens", {"a", " ", "b"}}, {"token_logprobs", {-1, nullptr, -2}}}, "a b")),
            "comes without the log-probability of a part of the choice");
}

}  // namespace
}  // namespace warpmark::evaluate
