#include "report/build/github.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/build/check.h"
#include "report/draw/format.h"
#include "report/formats/markdown.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kAnnotations = 10;
constexpr std::size_t kMostNameBytes = 200;  // of a benchmark: one must not fill the comment
// What stands after the tables whatever happens: closing tags, the note on omissions, the tag.
constexpr std::size_t kReserve = 512;

/// For the worse or better by colour alone would leave out who cannot see it; arrows tell the direction of the value.
const char* arrow_of(const MetricCheck& metric) {
  if (!metric.ratio) return "";
  return *metric.ratio > 1 ? "&#8593; " : *metric.ratio < 1 ? "&#8595; " : "";
}

/// As escape_markdown; and names with an @ notify nobody, as GitHub sees no mention where a comment divides it.
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

std::string comment_value(const std::optional<double>& value, const std::string& unit) {
  return value ? comment_text(format_quantity(*value, unit)) : "";
}

std::string verdict_text(Verdict verdict) {
  const std::string name = name_of(verdict);
  return verdict == Verdict::worse || verdict == Verdict::unreliable ? "**" + name + "**" : name;
}

constexpr const char* kHeader =
    "| benchmark | metric | baseline | now | change | interval | p | verdict |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";

std::string row_of(const MetricCheck& metric) {
  return fmt::format("| {} | {} | {} | {} | {}{} | {} | {} | {} |\n", comment_text(cut_short(metric.label)),
                     comment_text(cut_short(metric.metric)), comment_value(metric.level, metric.unit),
                     comment_value(metric.value, metric.unit), arrow_of(metric), change_text(metric),
                     comment_text(interval_text(metric)), comment_text(format_p(metric.adjusted_p)),
                     verdict_text(metric.verdict));
}

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
    if (full_ || !add(text)) full_ = true, ++left_out_;  // no later row either: the order is by gravity
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

std::vector<const MetricCheck*> of_verdicts(const Check& check, std::initializer_list<Verdict> verdicts) {
  std::vector<const MetricCheck*> found;
  for (const Verdict verdict : verdicts) {
    for (const auto& metric : check.metrics) {
      if (metric.verdict == verdict) found.push_back(&metric);
    }
  }
  return found;
}

const char* headline(const Check& check) {
  switch (overall(check)) {
    case Verdict::worse: return "Performance regression";
    case Verdict::unreliable: return "Performance cannot be judged: the machine was disturbed";
    case Verdict::inconclusive: return "Performance check inconclusive";
    case Verdict::different: return "Performance metrics changed";
    case Verdict::better: return "Performance improved";
    case Verdict::same: return "Performance unchanged";
  }
  return "Performance";
}

void add_folded(Comment& comment, const std::string& title, const std::string& body) {
  comment.add("\n<details>\n<summary>" + title + "</summary>\n\n" + body + "\n</details>\n");
}

/// The newest first. GitHub makes links of the hashes.
std::string suspects_list(const Suspects& suspects) {
  constexpr std::size_t kMost = 30;
  std::string text;
  for (std::size_t i = 0; i < std::min(suspects.commits.size(), kMost); ++i) {
    const Commit& commit = suspects.commits[suspects.commits.size() - 1 - i];
    text += fmt::format("- {} {} ({})\n", commit.sha, comment_text(cut_short(commit.subject)),
                        comment_text(cut_short(commit.author)));
  }
  if (suspects.commits.size() > kMost) text += fmt::format("- and {} more\n", suspects.commits.size() - kMost);
  return text;
}

std::string reasons_of(const Check& check) {
  std::string advice;
  for (const auto* text : {&check.moved, &check.advice}) {
    if (!text->empty()) advice += "\n" + comment_text(*text) + "\n";
  }
  std::string text;
  for (const auto* metric : of_verdicts(check, {Verdict::unreliable, Verdict::worse, Verdict::inconclusive})) {
    text += "- " + comment_text(cut_short(metric->label + " " + metric->metric)) + ": " +
            comment_text(verdict_sentence(*metric, check.threshold)) + "\n";
    if (text.size() > 8000) return text + "- and more\n" + advice;
  }
  return text + advice;
}

std::string notes_of(const Check& check) {
  std::string text;
  for (const auto& metric : check.metrics) {
    if (const auto restart = restart_sentence(metric); !restart.empty()) text += "- " + comment_text(restart) + "\n";
    if (text.size() > 8000) return text + "- and more\n";
  }
  for (const auto& name : check.missing) {
    text += "- not measured, though the baseline has it: " + comment_text(cut_short(name)) + "\n";
    if (text.size() > 8000) return text + "- and more\n";
  }
  return text;
}

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

std::string github_tag(const Check& check) {
  // A tag is looked for as it stands: nothing of a branch's name may end the HTML comment.
  std::string branch = cut_short(check.branch);
  std::replace_if(
      branch.begin(), branch.end(), [](char c) { return c == '>' || c == '<' || c == '\n'; }, '_');
  for (std::size_t at = 0; (at = branch.find("--", at)) != std::string::npos;) branch.replace(at, 2, "__");
  return "<!-- warpmark-check: " + branch + " -->";
}

std::string render_github_comment(const Check& check, std::size_t limit) {
  Comment comment(limit);
  const auto commit = check.commit.empty() ? "" : " of " + check.commit.substr(0, 10);
  comment.add(fmt::format("### {}\n\n{}{} against {}.\n", headline(check), verdict_counts(check), commit,
                          comment_text(cut_short(check.branch))));
  const auto notable = of_verdicts(
      check, {Verdict::unreliable, Verdict::worse, Verdict::better, Verdict::different, Verdict::inconclusive});
  if (!notable.empty()) {
    comment.add(std::string("\n") + kHeader);
    for (const auto* metric : notable) comment.add_row(row_of(*metric));
  }
  if (check.suspects) {
    comment.add("\n" + comment_text(suspects_sentence(*check.suspects)) + "\n");
    if (!check.suspects->commits.empty()) add_folded(comment, "Suspects", suspects_list(*check.suspects));
  }
  if (const auto reasons = reasons_of(check); !reasons.empty()) add_folded(comment, "Reasons", reasons);
  if (const auto notes = notes_of(check); !notes.empty()) add_folded(comment, "Baseline", notes);
  add_folded(comment, "How it was judged", comment_text(method_text(check)) + "\n");
  if (const auto same = of_verdicts(check, {Verdict::same}); !same.empty()) {
    if (comment.add(fmt::format("\n<details>\n<summary>{} unchanged</summary>\n\n{}", same.size(), kHeader))) {
      for (const auto* metric : same) comment.add_row(row_of(*metric));
      comment.close("\n</details>\n");
    }
  }
  if (comment.left_out() > 0) {
    comment.close(
        fmt::format("\n{} are left out here, as a comment holds no more than {} characters; the job's "
                    "`check.json` has them all.\n",
                    format_plural(comment.left_out(), "row", "rows"), limit));
  }
  comment.close("\n" + github_tag(check) + "\n");
  return comment.take();
}

std::string github_annotations(const Check& check) {
  std::string text;
  const auto add = [&](const char* level, std::initializer_list<Verdict> verdicts) {
    const auto found = of_verdicts(check, verdicts);
    for (std::size_t i = 0; i < std::min(found.size(), kAnnotations); ++i) {
      const auto& metric = *found[i];
      text +=
          fmt::format("::{} title={}::{}\n", level, escape_command(cut_short(metric.label + " " + metric.metric), true),
                      escape_command(verdict_sentence(metric, check.threshold), false));
    }
  };
  add("error", {Verdict::unreliable, Verdict::worse});
  add("warning", {Verdict::inconclusive});
  return text;
}

}  // namespace warpmark::report
