#include "validate/commands/frameworks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::validate {
namespace {

namespace fs = std::filesystem;

// find_spec of a top-level name looks for the package and does not run it; what CUDA it was built for stands in a file.
constexpr const char* kQuestion = R"python(
import importlib.metadata, importlib.util, json, os, re
names = [("PyTorch", "torch"), ("JAX", "jax"), ("JAX's CUDA plugin", "jax-cuda12-plugin"),
         ("JAX's CUDA plugin", "jax-cuda13-plugin"), ("TensorFlow", "tensorflow"), ("CuPy", "cupy-cuda12x"),
         ("CuPy", "cupy-cuda13x"), ("Triton", "triton"), ("Transformers", "transformers"), ("NumPy", "numpy"),
         ("CUDA runtime package", "nvidia-cuda-runtime-cu12"), ("CUDA runtime package", "nvidia-cuda-runtime"),
         ("cuDNN package", "nvidia-cudnn-cu12"), ("cuDNN package", "nvidia-cudnn-cu13")]
found = []
for name, package in names:
    try:
        found.append((name, importlib.metadata.version(package)))
    except importlib.metadata.PackageNotFoundError:
        pass
torch = importlib.util.find_spec("torch")
if torch is not None and torch.origin:
    try:
        with open(os.path.join(os.path.dirname(torch.origin), "version.py"), encoding="utf-8") as file:
            text = file.read()
        if not any(name == "PyTorch" for name, _ in found):
            found += [("PyTorch", each) for each in re.findall(r"^__version__[^=\n]*= *'([^']*)'", text, re.M)[:1]]
        found += [("PyTorch's CUDA", each) for each in re.findall(r"^cuda[^=\n]*= *'([^']*)'", text, re.M)[:1]]
    except (OSError, UnicodeDecodeError):
        pass
print(json.dumps(found))
)python";

bool is_python(const fs::path& program) {
  const auto name = program.filename().string();
  const auto version = name.starts_with("python") ? name.substr(6) : "x";
  return std::all_of(version.begin(), version.end(), [](char c) { return is_digit(c) || c == '.'; });
}

std::string on_path(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) return program;
  for (const auto& folder : split(path, ':')) {
    const auto file = fs::path(folder) / program;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file.string();
  }
  return {};
}

/// The words behind "#!", without /usr/bin/env and its options.
std::string interpreter_in(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  auto words = split(trim(std::string_view(line).substr(2, line.find('\n') - 2)), ' ');
  std::erase(words, "");
  if (words.empty()) return {};
  if (fs::path(words[0]).filename() != "env") return words[0];
  const auto named = std::find_if(words.begin() + 1, words.end(), [](const auto& word) { return word[0] != '-'; });
  return named == words.end() ? std::string() : *named;
}

std::vector<std::pair<std::string, std::string>> ask(const std::string& python, const std::string& directory) {
  const auto said = run_process({python, "-c", kQuestion}, {.deadline_s = 10,
                                                            .output_cap_bytes = 1 << 16,
                                                            .directory = directory,
                                                            .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}},
                                                            .own_group = true});
  if (!said.ok() || said->exit_code != 0) return {};
  const auto json = parse_json(said->out, python);
  if (!json.ok() || !json->is_array()) return {};
  std::vector<std::pair<std::string, std::string>> versions;
  for (const auto& item : *json) {
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      versions.emplace_back(item[0].get<std::string>(), item[1].get<std::string>());
    }
  }
  return versions;
}

}  // namespace

std::string python_of(const std::vector<std::string>& words, const std::string& path) {
  if (words.empty()) return {};
  if (is_python(words[0])) return words[0];
  const auto script = on_path(words[0], path);
  const auto interpreter = script.empty() ? std::string() : interpreter_in(script);
  return is_python(interpreter) ? interpreter : std::string();
}

std::vector<std::pair<std::string, std::string>> framework_versions(const std::vector<std::string>& words,
                                                                    const std::string& directory) {
  static std::mutex lock;
  static std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, std::string>>> known;
  const char* path = std::getenv("PATH");
  const auto python = python_of(words, path != nullptr ? path : "");
  if (python.empty()) return {};
  const std::lock_guard guard(lock);
  const auto [entry, is_new] = known.try_emplace({python, directory});
  if (is_new) entry->second = ask(python, directory);
  return entry->second;
}

}  // namespace warpmark::validate
