// `warpmark eval` as a person uses it.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <thread>

#include "apps/cli_fixture.h"
#include "serving/reference/reference_server.h"
#include "support/schema_check.h"

extern char** environ;

namespace warpmark::apps {
namespace {

using testing_support::schema_errors;

std::string lines_of(const std::string& begin, int count, const std::string& end) {
  std::string text;
  for (int i = 0; i < count; ++i) text += begin + std::to_string(i) + end + "\n";
  return text;
}

TEST_F(Cli, eval_score_prints_what_sacrebleu_prints_and_stores_it) {
  write("ref.txt", "The cat is sitting on the mat.\n");
  write("out.txt", "The cat sat on the mat.\n");
  const auto done = warpmark({"eval", "score", "bleu,chrf", "--ref", path("ref.txt"), "--predictions", path("out.txt"),
                              "--json", path("s.json"), "--dataset", "cats", "--split", "test", "--model", "m"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("42.3837"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"), std::string::npos) << done.out;
  const Json scores = json("s.json");
  EXPECT_EQ(schema_errors(scores, "scores.schema.json"), "");
  EXPECT_NEAR(scores["scores"][0]["value"].get<double>(), 42.3836562828, 1e-9);
  EXPECT_NEAR(scores["scores"][1]["value"].get<double>(), 49.648517, 1e-6);
  EXPECT_EQ(scores["scores"][0]["dataset"]["split"], "test");
  EXPECT_FALSE(scores["scores"][0].contains("ci_low")) << "one example has no interval";
  const auto stored = warpmark({"report", "last"});
  EXPECT_EQ(stored.exit_code, 0) << stored.err;
  EXPECT_NE(stored.out.find("bleu"), std::string::npos) << stored.out;
  const auto trend = warpmark({"history", "series", "--limit", "3"});
  EXPECT_EQ(trend.exit_code, 0) << trend.err;
}

TEST_F(Cli, eval_score_counts_what_is_missing_or_damaged_as_wrong) {
  write("ref.jsonl",
        "{\"id\":\"a\",\"answer\":\"x\"}\n{\"id\":\"b\",\"answer\":\"\"}\n{\"id\":\"c\",\"answer\":\"y\"}\n{\"id\":"
        "\"d\",\"answer\":\"z\"}\n");
  write("out.jsonl",
        "{\"id\":\"c\",\"output\":\"y\"}\n{\"id\":\"a\",\"output\":\"x\xFF\"}\n{\"id\":\"d\",\"output\":\"z\"}\n");
  const auto done = warpmark({"eval", "score", "exact_match", "--ref", path("ref.jsonl"), "--predictions",
                              path("out.jsonl"), "--json", path("s.json"), "--no-store"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json score = json("s.json")["scores"][0];
  EXPECT_EQ(score["value"].get<double>(), 0.5) << "neither the missing b, whose gold answer is none, nor the damaged a";
  EXPECT_EQ(score["unanswered"].get<int>(), 2);
  EXPECT_NE(done.out.find("is no UTF-8 (1)"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("there is no answer (1)"), std::string::npos) << done.out;
}

TEST_F(Cli, eval_score_says_what_does_not_fit) {
  write("ref.txt", "a\nb\n");
  write("one.txt", "a\n");
  const auto refused = [&](std::vector<std::string> words, const std::string& said) {
    const auto done = warpmark(std::move(words));
    EXPECT_EQ(done.exit_code, 2) << done.out;
    EXPECT_NE(done.err.find(said), std::string::npos) << done.err;
  };
  refused({"eval"}, "eval what?");
  refused({"eval", "scor"}, "did you mean 'eval score'?");
  refused({"eval", "score", "blue", "--ref", path("r"), "--predictions", path("r")}, "did you mean 'bleu'?");
  refused({"eval", "score", "bleu", "--ref", path("ref.txt"), "--predictions", path("one.txt")},
          "has 1 answers, the reference 2 examples");
  refused({"eval", "score", "bleu", "--ref", path("none.txt"), "--predictions", path("one.txt")}, "cannot read");
  const auto ref = path("ref.txt");
  refused({"eval", "score", "auc", "--ref", ref, "--predictions", ref}, "there are no probabilities");
  refused({"eval", "score", "bleu", "--tokenize", "13b", "--ref", ref, "--predictions", ref}, "no tokenizer '13b'");
  refused({"eval", "score", "bleu", "--margin", "1", "--ref", path("ref.txt"), "--predictions", path("ref.txt")},
          "--margin is for compare");
  write("bad.jsonl", "{\"id\":1,\"output\":\n");
  refused({"eval", "score", "bleu", "--ref", path("ref.txt"), "--predictions", path("bad.jsonl")}, "bad.jsonl line 1");
}

TEST_F(Cli, eval_compare_tells_by_its_exit_code) {
  write("ref.jsonl", lines_of("{\"id\":\"q", 200, "\",\"label\":\"A\",\"subject\":\"s\"}"));
  std::string good, bad;
  for (int i = 0; i < 200; ++i) {
    good += "{\"id\":\"q" + std::to_string(i) + "\",\"output\":\"" + (i % 10 == 0 ? "B" : "A") + "\"}\n";
    bad += "{\"id\":\"q" + std::to_string(i) + "\",\"output\":\"" + (i % 4 == 0 ? "B" : "A") + "\"}\n";
  }
  write("good.jsonl", good);
  write("bad.jsonl", bad);
  const std::vector<std::string> rest{"--ref", path("ref.jsonl"), "--metric", "accuracy", "--by", "subject"};
  const auto worse = warpmark(with({"eval", "compare", path("good.jsonl"), path("bad.jsonl"), "--json", path("c.json"),
                                    "--again", path("good.jsonl")},
                                   rest));
  EXPECT_EQ(worse.exit_code, 4) << worse.out << worse.err;
  EXPECT_NE(worse.out.find("40 right became wrong: q4, "), std::string::npos) << worse.out;
  EXPECT_NE(worse.out.find("noise floor of accuracy: "), std::string::npos) << worse.out;
  const Json document = json("c.json");
  EXPECT_EQ(schema_errors(document, "eval-compare.schema.json"), "");
  EXPECT_NEAR(document["comparisons"][0]["difference"].get<double>(), -0.15, 1e-12);
  EXPECT_EQ(document["comparisons"][0]["broken"].size(), 40U);
  EXPECT_EQ(document["comparisons"][0]["fixed"].size(), 10U);
  EXPECT_EQ(warpmark(with({"eval", "compare", path("bad.jsonl"), path("good.jsonl")}, rest)).exit_code, 0);
  EXPECT_EQ(
      warpmark(with({"eval", "compare", path("good.jsonl"), path("good.jsonl"), "--margin", "0.03"}, rest)).exit_code,
      0);
  EXPECT_EQ(
      warpmark(with({"eval", "compare", path("good.jsonl"), path("good.jsonl"), "--margin", "0.01"}, rest)).exit_code,
      3)
      << "200 equal answers leave a loss of 0.02 possible";
  EXPECT_EQ(
      warpmark(with({"eval", "compare", path("good.jsonl"), path("bad.jsonl"), "--margin", "0.15"}, rest)).exit_code,
      3);
  EXPECT_EQ(
      warpmark(with({"eval", "compare", path("good.jsonl"), path("bad.jsonl"), "--margin", "0.3"}, rest)).exit_code, 0);
  const auto unknown = warpmark({"eval", "compare", path("good.jsonl"), path("bad.jsonl"), "--ref", path("ref.jsonl"),
                                 "--metric", "accuracy", "--by", "skill"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("no example has a field 'skill'"), std::string::npos) << unknown.err;
}

/// A program that adds, and that misbehaves for some questions.
const std::string kScripts = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/accuracy/";

constexpr const char* kTask = R"(schema: warpmark.task/1
name: adding
data: {file: adding.jsonl, split: test}
prompt: "What is {{a}} and {{b}}?"
metrics: [numeric]
cost: {per_million_input: 1000000, per_million_output: 0}
)";

class EvalRun : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    std::filesystem::copy_file(kScripts + "adder.py", path("adder.py"));
    write("task.yaml", kTask);
    std::string data;
    for (int i = 0; i < 20; ++i) {
      data += "{\"id\":\"n" + std::to_string(i) + "\",\"a\":" + std::to_string(i) +
              ",\"b\":2,\"answer\":" + std::to_string(i + 2) + "}\n";
    }
    write("adding.jsonl", data);
  }
  std::vector<std::string> command(const std::string& environment = "") {
    return {"eval",
            "run",
            path("task.yaml"),
            "--command",
            environment + " python3 '" + path("adder.py") + "'",
            "--run-dir",
            path("run"),
            "--json",
            path("s.json"),
            "--retries",
            "1"};
  }
};

TEST_F(EvalRun, scores_a_commands_answers_and_names_what_went_wrong) {
  const auto done = warpmark(command());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json score = json("s.json")["scores"][0];
  EXPECT_EQ(schema_errors(json("s.json"), "scores.schema.json"), "");
  EXPECT_EQ(score["value"].get<double>(), 0.8) << "a right answer that was cut off counts" << done.out;
  EXPECT_EQ(score["unanswered"].get<int>(), 4) << done.out;
  const Json efficiency = json("s.json")["efficiency"];
  EXPECT_EQ(efficiency["prompt_tokens"].get<int>(), 150) << efficiency;
  EXPECT_EQ(efficiency["answers_without_token_counts"].get<int>(), 2) << efficiency;
  for (const char* said :
       {"is empty (1)", "the command ended before it answered (1)", "not valid JSON", "cost 150.0000 USD"}) {
    EXPECT_NE(unwrapped(done.out).find(said), std::string::npos) << said << "\n" << done.out;
  }
  const auto again =
      warpmark({"eval", "compare", path("run/answers.jsonl"), path("run/answers.jsonl"), "--metric", "numeric"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(EvalRun, asks_nothing_twice_and_goes_on_after_it_was_killed) {
  // The command decides what is known, so each run's log is told by the environment; programs of the killed run may
  // still write theirs.
  setenv("ADDER_LOG", path("asked.log").c_str(), 1);
  std::vector<std::string> words = command("ADDER_SLOW=1");
  words.insert(words.begin(), kExecutable);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  ASSERT_EQ(posix_spawn(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ), 0);
  const auto answered = [&] {
    const auto text = read_file(path("run/journal.jsonl"));
    return text.ok() ? std::count(text->begin(), text->end(), '\n') : 0;
  };
  for (int i = 0; i < 600 && answered() < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  const auto kept = answered();
  ASSERT_GE(kept, 4);
  const std::string second_log = path("asked_again.log");
  setenv("ADDER_LOG", second_log.c_str(), 1);
  const auto done = warpmark(command("ADDER_SLOW=1"));
  unsetenv("ADDER_LOG");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(json("s.json")["scores"][0]["value"].get<double>(), 0.8);
  const auto asked = read_file(second_log);
  ASSERT_TRUE(asked.ok());
  // 20 items, of which `kept` are known; the command that ends is asked twice.
  EXPECT_LE(std::count(asked->begin(), asked->end(), '\n'), 20 - kept + 1) << *asked;
}

/// The adding server as a process of its own.
class AddingServer {
 public:
  explicit AddingServer(const std::string& environment = "") {
    const std::string command =
        "exec env " + environment + " python3 '" + kScripts + "adding_server.py' & echo $!; wait";
    stream_ = popen(command.c_str(), "r");
    EXPECT_EQ(stream_ == nullptr ? 0 : fscanf(stream_, "%d %d", &pid_, &port_), 2);
  }
  ~AddingServer() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (stream_ != nullptr) pclose(stream_);
  }
  AddingServer(const AddingServer&) = delete;
  AddingServer& operator=(const AddingServer&) = delete;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

 private:
  FILE* stream_ = nullptr;
  int pid_ = 0, port_ = 0;
};

TEST_F(EvalRun, keeps_what_a_server_said_before_it_died_and_goes_on_with_its_successor) {
  std::vector<std::string> words{"eval",      "run",    path("task.yaml"), "--model",   "adder", "--run-dir",
                                 path("run"), "--json", path("s.json"),    "--retries", "0",     "--endpoint"};
  int port = 0;
  {
    const AddingServer server("ADDER_DIES_AFTER=12");
    port = server.port();
    words.push_back(server.url());
    // So many may fail in turn, twice as many as are in flight, that what is in flight when it dies is no outage.
    words.insert(words.end(), {"--concurrency", "8"});
    const auto died = warpmark(words);
    ASSERT_EQ(died.exit_code, 0) << died.err;
  }
  const Json first = json("s.json")["scores"][0];
  EXPECT_GE(first["unanswered"].get<int>(), 8) << "nothing that was not said counts as right";
  EXPECT_LE(first["value"].get<double>(), 0.6);
  const AddingServer successor("ADDER_PORT=" + std::to_string(port));
  words[10] = "2";
  const auto done = warpmark(words);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(json("s.json")["scores"][0]["value"].get<double>(), 0.75) << done.out;
  EXPECT_EQ(json("s.json")["scores"][0]["unanswered"].get<int>(), 5);
}

TEST_F(EvalRun, asks_a_server_again_where_that_may_help) {
  auto server = std::make_unique<AddingServer>();
  const std::string url = server->url();
  const auto done = warpmark({"eval", "run", path("task.yaml"), "--endpoint", url, "--model", "adder", "--run-dir",
                              path("run"), "--json", path("s.json"), "--retries", "2", "--concurrency", "3"});
  server.reset();
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json score = json("s.json")["scores"][0];
  EXPECT_EQ(score["value"].get<double>(), 0.75) << done.out;
  EXPECT_EQ(score["unanswered"].get<int>(), 5) << done.out;
  for (const char* said :
       {"status 500: broken (1)", "status 400: bad request (1)", "not valid JSON", "no UTF-8", "is empty (1)"}) {
    EXPECT_NE(unwrapped(done.out).find(said), std::string::npos) << said << "\n" << done.out;
  }
  const auto gone = warpmark({"eval", "run", path("task.yaml"), "--endpoint", url, "--model", "other", "--run-dir",
                              path("run2"), "--retries", "0"});
  EXPECT_EQ(gone.exit_code, 5) << gone.out;
}

TEST_F(Cli, eval_run_weighs_choices_by_a_server_and_eval_score_embeds) {
  serving::ReferenceServerOptions options;
  options.script.answers = *serving::parse_scripted_answers(
      "{\"ends\": \" Paris\", \"log_likelihood\": -1}\n{\"ends\": \" Rome\", \"log_likelihood\": -2}\n"
      "{\"is\": \"Paris\", \"embedding\": [3, 4]}\n{\"is\": \"Rome\", \"embedding\": [4, 3]}\n",
      "rules");
  const auto server = serving::ReferenceServer::start(options);
  ASSERT_TRUE(server.ok()) << server.error().what;
  const std::string url = (*server)->url() + "/v1";
  write("task.yaml", "name: capitals\ndata: capitals.jsonl\nask: choices\nprompt: '{{question}}'\nmetrics: [acc]\n");
  write("capitals.jsonl",
        "{\"id\":1,\"question\":\"France?\",\"choices\":[\"Rome\",\"Paris\"],\"answer\":1}\n"
        "{\"id\":2,\"question\":\"Italy?\",\"choices\":[\"Rome\",\"Paris\"],\"answer\":0}\n");
  const auto done = warpmark({"eval", "run", path("task.yaml"), "--endpoint", url, "--model", "m", "--run-dir",
                              path("run"), "--json", path("s.json")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json score = json("s.json")["scores"][0];
  EXPECT_EQ(score["value"].get<double>(), 0.5) << done.out;
  EXPECT_NE(score["signature"].get<std::string>().find("norm:none|prompt:"), std::string::npos) << score["signature"];
  write("ref.txt", "Paris\nRome\n");
  write("out.txt", "Rome\nRome\n");
  const std::vector<std::string> embed{"eval",          "score",         "cosine",       "--ref", path("ref.txt"),
                                       "--predictions", path("out.txt"), "--embeddings", url,     "--run-dir",
                                       path("run"),     "--json",        path("e.json")};
  const auto embedded = warpmark(embed);
  ASSERT_EQ(embedded.exit_code, 0) << embedded.err;
  EXPECT_NEAR(json("e.json")["scores"][0]["value"].get<double>(), 0.98, 1e-12) << embedded.out;
  const auto before = (*server)->counts().requests.load();
  EXPECT_EQ(warpmark(embed).exit_code, 0);
  EXPECT_EQ((*server)->counts().requests.load(), before) << "all of it was known";
}

TEST_F(Cli, eval_pareto_marks_what_nothing_beats) {
  const auto scores = [&](const std::string& name, double value) {
    write(name, "{\"schema\":\"warpmark.scores/1\",\"scores\":[{\"metric\":\"accuracy\",\"value\":" +
                    std::to_string(value) + ",\"better\":\"higher\"}]}");
    return path(name);
  };
  const auto done = warpmark({"eval", "pareto", scores("slow.json", 0.9) + "=100", scores("fast.json", 0.88) + "=200",
                              scores("bad.json", 0.8) + "=150", "--metric", "accuracy", "--plot", path("p.html")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("best"), std::string::npos);
  const auto bad =
      done.out.substr(done.out.find("bad"), done.out.find('\n', done.out.find("bad")) - done.out.find("bad"));
  EXPECT_EQ(bad.find("best"), std::string::npos) << done.out;
  EXPECT_NE((*read_file(path("p.html"))).find("<svg"), std::string::npos);
  EXPECT_EQ(warpmark({"eval", "pareto", "a.json", "b.json"}).exit_code, 2);
}

TEST_F(Cli, compare_takes_answers_as_a_gate) {
  std::string good, bad;
  for (int i = 0; i < 200; ++i) {
    const std::string begin = "{\"id\":" + std::to_string(i) + ",\"references\":[\"A\"],\"output\":\"";
    good += begin + "A\"}\n";
    bad += begin + (i % 5 == 0 ? "B" : "A") + "\"}\n";
  }
  write("good.jsonl", good);
  write("bad.jsonl", bad);
  const auto gated = [&](const std::string& answers, const std::string& gate) {
    return warpmark({"compare", "--rounds", "4", "--effect", "50%", "--no-store", "--eval", gate, "--eval-answers",
                     answers, "--", "true", "--", "true"});
  };
  const auto worse = gated(path("good.jsonl") + "," + path("bad.jsonl"), "accuracy=0.01");
  EXPECT_EQ(worse.exit_code, 4) << worse.out << worse.err;
  EXPECT_NE(worse.err.find("accuracy: accuracy 0.8000, was 1.0000"), std::string::npos) << worse.err;
  EXPECT_NE(gated(path("good.jsonl") + "," + path("good.jsonl"), "accuracy=0.01").exit_code, 4);
  EXPECT_EQ(gated(path("good.jsonl"), "accuracy=0.01").exit_code, 2);
  EXPECT_EQ(gated(path("good.jsonl") + "," + path("bad.jsonl"), "accuracy").exit_code, 2);
}

TEST_F(EvalRun, is_a_gate_of_compare_and_check) {
  std::filesystem::current_path(path("."));  // where the gate keeps its answers
  std::string data;
  for (int i = 0; i < 60; ++i) {
    data += "{\"id\":\"n" + std::to_string(i) + "\",\"a\":" + std::to_string(i + 10) +
            ",\"b\":2,\"answer\":" + std::to_string(i + 12) + "}\n";
  }
  write("adding.jsonl", data);
  write("wrong.py", "import sys\nfor line in sys.stdin: print('{\"text\": \"12\"}', flush=True)\n");
  const std::string right = "python3 '" + path("adder.py") + "'", wrong = "python3 '" + path("wrong.py") + "'";
  const auto gated = [&](const std::string& option, const std::string& gate, const std::vector<std::string>& models) {
    std::vector<std::string> words{"compare", "--rounds", "4", "--effect", "50%", "--no-store", option, gate};
    for (const auto& model : models) words.insert(words.end(), {"--eval-model", model});
    return warpmark(with(words, {"--", "true", "--", "true"}));
  };
  const std::string task = path("task.yaml") + "=0.02";
  const auto worse = gated("--accuracy", task, {right, wrong});
  EXPECT_EQ(worse.exit_code, 4) << worse.out << worse.err;
  EXPECT_NE(worse.err.find("accuracy: numeric 0.0167, was 1.0000"), std::string::npos) << worse.err;
  const auto same = gated("--eval", task, {path("task-gate.run/none.jsonl"), right});
  EXPECT_EQ(same.exit_code, 2) << same.err;
  const auto kept = path("adding-gate.run/base/answers.jsonl");
  ASSERT_TRUE(std::filesystem::exists(kept));
  EXPECT_NE(gated("--eval", task, {kept, right}).exit_code, 4);
  EXPECT_EQ(gated("--eval", task, {kept, wrong}).exit_code, 4);
  EXPECT_EQ(gated("--accuracy", task, {right}).exit_code, 2);
  EXPECT_EQ(gated("--accuracy", task, {right, "exit 3"}).exit_code, 5) << "nothing was answered";
  const auto checked =
      warpmark({"check", "--rounds", "2", "--eval", task, "--eval-model", kept, "--eval-model", wrong, "--", "true"});
  EXPECT_EQ(checked.exit_code, 4) << checked.out << checked.err;
}

TEST_F(EvalRun, refuses_what_cannot_work) {
  auto words = command();
  words[4] = "exit 3";
  const auto nobody = warpmark(words);
  EXPECT_EQ(nobody.exit_code, 5) << nobody.out;
  EXPECT_NE(nobody.err.find("no item was answered"), std::string::npos) << nobody.err;
  write("task.yaml", "name: x\ndata: adding.jsonl\nprompt: '{{c}}'\nmetrics: [numeric]\n");
  const auto field = warpmark(command());
  EXPECT_EQ(field.exit_code, 2);
  EXPECT_NE(field.err.find("the template names 'c', which example 'n0' does not have"), std::string::npos) << field.err;
  write("task.yaml", "name: x\ndata: adding.jsonl\nprompt: y\nmetric: [numeric]\n");
  const auto key = warpmark(command());
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_NE(key.err.find("metric"), std::string::npos) << key.err;
}

}  // namespace
}  // namespace warpmark::apps
