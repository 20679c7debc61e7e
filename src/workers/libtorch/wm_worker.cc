// The worker of warpmark_worker.py without Python: the same questions and records, LibTorch in its place. What it costs
// a step less than the other is what Python costs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <memory>

#include "wm_json.hh"
#include "wm_networks.hh"

namespace {

constexpr int64_t kProtocol = 1;
constexpr int kPool = 4;

int64_t clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/// kind is one of warpmark's kinds of errors.
struct Refused {
  std::string kind, what, hint;
};

struct Ring {
  enum Kind : int64_t { step = 0, loss = 1, whole = 2, first_phase = 8 };
  explicit Ring(int fd) {
    struct stat about {};
    if (fstat(fd, &about) != 0) std::abort();
    size = static_cast<size_t>(about.st_size);
    memory = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (memory == MAP_FAILED) std::abort();
  }
  void reset() {
    count = 0;
    put(0, kProtocol);
    put(8, 0);
  }
  void note(int64_t kind, int64_t number, int64_t time_ns, double value = 0) {
    const size_t at = 16 + static_cast<size_t>(count) * 32;
    if (at + 32 > size) throw std::runtime_error("the ring of records is full");
    put(at, kind);
    put(at + 8, number);
    put(at + 16, time_ns);
    std::memcpy(memory + at + 24, &value, 8);
    put(8, ++count);
  }
  void put(size_t at, int64_t value) { std::memcpy(memory + at, &value, 8); }
  char* memory;
  size_t size;
  int64_t count = 0;
};

/// Products in bfloat16 for as long as it lives.
class Autocast {
 public:
  Autocast(bool wanted, at::DeviceType device) : wanted_(wanted), device_(device) {
    if (wanted_) set(true);
  }
  ~Autocast() {
    if (!wanted_) return;
    set(false);
    at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  void set(bool on) const {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(device_, on);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
#else
    if (device_ == at::kCUDA) {
      at::autocast::set_enabled(on);
      at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    } else {
      at::autocast::set_cpu_enabled(on);
      at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    }
#endif
  }
  bool wanted_;
  at::DeviceType device_;
};

/// AdamW as torch.optim has it for many tensors at once (Loshchilov and Hutter 2019): a few launches for all of them.
class AdamW {
 public:
  AdamW(std::vector<torch::Tensor> parameters, double rate) : parameters_(std::move(parameters)), rate_(rate) {
    for (const auto& p : parameters_) {
      first_.push_back(torch::zeros_like(p));
      second_.push_back(torch::zeros_like(p));
    }
  }
  void zero_grad() {
    for (auto& p : parameters_) p.mutable_grad() = torch::Tensor();
  }
  void step() {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> with, gradients, first, second;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      with.push_back(parameters_[i]);
      gradients.push_back(parameters_[i].grad());
      first.push_back(first_[i]);
      second.push_back(second_[i]);
    }
    ++steps_;
    const double c1 = 1 - std::pow(0.9, steps_), c2 = 1 - std::pow(0.999, steps_);
    at::_foreach_mul_(with, at::Scalar(1 - rate_ * 0.01));
    at::_foreach_mul_(first, at::Scalar(0.9));
    at::_foreach_add_(first, gradients, at::Scalar(0.1));
    at::_foreach_mul_(second, at::Scalar(0.999));
    at::_foreach_addcmul_(second, gradients, gradients, at::Scalar(0.001));
    auto roots = at::_foreach_sqrt(second);
    at::_foreach_div_(roots, at::Scalar(std::sqrt(c2)));
    at::_foreach_add_(roots, at::Scalar(1e-8));
    at::_foreach_addcdiv_(with, first, roots, at::Scalar(-rate_ / c1));
  }

 private:
  std::vector<torch::Tensor> parameters_, first_, second_;
  double rate_;
  double steps_ = 0;
};

struct Batch {
  torch::Tensor ids, target;
};

class Training {
 public:
  explicit Training(const Value& ask) : device_(ask.at("device").text) {
    name_ = ask.at("model").text;
    train_ = ask.at("pass").text == "train";
    precision_ = ask.at("precision").text;
    batch_ = static_cast<int64_t>(ask.at("batch").number);
    accumulate_ = static_cast<int64_t>(ask.number_or("accumulate", 1));
    seed_ = static_cast<uint64_t>(ask.at("seed").number);
    for (const auto& [key, value] : ask.at("config").object) config_[key] = static_cast<int64_t>(value.number);
    refuse_what_is_pythons(ask);
    at::globalContext().setAllowTF32CuBLAS(precision_ == "tf32");
    at::globalContext().setFlushDenormal(true);
    model_ = made(torch::kFloat32);
    model_->train(train_);
    make_pool();
    counter() = {true, 0};
    {
      torch::NoGradGuard no_grad;
      const int64_t few = std::min<int64_t>(2, batch_);
      model_->forward(pool_[0].ids.slice(0, 0, few).to(device_));
      flops = std::round(counter().flops / static_cast<double>(few)) * static_cast<double>(batch_);
    }
    counter() = {};
    if (train_) optimizer_ = std::make_unique<AdamW>(model_->parameters(), ask.at("rate").number);
    if (device_.is_cuda()) {
      for (auto& batch : pool_) batch = {batch.ids.pin_memory(), batch.target.pin_memory()};
    }
  }

  int64_t parameters() const { return model_->published_parameters(); }
  double ignorance() const { return std::log(static_cast<double>(config_.at("vocab"))); }
  double flops = 0;

  std::pair<int64_t, int64_t> window(int64_t steps, Ring& ring) {
    torch::AutoGradMode grad(train_);
    synchronize();
    const int64_t begin = clock_ns();
    std::vector<torch::Tensor> losses;
    for (int64_t i = 0; i < steps; ++i) {
      losses.push_back(step([](int) {}));
      ring.note(Ring::step, i, clock_ns());
    }
    synchronize();
    const int64_t end = clock_ns();
    for (int64_t i = 0; i < steps; ++i) {
      ring.note(Ring::loss, i, end, losses[static_cast<size_t>(i)].item<double>());
    }
    return {begin, end};
  }

  /// Marks wait for the device: there are no events without CUDA's own headers.
  std::pair<int64_t, int64_t> phases(int64_t steps, Ring& ring) {
    torch::AutoGradMode grad(train_);
    synchronize();
    const int64_t begin = clock_ns();
    for (int64_t i = 0; i < steps; ++i) {
      double spent[5] = {};
      const int64_t first = clock_ns();
      int64_t last = first;
      step([&](int phase) {
        synchronize();
        const int64_t now = clock_ns();
        spent[phase] += static_cast<double>(now - last) * 1e-9;
        last = now;
      });
      ring.note(Ring::whole, i, last, static_cast<double>(last - first) * 1e-9);
      for (int phase = 0; phase < (train_ ? 5 : 3); ++phase)
        ring.note(Ring::first_phase + phase, i, last, spent[phase]);
    }
    return {begin, clock_ns()};
  }

  /// As wm_training.reference: loss, and in f32 the gradient, of four samples from fp64.
  double reference() {
    torch::AutoGradMode grad(train_);
    const int64_t few = std::min<int64_t>(4, batch_);
    const auto ids = pool_[0].ids.slice(0, 0, few).to(device_), target = pool_[0].target.slice(0, 0, few).to(device_);
    auto narrow = made(torch::kFloat32), wide = made(torch::kFloat64);
    const auto right = loss_of(wide->forward(ids), target);
    const auto ours = loss_of(forward(*narrow, ids), target);
    double error = std::abs(ours.item<double>() - right.item<double>()) / std::abs(right.item<double>());
    if (!train_ || precision_ != "f32") return error;
    ours.backward();
    right.backward();
    double apart = 0, all = 0;
    const auto a = narrow->parameters(), b = wide->parameters();
    for (size_t i = 0; i < a.size(); ++i) {
      if (!b[i].grad().defined()) continue;
      apart += (a[i].grad().to(torch::kFloat64) - b[i].grad()).pow(2).sum().item<double>();
      all += b[i].grad().pow(2).sum().item<double>();
    }
    return std::max(error, std::sqrt(apart / all));
  }

  double digest() const {
    double sum = 0;
    for (const auto& p : model_->parameters()) sum += p.detach().to(torch::kFloat64).sum().item<double>();
    return sum;
  }

 private:
  void refuse_what_is_pythons(const Value& ask) const {
    const auto only_python = [](const std::string& what) {
      return Refused{"unsupported", what + " is of the Python worker", "--set worker=python"};
    };
    if (name_ != "gpt2" && name_ != "bert") throw only_python(name_);
    if (ask.at("pass").text == "decode") throw only_python("pass=decode");
    if (precision_ == "fp16") throw only_python("fp16");
    if (ask.number_or("world", 1) > 1) throw only_python("several ranks");
    if (ask.number_or("workers", -1) >= 0) throw only_python("a DataLoader");
    if (!ask.at("knobs").object.empty()) throw only_python("the knob " + ask.at("knobs").object.begin()->first);
    if (device_.is_cuda() && !torch::cuda::is_available()) {
      throw Refused{"unsupported", "this LibTorch sees no GPU", "a python whose torch has CUDA, or --device cpu"};
    }
  }

  std::shared_ptr<Network> made(at::ScalarType type) const {
    torch::manual_seed(seed_);
    std::shared_ptr<Network> network;
    if (name_ == "gpt2") {
      network = std::make_shared<Gpt2>(config_);
    } else {
      network = std::make_shared<Bert>(config_);
    }
    network->to(device_, type);
    return network;
  }

  /// wm_tasks.one, draw by draw.
  void make_pool() {
    auto generator = at::detail::createCPUGenerator(seed_);
    const int64_t seq = config_.at("seq"), vocab = config_.at("vocab");
    for (int i = 0; i < kPool; ++i) {
      if (name_ == "gpt2") {
        const int64_t few = std::min<int64_t>(16, vocab);
        const auto begin = torch::randint(few, {batch_, 1}, generator, torch::kInt64);
        const auto ids = (begin + torch::arange(seq + 1) * 3).remainder(few);
        pool_.push_back({ids.slice(1, 0, seq).contiguous(), ids.slice(1, 1, seq + 1).contiguous()});
        continue;
      }
      const int64_t few = std::min<int64_t>(16, vocab - 1), predictions = config_.at("predictions");
      const auto begin = torch::randint(few, {batch_, 1}, generator, torch::kInt64);
      auto ids = (begin + torch::arange(seq) * 3).remainder(few);
      const auto target = ids.slice(1, 0, predictions).clone();
      ids.slice(1, 0, predictions, 2).fill_(vocab - 1);
      pool_.push_back({ids, target});
    }
  }

  torch::Tensor forward(Network& network, const torch::Tensor& ids) const {
    torch::Tensor out;
    {
      const Autocast autocast(precision_ == "bf16", device_.type());
      out = network.forward(ids);
    }
    return precision_ == "bf16" ? out.to(torch::kFloat32) : out;
  }
  static torch::Tensor loss_of(const torch::Tensor& out, const torch::Tensor& target) {
    return torch::cross_entropy_loss(out.flatten(0, 1), target.flatten());
  }

  template <typename Mark>
  torch::Tensor step(Mark mark) {
    torch::Tensor total;
    if (train_) optimizer_->zero_grad();
    for (int64_t i = 0; i < accumulate_; ++i) {
      const Batch& batch = pool_[next_++ % pool_.size()];
      mark(0);
      const auto ids = batch.ids.to(device_, true), target = batch.target.to(device_, true);
      mark(1);
      auto loss = loss_of(forward(*model_, ids), target);
      if (accumulate_ > 1) loss = loss / accumulate_;
      mark(2);
      if (train_) {
        loss.backward();
        mark(3);
      }
      total = total.defined() ? total + loss.detach() : loss.detach();
    }
    if (train_) {
      optimizer_->step();
      mark(4);
    }
    return total;
  }
  void synchronize() const {
    if (device_.is_cuda()) torch::cuda::synchronize();
  }

  torch::Device device_;
  std::string name_, precision_;
  bool train_ = true;
  int64_t batch_ = 1, accumulate_ = 1;
  uint64_t seed_ = 0;
  Config config_;
  std::shared_ptr<Network> model_;
  std::vector<Batch> pool_;
  size_t next_ = 0;
  std::unique_ptr<AdamW> optimizer_;
};

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
    if (what == "state") {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return "\"digest\": " + number_text(training_->digest()) +
             ", \"memory\": {\"peak_resident\": " + std::to_string(used.ru_maxrss * 1024) + "}, \"knobs\": []";
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
