#include "watch/alerts/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "http/url.h"

namespace warpmark::watch {
namespace {

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

class SinkReader {
 public:
  explicit SinkReader(const YamlReader& yaml) : yaml_(yaml) {}

  Result<Sink> read(const YAML::Node& node) const {
    if (!node.IsMap()) return yaml_.error(node, "a sink must be a map such as {name: ops, command: [./page]}");
    WM_TRY(yaml_.only_keys(node, {"name", "resolved", "timeout", "command", "webhook", "mail", "github"}));
    Sink sink;
    sink.line = node.Mark().line + 1;
    if (!node["name"]) return yaml_.error(node, "a sink needs a name");
    WM_ASSIGN(sink.name, name_in(yaml_, node["name"], "the name of a sink"));
    WM_TRY(yaml_.maybe(node, "resolved", sink.resolved));
    WM_TRY(yaml_.maybe(node, "timeout", sink.timeout_s, &YamlReader::duration_s));
    if (sink.timeout_s > 600) return yaml_.error(node["timeout"], "timeout is too long", "at most 10m");
    int kinds = 0;
    for (const char* kind : {"command", "webhook", "mail", "github"}) kinds += node[kind] ? 1 : 0;
    if (kinds != 1) {
      return yaml_.error(node, "sink '" + sink.name + "' needs one of command, webhook, mail and github");
    }
    if (node["command"]) WM_TRY(command(node["command"], sink));
    if (node["webhook"]) WM_TRY(webhook(node["webhook"], sink));
    if (node["mail"]) WM_TRY(mail(node["mail"], sink));
    if (node["github"]) WM_TRY(github(node["github"], sink));
    return sink;
  }

 private:
  Status text(const YAML::Node& map, const char* key, std::string& into) const {
    if (!map[key]) return {};
    WM_ASSIGN(into, yaml_.scalar(map[key], key));
    if (has_control(into)) return yaml_.error(map[key], std::string(key) + " has control characters");
    return {};
  }

  /// KEY_env or KEY_file. The plain key is refused: it would be a secret in a file that is shared.
  Status secret(const YAML::Node& map, const std::string& key, Secret& into) const {
    if (map[key]) {
      return yaml_.error(map[key], key + " is a secret and must not stand in the rules",
                         fmt::format("name a variable or a file that has it: {0}_env: NAME or {0}_file: FILE", key));
    }
    WM_TRY(text(map, (key + "_env").c_str(), into.variable));
    WM_TRY(text(map, (key + "_file").c_str(), into.file));
    if (!into.variable.empty() && !into.file.empty()) {
      return yaml_.error(map[key + "_file"], fmt::format("{0}_env and {0}_file are both given", key), "keep one");
    }
    return {};
  }

  Status command(const YAML::Node& node, Sink& sink) const {
    if (!node.IsSequence() || node.size() == 0) {
      return yaml_.error(node, "command must be a list of words; there is no shell",
                         "command: [/usr/local/bin/page, --team, ops]");
    }
    CommandSink into;
    for (const auto& word : node) {
      WM_ASSIGN(auto value, yaml_.scalar(word, "command"));
      if (value.find('\0') != std::string::npos) return yaml_.error(word, "a word of command has a NUL");
      into.words.push_back(std::move(value));
    }
    if (into.words.front().empty()) return yaml_.error(node, "command has no program");
    sink.kind = std::move(into);
    return {};
  }

  Status webhook(const YAML::Node& node, Sink& sink) const {
    if (!node.IsMap()) return yaml_.error(node, "webhook must be a map such as {format: slack, url_env: SLACK_URL}");
    WM_TRY(yaml_.only_keys(node, {"format", "url", "url_env", "url_file", "token", "token_env", "token_file", "ca"}));
    WebhookSink into;
    if (node["format"]) {
      WM_ASSIGN(const auto format, yaml_.one_of(node["format"], "format", {"json", "slack", "teams"}));
      into.format = format == "slack"   ? WebhookFormat::slack
                    : format == "teams" ? WebhookFormat::teams
                                        : WebhookFormat::json;
    }
    if (into.format == WebhookFormat::json && node["url"]) {
      WM_ASSIGN(into.url, yaml_.scalar(node["url"], "url"));
      WM_ASSIGN([[maybe_unused]] const auto url, yaml_.located(node["url"], "url", http::parse_url(into.url)));
    } else {
      WM_TRY(secret(node, "url", into.secret_url));
    }
    if (into.url.empty() == !into.secret_url.given()) {
      return yaml_.error(node, "webhook needs " +
                                   std::string(into.format == WebhookFormat::json ? "one of url, " : "") +
                                   "url_env or url_file");
    }
    WM_TRY(secret(node, "token", into.token));
    WM_TRY(text(node, "ca", into.ca_file));
    sink.kind = std::move(into);
    return {};
  }

  Result<std::string> address(const YAML::Node& node, const char* name) const {
    WM_ASSIGN(auto found, yaml_.scalar(node, name));
    const auto at = found.find('@');
    const bool good = at != std::string::npos && at > 0 && at + 1 < found.size() &&
                      found.find('@', at + 1) == std::string::npos && !has_control(found) &&
                      found.find_first_of(" <>,;\"\\()") == std::string::npos && found.size() <= 254;
    if (!good) return yaml_.error(node, fmt::format("{} is no mail address", name), "such as ops@example.org");
    return found;
  }

  Status mail(const YAML::Node& node, Sink& sink) const {
    if (!node.IsMap())
      return yaml_.error(node, "mail must be a map such as {host: mail.example.org, from: ..., to: ...}");
    WM_TRY(yaml_.only_keys(
        node, {"host", "port", "tls", "user", "password", "password_env", "password_file", "from", "to", "ca"}));
    MailSink into;
    WM_TRY(text(node, "host", into.host));
    if (into.host.empty() || into.host.find_first_of("/@? #") != std::string::npos) {
      return yaml_.error(node, "mail needs the host of an SMTP server", "host: mail.example.org");
    }
    if (node["tls"]) {
      WM_ASSIGN(const auto word, yaml_.one_of(node["tls"], "tls", {"starttls", "smtps", "none"}));
      into.tls = word == "smtps" ? MailTls::smtps : word == "none" ? MailTls::none : MailTls::starttls;
    }
    into.port = into.tls == MailTls::smtps ? 465 : into.tls == MailTls::none ? 25 : 587;
    WM_TRY(yaml_.maybe(node, "port", into.port, &YamlReader::count, 1, 65535));
    WM_TRY(text(node, "user", into.user));
    WM_TRY(secret(node, "password", into.password));
    if (into.password.given() == into.user.empty()) return yaml_.error(node, "user and password belong together");
    if (into.password.given() && into.tls == MailTls::none) {
      return yaml_.error(node, "a password is never sent without TLS", "tls: starttls or tls: smtps");
    }
    if (!node["from"] || !node["to"]) return yaml_.error(node, "mail needs from and to");
    WM_ASSIGN(into.from, address(node["from"], "from"));
    if (node["to"].IsSequence()) {
      for (const auto& one : node["to"]) {
        WM_ASSIGN(auto recipient, address(one, "to"));
        into.to.push_back(std::move(recipient));
      }
    } else {
      WM_ASSIGN(auto recipient, address(node["to"], "to"));
      into.to.push_back(std::move(recipient));
    }
    if (into.to.empty()) return yaml_.error(node["to"], "the mail sink has no recipients");
    WM_TRY(text(node, "ca", into.ca_file));
    sink.kind = std::move(into);
    return {};
  }

  Status github(const YAML::Node& node, Sink& sink) const {
    if (!node.IsMap())
      return yaml_.error(node, "github must be a map such as {repository: owner/name, issue: 12, ...}");
    WM_TRY(yaml_.only_keys(node, {"repository", "issue", "api", "token", "token_env", "token_file", "ca"}));
    GithubSink into;
    WM_TRY(text(node, "repository", into.repository));
    const auto parts = split(into.repository, '/');
    const auto plain = [](const std::string& part) {
      return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
      });
    };
    if (parts.size() != 2 || !plain(parts[0]) || !plain(parts[1])) {
      return yaml_.error(node, "github needs a repository", "repository: owner/name");
    }
    if (!node["issue"]) return yaml_.error(node, "github needs the number of an issue", "issue: 12");
    WM_ASSIGN(into.issue, yaml_.count(node["issue"], "issue", 1, 1'000'000'000));
    WM_TRY(text(node, "api", into.api));
    WM_ASSIGN([[maybe_unused]] const auto url, yaml_.located(node, "api", http::parse_url(into.api)));
    WM_TRY(secret(node, "token", into.token));
    if (!into.token.given()) return yaml_.error(node, "github needs a token", "token_env: GITHUB_TOKEN");
    WM_TRY(text(node, "ca", into.ca_file));
    sink.kind = std::move(into);
    return {};
  }

  const YamlReader& yaml_;
};

}  // namespace

Result<Sink> read_sink(const YamlReader& yaml, const YAML::Node& node) { return SinkReader(yaml).read(node); }

Result<std::string> name_in(const YamlReader& yaml, const YAML::Node& node, const std::string& what) {
  WM_ASSIGN(auto name, yaml.scalar(node, what));
  const bool good = !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
  });
  if (!good) return yaml.error(node, what + " must be letters, digits, '_', '-' and '.'", "at most 100 of them");
  return name;
}

}  // namespace warpmark::watch
