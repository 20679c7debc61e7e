#include "warpmark/ab/reference.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

#include "base/files.h"
#include "base/text.h"
#include "store/location.h"
#include "validate/commands/command_experiment.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostOfMark = 1 << 16;

Result<int> lock_of(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return environment_error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  ::close(file);
  return environment_error("another process measures with a reference of this repository: it holds " + path.string(),
                           "two measurements at once would disturb each other; wait for it to end");
}

/// What must be the same for a checkout to be used again.
std::string mark_of(const validate::CommandSpec& spec, const std::string& commit, const std::string& directory) {
  std::string text = commit + "\n" + directory + "\n" + command_line(spec.build) + "\n";
  for (const auto& [name, value] : spec.environment) text += name + "=" + shell_quote(value) + "\n";
  return text;
}

}  // namespace

Result<std::unique_ptr<Reference>> Reference::prepare(const Context& context, const ParsedOptions& options,
                                                      const validate::CommandSpec& spec, const std::string& revision) {
  WM_ASSIGN(const auto root, repository_folder());
  WM_ASSIGN(const auto commit, find_commit(revision));
  WM_ASSIGN(const auto location, store_location(context, options));
  WM_ASSIGN(auto folder, store::sibling_folder(location, context.environment));
  folder = std::filesystem::absolute(folder) / "reference" / hash_of(root);
  WM_ASSIGN(const int lock, lock_of(folder.string() + ".lock"));
  std::unique_ptr<Reference> reference(new Reference(lock));
  reference->commit_ = commit.sha;
  WM_ASSIGN(reference->directory_, project_place(folder));
  const std::string mark_file = folder.string() + ".built", mark = mark_of(spec, commit.sha, reference->directory_);
  std::error_code missing;
  const auto known = read_file(mark_file, kMostOfMark);
  if (known.ok() && *known == mark && std::filesystem::is_directory(reference->directory_, missing)) return reference;
  context.err << fmt::format("building the reference {} ({})\n", revision, commit.sha.substr(0, 10));
  std::filesystem::remove(mark_file, missing);
  WM_TRY(check_out_apart(commit.sha, folder));
  if (const auto built = validate::build(spec, reference->directory_, &context.interrupted); !built.ok()) {
    return Error{built.error().kind, "the reference cannot be built: " + built.error().what, built.error().hint};
  }
  WM_TRY(write_file(mark_file, mark));
  return reference;
}

Reference::~Reference() { ::close(lock_); }

}  // namespace warpmark::apps
