// Any profile that can be read, written in another format.
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/text.h"
#include "profile/catalog.h"
#include "profile/read_session.h"
#include "warpmark/command.h"
#include "warpmark/interrupt.h"
#include "warpmark/profile_inputs.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kConvertOptions[] = {
    {"--to", "FORMAT", "chrome (for Perfetto), sqlite (for SQL) or warpmark (compact)", false,
     "chrome sqlite warpmark"},
    {"--out", "FILE", "where to (default: the first input's name with the format's extension)", false, "<files>"},
};

/// "run.pt.trace.json.gz" and ".sqlite" make "run.sqlite": everything after the first dot goes.
std::filesystem::path renamed(const std::filesystem::path& input, const char* extension) {
  const auto name = input.filename().string();
  return name.substr(0, name.find('.', 1)) + "." + extension;
}

Result<int> run_convert(Context& context, const ParsedOptions& options) {
  if (options.positionals().empty()) {
    return usage_error("there is nothing to convert", "warpmark convert trace.json.gz --to sqlite");
  }
  const auto format = options.get("--to");
  const auto* writer = find_in(profile::writers(), format);
  if (writer == nullptr) {
    return usage_error(format.empty() ? "--to is missing" : "there is no format '" + format + "' to convert to",
                       "formats: " + join(ids_of(profile::writers()), ", "));
  }
  const std::vector<std::filesystem::path> inputs(options.positionals().begin(), options.positionals().end());
  const auto out =
      options.has("--out") ? std::filesystem::path(options.get("--out")) : renamed(inputs[0], writer->extension);
  std::error_code ignored;
  for (const auto& input : inputs) {
    if (std::filesystem::is_regular_file(input, ignored) && std::filesystem::file_size(input, ignored) == 0) {
      return data_error(input.string() + " is empty", "was what should have written it ended before its time?");
    }
  }
  WM_ASSIGN(const auto session, profile::read_session(inputs));
  const auto files = writer->files != nullptr ? writer->files(session, out) : std::vector{out};
  for (const auto& file : files) WM_TRY(check_not_an_input(file, options.positionals(), session));
  std::vector<std::filesystem::path> halves;
  for (const auto& file : files) halves.push_back(temporary_for(file));
  const RemovedIfInterrupted half_written(std::move(halves));
  const Status written = writer->write(session, out);
  if (!written.ok() && interrupt_flag()) return kInterrupted;  // a signal also ends the call that waits for a pipe
  WM_TRY(written);
  for (const auto& file : files) context.out << file.string() << '\n';
  return kSuccess;
}

}  // namespace

extern const Command convert_command{
    .id = "convert",
    .summary = "write a profile in another format: Chrome trace, SQLite, warpmark",
    .details =
        "Reads what `warpmark analyze` reads. What the source had lost or left out is told of the converted profile, "
        "too, and goes into the table quality. The SQLite tables take one's own questions: "
        "sqlite3 run.sqlite 'select name, sum(duration_ns) from events group by name order by 2 desc limit 9'.",
    .options = kConvertOptions,
    .positional = {"PATH", "profiles, or a folder of them", true, "<files>"},
    .examples = "warpmark convert trace.json.gz --to sqlite\nwarpmark convert profile.wmrec --to chrome --out run.json",
    .run = run_convert,
};

}  // namespace warpmark::apps
