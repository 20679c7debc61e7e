// Monte Carlo pricing of Asian options: healthy.
#include "program.cuh"

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

int main(int count, char** words) { return run<AsianOptions>(count, words); }
