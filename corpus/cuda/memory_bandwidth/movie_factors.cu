// Matrix factorization by SGD, 2M users, 4M ratings a step: memory_bandwidth. Flaw: the factors of a user lie far
// apart: each access fetches a sector for one number. Cured by: the factors of a user lie side by side and are read
// together.
#include "program.cuh"

constexpr int kFactors = 32;
constexpr uint32_t kUsers = 2u << 20, kMovies = 64u << 10, kRatings = 4u << 20;

__global__ void draw_ratings(int* users, int* movies, float* stars, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  users[i] = static_cast<int>(mixed(3 * i) % kUsers);
  movies[i] = static_cast<int>(mixed(3 * i + 1) % kMovies);
  stars[i] = 0.5f + 0.5f * static_cast<float>(mixed(3 * i + 2) % 10);
}

// The factors as matrices of kFactors rows: one thread a rating.
__global__ void __launch_bounds__(256) sgd_columns(const int* users, const int* movies, const float* stars,
                                                   float* user_factors, float* movie_factors, float rate) {
  const size_t i = thread_index();
  float *user = user_factors + users[i], *movie = movie_factors + movies[i];
  float predicted = 0.0f;
#pragma unroll 8
  for (int k = 0; k < kFactors; ++k)
    predicted += user[static_cast<size_t>(k) * kUsers] * movie[static_cast<size_t>(k) * kMovies];
  const float error = stars[i] - predicted;
#pragma unroll 8
  for (int k = 0; k < kFactors; ++k) {
    float &p = user[static_cast<size_t>(k) * kUsers], &q = movie[static_cast<size_t>(k) * kMovies];
    const float old = p;
    p += rate * (error * q - 0.05f * old);
    q += rate * (error * old - 0.05f * q);
  }
}

// The factors of a user or movie side by side: eight threads a rating.
__global__ void __launch_bounds__(256) sgd_rows(const int* users, const int* movies, const float* stars,
                                                float* user_factors, float* movie_factors, float rate) {
  const size_t i = thread_index() / 8;
  const int lane = threadIdx.x % 8;
  float4& user = reinterpret_cast<float4*>(user_factors)[static_cast<size_t>(users[i]) * 8 + lane];
  float4& movie = reinterpret_cast<float4*>(movie_factors)[static_cast<size_t>(movies[i]) * 8 + lane];
  const float4 p = user, q = movie;
  float predicted = p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  for (int apart = 4; apart > 0; apart /= 2) predicted += __shfl_xor_sync(0xffffffffu, predicted, apart);
  const float error = stars[i] - predicted;
  const auto moved = [&](float a, float b) { return a + rate * (error * b - 0.05f * a); };
  user = make_float4(moved(p.x, q.x), moved(p.y, q.y), moved(p.z, q.z), moved(p.w, q.w));
  movie = make_float4(moved(q.x, p.x), moved(q.y, p.y), moved(q.z, p.z), moved(q.w, p.w));
}

class MovieFactors : public Program {
 public:
  explicit MovieFactors(bool cured) : cured_(cured) {
    over(stars_.size(), draw_ratings, users_, movies_, stars_, stars_.size());
  }

  void step() override {
    const size_t first = step_++ % kBatches * kRatings;
    const size_t threads = cured_ ? size_t{8} * kRatings : kRatings;
    over(threads, cured_ ? sgd_rows : sgd_columns, users_ + first, movies_ + first, stars_ + first, user_factors_,
         movie_factors_, 0.002f);
  }

  float result() override { return first_value(user_factors_ + 17) + first_value(movie_factors_ + 17); }

 private:
  static constexpr size_t kBatches = 4;
  bool cured_;
  size_t step_ = 0;
  Buffer<int> users_{kBatches * kRatings}, movies_{kBatches * kRatings};
  Buffer<float> stars_{kBatches * kRatings};
  Buffer<float> user_factors_{size_t{kFactors} * kUsers, 11, 0.1f, 0.4f};
  Buffer<float> movie_factors_{size_t{kFactors} * kMovies, 13, 0.1f, 0.4f};
};

int main(int count, char** words) { return run<MovieFactors>(count, words); }
