// Messages to real receivers: programs, HTTP servers with and without TLS, an SMTP server. Names are hostile.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"
#include "support/schema_check.h"
#include "watch/alerts/alert.h"
#include "watch/alerts/deliver.h"
#include "watch/played_server.h"

namespace warpmark::watch {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::PlayedServer;

constexpr const char* kHostile =
    "x\r\nBcc: everyone@example.org\n\n<!channel> <@U123> *b* `c` ```d``` @octocat \"q\" \\ \x1b]0;t\x07 \xFF "
    "</script>";

Message hostile_message() {
  Message message{.id = "0123456789abcdef", .sink = "s", .host = kHostile, .time = "2026-11-23T00:00:00Z"};
  message.reason = "new";
  message.group = {{"rule", "Slow"}, {"benchmark", kHostile}};
  Alert alert{.rule = "Slow", .severity = "critical", .summary = kHostile, .labels = {{"benchmark", kHostile}}};
  alert.state = AlertState::firing;
  alert.value = 1.5;
  alert.unit = "s";
  alert.what = std::string("1.5 s is above 1 s ") + kHostile;
  alert.active_at = alert.fired_at = "2026-11-23T00:00:00Z";
  message.firing = {alert};
  message.firing_count = 1;
  return message;
}

class Delivering : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("watch_delivery_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options_.environment = [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Sink sink_of(decltype(Sink::kind) kind, double timeout_s = 10) {
    Sink sink;
    sink.name = "s";
    sink.timeout_s = timeout_s;
    sink.kind = std::move(kind);
    return sink;
  }
  [[nodiscard]] Delivery send(decltype(Sink::kind) kind, double timeout_s = 10) const {
    return deliver(sink_of(std::move(kind), timeout_s), hostile_message(), options_);
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> variables_;
  DeliveryOptions options_;
};

TEST_F(Delivering, a_command_gets_the_alert_as_json_and_words_that_no_shell_reads) {
  const auto out = (folder_ / "out").string();
  const auto sent =
      send(CommandSink{{"sh", "-c", "cat > \"$1\"; printf %s \"$2\" >> \"$1.word\"", "-", out, "$(id); `id`"}});
  EXPECT_TRUE(sent.delivered) << sent.problem;
  const auto json = parse_json(*read_file(out), "alert");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "alert.schema.json"), "");
  EXPECT_EQ((*json)["firing"][0]["rule"], "Slow");
  EXPECT_EQ(*read_file(out + ".word"), "$(id); `id`");
}

TEST_F(Delivering, a_command_does_not_see_the_secrets_of_other_sinks) {
  setenv("WARPMARK_TEST_SECRET", "hush", 1);
  options_.hidden = {"WARPMARK_TEST_SECRET"};
  const auto out = (folder_ / "out").string();
  EXPECT_TRUE(send(CommandSink{{"sh", "-c", "echo \"[$WARPMARK_TEST_SECRET]\" > '" + out + "'"}}).delivered);
  unsetenv("WARPMARK_TEST_SECRET");
  EXPECT_EQ(*read_file(out), "[]\n");
}

TEST_F(Delivering, a_command_that_fails_or_never_ends_is_told_and_ended) {
  const auto failed = send(CommandSink{{"sh", "-c", "echo \"no\x1b[2J luck\" >&2; exit 3"}});
  EXPECT_FALSE(failed.delivered);
  EXPECT_EQ(failed.problem, "sh ended with 3: no?[2J luck");
  const auto endless = send(CommandSink{{"sleep", "600"}}, 0.3);
  EXPECT_FALSE(endless.delivered);
  EXPECT_THAT(endless.problem, HasSubstr("did not end within 0.3 s"));
  EXPECT_THAT(send(CommandSink{{"/no/such/program"}}).problem, HasSubstr("cannot start"));
  // One that does not read its input is no fault of it.
  EXPECT_TRUE(send(CommandSink{{"true"}}).delivered);
}

TEST_F(Delivering, a_webhook_gets_json_with_a_token) {
  PlayedServer server(folder_, "http");
  variables_["T"] = " s3cret \n";
  WebhookSink hook;
  hook.url = server.url();
  hook.token.variable = "T";
  const auto sent = send(hook);
  ASSERT_TRUE(sent.delivered) << sent.problem;
  const auto got = server.got(1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["path"], "/hook");
  EXPECT_EQ(got[0]["headers"]["Authorization"], "Bearer s3cret");
  EXPECT_EQ(got[0]["headers"]["Content-Type"], "application/json");
  const auto json = parse_json(got[0]["body"].get<std::string>(), "body");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(testing_support::schema_errors(*json, "alert.schema.json"), "");
}

TEST_F(Delivering, a_webhook_that_refuses_hangs_or_is_gone_is_told_without_its_secret) {
  PlayedServer server(folder_, "http", {"--plan", "503:7,hang,500"});
  variables_["U"] = server.url() + "/SECRETPATH";
  WebhookSink hook;
  hook.format = WebhookFormat::slack;
  hook.secret_url.variable = "U";
  const auto busy = send(hook);
  EXPECT_FALSE(busy.delivered);
  EXPECT_EQ(busy.retry_after_s, 7);
  EXPECT_THAT(busy.problem, HasSubstr("503"));
  const auto slow = send(hook, 0.5);
  EXPECT_FALSE(slow.delivered);
  EXPECT_THAT(slow.problem, HasSubstr("no whole answer within 0.5 s"));
  const auto broken = send(hook);
  EXPECT_THAT(broken.problem, HasSubstr("500"));
  server.end();
  const auto gone = send(hook, 5);
  EXPECT_FALSE(gone.delivered);
  for (const auto& delivery : {busy, slow, broken, gone}) {
    EXPECT_THAT(delivery.problem, Not(HasSubstr("SECRETPATH")));
    EXPECT_NE(delivery.problem, "");
  }
  variables_["U"] = "not a url SECRETPATH";
  EXPECT_THAT(send(hook).problem, Not(HasSubstr("SECRETPATH")));
  EXPECT_THAT(place_of(sink_of(hook)), Not(HasSubstr("SECRETPATH")));
}

TEST_F(Delivering, tls_is_verified) {
  if (!testing_support::make_certificate(folder_)) GTEST_SKIP() << "openssl is not installed";
  PlayedServer server(folder_, "http", {"--tls", (folder_ / "cert.pem").string(), (folder_ / "key.pem").string()});
  WebhookSink hook;
  hook.url = "https://localhost:" + server.port() + "/hook";
  const auto untrusted = send(hook);
  EXPECT_FALSE(untrusted.delivered);
  EXPECT_THAT(untrusted.problem, HasSubstr("certificate"));
  EXPECT_TRUE(server.got().empty());
  hook.ca_file = (folder_ / "cert.pem").string();
  const auto trusted = send(hook);
  EXPECT_TRUE(trusted.delivered) << trusted.problem;
}

TEST_F(Delivering, a_token_does_not_leave_the_machine_without_tls) {
  variables_["T"] = "s3cret";
  WebhookSink hook;
  hook.url = "http://192.0.2.1/hook";  // RFC 5737: nobody's
  hook.token.variable = "T";
  const auto sent = send(hook);
  EXPECT_FALSE(sent.delivered);
  EXPECT_THAT(sent.problem, HasSubstr("without TLS"));
  hook.url = "http://127.evil.invalid/hook";  // RFC 2606: nobody's, and not loopback for its first digits
  EXPECT_THAT(send(hook).problem, HasSubstr("without TLS"));
}

TEST_F(Delivering, slack_reads_no_markup_in_names) {
  PlayedServer server(folder_, "http");
  variables_["U"] = server.url();
  WebhookSink hook;
  hook.format = WebhookFormat::slack;
  hook.secret_url.variable = "U";
  ASSERT_TRUE(send(hook).delivered);
  const auto body = parse_json(server.got(1)[0]["body"].get<std::string>(), "body");
  ASSERT_TRUE(body.ok());
  EXPECT_THAT((*body)["text"].get<std::string>(), Not(HasSubstr("<")));
  EXPECT_THAT((*body)["text"].get<std::string>(), HasSubstr("&lt;!channel&gt;"));
  const auto& text = (*body)["blocks"][0]["text"];
  EXPECT_EQ(text["type"], "plain_text");
  EXPECT_LE(text["text"].get<std::string>().size(), 3000U);
  EXPECT_THAT(text["text"].get<std::string>(), HasSubstr("1.5 s is above 1 s"));
}

TEST_F(Delivering, teams_gets_a_card_of_runs_that_know_no_markdown) {
  const Json card = teams_json(hostile_message())["attachments"][0]["content"];
  EXPECT_EQ(card["type"], "AdaptiveCard");
  for (const auto& block : card["body"]) EXPECT_EQ(block["type"], "RichTextBlock");
}

TEST_F(Delivering, a_comment_is_a_fence_that_nothing_in_it_ends) {
  PlayedServer server(folder_, "http", {"--plan", "201"});
  variables_["GITHUB_TOKEN"] = "ghp_x";
  GithubSink issue;
  issue.api = "http://127.0.0.1:" + server.port();
  issue.repository = "owner/name";
  issue.issue = 12;
  issue.token.variable = "GITHUB_TOKEN";
  const auto sent = send(issue);
  ASSERT_TRUE(sent.delivered) << sent.problem;
  const auto got = server.got(1)[0];
  EXPECT_EQ(got["path"], "/repos/owner/name/issues/12/comments");
  EXPECT_EQ(got["headers"]["X-GitHub-Api-Version"], "2022-11-28");
  EXPECT_EQ(got["headers"]["User-Agent"], "warpmark");
  const std::string body = parse_json(got["body"].get<std::string>(), "body").value()["body"].get<std::string>();
  EXPECT_TRUE(body.starts_with("````text\n")) << body;
  const auto lines = split(body, '\n');
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "````"), 1) << "one line ends the fence";
  EXPECT_LT(body.find("@octocat"), body.find("\n````\n")) << "mentions are inside";
}

std::string decoded_subject(const std::string& mail) {
  const auto begin = mail.find("Subject: ");
  auto end = mail.find("\n", begin);
  while (end != std::string::npos && mail[end + 1] == ' ') end = mail.find("\n", end + 1);
  return mail.substr(begin, end - begin);
}

class Mailing : public Delivering {
 protected:
  void SetUp() override {
    Delivering::SetUp();
    if (!testing_support::has_smtp_server()) GTEST_SKIP() << "aiosmtpd is not installed (package python3-aiosmtpd)";
    if (!testing_support::make_certificate(folder_)) GTEST_SKIP() << "openssl is not installed";
  }
  [[nodiscard]] MailSink mail_to(const PlayedServer& server, MailTls tls) const {
    MailSink mail;
    mail.host = "localhost";
    mail.port = static_cast<std::uint16_t>(std::stoi(server.port()));
    mail.tls = tls;
    mail.from = "warpmark@example.org";
    mail.to = {"ops@example.org", "dev@example.org"};
    mail.ca_file = (folder_ / "cert.pem").string();
    return mail;
  }
  [[nodiscard]] std::vector<std::string> tls_words() const {
    return {"--tls", (folder_ / "cert.pem").string(), (folder_ / "key.pem").string()};
  }
};

TEST_F(Mailing, goes_over_starttls_with_a_password_and_its_headers_are_ours_alone) {
  auto words = tls_words();
  words.insert(words.end(), {"--password", "s3cret"});
  PlayedServer server(folder_, "smtp", words);
  MailSink mail = mail_to(server, MailTls::starttls);
  mail.user = "warpmark";
  mail.password.variable = "P";
  variables_["P"] = "s3cret";
  const auto sent = send(mail, 20);
  ASSERT_TRUE(sent.delivered) << sent.problem;
  const auto got = server.got(1)[0];
  EXPECT_EQ(got["from"], "warpmark@example.org");
  EXPECT_EQ(got["to"], Json({"ops@example.org", "dev@example.org"})) << "nobody else, whatever names say";
  EXPECT_EQ(got["tls"], true);
  EXPECT_EQ(got["user"], "warpmark");
  const auto text = got["text"].get<std::string>();
  const auto head = text.substr(0, text.find("\r\n\r\n"));
  for (const auto& line : split(head, '\n')) EXPECT_FALSE(line.starts_with("Bcc")) << head;
  EXPECT_THAT(head, HasSubstr("Auto-Submitted: auto-generated"));
  EXPECT_THAT(head, HasSubstr("Message-ID: <0123456789abcdef.warpmark@example.org>"));
  EXPECT_THAT(decoded_subject(head), HasSubstr("=?UTF-8?B?")) << "not ASCII";
  for (const auto& line : split(head, '\n')) EXPECT_LE(line.size(), 998U);

  variables_["P"] = "wrong";
  const auto refused = send(mail, 20);
  EXPECT_FALSE(refused.delivered);
  EXPECT_THAT(refused.problem, Not(HasSubstr("wrong")));
}

TEST_F(Mailing, goes_over_implicit_tls_and_verifies_the_certificate) {
  auto words = tls_words();
  words.emplace_back("--implicit");
  PlayedServer server(folder_, "smtp", words);
  MailSink mail = mail_to(server, MailTls::smtps);
  const auto sent = send(mail, 20);
  EXPECT_TRUE(sent.delivered) << sent.problem;
  mail.ca_file = {};
  const auto untrusted = send(mail, 20);
  EXPECT_FALSE(untrusted.delivered);
  EXPECT_EQ(server.got().size(), 1U);
}

TEST_F(Mailing, does_not_go_in_the_clear_where_tls_was_asked_for) {
  PlayedServer server(folder_, "smtp");
  const auto sent = send(mail_to(server, MailTls::starttls), 20);
  EXPECT_FALSE(sent.delivered);
  EXPECT_TRUE(server.got().empty());
  EXPECT_TRUE(send(mail_to(server, MailTls::none), 20).delivered);
}

TEST_F(Mailing, is_told_when_the_server_refuses_or_is_gone) {
  PlayedServer server(folder_, "smtp", {"--plan", "451"});
  const auto mail = mail_to(server, MailTls::none);
  const auto refused = send(mail, 20);
  EXPECT_FALSE(refused.delivered);
  EXPECT_THAT(refused.problem, HasSubstr("451"));
  server.end();
  EXPECT_FALSE(send(mail, 5).delivered);
}

TEST(MailText, is_ascii_where_the_subject_is_and_has_lines_of_bounded_length) {
  Message message = hostile_message();
  message.group = {{"rule", "Slow"}};
  message.host = "node7";
  const auto text = mail_text(message, {"a@b.c", {"d@e.f"}}, 0);
  EXPECT_THAT(text, HasSubstr("Subject: [FIRING:1] Slow on node7\r\n"));
  EXPECT_THAT(text, HasSubstr("Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n"));
  for (const auto& line : split(text, '\n')) EXPECT_LE(line.size(), 80U);
  EXPECT_THAT(text, Not(HasSubstr("everyone")));
}

TEST(Secrets, are_named_and_never_shown) {
  const auto none = [](const char*) -> const char* { return nullptr; };
  const auto two_lines = [](const char*) { return "sec\nret"; };
  const auto missing = read_secret({.variable = "MY_TOKEN", .file = {}}, none);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().what, HasSubstr("MY_TOKEN"));
  const auto broken = read_secret({.variable = "MY_TOKEN", .file = {}}, two_lines);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().what + broken.error().hint, Not(HasSubstr("sec\n")));
  EXPECT_FALSE(read_secret({.variable = {}, .file = "/no/such/file"}, none).ok());
}

}  // namespace
}  // namespace warpmark::watch
