#include "warpmark/sessions/result_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "device/machine.h"
#include "model/names.h"

namespace warpmark::apps {
Result<std::vector<Session>> read_result_file(const std::string& path, const exchange::ImportOptions& options) {
  WM_ASSIGN(const auto text, read_file(path));
  WM_ASSIGN(auto document, exchange::open_document(path, text));
  document.collective = options.collective;
  document.folder = std::filesystem::absolute(path).parent_path();
  exchange::ImportOptions with_date = options;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) with_date.fallback_started = format_utc(static_cast<double>(facts.st_mtime));
  return exchange::import_results(document, with_date);
}

bool is_result_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".json") || std::filesystem::is_regular_file(word, ignored);
}

Result<std::pair<std::string, Better>> direction_of(const std::string& text) {
  const auto equals = text.rfind('=');
  const auto better = value_named<Better>(equals == std::string::npos ? "" : text.substr(equals + 1));
  if (better && equals != 0) return std::pair{text.substr(0, equals), *better};
  return usage_error("--better " + text + " is not of the form NAME=lower", "lower, higher or neither");
}

Result<exchange::ImportOptions> read_as(const ParsedOptions& options) {
  WM_ASSIGN(auto import, read_options<exchange::ImportOptions>(options));
  if (import.machine == "this") import.measured_on = device::machine_facts();
  return import;
}

Result<Session> read_one_session(const std::string& path, const exchange::ImportOptions& options) {
  WM_ASSIGN(auto sessions, read_result_file(path, options));
  if (sessions.size() == 1) return std::move(sessions.front());
  return data_error(path + " holds " + std::to_string(sessions.size()) + " sessions, and one is needed here",
                    "'warpmark history import' stores them; then name one by its id");
}

}  // namespace warpmark::apps
