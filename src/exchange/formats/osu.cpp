// Output of the OSU micro-benchmarks (mvapich.cse.ohio-state.edu/benchmarks): a title "# OSU MPI Latency Test v7.0", a
// header of columns with their units in brackets, and rows by message size. What stands between title and header (data
// type, buffers on host or device, pairs, window) is part of the identity. A table that comes again is a further round.
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "profile/readers/text/line_reader.h"

namespace warpmark::exchange {
namespace {

bool detect_osu(const Document& document) {
  return !document.json && document.text.substr(0, 1 << 16).find("# OSU ") != std::string_view::npos;
}

/// Names between two or more blanks, or behind a closing bracket: "Avg Latency(us)", "Bandwidth (MB/s)".
std::vector<std::string> columns_of(std::string_view header) {
  std::vector<std::string> columns;
  std::size_t begin = 0;
  while (begin < header.size()) {
    const auto gap = header.find("  ", begin);
    const auto end = std::min(gap, header.size());
    if (const auto name = trim(header.substr(begin, end - begin)); !name.empty()) columns.push_back(clean_text(name));
    begin = end == header.size() ? end : end + 2;
  }
  return columns;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// "Datatype: MPI_CHAR.", "Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)", "[ pairs: 4 ] [ window size: 64
/// ]", "Window creation: MPI_Win_allocate". Nothing where the line is something else.
Settings settings_of(std::string_view line) {
  Settings found;
  constexpr std::string_view kSend = "Send Buffer on ", kReceive = " and Receive Buffer on ";
  if (const auto and_at = line.find(kReceive); line.starts_with(kSend) && and_at != std::string_view::npos) {
    const auto kind = [](std::string_view text) {
      return ascii_lower(clean_text(trim(text.substr(0, text.find('(')))));
    };
    found.emplace_back("send_buffer", kind(line.substr(kSend.size(), and_at - kSend.size())));
    found.emplace_back("receive_buffer", kind(line.substr(and_at + kReceive.size())));
    return found;
  }
  for (const auto& part : split(line, ']')) {
    std::string_view text = trim(part);
    if (text.starts_with('[')) text = trim(text.substr(1));
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string name = ascii_lower(clean_text(trim(text.substr(0, colon))));
    if (name == "datatype") name = "type";
    std::string value = clean_text(trim(text.substr(colon + 2)));
    while (value.ends_with('.')) value.pop_back();
    found.emplace_back(std::move(name), std::move(value));
  }
  return found;
}

class OsuReader {
 public:
  OsuReader(Session& session, ResultLimit& limit) : session_(session), limit_(limit) {}

  Status line(std::string_view text) {
    constexpr std::string_view kTitle = "# OSU ";
    if (const auto at = text.find(kTitle); at != std::string_view::npos) {
      title(text.substr(at + kTitle.size()));
      return {};
    }
    if (text.starts_with('#')) {
      text = trim(text.substr(1));
      if (const auto found = settings_of(text); !found.empty()) {
        settings_.insert(settings_.end(), found.begin(), found.end());
        return {};
      }
      const bool header = text.find('(') != std::string_view::npos || text.find("/s") != std::string_view::npos;
      if (header && !workload_.empty()) columns_ = columns_of(text);
      return {};
    }
    return workload_.empty() || columns_.empty() ? Status{} : row(profile::words_of(text));
  }

 private:
  void title(std::string_view text) {
    const auto version = text.rfind(" v");
    if (version != std::string_view::npos) {
      session_.build.version = "OSU micro-benchmarks " + clean_text(trim(text.substr(version + 2)));
    }
    workload_ = clean_text(trim(text.substr(0, version)));
    columns_.clear();
    settings_.clear();
  }

  Status row(const std::vector<std::string_view>& words) {
    if (words.size() < columns_.size() || words.empty() || !parse_number(words[0]).ok()) return {};
    Run& run = add_run(session_, workload_, "cpu");
    run.timing.method = "OSU micro-benchmarks";
    for (const auto& [name, value] : settings_) WM_TRY(set_param(run, name, param_value(value)));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto value = parse_number(words[i]);
      if (columns_[i] == "Size" || columns_[i] == "Size (B)") {
        WM_TRY(set_param(run, "bytes", param_value(words[i])));
      } else if (words[i] == "Fail") {
        run.outcome = Outcome::failed;
        run.reason = "the validation failed";
      } else if (value.ok() && columns_[i] != "Iterations") {
        WM_TRY(add_described(run, described(columns_[i]), {*value}));
      }
    }
    return limit_.add(run);
  }

  Session& session_;
  ResultLimit& limit_;
  std::string workload_;
  Settings settings_;
  std::vector<std::string> columns_;
};

Result<std::vector<Session>> read_osu(const Document& document) {
  Session session = foreign_session("OSU micro-benchmarks");
  ResultLimit limit(document.text);
  OsuReader reader(session, limit);
  for (const auto& line : split(document.text, '\n')) WM_TRY(reader.line(trim(line)));
  merge_repeats(session);
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kOsu{"osu", "output of the OSU micro-benchmarks", detect_osu, read_osu};

}  // namespace warpmark::exchange
