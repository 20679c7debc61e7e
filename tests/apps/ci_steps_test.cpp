// The steps of the CI examples, run in order as GitHub and GitLab run them: by bash, in a checkout like theirs, with
// expressions and variables filled in. What the services bring (checkout, artefacts, the API) is played.
// https://docs.github.com/en/actions/reference/workflow-syntax-for-github-actions,
// https://docs.gitlab.com/ee/ci/jobs/job_rules.html
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>

#include "apps/cli_fixture.h"
#include "apps/made_up_history.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "store/sqlite/sqlite_store.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

std::string example(const std::string& name) {
  return *read_file(std::string(WARPMARK_SOURCE_DIR) + "/examples/ci/" + name);
}

/// `${{ name }}` by the contexts that the event has; anything else is a fault of the workflow.
std::string filled(std::string text, const Variables& contexts) {
  for (std::size_t at = 0; (at = text.find("${{", at)) != std::string::npos;) {
    const auto end = text.find("}}", at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "an expression that is not closed: " << text;
      return text;
    }
    const std::string name(trim(text.substr(at + 3, end - at - 3)));
    const auto found = contexts.find(name);
    EXPECT_NE(found, contexts.end()) << "there is no " << name;
    const std::string value = found == contexts.end() ? "" : found->second;
    text.replace(at, end + 2 - at, value);
    at += value.size();
  }
  return text;
}

Variables variables_of(const YAML::Node& map, const Variables& contexts) {
  Variables result;
  for (const auto& item : map) result[item.first.Scalar()] = filled(item.second.Scalar(), contexts);
  return result;
}

struct JobResult {
  int exit_code = 0;
  std::string out, err;
};

/// A repository with a program whose cost is known, its runner's workspace, and the tool on the PATH.
class CiSteps : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    repository_ = path("repo sitory");
    std::filesystem::create_directories(repository_);
    git({"init", "-q", "-b", "main"});
    commit(100, "run: cat cost.txt\nmetrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n");
    git({"tag", "v1"});
    for (int i = 0; i < 23; ++i) commit(100);
  }
  std::string git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=A. Author", "-c", "user.email=a@example.org"});
    return checked(run_process(words, {.deadline_s = 100, .directory = repository_}));
  }
  static std::string checked(const Result<ProcessOutput>& output) {
    EXPECT_TRUE(output.ok() && output->exit_code == 0) << (output.ok() ? output->err : output.error().what);
    return output.ok() ? std::string(trim(output->out)) : "";
  }
  void commit(int cost, const std::string& project = "") {
    ASSERT_TRUE(write_file(repository_ + "/cost.txt", "cost " + std::to_string(cost) + "\n").ok());
    if (!project.empty()) {
      ASSERT_TRUE(write_file(repository_ + "/warpmark.yaml", project).ok());
    }
    git({"add", "."});
    git({"commit", "-q", "--allow-empty", "-m", "cost " + std::to_string(cost)});
  }
  /// The loop of docs/ci.md that fills a history, in the repository itself.
  void fill_history() {
    const auto page = *read_file(std::string(WARPMARK_SOURCE_DIR) + "/docs/ci.md");
    const auto begin = page.find("    for commit in "), end = page.find("\n    done\n", begin);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const auto result = bash("set -e\n" + page.substr(begin, end + 9 - begin), {"bash"}, {}, repository_);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    forget_readings();
    ASSERT_EQ(sessions_on_main(), 24U);
  }
  void forget_readings() { apps::forget_readings(path("test.db")); }
  JobResult bash(const std::string& script, std::vector<std::string> shell, const Variables& environment,
                 const std::string& directory) {
    EXPECT_TRUE(write_file(path("step.sh"), script).ok());
    shell.push_back(path("step.sh"));
    ProcessOptions options{.deadline_s = 200, .directory = directory, .environment = {}};
    options.environment.assign(environment.begin(), environment.end());
    options.environment.emplace_back(
        "PATH", std::filesystem::path(kExecutable).parent_path().string() + ":" + std::getenv("PATH"));
    const auto output = run_process(shell, options);
    EXPECT_TRUE(output.ok());
    return output.ok() ? JobResult{output->exit_code, output->out, output->err} : JobResult{-1, "", ""};
  }
  std::size_t sessions_on_main() {
    return store::open_sqlite(path("test.db")).value()->find({.metric = "cost", .branch = "main"})->size();
  }
  /// What the service leaves in the workspace before the first step: of the whole history, or the newest commit alone.
  void check_out(bool whole, const std::string& branch) {
    std::filesystem::remove_all(workspace());
    std::vector<std::string> words{"git", "clone", "-q", "--no-checkout"};
    if (!whole) words.insert(words.end(), {"--depth", "1", "--no-tags"});
    words.insert(words.end(), {"file://" + repository_, workspace()});
    checked(run_process(words, {.deadline_s = 100}));
    const auto at = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {"git", "-C", workspace()});
      checked(run_process(more, {.deadline_s = 100}));
    };
    if (branch.empty()) {
      at({"checkout", "-q", "--detach", "HEAD"});
    } else {
      at({"checkout", "-q", "-B", branch, "HEAD"});
    }
  }
  [[nodiscard]] std::string workspace() const { return path("work space"); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(workspace() + "/" + name); }

  std::string repository_;
};

// ---- GitHub

class GithubSteps : public CiSteps {
 protected:
  struct Event {
    std::string branch;  ///< of a push; empty for a pull request
    std::string request;
  };

  /// The job of the workflow. Steps run one after another; after one that failed only those that always do.
  JobResult job(const std::string& workflow, const Event& event) {
    const YAML::Node root = YAML::Load(workflow);
    Variables contexts{{"github.event.pull_request.number", event.request}};
    for (const auto& input : root["on"]["workflow_call"]["inputs"]) {
      contexts["inputs." + input.first.Scalar()] = input.second["default"].Scalar();
    }
    contexts["inputs.database"] = path("test.db");
    const YAML::Node measure = root["jobs"]["measure"];
    const Variables environment = variables_of(measure["env"], contexts);
    JobResult result;
    artifact_.clear();
    for (const auto& step : measure["steps"]) {
      const bool always = step["if"] && step["if"].Scalar() == "always()";
      EXPECT_TRUE(always || !step["if"]) << "a condition that is not played here: " << step["if"];
      if (result.exit_code != 0 && !always) continue;
      take(step, event, environment, contexts, result);
    }
    return result;
  }

  void take(const YAML::Node& step, const Event& event, Variables environment, const Variables& contexts,
            JobResult& result) {
    if (step["run"]) {
      for (const auto& [name, value] : variables_of(step["env"], contexts)) environment[name] = value;
      environment["GITHUB_STEP_SUMMARY"] = path("summary.md");
      environment["GITHUB_ACTIONS"] = "true";
      EXPECT_FALSE(step["shell"]) << "another shell than the default one is not played here";
      const auto ran = bash(filled(step["run"].Scalar(), contexts), {"bash", "-e"}, environment, workspace());
      result = {ran.exit_code, result.out + ran.out, result.err + ran.err};
      return;
    }
    const std::string action = step["uses"].Scalar().substr(0, step["uses"].Scalar().find('@'));
    const Variables with = variables_of(step["with"], contexts);
    if (action == "actions/checkout") {
      check_out(with.contains("fetch-depth") && with.at("fetch-depth") == "0", event.branch);
    } else if (action == "actions/upload-artifact") {
      EXPECT_TRUE(exists(with.at("path"))) << with.at("path") << "\n" << result.err;
      artifact_ = with.at("name");
    } else {
      ADD_FAILURE() << "an action that is not played here: " << action;
    }
  }
  std::string artifact_;
};

TEST_F(GithubSteps, check_pushes_and_pull_requests_and_leave_the_comment) {
  const std::string workflow = example("performance.yml");
  const auto young = job(workflow, {.branch = "", .request = "17"});
  EXPECT_EQ(young.exit_code, 0) << young.err << young.out;
  EXPECT_THAT(young.out, HasSubstr("::warning title=performance::undecided"));
  fill_history();

  const auto push = job(workflow, {.branch = "main", .request = ""});
  EXPECT_EQ(push.exit_code, 0) << push.err << push.out;
  EXPECT_THAT(push.out, Not(HasSubstr("::warning")));
  EXPECT_EQ(sessions_on_main(), 27U) << "a push to the baseline branch adds to the history";

  forget_readings();
  const auto same = job(workflow, {.branch = "", .request = "17"});
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
  EXPECT_EQ(trim(*read_file(workspace() + "/check/request")), "17");
  EXPECT_THAT(*read_file(workspace() + "/check/comment.md"), HasSubstr("### Performance unchanged"));
  EXPECT_EQ(artifact_, "performance-check");

  git({"checkout", "-q", "-b", "slow"});
  commit(110);
  forget_readings();
  const auto slow = job(workflow, {.branch = "", .request = "18"});
  EXPECT_EQ(slow.exit_code, 1) << slow.err << slow.out;
  EXPECT_THAT(slow.err, HasSubstr("::error title="));
  EXPECT_THAT(*read_file(workspace() + "/check/comment.md"), HasSubstr("### Performance regression"));
  EXPECT_THAT(*read_file(path("summary.md")), HasSubstr("### Performance regression"));
  EXPECT_EQ(artifact_, "performance-check") << "the comment is wanted most when the job fails";
  EXPECT_EQ(sessions_on_main(), 27U) << "a pull request is no part of the baseline's history";
}

TEST_F(GithubSteps, fail_where_the_program_does_not_run_any_more) {
  git({"checkout", "-q", "-b", "broken"});
  git({"rm", "-q", "cost.txt"});
  git({"commit", "-q", "-m", "broken"});
  const auto broken = job(example("performance.yml"), {.branch = "", .request = "19"});
  EXPECT_EQ(broken.exit_code, 2) << broken.err << broken.out;
  EXPECT_THAT(*read_file(workspace() + "/check/comment.md"), HasSubstr("ended with exit code 1"));
}

TEST_F(GithubSteps, fail_where_a_step_has_a_typing_error) {
  const std::string workflow = example("performance.yml");
  const auto broken = [&](const std::string& good, const std::string& bad) {
    auto text = workflow;
    const auto at = text.find(good);
    EXPECT_NE(at, std::string::npos) << good;
    text.replace(at, good.size(), bad);
    return job(text, {.branch = "", .request = "17"});
  };
  EXPECT_EQ(broken("--threshold \"$THRESHOLD\"", "--treshold \"$THRESHOLD\"").exit_code, 2);
  EXPECT_EQ(broken("--sessions \"$SESSIONS\"", "--sessions \"$SESSION\"").exit_code, 2);
  EXPECT_EQ(broken("warpmark check", "warpmark chek").exit_code, 2);
  EXPECT_NE(broken("          fi\n", "").exit_code, 0);
}

/// The script of performance-comment.yml in Node, with what GitHub's client would answer.
TEST_F(GithubSteps, post_the_comment_once_and_then_update_it) {
  if (const auto node = run_process({"node", "--version"}); !node.ok()) GTEST_SKIP() << "Node is not installed";
  const YAML::Node workflow = YAML::Load(example("performance-comment.yml"));
  const YAML::Node steps = workflow["jobs"]["comment"]["steps"];
  const Variables download =
      variables_of(steps[0]["with"], {{"github.event.workflow_run.id", "1"}, {"github.token", "t"}});
  const YAML::Node upload = YAML::Load(example("performance.yml"))["jobs"]["measure"]["steps"][2];
  EXPECT_EQ(download.at("name"), upload["with"]["name"].Scalar());
  std::filesystem::create_directories(path(download.at("path")));
  ASSERT_TRUE(
      write_file(path("check/comment.md"), "### Performance unchanged\n\n<!-- warpmark-check: main -->\n").ok());
  ASSERT_TRUE(write_file(path("script.js"), steps[1]["with"]["script"].Scalar()).ok());
  ASSERT_TRUE(write_file(path("play.js"), R"js(
const AsyncFunction = Object.getPrototypeOf(async function () {}).constructor;
const [comments, head] = process.argv.slice(2);
const done = (what) => async (given) => console.log(what + ' ' + JSON.stringify(given));
const github = {
  rest: {pulls: {get: async () => ({data: {head: {sha: 'abc'}}})},
         issues: {listComments: {}, updateComment: done('update'), createComment: done('create')}},
  paginate: async () => JSON.parse(comments)};
const context = {repo: {owner: 'o', repo: 'r'}, payload: {workflow_run: {head_sha: head}}};
const script = require('fs').readFileSync('script.js', 'utf8');
new AsyncFunction('require', 'github', 'context', script)(require, github, context)
  .catch((problem) => { console.log('refused: ' + problem.message); });
)js")
                  .ok());
  const auto play = [&](const std::string& request, const std::string& comments, const std::string& head = "abc") {
    EXPECT_TRUE(write_file(path("check/request"), request + "\n").ok());
    return checked(run_process({"node", "play.js", comments, head}, {.deadline_s = 60, .directory = path("")}));
  };
  const std::string created = play("17", "[]");
  EXPECT_TRUE(created.starts_with("create {")) << created;
  EXPECT_THAT(created, HasSubstr("\"issue_number\":17"));
  const std::string others = R"([{"id": 4, "user": {"type": "User"}, "body": "<!-- warpmark-check: main -->"},
                                 {"id": 5, "user": {"type": "Bot"}, "body": "hello"})";
  EXPECT_TRUE(play("17", others + "]").starts_with("create {"));
  const std::string updated =
      play("17", others + R"(, {"id": 6, "user": {"type": "Bot"}, "body": "old\n\n<!-- warpmark-check: main -->\n"}])");
  EXPECT_TRUE(updated.starts_with("update {")) << updated;
  EXPECT_THAT(updated, HasSubstr("\"comment_id\":6"));
  EXPECT_EQ(play("17", "[]", "another"), "refused: another commit");
  EXPECT_EQ(play("", "[]"), "refused: no pull request");
}

// ---- GitLab

class GitlabSteps : public CiSteps {
 protected:
  static std::string expanded(std::string text, const Variables& variables) {
    for (const auto& [name, value] : variables) {
      for (std::size_t at = 0; (at = text.find("$" + name, at)) != std::string::npos; at += value.size()) {
        text.replace(at, name.size() + 1, value);
      }
    }
    return text;
  }
  /// `$NAME == "text"` or `$NAME == $OTHER`.
  static bool holds(const std::string& condition, const Variables& variables) {
    const auto sides = condition.find(" == ");
    EXPECT_NE(sides, std::string::npos) << "a condition that is not played here: " << condition;
    const auto value = [&](const std::string& side) {
      if (side.starts_with('"')) return side.substr(1, side.size() - 2);
      const auto found = variables.find(side.substr(1));
      return found == variables.end() ? std::string() : found->second;
    };
    return value(condition.substr(0, sides)) == value(condition.substr(sides + 4));
  }

  /// The job in a pipeline with these predefined variables; not there where no rule lets it in.
  std::optional<JobResult> job(const std::string& file, Variables variables) {
    const YAML::Node node = YAML::Load(file)["performance"];
    Variables own = variables_of(node["variables"], {});
    bool in = false;
    for (const auto& rule : node["rules"]) {
      if (!holds(rule["if"].Scalar(), variables)) continue;
      for (const auto& [name, value] : variables_of(rule["variables"], {})) own[name] = value;
      in = true;
      break;
    }
    if (!in) return std::nullopt;
    for (const auto& [name, value] : own) variables[name] = expanded(value, variables);
    variables["WARPMARK_DB"] = path("test.db");
    check_out(variables["GIT_DEPTH"] == "0", "");  // detached, whatever the pipeline is for
    std::string script = "set -eo pipefail\n";
    for (const auto& line : node["script"]) script += line.Scalar() + "\n";
    const auto result = bash(script, {"bash"}, variables, workspace());
    for (const auto& artifact : node["artifacts"]["paths"]) EXPECT_TRUE(exists(artifact.Scalar())) << artifact.Scalar();
    EXPECT_TRUE(exists(node["artifacts"]["reports"]["junit"].Scalar())) << result.err;
    return result;
  }
};

TEST_F(GitlabSteps, check_the_default_branch_and_merge_requests_beside_a_reference) {
  commit(100, "run: cat cost.txt\nreference: v1\nmetrics: [{name: cost, unit: s, regex: 'cost ([0-9.]+)'}]\n");
  const std::string file = example("gitlab-ci.yml");
  const Variables push{{"CI_PIPELINE_SOURCE", "push"},
                       {"CI_COMMIT_BRANCH", "main"},
                       {"CI_COMMIT_REF_NAME", "main"},
                       {"CI_DEFAULT_BRANCH", "main"}};
  const Variables request{
      {"CI_PIPELINE_SOURCE", "merge_request_event"}, {"CI_COMMIT_REF_NAME", "main"}, {"CI_DEFAULT_BRANCH", "main"}};
  Variables branch = push;
  branch["CI_COMMIT_BRANCH"] = branch["CI_COMMIT_REF_NAME"] = "other";
  EXPECT_FALSE(job(file, branch)) << "a push to any other branch has no such job";

  for (int i = 0; i < 8; ++i) {
    const auto young = job(file, push);
    ASSERT_EQ(young->exit_code, 3) << young->err << young->out;
  }
  ASSERT_EQ(sessions_on_main(), 24U);
  const auto unchanged = job(file, push);
  EXPECT_EQ(unchanged->exit_code, 0) << unchanged->err << unchanged->out;
  git({"checkout", "-q", "-b", "slow"});
  commit(110);
  const auto slow = job(file, request);
  EXPECT_EQ(slow->exit_code, 1) << slow->err << slow->out;
  EXPECT_THAT(slow->out, HasSubstr("cost_vs_" + git({"rev-parse", "v1"}).substr(0, 10)));
  EXPECT_EQ(sessions_on_main(), 27U) << "a merge request of a branch called main is no part of the baseline";
}

}  // namespace
}  // namespace warpmark::apps
