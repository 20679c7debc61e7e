// One story, told to every kind of sink over real servers: what fires is grouped, told again only after a time, goes on
// over a restart, and is told once more when it is over.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "watch/played_server.h"
#include "watch/watching.h"

namespace warpmark::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing_support::PlayedServer;

class SinksStory : public Watching {
 protected:
  [[nodiscard]] std::string rules() const {
    std::string yaml = R"(
group_by: [severity]
group_wait: 0s
group_interval: 1m
repeat_interval: 4h
rules:
  - {name: Slow, history: time, above: 2 s}
  - {name: FewerThanUsual, history: rate, below: 0.5 1/s}
sinks:
)";
    yaml += "  - {name: command, command: [/bin/sh, -c, 'cat >> \"" + path("told") + "\"; echo % >> \"" + path("told") +
            "\"']}\n";
    yaml += "  - {name: json, webhook: {url: \"" + json_.url() + "\"}}\n";
    yaml += "  - {name: slack, webhook: {format: slack, url_env: SLACK}}\n";
    yaml += "  - {name: teams, webhook: {format: teams, url_env: TEAMS}}\n";
    yaml +=
        "  - {name: github, github: {repository: owner/name, issue: 12, token_env: TOKEN, api: \"http://127.0.0.1:" +
        github_.port() + "\"}}\n";
    return yaml;
  }
  std::unique_ptr<Watcher> begin(const std::string& yaml) {
    variables_ = {{"SLACK", slack_.url()}, {"TEAMS", teams_.url()}, {"TOKEN", "ghp_x"}};
    auto options = options_of(rules_of(yaml));
    options.delivery.environment = [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
    auto watcher = Watcher::start(std::move(options));
    EXPECT_TRUE(watcher.ok()) << watcher.error().what;
    return std::move(watcher).value();
  }
  void look_and_tell(Watcher& watcher) {
    watcher.probe();
    notify_all(watcher);
  }
  static std::string body_of(const Json& request) { return request["body"].get<std::string>(); }
  /// What each message of a webhook says in its first line.
  static std::vector<std::string> titles(const std::vector<Json>& requests,
                                         const std::function<std::string(const Json&)>& title) {
    std::vector<std::string> found;
    for (const auto& request : requests) {
      const auto text = title(parse_json(body_of(request), "body").value());
      found.push_back(text.substr(0, text.find(']') + 1));
    }
    return found;
  }

  PlayedServer json_{folder_made(), "http"}, slack_{folder_made(), "http"}, teams_{folder_made(), "http"},
      github_{folder_made(), "http", {"--plan", "201"}};
  std::map<std::string, std::string> variables_;

 private:
  /// Servers record there before the fixture has its own.
  static std::filesystem::path folder_made() {
    const auto folder = std::filesystem::path(testing::TempDir()) / ("watch_story_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    return folder;
  }
};

TEST_F(SinksStory, goes_to_every_kind_of_sink_from_its_begin_to_its_end) {
  write_result(5, 3);
  auto watcher = begin(rules());
  look_and_tell(*watcher);
  pass(3600);
  look_and_tell(*watcher);  // nothing changed, and it is too early to repeat
  watcher.reset();
  pass(60);
  watcher = begin(rules());  // it was ended and goes on
  look_and_tell(*watcher);
  pass(3 * 3600);
  look_and_tell(*watcher);  // repeated
  write_result(6, 1);
  pass(700);
  look_and_tell(*watcher);  // over

  const std::vector<std::string> story{"[FIRING:2]", "[FIRING:2]", "[RESOLVED:2]"};
  const auto json = json_.got(3);
  EXPECT_EQ(titles(json,
                   [](const Json& body) {
                     return "[" + std::string(body["status"] == "firing" ? "FIRING:" : "RESOLVED:") +
                            std::to_string(body[body["status"].get<std::string>()].size()) + "]";
                   }),
            story);
  EXPECT_EQ(titles(slack_.got(3), [](const Json& body) { return body["text"].get<std::string>(); }), story);
  EXPECT_EQ(titles(teams_.got(3),
                   [](const Json& body) {
                     EXPECT_EQ(body["attachments"][0]["contentType"], "application/vnd.microsoft.card.adaptive");
                     return body["attachments"][0]["content"]["body"][0]["inlines"][0]["text"].get<std::string>();
                   }),
            story);
  EXPECT_EQ(titles(github_.got(3),
                   [](const Json& body) {
                     const auto text = body["body"].get<std::string>();
                     return text.substr(text.find('['));
                   }),
            story);
  EXPECT_EQ(github_.got(3)[0]["path"], "/repos/owner/name/issues/12/comments");
  auto reported = split(*read_file(path("told")), '%');
  reported.pop_back();  // the line's end after the last
  ASSERT_THAT(reported, SizeIs(3));
  for (const auto& text : reported) EXPECT_TRUE(parse_json(text, "told").ok()) << text;
  for (const auto& server : {&json_, &slack_, &teams_, &github_}) EXPECT_THAT(server->got(), SizeIs(3));
  EXPECT_EQ(parse_json(body_of(json[1]), "body").value()["reason"], "repeated");
  EXPECT_THAT(body_of(json[0]), HasSubstr("FewerThanUsual"));
}

TEST_F(SinksStory, goes_by_mail) {
  if (!testing_support::has_smtp_server()) GTEST_SKIP() << "aiosmtpd is not installed (package python3-aiosmtpd)";
  PlayedServer mail(folder_, "smtp");
  write_result(5, 3);
  auto watcher = begin(
      "group_wait: 0s\ngroup_interval: 1m\nrepeat_interval: 4h\nrules:\n  - {name: Slow, history: time, above: 2 s}\n"
      "sinks:\n  - {name: mail, mail: {host: localhost, port: " +
      mail.port() + ", tls: none, from: w@example.org, to: [ops@example.org]}}\n");
  look_and_tell(*watcher);
  write_result(6, 1);
  pass(700);
  look_and_tell(*watcher);
  std::vector<std::string> subjects;
  for (const auto& one : mail.got(2)) {
    const auto text = one["text"].get<std::string>();
    const auto at = text.find("Subject: ") + 9;
    subjects.push_back(text.substr(at, text.find(']', at) + 1 - at));
  }
  EXPECT_THAT(subjects, ElementsAre("[FIRING:1]", "[RESOLVED:1]"));
}

}  // namespace
}  // namespace warpmark::watch
