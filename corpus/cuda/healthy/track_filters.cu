// Kalman filters of 4M tracks: healthy.
#include "program.cuh"

// The state of a track: place and speed in three directions. The covariance has the blocks A (places, symmetric), B
// (places with speeds) and C (speeds, symmetric): 6, 9 and 6 numbers. Number k of track i lies at k * tracks + i.
__device__ constexpr int kSymmetric[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

__device__ inline void inverse(const float (&s)[6], float (&out)[6]) {
  const float a = s[3] * s[5] - s[4] * s[4], b = s[2] * s[4] - s[1] * s[5], c = s[1] * s[4] - s[2] * s[3];
  const float factor = 1.0f / (s[0] * a + s[1] * b + s[2] * c);
  out[0] = factor * a;
  out[1] = factor * b;
  out[2] = factor * c;
  out[3] = factor * (s[0] * s[5] - s[2] * s[2]);
  out[4] = factor * (s[1] * s[2] - s[0] * s[4]);
  out[5] = factor * (s[0] * s[3] - s[1] * s[1]);
}

__global__ void __launch_bounds__(128)
    track_update(float* state, float* covariance, const float* measured, size_t tracks, float time) {
  const size_t i = thread_index();
  if (i >= tracks) return;
  float x[3], v[3], a[6], b[3][3], c[6], wrong[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    v[k] = state[(3 + k) * tracks + i];
    x[k] = state[k * tracks + i] + time * v[k];
    wrong[k] = measured[k * tracks + i] - x[k];
  }
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    a[k] = covariance[k * tracks + i];
    c[k] = covariance[(15 + k) * tracks + i];
  }
#pragma unroll
  for (int k = 0; k < 9; ++k) b[k / 3][k % 3] = covariance[(6 + k) * tracks + i];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = r; s < 3; ++s) {
      const int k = kSymmetric[r][s];
      a[k] += time * (b[r][s] + b[s][r] + time * c[k]) + (r == s ? 1e-4f : 0.0f);
    }
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = 0; s < 3; ++s) b[r][s] += time * c[kSymmetric[r][s]];
  c[0] += 1e-3f, c[3] += 1e-3f, c[5] += 1e-3f;
  float seen[6] = {a[0] + 0.05f, a[1], a[2], a[3] + 0.05f, a[4], a[5] + 0.05f}, inverted[6];
  inverse(seen, inverted);
  float gain_x[3][3] = {}, gain_v[3][3] = {};
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = 0; s < 3; ++s)
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        gain_x[r][s] += a[kSymmetric[r][k]] * inverted[kSymmetric[k][s]];
        gain_v[r][s] += b[k][r] * inverted[kSymmetric[k][s]];
      }
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      x[r] += gain_x[r][k] * wrong[k];
      v[r] += gain_v[r][k] * wrong[k];
    }
  float next_a[6], next_b[3][3];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int s = 0; s < 3; ++s) {
      float less_a = 0.0f, less_b = 0.0f, less_c = 0.0f;
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        less_a += gain_x[r][k] * a[kSymmetric[k][s]];
        less_b += gain_x[r][k] * b[k][s];
        less_c += gain_v[r][k] * b[k][s];
      }
      next_b[r][s] = b[r][s] - less_b;
      if (s < r) continue;
      next_a[kSymmetric[r][s]] = a[kSymmetric[r][s]] - less_a;
      c[kSymmetric[r][s]] -= less_c;
    }
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    state[k * tracks + i] = x[k];
    state[(3 + k) * tracks + i] = v[k];
  }
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    covariance[k * tracks + i] = next_a[k];
    covariance[(15 + k) * tracks + i] = c[k];
  }
#pragma unroll
  for (int k = 0; k < 9; ++k) covariance[(6 + k) * tracks + i] = next_b[k / 3][k % 3];
}

__global__ void sure_of_nothing(float* covariance, size_t tracks) {
  const size_t i = thread_index();
  if (i >= tracks) return;
  for (const int k : {0, 3, 5, 15, 18, 20}) covariance[k * tracks + i] = 1.0f;
}

class Tracks : public Program {
 public:
  explicit Tracks(bool) { over(kTracks, sure_of_nothing, covariance_, kTracks); }

  void step() override {
    for (size_t scan = 0; scan < kScans; ++scan)
      launch(track_update, blocks_of(kTracks, 128), 128, state_, covariance_, measured_ + scan * 3 * kTracks, kTracks,
             0.1f);
  }

  float result() override { return first_value(state_ + 9) + first_value(covariance_ + 9); }

 private:
  static constexpr size_t kTracks = size_t{4} << 20, kScans = 8;
  Buffer<float> state_{6 * kTracks}, covariance_{21 * kTracks}, measured_{3 * kScans * kTracks, 31, -1.0f, 1.0f};
};

int main(int count, char** words) { return run<Tracks>(count, words); }
