// Outlier scores of taxi trips read from text: data_loading. Flaw: the host parses each batch of lines within the
// step. Cured by: ten workers parse ahead.
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>

#include "program.cuh"

struct __align__(16) Trip {
  float hour, zone, passengers, distance, fare, tip, spare[2];
};

// The squared distance of each trip from the nearest of the reference trips.
__global__ void __launch_bounds__(256)
    outlier_scores(const Trip* trips, const Trip* references, float* scores, int reference_count) {
  __shared__ Trip tile[256];
  const size_t i = thread_index();
  const Trip own = trips[i];
  float nearest = INFINITY;
  for (int first = 0; first < reference_count; first += 256) {
    __syncthreads();
    tile[threadIdx.x] = references[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 256; ++j) {
      const Trip& other = tile[j];
      const float a = own.hour - other.hour, b = own.zone - other.zone, c = own.passengers - other.passengers;
      const float d = own.distance - other.distance, e = own.fare - other.fare, f = own.tip - other.tip;
      nearest = fminf(nearest, a * a + b * b + c * c + d * d + e * e + f * f);
    }
  }
  scores[i] = nearest;
}

__global__ void draw_references(Trip* trips) {
  const size_t i = thread_index();
  const auto drawn = [&](int k) { return uniform(8 * i + k, 7); };
  trips[i] = {drawn(0), drawn(1), drawn(2), drawn(3), drawn(4), drawn(5), {0.0f, 0.0f}};
}

class TripScores : public Program {
 public:
  explicit TripScores(bool cured) {
    for (int file = 0; file < kFiles; ++file) files_.push_back(written(file));
    over(kReferences, draw_references, references_);
    slots_.resize(cured ? 2 * kWorkers : 2);
    for (Slot& slot : slots_) {
      check(cudaMallocHost(reinterpret_cast<void**>(&slot.trips), trips_.bytes()));
      check(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming | cudaEventBlockingSync));
      empty_.push_back(&slot);
    }
    for (int i = 0; cured && i < kWorkers; ++i)
      workers_.emplace_back([this, i] {
        int file = i;
        for (Slot* slot = take(empty_); slot != nullptr; slot = take(empty_)) {
          parse(files_[file++ % kFiles], *slot);
          put(parsed_, slot);
        }
      });
  }

  ~TripScores() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    for (Slot& slot : slots_) {
      check(cudaEventDestroy(slot.copied));
      check(cudaFreeHost(slot.trips));
    }
  }

  void step() override {
    Slot* slot = take(workers_.empty() ? empty_ : parsed_);
    if (workers_.empty()) parse(files_[step_++ % kFiles], *slot);
    check(cudaMemcpyAsync(trips_, slot->trips, trips_.bytes(), cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(slot->copied, stream));
    put(empty_, slot);
    launch(outlier_scores, kTrips / 256, 256, trips_, references_, scores_, kReferences);
  }

  float result() override { return first_value(scores_ + 7); }

 private:
  static constexpr int kTrips = 65536, kReferences = 32768, kFiles = 6, kWorkers = 10;
  struct Slot {
    Trip* trips = nullptr;
    cudaEvent_t copied = nullptr;
  };

  static std::string written(int file) {
    std::string text;
    char line[128];
    for (int i = 0; i < kTrips; ++i) {
      const uint32_t a = mixed(i + 1000003ull * file), b = mixed(a);
      std::snprintf(line, sizeof line, "%d,2026-%02u-%02uT%02u:%02u,%u,%u,%u.%02u,%u.%02u,%u.%02u\n", 8000000 + i,
                    a % 12 + 1, a % 28 + 1, (a >> 8) % 24, (a >> 16) % 60, b % 265, b % 6, (b >> 8) % 20, b % 100,
                    (b >> 12) % 80, a % 100, (b >> 20) % 15, (a >> 4) % 100);
      text += line;
    }
    return text;
  }

  template <typename T>
  static T number(std::string_view field) {
    T value{};
    if (std::from_chars(field.data(), field.data() + field.size(), value).ec != std::errc{})
      fail("not a number: " + std::string(field));
    return value;
  }

  static std::string_view cut(std::string_view& line) {
    const size_t end = line.find(',');
    const std::string_view field = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return field;
  }

  // A line: id, time, zone, passengers, distance, fare, tip.
  static void parse(std::string_view text, Slot& slot) {
    check(cudaEventSynchronize(slot.copied));
    for (int i = 0; i < kTrips; ++i) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      cut(line);
      const std::string_view time = cut(line);
      const float hour = number<int>(time.substr(11, 2)) + number<int>(time.substr(14, 2)) / 60.0f;
      Trip trip{};
      trip.hour = hour / 24.0f;
      trip.zone = number<int>(cut(line)) / 265.0f;
      trip.passengers = number<int>(cut(line)) / 6.0f;
      trip.distance = number<float>(cut(line)) / 20.0f;
      trip.fare = number<float>(cut(line)) / 80.0f;
      trip.tip = number<float>(cut(line)) / 15.0f;
      slot.trips[i] = trip;
    }
  }

  Slot* take(std::deque<Slot*>& from) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ending_ || !from.empty(); });
    if (ending_) return nullptr;
    Slot* slot = from.front();
    from.pop_front();
    return slot;
  }

  void put(std::deque<Slot*>& to, Slot* slot) {
    {
      const std::lock_guard lock(mutex_);
      to.push_back(slot);
    }
    changed_.notify_all();
  }

  size_t step_ = 0;
  std::vector<std::string> files_;
  Buffer<Trip> trips_{kTrips}, references_{kReferences};
  Buffer<float> scores_{kTrips};
  std::vector<Slot> slots_;
  std::deque<Slot*> empty_, parsed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

int main(int count, char** words) { return run<TripScores>(count, words); }
