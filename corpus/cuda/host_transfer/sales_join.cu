// Hash join of 32M sales with 2M products, summed by group: host_transfer. Flaw: the unchanged table of products
// copied in from pageable memory for each query. Cured by: the table stays on the GPU.
#include "program.cuh"

constexpr uint32_t kProducts = 2u << 20, kSlots = 4u << 20, kSales = 32u << 20, kGroups = 256;
constexpr unsigned long long kEmpty = ~0ull;

// All keys of products are different, as the factor is odd.
__host__ __device__ inline uint32_t product_key(uint32_t i) { return (i * 2654435761u) & 0x7fffffffu; }

__global__ void draw_sales(uint32_t* keys, float* amounts) {
  const size_t i = thread_index();
  keys[i] = product_key(mixed(i) % (kProducts + kProducts / 4));
  amounts[i] = uniform(i, 5);
}

// A slot holds the key above the product's row.
__global__ void build_table(const uint32_t* keys, unsigned long long* slots) {
  const uint32_t row = static_cast<uint32_t>(thread_index()), key = keys[row];
  const unsigned long long entry = static_cast<unsigned long long>(key) << 32 | row;
  for (uint32_t at = mixed(key) % kSlots;; at = (at + 1) % kSlots)
    if (atomicCAS(&slots[at], kEmpty, entry) == kEmpty) return;
}

__global__ void __launch_bounds__(256)
    probe_sales(const uint32_t* keys, const float* amounts, const unsigned long long* slots, const uint32_t* groups,
                const float* rates, float* revenue) {
  __shared__ float sums[kGroups];
  sums[threadIdx.x] = 0.0f;
  __syncthreads();
  for (size_t i = thread_index(); i < kSales; i += static_cast<size_t>(gridDim.x) * 256) {
    const uint32_t key = keys[i];
    for (uint32_t at = mixed(key) % kSlots;; at = (at + 1) % kSlots) {
      const unsigned long long entry = slots[at];
      if (entry == kEmpty) break;
      if (static_cast<uint32_t>(entry >> 32) != key) continue;
      const uint32_t row = static_cast<uint32_t>(entry);
      atomicAdd(&sums[groups[row]], amounts[i] * rates[row]);
      break;
    }
  }
  __syncthreads();
  atomicAdd(&revenue[threadIdx.x], sums[threadIdx.x]);
}

class SalesJoin : public Program {
 public:
  explicit SalesJoin(bool cured)
      : cured_(cured), host_keys_(kProducts), host_groups_(kProducts), host_rates_(kProducts) {
    for (uint32_t i = 0; i < kProducts; ++i) {
      host_keys_[i] = product_key(i);
      host_groups_[i] = mixed(i) % kGroups;
      host_rates_[i] = 0.5f + uniform(i, 9);
    }
    load_products();
    over(kSales, draw_sales, sale_keys_, amounts_);
  }

  void step() override {
    if (!cured_) load_products();
    check(cudaMemsetAsync(slots_, 0xff, slots_.bytes(), stream));
    check(cudaMemsetAsync(revenue_, 0, revenue_.bytes(), stream));
    over(kProducts, build_table, keys_, slots_);
    launch(probe_sales, 132 * 8, 256, sale_keys_, amounts_, slots_, groups_, rates_, revenue_);
  }

  float result() override { return first_value(revenue_ + 3); }

 private:
  void load_products() {
    check(cudaMemcpy(keys_, host_keys_.data(), keys_.bytes(), cudaMemcpyHostToDevice));
    check(cudaMemcpy(groups_, host_groups_.data(), groups_.bytes(), cudaMemcpyHostToDevice));
    check(cudaMemcpy(rates_, host_rates_.data(), rates_.bytes(), cudaMemcpyHostToDevice));
  }

  bool cured_;
  std::vector<uint32_t> host_keys_, host_groups_;
  std::vector<float> host_rates_;
  Buffer<uint32_t> keys_{kProducts}, groups_{kProducts}, sale_keys_{kSales};
  Buffer<float> rates_{kProducts}, amounts_{kSales}, revenue_{kGroups};
  Buffer<unsigned long long> slots_{kSlots};
};

int main(int count, char** words) { return run<SalesJoin>(count, words); }
