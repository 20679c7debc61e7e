// Any profile that can be read, written in another format.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/files.h"
#include "base/text.h"
#include "profile/catalog.h"
#include "profile/read_session.h"
#include "warpmark/command.h"
#include "warpmark/profiles/profile_inputs.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kConvertOptions[] = {
    {"--to", "FORMAT", "chrome (for Perfetto), sqlite (for SQL), folded (host stacks) or warpmark (compact)", false,
     "chrome sqlite folded warpmark"},
    {"--out", "FILE", "where to (default: the first input's name with the format's extension); - is the output"},
};

/// "run.pt.trace.json.gz" and ".sqlite" make "run.sqlite": everything after the first dot goes.
fs::path renamed(const fs::path& input, const char* extension) {
  const auto name = input.filename().string();
  return name.substr(0, name.find('.', 1)) + "." + extension;
}

bool is_no_file(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none) && !fs::is_regular_file(path, none);
}

/// By way of a file, as SQLite needs one and a profile may be larger than the memory.
Result<int> write_to_output(Context& context, const profile::Writer& writer, const ProfileSession& session) {
  WM_ASSIGN(const auto folder, ScratchFolder::make("convert"));
  const fs::path file = folder.path() / "profile";
  WM_TRY(writer.write(session, file));
  context.out << std::ifstream(file, std::ios::binary).rdbuf();
  return kSuccess;
}

Result<int> run_convert(Context& context, const ParsedOptions& options) {
  if (options.positionals().empty()) {
    return usage_error("no input is named", "warpmark convert trace.json.gz --to sqlite");
  }
  const auto format = options.get("--to");
  const auto* writer = find_in(profile::writers(), format);
  if (writer == nullptr) {
    return usage_error(format.empty() ? "--to is missing" : "there is no format '" + format + "' to convert to",
                       "formats: " + join(ids_of(profile::writers()), ", "));
  }
  const std::vector<fs::path> inputs(options.positionals().begin(), options.positionals().end());
  const bool to_output = options.get("--out") == "-";
  if (to_output && context.out_is_terminal && format != "chrome" && format != "folded") {
    return usage_error("what " + format + " makes is not for a terminal", "name a file with --out, or send it on");
  }
  const fs::path out = options.has("--out") ? fs::path(options.get("--out")) : renamed(inputs[0], writer->extension);
  if (!to_output) WM_TRY(check_writable(out));
  std::error_code ignored;
  for (const auto& input : inputs) {
    if (fs::is_regular_file(input, ignored) && fs::file_size(input, ignored) == 0) {
      return data_error(input.string() + " is empty", "was what should have written it ended before its time?");
    }
  }
  WM_ASSIGN(const auto session, profile::read_session(inputs));
  const auto files = writer->files != nullptr ? writer->files(session, out) : std::vector{out};
  if (files.size() > 1 && (to_output || is_no_file(out))) {
    return usage_error(fmt::format("{} files, one for each rank, cannot share one output", files.size()),
                       "name a file with --out, or convert one rank");
  }
  if (to_output) return write_to_output(context, *writer, session);
  for (const auto& file : files) WM_TRY(check_not_an_input(file, options.positionals(), session));
  std::vector<fs::path> halves;
  for (const auto& file : files) halves.push_back(temporary_for(file));
  const RemovedIfInterrupted half_written(std::move(halves));
  const Status written = writer->write(session, out);
  if (!written.ok() && interrupt_flag()) return kInterrupted;  // a signal also ends the call that waits for a pipe
  WM_TRY(written);
  for (const auto& file : files) {
    if (!is_no_file(file)) context.out << file.string() << '\n';  // a name would be part of what went into it
  }
  return kSuccess;
}

}  // namespace

extern const Command convert_command{
    .id = "convert",
    .summary = "write a profile in another format: Chrome trace, SQLite, folded stacks, warpmark",
    .details =
        "Reads what `warpmark analyze` reads. Lost or missing data of the source is recorded in the table quality. "
        "Query the SQLite tables with SQL: sqlite3 run.sqlite 'select name, sum(duration_ns) from events group by "
        "name order by 2 desc limit 9'. Folded stacks of the host open in speedscope.app and flamegraph.pl.",
    .options = kConvertOptions,
    .positional = {"PATH", "profiles, or a folder of them", true, "<files>"},
    .examples =
        "warpmark convert trace.json.gz --to sqlite\nwarpmark convert profile.wmrec --to chrome --out run.json\n"
        "warpmark convert trace.json.gz --to folded --out host.folded",
    .run = run_convert,
};

}  // namespace warpmark::apps
