// Programs of native_cases.cu on bodies, particles, points and price paths.
#pragma once

#include "native_device.cuh"

// --- n-body ----------------------------------------------------------------------------------------------------------

constexpr int kTile = 256;

// The pull of all bodies on one; w is the mass. Two versions of the same routine, the first as it was ported.
namespace ported {
__global__ void __launch_bounds__(kTile) gravity(const float4* bodies, float3* pull, int count) {
  __shared__ float4 tile[kTile];
  const int i = blockIdx.x * kTile + threadIdx.x;
  const float4 own = bodies[i];
  float x = 0.0f, y = 0.0f, z = 0.0f;
  for (int first = 0; first < count; first += kTile) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kTile; ++j) {
      const float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
      const auto inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.001);
      const float strength = static_cast<float>(tile[j].w * inverse * inverse * inverse);
      x += strength * dx;
      y += strength * dy;
      z += strength * dz;
    }
    __syncthreads();
  }
  pull[i] = make_float3(x, y, z);
}
}  // namespace ported

namespace current {
__global__ void __launch_bounds__(kTile) gravity(const float4* bodies, float3* pull, int count) {
  __shared__ float4 tile[kTile];
  const int i = blockIdx.x * kTile + threadIdx.x;
  const float4 own = bodies[i];
  float x = 0.0f, y = 0.0f, z = 0.0f;
  for (int first = 0; first < count; first += kTile) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kTile; ++j) {
      const float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.001f);
      const float strength = tile[j].w * inverse * inverse * inverse;
      x += strength * dx;
      y += strength * dy;
      z += strength * dz;
    }
    __syncthreads();
  }
  pull[i] = make_float3(x, y, z);
}
}  // namespace current

__global__ void place_bodies(const float* drawn, float4* bodies, int count) {
  const size_t i = thread_index();
  if (i < count) bodies[i] = make_float4(drawn[3 * i], drawn[3 * i + 1], drawn[3 * i + 2], 1.0f / count);
}

__global__ void move_bodies(float4* bodies, float3* velocities, const float3* pull, float time, int count) {
  const size_t i = thread_index();
  if (i >= count) return;
  float4 body = bodies[i];
  float3 velocity = velocities[i];
  velocity.x += time * pull[i].x;
  velocity.y += time * pull[i].y;
  velocity.z += time * pull[i].z;
  body.x += time * velocity.x;
  body.y += time * velocity.y;
  body.z += time * velocity.z;
  velocities[i] = velocity;
  bodies[i] = body;
}

class Bodies : public Program {
 public:
  explicit Bodies(bool fixed) : fixed_(fixed) {
    const Buffer<float> drawn(size_t{3} * kCount, 11u, -1.0f, 1.0f);
    over(kCount, place_bodies, drawn, bodies_, kCount);
  }

  void step() override {
    launch(fixed_ ? current::gravity : ported::gravity, kCount / kTile, kTile, bodies_, pull_, kCount);
    over(kCount, move_bodies, bodies_, velocities_, pull_, 1e-4f, kCount);
  }

  float result() override { return first_value(reinterpret_cast<const float*>(bodies_.data())); }

 private:
  static constexpr int kCount = 65536;
  bool fixed_;
  Buffer<float4> bodies_{kCount};
  Buffer<float3> velocities_{kCount}, pull_{kCount};
};

// --- plasma: particles in a standing wave ----------------------------------------------------------------------------

struct Particle {
  float position[3];
  int species;
  long long id;
  float weight, charge;
  float spin[3];
  int cell;
  float birth[4];
  float velocity[3];
  float mass, energy, potential, spare[2];
};
static_assert(sizeof(Particle) == 96);

__device__ inline void field_at(float x, float y, float z, float time, float (&field)[3]) {
  field[0] = __sinf(x + time) * __cosf(y);
  field[1] = __sinf(y + time) * __cosf(z);
  field[2] = __sinf(z + time) * __cosf(x);
}

__global__ void set_particles(Particle* particles, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  Particle particle{};
  for (int k = 0; k < 3; ++k) particle.position[k] = 1e-6f * (hashed(static_cast<unsigned>(3 * i + k)) % 6283185u);
  particle.id = static_cast<long long>(i);
  particle.charge = i % 2 == 0 ? 1.0f : -1.0f;
  particle.mass = 1.0f;
  particles[i] = particle;
}

__global__ void kick_particles(Particle* particles, size_t count, float time) {
  const size_t i = thread_index();
  if (i >= count) return;
  Particle& own = particles[i];
  float field[3];
  field_at(own.position[0], own.position[1], own.position[2], time, field);
  const float factor = 1e-3f * own.charge;
  for (int k = 0; k < 3; ++k) own.velocity[k] += factor * field[k];
}

__global__ void drift_particles(Particle* particles, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  Particle& own = particles[i];
  for (int k = 0; k < 3; ++k) own.position[k] += 1e-3f * own.velocity[k];
}

// The same particles as arrays: three of positions, three of velocities, one of charges.
struct Species {
  float* position[3];
  float* velocity[3];
  float* charge;
};

__global__ void set_species(Species species, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  for (int k = 0; k < 3; ++k) species.position[k][i] = 1e-6f * (hashed(static_cast<unsigned>(3 * i + k)) % 6283185u);
  species.charge[i] = i % 2 == 0 ? 1.0f : -1.0f;
}

__global__ void kick_species(Species species, size_t count, float time) {
  const size_t i = thread_index();
  if (i >= count) return;
  float field[3];
  field_at(species.position[0][i], species.position[1][i], species.position[2][i], time, field);
  const float factor = 1e-3f * species.charge[i];
  for (int k = 0; k < 3; ++k) species.velocity[k][i] += factor * field[k];
}

__global__ void drift_species(Species species, size_t count) {
  const size_t i = thread_index();
  if (i >= count) return;
  for (int k = 0; k < 3; ++k) species.position[k][i] += 1e-3f * species.velocity[k][i];
}

class Plasma : public Program {
 public:
  explicit Plasma(bool fixed) : fixed_(fixed) {
    if (!fixed) {
      particles_ = Buffer<Particle>(kCount);
      over(kCount, set_particles, particles_, kCount);
      return;
    }
    fields_ = Buffer<float>(7 * kCount);
    for (int k = 0; k < 3; ++k) {
      species_.position[k] = fields_ + k * kCount;
      species_.velocity[k] = fields_ + (3 + k) * kCount;
    }
    species_.charge = fields_ + 6 * kCount;
    over(kCount, set_species, species_, kCount);
  }

  void step() override {
    time_ += 1e-3f;
    if (fixed_) {
      over(kCount, kick_species, species_, kCount, time_);
      over(kCount, drift_species, species_, kCount);
    } else {
      over(kCount, kick_particles, particles_, kCount, time_);
      over(kCount, drift_particles, particles_, kCount);
    }
  }

  float result() override {
    return first_value(fixed_ ? fields_.data() : reinterpret_cast<const float*>(particles_.data()));
  }

 private:
  static constexpr size_t kCount = size_t{64} << 20;
  bool fixed_;
  float time_ = 0.0f;
  Buffer<Particle> particles_;
  Buffer<float> fields_;
  Species species_{};
};

// --- k-means ---------------------------------------------------------------------------------------------------------

constexpr int kFeatures = 32, kClusters = 1024, kCentersAtOnce = 128;

__global__ void __launch_bounds__(256)
    nearest_center(const float* points, const float* centers, int* labels, int count) {
  __shared__ float4 tile[kCentersAtOnce][kFeatures / 4];
  const int i = blockIdx.x * 256 + threadIdx.x;
  float4 own[kFeatures / 4];
#pragma unroll
  for (int k = 0; k < kFeatures / 4; ++k)
    own[k] = reinterpret_cast<const float4*>(points)[static_cast<size_t>(i) * (kFeatures / 4) + k];
  float best = INFINITY;
  int label = 0;
  for (int first = 0; first < kClusters; first += kCentersAtOnce) {
    __syncthreads();
    for (int j = threadIdx.x; j < kCentersAtOnce * kFeatures / 4; j += 256)
      (&tile[0][0])[j] = reinterpret_cast<const float4*>(centers)[first * kFeatures / 4 + j];
    __syncthreads();
    for (int j = 0; j < kCentersAtOnce; ++j) {
      float distance = 0.0f;
#pragma unroll
      for (int k = 0; k < kFeatures / 4; ++k) {
        const float4 center = tile[j][k];
        const float a = own[k].x - center.x, b = own[k].y - center.y, c = own[k].z - center.z, d = own[k].w - center.w;
        distance += a * a + b * b + c * c + d * d;
      }
      if (distance < best) {
        best = distance;
        label = first + j;
      }
    }
  }
  labels[i] = label;
}

// One warp a point: its lanes add the features to the sums of the point's cluster.
__global__ void add_to_clusters(const float* points, const int* labels, float* sums, int* members, int count) {
  const size_t thread = thread_index(), i = thread / kFeatures;
  if (i >= count) return;
  const int label = labels[i], feature = static_cast<int>(thread % kFeatures);
  atomicAdd(&sums[label * kFeatures + feature], points[thread]);
  if (feature == 0) atomicAdd(&members[label], 1);
}

__global__ void move_centers(const float* sums, const int* members, float* centers) {
  const int i = static_cast<int>(thread_index()), size = members[i / kFeatures];
  if (size > 0) centers[i] = sums[i] / size;
}

class KMeans : public Program {
 public:
  explicit KMeans(bool fixed) : fixed_(fixed), host_points_(points_.size()), host_labels_(kCount) {
    check(cudaMemcpy(host_points_.data(), points_, points_.bytes(), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(centers_, points_, centers_.bytes(), cudaMemcpyDeviceToDevice));
  }

  void step() override {
    if (!fixed_) check(cudaMemcpy(points_, host_points_.data(), points_.bytes(), cudaMemcpyHostToDevice));
    launch(nearest_center, kCount / 256, 256, points_, centers_, labels_, kCount);
    if (!fixed_) check(cudaMemcpy(host_labels_.data(), labels_, labels_.bytes(), cudaMemcpyDeviceToHost));
    check(cudaMemsetAsync(sums_, 0, sums_.bytes(), stream));
    check(cudaMemsetAsync(members_, 0, members_.bytes(), stream));
    over(points_.size(), add_to_clusters, points_, labels_, sums_, members_, kCount);
    over(centers_.size(), move_centers, sums_, members_, centers_);
  }

  float result() override { return first_value(centers_.data()); }

 private:
  static constexpr int kCount = 1 << 20;
  bool fixed_;
  Buffer<float> points_{size_t{kCount} * kFeatures, 13u, -1.0f, 1.0f};
  Buffer<float> centers_{kClusters * kFeatures}, sums_{kClusters * kFeatures};
  Buffer<int> labels_{kCount}, members_{kClusters};
  std::vector<float> host_points_;
  std::vector<int> host_labels_;
};

// --- pricing ---------------------------------------------------------------------------------------------------------

// The discounted payoff of paths of one contract (blockIdx.y), added up in the block before one addition to the total.
__global__ void __launch_bounds__(256) price_paths(const float4* contracts, double* totals, int dates, unsigned seed) {
  __shared__ float sums[8];
  const float4 contract = contracts[blockIdx.y];  // spot, strike, volatility, rate
  const float time = 1.0f / dates, scatter = contract.z * sqrtf(time);
  const float trend = (contract.w - 0.5f * contract.z * contract.z) * time;
  unsigned state = hashed(static_cast<unsigned>(blockIdx.y * gridDim.x + blockIdx.x) * 256u + threadIdx.x + seed);
  float log_price = 0.0f, total = 0.0f;
  for (int date = 0; date < dates; date += 2) {
    state = hashed(state + 0x9e3779b9u);
    const float radius = sqrtf(-2.0f * __logf(((state >> 8) + 1) * (1.0f / 16777217.0f)));
    state = hashed(state + 0x9e3779b9u);
    float sine, cosine;
    __sincosf((state >> 8) * (6.2831853f / 16777216.0f), &sine, &cosine);
    log_price += trend + scatter * radius * cosine;
    total += __expf(log_price);
    log_price += trend + scatter * radius * sine;
    total += __expf(log_price);
  }
  float payoff = __expf(-contract.w) * fmaxf(contract.x * total / dates - contract.y, 0.0f);
  for (int apart = 16; apart > 0; apart /= 2) payoff += __shfl_down_sync(0xffffffffu, payoff, apart);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = payoff;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < 8; ++warp) payoff += sums[warp];
  atomicAdd(&totals[blockIdx.y], static_cast<double>(payoff));
}

class AsianOptions : public Program {
 public:
  explicit AsianOptions(bool) {
    std::vector<float4> contracts;
    for (int i = 0; i < kContracts; ++i)
      contracts.push_back(make_float4(100.0f, 85.0f + 2.0f * i, 0.15f + 0.01f * i, 0.03f));
    check(cudaMemcpy(contracts_, contracts.data(), contracts_.bytes(), cudaMemcpyHostToDevice));
  }

  void step() override { launch(price_paths, dim3(8192, kContracts), 256, contracts_, totals_, 64, seed_++); }

  float result() override { return first_value(totals_.data()); }

 private:
  static constexpr int kContracts = 16;
  unsigned seed_ = 1;
  Buffer<float4> contracts_{kContracts};
  Buffer<double> totals_{kContracts};
};
