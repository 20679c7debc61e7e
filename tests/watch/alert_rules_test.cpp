// Files of rules: what is right, what is refused and where, and the schema that says the same.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "support/schema_check.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {
namespace {

using testing::HasSubstr;

constexpr const char* kSinks = "sinks:\n  - name: ops\n    command: [./page]\n";

/// As a reader of JSON Schema sees a file of YAML: numbers and truth values are told by how they look.
Json as_json(const YAML::Node& node) {
  if (node.IsMap()) {
    Json json = Json::object();
    for (const auto& item : node) json[item.first.Scalar()] = as_json(item.second);
    return json;
  }
  if (node.IsSequence()) {
    Json json = Json::array();
    for (const auto& item : node) json.push_back(as_json(item));
    return json;
  }
  if (node.Tag() != "!") {  // not quoted
    if (bool truth = false; YAML::convert<bool>::decode(node, truth)) return truth;
    if (double number = 0; YAML::convert<double>::decode(node, number)) {
      return number == static_cast<double>(static_cast<long>(number)) ? Json(static_cast<long>(number)) : Json(number);
    }
  }
  return node.Scalar();
}

TEST(AlertRuleFiles, that_ship_are_right_and_fit_the_schema) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WARPMARK_SOURCE_DIR) + "/examples/watch")) {
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    const auto rules = parse_alert_rules(*text, entry.path().filename().string());
    EXPECT_TRUE(rules.ok()) << rules.error().what << "\n" << rules.error().hint;
    EXPECT_EQ(testing_support::schema_errors(as_json(YAML::Load(*text)), "alert_rules.schema.json"), "")
        << entry.path();
    ++files;
  }
  EXPECT_GE(files, 2);
}

TEST(AlertRuleFiles, have_their_words_and_defaults) {
  const auto rules = parse_alert_rules(std::string(kSinks) + R"(
interval: 15s
rules:
  - {name: A, live: DCGM_FI_DEV_GPU_TEMP, labels: {gpu: "0"}, above: 85, for: 5m, severity: critical}
  - {name: B, history: "gemm*time", above: 2 ms, branch: all}
  - {name: C, check: "*", verdict: [worse, unreliable], baseline: trunk, to: [ops]}
  - {name: D, history: "*", change: worse, threshold: 3%, forget: 7d}
  - {name: E, history: "*", no_data: 26h}
)",
                                       "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.error().what;
  ASSERT_EQ(rules->rules.size(), 5U);
  EXPECT_EQ(rules->rules[0].for_s, 300);
  EXPECT_EQ(rules->rules[0].to, std::vector<std::string>{"ops"});
  EXPECT_EQ(rules->rules[1].branch, "");
  EXPECT_EQ(rules->rules[2].baseline, "trunk");
  EXPECT_EQ(rules->rules[3].forget_s, 7 * 86400.0);
  EXPECT_EQ(rules->rules[4].no_data_s, 26 * 3600.0);
  EXPECT_EQ(rules->repeat_interval_s, 4 * 3600.0);
}

struct WrongFile {
  const char* text;
  const char* what;
};

TEST(AlertRuleFiles, that_are_wrong_are_refused_with_file_and_line) {
  const WrongFile kWrong[] = {
      {"", "must be a map"},
      {"rules: []", "r.yaml line 1: rules must be a list"},
      {"rules:\n- {name: A, live: m}", "r.yaml line 2: rule 'A' needs one condition"},
      {"rules:\n- {name: A, above: 3}", "needs one of live, history and check"},
      {"rules:\n- {name: A, live: m, above: 3, below: 4}", "needs one condition"},
      {"rules:\n- {name: A, live: m, change: worse}", "change does not go with live"},
      {"rules:\n- {name: A, live: m, above: warm}", "'warm' is no number"},
      {"rules:\n- {name: A, history: m, above: fast}", "'fast' is no quantity"},
      {"rules:\n- {name: A, live: m, above: 1, for: soon}", "for: 'soon' is not"},
      {"rules:\n- {name: A, live: m, above: 1}\n- {name: A, live: m, above: 1}", "line 3: rule 'A' is there twice"},
      {"rules:\n- {name: \"a\\nb\", live: m, above: 1}", "the name of a rule must be"},
      {"rules:\n- {name: warpmark-x, live: m, above: 1}", "names that begin with warpmark-"},
      {"sinks:\n- {name: s, command: [x]}\nrules:\n- {name: A, live: m, above: 1, to: [s, s]}",
       "sink 's' is there twice"},
      {"rules:\n- {name: A, live: m, above: 1, sevrity: info}", "unknown key 'sevrity'"},
      {"rules:\n- {name: A, live: m, above: 1, to: [nobody]}", "there is no sink 'nobody'"},
      {"rules:\n- {name: A, check: m, verdict: [slow]}", "'slow' is no verdict"},
      {"interval: 0.1\nrules:\n- {name: A, live: m, above: 1}", "interval is too short"},
      {"schema: warpmark.alert_rules/9\nrules: []", "schema 'warpmark.alert_rules/9'"},
      {"sinks:\n- {name: s, command: echo hi}\nrules: []", "command must be a list of words"},
      {"sinks:\n- {name: s, command: [x], webhook: {url: http://h/}}\nrules: []", "needs one of command"},
      {"sinks:\n- {name: s, webhook: {format: slack, url: https://hooks.slack.com/x}}\nrules: []",
       "url is a secret and must not stand in the rules"},
      {"sinks:\n- {name: s, webhook: {url: ftp://h/}}\nrules: []", "url:"},
      {"sinks:\n- {name: s, webhook: {url: http://h/, token: abc}}\nrules: []", "token is a secret"},
      {"sinks:\n- {name: s, mail: {host: h, from: a@b, to: c@d, user: u, password: p}}\nrules: []",
       "password is a secret"},
      {"sinks:\n- {name: s, mail: {host: h, from: a@b, to: c@d, tls: none, user: u, password_env: P}}\nrules: []",
       "a password is never sent without TLS"},
      {"sinks:\n- {name: s, mail: {host: h, from: \"a@b\\nBcc: x@y\", to: c@d}}\nrules: []", "from is no mail address"},
      {"sinks:\n- {name: s, mail: {host: h, from: a@b, to: [c@d, \"e@f>\"]}}\nrules: []", "to is no mail address"},
      {"sinks:\n- {name: s, mail: {host: h/x, from: a@b, to: c@d}}\nrules: []", "mail needs the host"},
      {"sinks:\n- {name: s, github: {repository: ../x, issue: 1, token_env: T}}\nrules: []", "needs a repository"},
      {"sinks:\n- {name: s, github: {repository: o/n, issue: 0, token_env: T}}\nrules: []", "issue is 0"},
      {"sinks:\n- {name: s, github: {repository: o/n, issue: 1}}\nrules: []", "github needs a token"},
      {"rules: [", "r.yaml line"},
  };
  for (const auto& wrong : kWrong) {
    const auto rules = parse_alert_rules(wrong.text, "r.yaml");
    ASSERT_FALSE(rules.ok()) << wrong.text;
    EXPECT_THAT(rules.error().what, HasSubstr(wrong.what)) << wrong.text;
    EXPECT_THAT(rules.error().what, HasSubstr("r.yaml")) << wrong.text;
    EXPECT_EQ(rules.error().kind, ErrorKind::data);
  }
}

TEST(AlertRuleFiles, that_the_schema_refuses_are_refused_here_too) {
  WM_NEEDS_SCHEMAS();
  for (const char* text :
       {"rules: []", "rules: [{name: A, live: m}]", "rules: [{name: A, above: 3}]",
        "rules: [{name: A, live: m, change: worse}]", "rules: [{name: A, check: m, verdict: [slow]}]",
        "rules: [{name: A, live: m, above: 1, sevrity: info}]",
        "{sinks: [{name: s, command: echo}], rules: [{name: A, live: m, above: 1}]}",
        "{sinks: [{name: s, webhook: {format: slack, url: 'https://h/'}}], "
        "rules: [{name: A, live: m, above: 1}]}"}) {
    EXPECT_NE(testing_support::schema_errors(as_json(YAML::Load(text)), "alert_rules.schema.json"), "") << text;
    EXPECT_FALSE(parse_alert_rules(text, "r.yaml").ok()) << text;
  }
}

}  // namespace
}  // namespace warpmark::watch
