// Train step of an autoencoder on sensor windows: data_loading. Flaw: the host cuts and normalizes each batch within
// the step. Cured by: eight workers prepare batches ahead.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "mlp.cuh"
#include "program.cuh"

class SensorAutoencoder : public Program {
 public:
  explicit SensorAutoencoder(bool cured)
      : mlp_({kWindow, 4096, 4096, 4096, kWindow}, kBatch, CUBLAS_COMPUTE_32F_FAST_TF32), recording_(kSamples) {
    const Buffer<float> drawn(kSamples, 31u, -1.0f, 1.0f);
    check(cudaMemcpy(recording_.data(), drawn, drawn.bytes(), cudaMemcpyDeviceToHost));
    slots_.resize(cured ? 2 * kWorkers : 2);
    for (Slot& slot : slots_) {
      check(cudaMallocHost(reinterpret_cast<void**>(&slot.windows), input_.bytes()));
      check(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming | cudaEventBlockingSync));
      free_.push_back(&slot);
    }
    for (unsigned i = 0; cured && i < kWorkers; ++i) workers_.emplace_back([this, i] { prepare(1000 + i); });
  }

  ~SensorAutoencoder() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    for (Slot& slot : slots_) {
      check(cudaEventDestroy(slot.copied));
      check(cudaFreeHost(slot.windows));
    }
  }

  void step() override {
    Slot& slot = workers_.empty() ? *next_free() : *next_ready();
    if (workers_.empty()) fill(slot, seed_);
    check(cudaMemcpyAsync(input_, slot.windows, input_.bytes(), cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(slot.copied, stream));
    hand_over(free_, slot);
    mlp_.forward(input_);
    mlp_.backward(input_, input_);
    mlp_.update(1e-3f);
  }

  float result() override { return mlp_.result(); }

 private:
  static constexpr int kWindow = 1024, kBatch = 4096;
  static constexpr size_t kSamples = size_t{1} << 24;
  static constexpr unsigned kWorkers = 8;
  struct Slot {
    float* windows = nullptr;
    cudaEvent_t copied = nullptr;
  };

  Slot* taken(std::deque<Slot*>& queue) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || !queue.empty(); });
    if (stopping_) return nullptr;
    Slot* slot = queue.front();
    queue.pop_front();
    return slot;
  }
  Slot* next_free() { return taken(free_); }
  Slot* next_ready() { return taken(ready_); }

  void hand_over(std::deque<Slot*>& queue, Slot& slot) {
    {
      const std::lock_guard lock(mutex_);
      queue.push_back(&slot);
    }
    changed_.notify_all();
  }

  void prepare(unsigned seed) {
    while (Slot* slot = next_free()) {
      fill(*slot, seed);
      hand_over(ready_, *slot);
    }
  }

  // Cuts windows at random places, gives them mean 0 and deviation 1 and adds a little noise.
  void fill(Slot& slot, unsigned& seed) const {
    check(cudaEventSynchronize(slot.copied));
    for (int row = 0; row < kBatch; ++row) {
      seed = hashed(seed + 0x9e3779b9u);
      const float* from = recording_.data() + seed % (kSamples - kWindow);
      float sum = 0.0f, squares = 0.0f;
      for (int i = 0; i < kWindow; ++i) {
        sum += from[i];
        squares += from[i] * from[i];
      }
      const float mean = sum / kWindow, scale = 1.0f / std::sqrt(squares / kWindow - mean * mean + 1e-6f);
      float* to = slot.windows + size_t(row) * kWindow;
      for (int i = 0; i < kWindow; ++i) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (from[i] - mean) * scale + 0.05f * ((seed >> 8) * (1.0f / 16777216.0f) - 0.5f);
      }
    }
  }

  Mlp mlp_;
  Buffer<float> input_{size_t(kBatch) * kWindow};
  std::vector<float> recording_;
  unsigned seed_ = 999;
  std::vector<Slot> slots_;
  std::deque<Slot*> free_, ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

int main(int count, char** words) { return run<SensorAutoencoder>(count, words); }
