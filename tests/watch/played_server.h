// A server of played_servers.py beside a test: recorded requests and mails, answers as planned.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::testing_support {

/// Debian's Python, as that is whose python3-aiosmtpd is asked for.
inline const char* python_for_servers() {
  return std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

inline bool has_smtp_server() {
  const auto asked = run_process({python_for_servers(), "-c", "import aiosmtpd"}, {.deadline_s = 60});
  return asked.ok() && asked->exit_code == 0;
}

class PlayedServer {
 public:
  PlayedServer(const std::filesystem::path& folder, const std::string& kind, const std::vector<std::string>& more = {})
      : record_(folder / (kind + std::to_string(counter()++) + ".jsonl")) {
    std::vector<std::string> words = {python_for_servers(), "-B",
                                      std::string(WARPMARK_SOURCE_DIR) + "/tests/watch/played_servers.py", kind,
                                      record_.string()};
    words.insert(words.end(), more.begin(), more.end());
    thread_ = std::thread([this, words] {
      const auto ended = run_process(
          words, {.deadline_s = 280, .own_group = true, .interrupted = &stop_, .on_out = [this](std::string_view text) {
                    const std::scoped_lock lock(mutex_);
                    said_ += text;
                  }});
      (void)ended;  // it is killed
    });
    const auto until_ns = monotonic_ns() + 60'000'000'000;
    while (port_ == 0 && monotonic_ns() < until_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::scoped_lock lock(mutex_);
      if (said_.find('\n') != std::string::npos) port_ = std::stoi(said_);
    }
    EXPECT_NE(port_, 0) << "the played server did not start";
  }
  ~PlayedServer() { end(); }
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port() + "/hook"; }
  void end() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] std::vector<Json> got() const {
    std::vector<Json> all;
    const auto text = read_file(record_);
    if (!text.ok()) return all;
    for (const auto& line : split(*text, '\n')) {
      const auto json = parse_json(line, "record");
      if (json.ok()) all.push_back(*json);
    }
    return all;
  }
  /// Waits up to half a minute until there are so many.
  [[nodiscard]] std::vector<Json> got(std::size_t count) const {
    const auto until_ns = monotonic_ns() + 30'000'000'000;
    while (got().size() < count && monotonic_ns() < until_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return got();
  }

 private:
  static int& counter() {
    static int count = 0;
    return count;
  }
  std::filesystem::path record_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  std::mutex mutex_;
  std::string said_;
  int port_ = 0;
};

/// A certificate for 127.0.0.1 and localhost that signs itself, and its key, as PEM files; false without openssl.
inline bool make_certificate(const std::filesystem::path& folder) {
  const auto made = run_process({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                                 "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                                 (folder / "key.pem").string(), "-out", (folder / "cert.pem").string()},
                                {.deadline_s = 60});
  return made.ok() && made->exit_code == 0;
}

}  // namespace warpmark::testing_support
