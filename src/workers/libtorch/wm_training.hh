// A network in training: its batches, steps with and without marks, and what they are held against.
#pragma once

#include <sys/resource.h>

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/cuda.h>
#include <torch/version.h>

// Counters of the GPU's allocator without CUDA's own headers, which no wheel of PyTorch needs to have.
#if __has_include(<c10/core/CachingDeviceAllocator.h>) && \
    (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9))
#include <c10/core/CachingDeviceAllocator.h>
#define WM_DEVICE_ALLOCATOR 1
#endif

#include <cmath>
#include <map>
#include <memory>

#include "wm_json.hh"
#include "wm_networks.hh"
#include "wm_optimizer.hh"
#include "wm_resnet.hh"
#include "wm_ring.hh"

constexpr int kPool = 4;

struct Batch {
  torch::Tensor input, target;
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
    channels_last_ = ask.at("knobs").object.count("channels_last") != 0;
    if (device_.is_cuda()) {
      // What follows and names no device, such as waiting, is about this one.
      c10::impl::getDeviceGuardImpl(device_.type())->setDevice({device_.type(), device_index()});
    }
    at::globalContext().setAllowTF32CuBLAS(precision_ == "tf32");
    at::globalContext().setAllowTF32CuDNN(precision_ == "tf32");
    at::globalContext().setBenchmarkCuDNN(true);
    at::globalContext().setFlushDenormal(true);
    model_ = made(torch::kFloat32);
    model_->train(train_);
    make_pool();
    counter() = {true, 0};
    {
      torch::NoGradGuard no_grad;
      const int64_t few = std::min<int64_t>(2, batch_);
      model_->forward(pool_[0].input.slice(0, 0, few).to(device_));
      flops = std::round(counter().flops / static_cast<double>(few)) * static_cast<double>(batch_);
    }
    counter() = {};
    restart();
    if (channels_last_) put_channels_last(*model_);
    if (train_) optimizer_ = std::make_unique<AdamW>(model_->parameters(), ask.at("rate").number);
    if (device_.is_cuda()) {
      for (auto& batch : pool_) batch = {batch.input.pin_memory(), batch.target.pin_memory()};
    }
    forget_peak();
  }

  int64_t parameters() const { return model_->published_parameters(); }
  double ignorance() const { return std::log(static_cast<double>(config_.at(is_words() ? "vocab" : "classes"))); }
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
    int64_t last = begin;
    for (int64_t i = 0; i < steps; ++i) {
      double spent[5] = {};
      const int64_t first = last;  // where the step before ended: what lies between two steps is part of the second
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
    kept_memory_ = memory();
    torch::AutoGradMode grad(train_);
    const int64_t few = std::min<int64_t>(4, batch_);
    const auto input = pool_[0].input.slice(0, 0, few).to(device_);
    const auto target = pool_[0].target.slice(0, 0, few).to(device_);
    auto narrow = made(torch::kFloat32), wide = made(torch::kFloat64);
    narrow->train(train_);
    wide->train(train_);
    const auto right = loss_of(wide->forward(is_words() ? input : input.to(torch::kFloat64)), target);
    const auto ours = loss_of(forward(*narrow, input), target);
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

  /// At its peak, without what checking took; on a GPU by the allocator's counters, where this LibTorch tells them
  /// (2.9) without CUDA's headers.
  std::map<std::string, int64_t> memory() const {
    if (!kept_memory_.empty()) return kept_memory_;
    if (!device_.is_cuda()) {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return {{"peak_resident", int64_t{used.ru_maxrss} * 1024}};
    }
#ifdef WM_DEVICE_ALLOCATOR
    const auto stats = c10::getDeviceAllocator(device_.type())->getDeviceStats(device_index());
    return {{"peak_allocated", stats.allocated_bytes[0].peak},
            {"peak_reserved", stats.reserved_bytes[0].peak},
            {"allocated", stats.allocated_bytes[0].current}};
#else
    return {};
#endif
  }

  /// Whether the weights are as the knob wants them, by looking; empty where nobody asked.
  std::string knobs() const {
    if (!channels_last_) return "[]";
    int64_t all = 0, as_asked = 0;
    for (const auto& p : model_->parameters()) {
      if (p.dim() != 4) continue;
      ++all;
      as_asked += p.is_contiguous(at::MemoryFormat::ChannelsLast) ? 1 : 0;
    }
    return "[{\"id\": \"channels_last\", \"in_force\": " + std::string(all == as_asked ? "true" : "false") +
           ", \"said\": " + json_text(std::to_string(as_asked) + " of " + std::to_string(all) + " weights") + "}]";
  }

  void synchronize() const {
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
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
    if (name_ != "gpt2" && name_ != "bert" && name_ != "resnet50") throw only_python(name_);
    if (name_ == "bert" && config_.at("predictions") == 0) throw only_python("the span head");
    if (ask.at("pass").text == "decode") throw only_python("pass=decode");
    if (precision_ == "fp16") throw only_python("fp16");
    if (ask.number_or("world", 1) > 1) throw only_python("several ranks");
    if (ask.number_or("workers", -1) >= 0) throw only_python("a DataLoader");
    for (const auto& [knob, value] : ask.at("knobs").object) {
      if (knob != "channels_last" || is_words()) throw only_python("the knob " + knob);
    }
    if (device_.is_cuda() && !torch::cuda::is_available()) {
      throw Refused{"unsupported", "this LibTorch sees no GPU", "a python whose torch has CUDA, or --device cpu"};
    }
  }

  std::shared_ptr<Network> made(at::ScalarType type) const {
    torch::manual_seed(seed_);
    std::shared_ptr<Network> network;
    if (name_ == "gpt2") {
      network = std::make_shared<Gpt2>(config_);
    } else if (name_ == "bert") {
      network = std::make_shared<Bert>(config_);
    } else {
      network = std::make_shared<ResNet>(config_);
    }
    network->to(device_, type);
    return network;
  }

  /// wm_tasks.one, draw by draw.
  void make_pool() {
    auto generator = at::detail::createCPUGenerator(seed_);
    for (int i = 0; i < kPool && !is_words(); ++i) {
      const int64_t size = config_.at("size"), few = std::min<int64_t>(4, config_.at("classes"));
      const auto target = torch::randint(few, {batch_}, generator, torch::kInt64);
      const auto images = torch::randn({batch_, 3, size, size}, generator, torch::kFloat32) * 0.5;
      pool_.push_back({images + (target.view({-1, 1, 1, 1}).to(torch::kFloat32) - 1.5), target});
    }
    for (int i = 0; i < kPool && is_words(); ++i) {
      const int64_t seq = config_.at("seq"), vocab = config_.at("vocab");
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

  bool is_words() const { return name_ != "resnet50"; }
  c10::DeviceIndex device_index() const { return device_.has_index() ? device_.index() : c10::DeviceIndex{0}; }

  /// Counting has moved the running means of batch norms; steps begin from the state that was drawn.
  void restart() {
    for (const auto& module : model_->modules()) {
      if (auto* norm = module->as<torch::nn::BatchNorm2d>()) norm->reset_running_stats();
    }
  }
  static void put_channels_last(Network& network) {
    torch::NoGradGuard no_grad;
    for (auto& p : network.parameters()) {
      if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  void forget_peak() const {
#ifdef WM_DEVICE_ALLOCATOR
    if (device_.is_cuda()) c10::getDeviceAllocator(device_.type())->resetPeakStats(device_index());
#endif
  }

  torch::Tensor forward(Network& network, const torch::Tensor& input) const {
    torch::Tensor out;
    {
      const Autocast autocast(precision_ == "bf16", device_.type());
      out = network.forward(channels_last_ ? input.contiguous(at::MemoryFormat::ChannelsLast) : input);
    }
    return precision_ == "bf16" ? out.to(torch::kFloat32) : out;
  }
  static torch::Tensor loss_of(const torch::Tensor& out, const torch::Tensor& target) {
    if (target.dim() == 1) return torch::cross_entropy_loss(out, target);
    return torch::cross_entropy_loss(out.flatten(0, 1), target.flatten());
  }

  template <typename Mark>
  torch::Tensor step(Mark mark) {
    torch::Tensor total;
    if (train_) optimizer_->zero_grad();
    for (int64_t i = 0; i < accumulate_; ++i) {
      const Batch& batch = pool_[next_++ % pool_.size()];
      mark(0);
      const auto input = batch.input.to(device_, true), target = batch.target.to(device_, true);
      mark(1);
      auto loss = loss_of(forward(*model_, input), target);
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

  torch::Device device_;
  std::string name_, precision_;
  bool train_ = true, channels_last_ = false;
  int64_t batch_ = 1, accumulate_ = 1;
  uint64_t seed_ = 0;
  Config config_;
  std::shared_ptr<Network> model_;
  std::vector<Batch> pool_;
  size_t next_ = 0;
  std::unique_ptr<AdamW> optimizer_;
  std::map<std::string, int64_t> kept_memory_;
};
