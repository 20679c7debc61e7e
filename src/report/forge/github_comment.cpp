#include "report/forge/github_comment.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/draw/format.h"
#include "report/formats/markdown.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMostNameBytes = 200;
// What stands after the tables whatever happens: closing tags, the note on omissions, the tag.
constexpr std::size_t kReserve = 512;

/// Adds what fits under the limit; counts what does not.
class Comment {
 public:
  explicit Comment(std::size_t limit) : limit_(limit > kReserve ? limit - kReserve : 0) {}
  bool add(const std::string& text) {
    if (text_.size() + text.size() > limit_) return false;
    text_ += text;
    return true;
  }
  void add_row(const std::string& text) {
    if (full_ || !add(text)) full_ = true, ++left_out_;  // no later row either: the worst come first
  }
  void close(const std::string& text) { text_ += text; }  // within the reserve
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  std::string take() { return std::move(text_); }

 private:
  std::size_t limit_;
  std::string text_;
  bool full_ = false;
  std::size_t left_out_ = 0;
};

/// Data of a workflow command; property values also escape ':' and ','.
std::string escape_command(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%': out += "%25"; break;
      case '\r': out += "%0D"; break;
      case '\n': out += "%0A"; break;
      case ':': out += property ? "%3A" : ":"; break;
      case ',': out += property ? "%2C" : ","; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string render_digest(const GithubDigest& digest, std::size_t limit) {
  Comment comment(limit);
  comment.add(fmt::format("### {}\n\n{}\n", digest.headline, digest.sentence));
  if (!digest.notable.empty()) {
    comment.add("\n" + digest.header);
    for (const auto& row : digest.notable) comment.add_row(row);
  }
  if (!digest.notice.empty()) comment.add("\n" + digest.notice + "\n");
  for (const auto& [title, body] : digest.folded) {
    comment.add("\n<details>\n<summary>" + title + "</summary>\n\n" + body + "\n</details>\n");
  }
  if (!digest.same.empty()) {
    if (comment.add(
            fmt::format("\n<details>\n<summary>{} unchanged</summary>\n\n{}", digest.same.size(), digest.header))) {
      for (const auto& row : digest.same) comment.add_row(row);
      comment.close("\n</details>\n");
    }
  }
  if (comment.left_out() > 0) {
    comment.close(
        fmt::format("\n{} are left out here, as a comment holds no more than {} characters; the JSON of the job "
                    "has them all.\n",
                    format_plural(comment.left_out(), "row", "rows"), limit));
  }
  comment.close("\n" + digest.tag + "\n");
  return comment.take();
}

const char* headline_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::worse: return "Performance regression";
    case Verdict::unreliable: return "Performance cannot be judged: the machine was disturbed";
    case Verdict::inconclusive: return "Performance check inconclusive";
    case Verdict::different: return "Performance metrics changed";
    case Verdict::better: return "Performance improved";
    case Verdict::same: return "Performance unchanged";
  }
  return "Performance";
}

std::string verdict_cell(Verdict verdict) {
  const std::string name = name_of(verdict);
  return verdict == Verdict::worse || verdict == Verdict::unreliable ? "**" + name + "**" : name;
}

std::string change_cell(const std::optional<double>& ratio) {
  if (!ratio) return "n/a";
  return (*ratio > 1 ? "&#8593; " : *ratio < 1 ? "&#8595; " : "") + format_change(*ratio);
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (const char c : escape_markdown(text)) {
    out += c;
    if (c == '@') out += "<!-- -->";
  }
  return out;
}

std::string cut_short(const std::string& text) {
  if (text.size() <= kMostNameBytes) return text;
  std::size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  return text.substr(0, end) + "...";
}

std::string hidden_tag(std::string_view kind, const std::string& name) {
  std::string safe = cut_short(name);
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c == '>' || c == '<' || c == '\n'; }, '_');
  for (std::size_t at = 0; (at = safe.find("--", at)) != std::string::npos;) safe.replace(at, 2, "__");
  return fmt::format("<!-- warpmark-{}: {} -->", kind, safe);
}

std::string annotation(std::string_view level, const std::string& title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", level, escape_command(cut_short(title), true), escape_command(text, false));
}

}  // namespace warpmark::report
