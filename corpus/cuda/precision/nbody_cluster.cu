// Gravitational n-body, 65536 bodies: precision. Flaw: a literal without f makes the inner loop FP64. Cured by: FP32
// literal and rsqrtf.
#include "program.cuh"

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
  explicit Bodies(bool cured) : cured_(cured) {
    const Buffer<float> drawn(size_t{3} * kCount, 11u, -1.0f, 1.0f);
    over(kCount, place_bodies, drawn, bodies_, kCount);
  }

  void step() override {
    launch(cured_ ? current::gravity : ported::gravity, kCount / kTile, kTile, bodies_, pull_, kCount);
    over(kCount, move_bodies, bodies_, velocities_, pull_, 1e-4f, kCount);
  }

  float result() override { return first_value(reinterpret_cast<const float*>(bodies_.data())); }

 private:
  static constexpr int kCount = 65536;
  bool cured_;
  Buffer<float4> bodies_{kCount};
  Buffer<float3> velocities_{kCount}, pull_{kCount};
};

int main(int count, char** words) { return run<Bodies>(count, words); }
