#include "watch/alerts/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/yaml_keys.h"
#include "http/url.h"

namespace warpmark::watch {
namespace {

/// KEY_env or KEY_file. The plain key is refused: it would be a secret in a file that is shared.
Status read_secret(const YamlReader& reader, const YamlNode& node, const YamlKey& key, Secret& into) {
  const std::string_view given = key.key;
  if (given.ends_with("_env")) return reader.value(node, key, into.variable);
  if (given.ends_with("_file")) {
    WM_TRY(reader.value(node, key, into.file));
    if (into.variable.empty() || into.file.empty()) return {};
    const auto name = given.substr(0, given.size() - 5);
    return reader.error(node, fmt::format("{0}_env and {0}_file are both given", name), "keep one");
  }
  return reader.error(node, fmt::format("{} is a secret and must not stand in the rules", given),
                      fmt::format("name a variable or a file that has it: {0}_env: NAME or {0}_file: FILE", given));
}

Status read_words(const YamlReader& reader, const YamlNode& list, const YamlKey&, Sink& sink) {
  if (list.items().empty()) {
    return reader.error(list, "command must be a list of words; there is no shell",
                        "command: [/usr/local/bin/page, --team, ops]");
  }
  CommandSink into;
  WM_ASSIGN(into.words, reader.texts(list, "command"));
  const auto has_nul = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  if (std::ranges::any_of(into.words, has_nul)) return reader.error(list, "a word of command has a NUL");
  if (into.words.front().empty()) return reader.error(list, "command has no program");
  sink.kind = std::move(into);
  return {};
}

Status read_url(const YamlReader& reader, const YamlNode& node, const YamlKey& key, WebhookSink& into) {
  if (into.format != WebhookFormat::json) return read_secret(reader, node, key, into.secret_url);
  WM_TRY(reader.value(node, key, into.url));
  WM_TRY(reader.located(node, key.key, http::parse_url(into.url)));
  return {};
}

constexpr YamlKey kWebhookKeys[] = {
    yaml_key<&WebhookSink::format>("format"),
    yaml_key<read_url>("url"),
    yaml_key<&WebhookSink::secret_url, read_secret>("url_env", yaml::one_line),
    yaml_key<&WebhookSink::secret_url, read_secret>("url_file", yaml::one_line),
    yaml_key<&WebhookSink::token, read_secret>("token"),
    yaml_key<&WebhookSink::token, read_secret>("token_env", yaml::one_line),
    yaml_key<&WebhookSink::token, read_secret>("token_file", yaml::one_line),
    yaml_key<&WebhookSink::ca_file>("ca", yaml::one_line),
};

Status read_webhook(const YamlReader& reader, const YamlNode& node, const YamlKey&, Sink& sink) {
  WebhookSink into;
  WM_TRY(reader.fill(node, "webhook must be a map such as {format: slack, url_env: SLACK_URL}", kWebhookKeys, into));
  if (into.url.empty() != into.secret_url.given()) {
    return reader.error(node, fmt::format("webhook needs {}url_env or url_file",
                                          into.format == WebhookFormat::json ? "one of url, " : ""));
  }
  sink.kind = std::move(into);
  return {};
}

Status read_address(const YamlReader& reader, const YamlNode& node, const YamlKey& key, std::string& found) {
  WM_TRY(reader.value(node, key, found));
  const auto at = found.find('@');
  const bool good =
      at != std::string::npos && at > 0 && at + 1 < found.size() && found.size() <= 254 &&
      found.find('@', at + 1) == std::string::npos && std::ranges::none_of(found, [](char c) {
        return (c >= 0 && c <= ' ') || std::string_view("<>,;\"\\()\x7f").find(c) != std::string_view::npos;
      });
  if (good) return {};
  return reader.error(node, fmt::format("{} is no mail address", key.key), "such as ops@example.org");
}

Status read_addresses(const YamlReader& reader, const YamlNode& node, const YamlKey& key,
                      std::vector<std::string>& into) {
  if (!node.is_list()) return read_address(reader, node, key, into.emplace_back());
  for (const auto& one : node.items()) WM_TRY(read_address(reader, one, key, into.emplace_back()));
  return into.empty() ? Status(reader.error(node, "the mail sink has no recipients")) : Status();
}

constexpr YamlKey kMailKeys[] = {
    yaml_key<&MailSink::host>("host", yaml::one_line),
    yaml_key<&MailSink::port>("port", yaml::whole(1, 65535)),
    yaml_key<&MailSink::tls>("tls"),
    yaml_key<&MailSink::user>("user", yaml::one_line),
    yaml_key<&MailSink::password, read_secret>("password"),
    yaml_key<&MailSink::password, read_secret>("password_env", yaml::one_line),
    yaml_key<&MailSink::password, read_secret>("password_file", yaml::one_line),
    yaml_key<&MailSink::from, read_address>("from").needed("mail needs from and to"),
    yaml_key<&MailSink::to, read_addresses>("to").needed("mail needs from and to"),
    yaml_key<&MailSink::ca_file>("ca", yaml::one_line),
};

Status read_mail(const YamlReader& reader, const YamlNode& node, const YamlKey&, Sink& sink) {
  MailSink into;
  const char* form = "mail must be a map such as {host: mail.example.org, from: ..., to: ...}";
  WM_TRY(reader.fill(node, form, kMailKeys, into));
  if (into.host.empty() || into.host.find_first_of("/@? #") != std::string::npos) {
    return reader.error(node, "mail needs the host of an SMTP server", "host: mail.example.org");
  }
  if (!node["port"]) into.port = into.tls == MailTls::smtps ? 465 : into.tls == MailTls::none ? 25 : 587;
  if (into.password.given() == into.user.empty()) return reader.error(node, "user and password belong together");
  if (into.password.given() && into.tls == MailTls::none) {
    return reader.error(node, "a password is never sent without TLS", "tls: starttls or tls: smtps");
  }
  sink.kind = std::move(into);
  return {};
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const char lower = ascii_lower(c);
    return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

constexpr YamlKey kGithubKeys[] = {
    yaml_key<&GithubSink::repository>("repository", yaml::one_line),
    yaml_key<&GithubSink::issue>("issue", yaml::whole(1, 1'000'000'000))
        .needed("github needs the number of an issue", "issue: 12"),
    yaml_key<&GithubSink::api>("api", yaml::one_line),
    yaml_key<&GithubSink::token, read_secret>("token"),
    yaml_key<&GithubSink::token, read_secret>("token_env", yaml::one_line),
    yaml_key<&GithubSink::token, read_secret>("token_file", yaml::one_line),
    yaml_key<&GithubSink::ca_file>("ca", yaml::one_line),
};

Status read_github(const YamlReader& reader, const YamlNode& node, const YamlKey&, Sink& sink) {
  GithubSink into;
  const char* form = "github must be a map such as {repository: owner/name, issue: 12, ...}";
  WM_TRY(reader.fill(node, form, kGithubKeys, into));
  const auto parts = split(into.repository, '/');
  const auto plain = [](const std::string& part) { return is_word(part) && part != "." && part != ".."; };
  if (parts.size() != 2 || !plain(parts[0]) || !plain(parts[1])) {
    return reader.error(node, "github needs a repository", "repository: owner/name");
  }
  WM_TRY(reader.located(node, "api", http::parse_url(into.api)));
  if (!into.token.given()) return reader.error(node, "github needs a token", "token_env: GITHUB_TOKEN");
  sink.kind = std::move(into);
  return {};
}

constexpr YamlKey kSinkKeys[] = {
    yaml_key<&Sink::name, read_name>("name", {.text = "the name of a sink"}).needed("a sink needs a name"),
    yaml_key<&Sink::resolved>("resolved"),
    yaml_key<&Sink::timeout_s>("timeout", yaml::duration),
    yaml_key<read_words>("command"),
    yaml_key<read_webhook>("webhook"),
    yaml_key<read_mail>("mail"),
    yaml_key<read_github>("github"),
};

}  // namespace

Status read_sink(const YamlReader& reader, const YamlNode& node, Sink& into) {
  into.line = node.line();
  WM_TRY(reader.fill(node, "a sink must be a map such as {name: ops, command: [./page]}", kSinkKeys, into));
  if (into.timeout_s > 600) return reader.error(node["timeout"], "timeout is too long", "at most 10m");
  int kinds = 0;
  for (const char* kind : {"command", "webhook", "mail", "github"}) kinds += node[kind] ? 1 : 0;
  if (kinds == 1) return {};
  return reader.error(node, "sink '" + into.name + "' needs one of command, webhook, mail and github");
}

Status read_name(const YamlReader& reader, const YamlNode& node, const YamlKey& key, std::string& into) {
  WM_ASSIGN(into, reader.scalar(node, key.form.text));
  if (is_word(into) && into.size() <= 100) return {};
  return reader.error(node, std::string(key.form.text) + " must be letters, digits, '_', '-' and '.'",
                      "at most 100 of them");
}

}  // namespace warpmark::watch
