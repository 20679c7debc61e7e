// The worker of warpmark_worker.py without Python: the same questions and records, LibTorch in its place. What it costs
// a step less than the other is what Python costs.
#include <dlfcn.h>
#include <unistd.h>

#include <iostream>

#include "wm_training.hh"

namespace {

class Worker {
 public:
  explicit Worker(int memory) : ring_(memory) {}

  /// Members of the answer's object.
  std::string answer(const Value& ask) {
    const std::string& what = ask.at("ask").text;
    if (what == "hello") {
      return "\"protocol\": 1, \"torch\": " + json_text(std::string(TORCH_VERSION) + " (LibTorch)") +
             ", \"cuda\": " + json_text(torch::cuda::is_available() ? "yes" : "") +
             ", \"executable\": \"C++\", \"pid\": " + std::to_string(getpid()) + ", \"places\": []";
    }
    if (what == "prepare") {
      training_ = std::make_unique<Training>(ask);
      return "\"parameters\": " + std::to_string(training_->parameters()) +
             ", \"forward_flops\": " + number_text(training_->flops) +
             ", \"ignorance\": " + number_text(training_->ignorance()) + ", \"faults\": []";
    }
    if (training_ == nullptr) throw Refused{"internal", "nothing is prepared", ""};
    if (what == "run") {
      ring_.reset();
      const auto steps = static_cast<int64_t>(ask.at("steps").number);
      const auto [begin, end] =
          ask.at("phases").number != 0 ? training_->phases(steps, ring_) : training_->window(steps, ring_);
      return "\"steps\": " + std::to_string(steps) + ", \"begin_ns\": " + std::to_string(begin) +
             ", \"end_ns\": " + std::to_string(end) + ", \"records\": " + std::to_string(ring_.count);
    }
    if (what == "check") return "\"error\": " + number_text(training_->reference()) + ", \"differing\": 0";
    if (what == "record") return record(ask);
    if (what == "state") {
      std::string memory;
      for (const auto& [name, bytes] : training_->memory()) {
        memory += (memory.empty() ? "" : ", ") + json_text(name) + ": " + std::to_string(bytes);
      }
      return "\"digest\": " + number_text(training_->digest()) + ", \"memory\": {" + memory +
             "}, \"knobs\": " + training_->knobs();
    }
    throw Refused{"unsupported", what + " is of the Python worker", "--set worker=python"};
  }

  std::string line(const std::string& text) {
    std::string body, kind = "internal", number = "0";
    try {
      const Value ask = JsonReader(text).read();
      kind = ask.at("ask").text;
      number = number_text(ask.at("number").number);
      try {
        body = answer(ask);
      } catch (const Refused& refused) {
        body = "\"refused\": " + json_text(refused.kind) + ", \"what\": " + json_text(refused.what) +
               ", \"hint\": " + json_text(refused.hint);
      } catch (const std::exception& problem) {
        std::cerr << problem.what() << std::endl;
        const std::string what = problem.what();
        const bool memory =
            what.find("out of memory") != std::string::npos || what.find("allocate") != std::string::npos;
        body = std::string("\"refused\": ") + (memory ? "\"environment\"" : "\"data\"") +
               ", \"what\": " + json_text((memory ? "not enough memory: " : "") + what.substr(0, what.find('\n'))) +
               ", \"hint\": \"its whole message is above\"";
      }
    } catch (const std::exception& problem) {
      body = "\"refused\": \"internal\", \"what\": " + json_text(problem.what()) + ", \"hint\": \"\"";
    }
    return "{" + body + ", \"ask\": " + json_text(kind) + ", \"number\": " + number + "}\n";
  }

 private:
  /// Starts warpmark's recorder in this process, or ends it when all that was recorded is done.
  std::string record(const Value& ask) {
    if (ask.at("on").number != 0) {
      for (const auto& [name, value] : ask.at("variables").object) setenv(name.c_str(), value.text.c_str(), 1);
      recorder_ = dlopen(ask.at("library").text.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (recorder_ == nullptr) throw Refused{"unsupported", dlerror(), ""};
      const auto start = reinterpret_cast<int (*)()>(dlsym(recorder_, "warpmark_recording_start"));
      if (start == nullptr || start() != 1) throw Refused{"unsupported", "the recorder does not start", ""};
    } else if (recorder_ != nullptr) {
      training_->synchronize();
      if (auto* stop = reinterpret_cast<void (*)()>(dlsym(recorder_, "warpmark_recording_stop"))) stop();
    }
    return "\"recorder\": true";
  }

  void* recorder_ = nullptr;
  Ring ring_;
  std::unique_ptr<Training> training_;
};

}  // namespace

int main() {
  const char* fds = std::getenv("WARPMARK_WORKER_FDS");
  int control = -1, memory = -1;
  if (fds == nullptr || std::sscanf(fds, "%d,%d", &control, &memory) != 2) {
    std::cerr << "warpmark starts this program" << std::endl;
    return 2;
  }
  Worker worker(memory);
  std::string rest;
  char piece[65536];
  for (ssize_t got = 0; (got = read(control, piece, sizeof piece)) > 0;) {
    rest.append(piece, static_cast<size_t>(got));
    for (size_t end = 0; (end = rest.find('\n')) != std::string::npos;) {
      const std::string said = worker.line(rest.substr(0, end));
      rest.erase(0, end + 1);
      for (size_t sent = 0; sent < said.size();) {
        const ssize_t now = write(control, said.data() + sent, said.size() - sent);
        if (now <= 0) return 1;
        sent += static_cast<size_t>(now);
      }
    }
  }
  return 0;
}
