// Programs of native_cases2.cu on links, tables and ratings: PageRank, a join of two tables, matrix factorization.
#pragma once

#include "native2_device.cuh"

// --- PageRank --------------------------------------------------------------------------------------------------------

// Most links come from pages nearby.
__global__ void draw_links(int* sources, int* links_out, size_t links, int pages) {
  const size_t i = element();
  if (i >= links) return;
  const uint32_t draw = mixed(i);
  const size_t home = i * pages / links;
  const size_t source = draw % 4 == 0 ? (draw >> 2) % pages : (home + (draw >> 2) % 4096) % pages;
  sources[i] = static_cast<int>(source);
  atomicAdd(&links_out[source], 1);
}

// What a page gives over each of its links; the rank of pages without any is shared by all.
__global__ void page_shares(const float* rank, const int* links_out, float* shares, float* unlinked) {
  const size_t i = element();
  const bool linked = links_out[i] > 0;
  shares[i] = linked ? rank[i] / links_out[i] : 0.0f;
  const float sum = over_block(linked ? 0.0f : rank[i]);
  if (threadIdx.x == 0 && sum != 0.0f) atomicAdd(unlinked, sum);
}

// Eight threads a page.
__global__ void gather_ranks(const int* offsets, const int* sources, const float* shares, const float* unlinked,
                             float* rank, float* residual, int pages) {
  const size_t page = element() / 8;
  const int lane = threadIdx.x % 8;
  float sum = 0.0f;
  for (int k = offsets[page] + lane; k < offsets[page + 1]; k += 8) sum += shares[sources[k]];
  for (int apart = 4; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
  float change = 0.0f;
  if (lane == 0) {
    const float next = (0.15f + 0.85f * *unlinked) / pages + 0.85f * sum;
    change = fabsf(next - rank[page]);
    rank[page] = next;
  }
  const float changes = over_block(change);
  if (threadIdx.x == 0) atomicAdd(residual, changes);
}

class PageRank : public Program {
 public:
  explicit PageRank(bool fixed) : fixed_(fixed), residuals_(2 * kIterations) {
    std::vector<int> offsets{0};
    for (int i = 0; i < kPages; ++i) {
      const uint32_t draw = mixed(i);
      offsets.push_back(offsets.back() + (draw % 256 == 0 ? 256 : 4 + static_cast<int>(draw >> 8) % 16));
    }
    offsets_ = Array<int>(offsets);
    sources_ = Array<int>(offsets.back());
    for_each(sources_.size(), draw_links, sources_, links_out_, sources_.size(), kPages);
  }

  void step() override {
    for_each(kPages, fill_uniform<float>, rank_, kPages, 1, 0.0f, 2.0f / kPages);
    ok(cudaMemsetAsync(sums_, 0, sums_.bytes(), queue));
    for (int i = 0; i < kIterations; ++i) {
      float* sums = sums_ + 2 * i;
      for_each(kPages, page_shares, rank_, links_out_, shares_, sums);
      for_each(size_t{8} * kPages, gather_ranks, offsets_, sources_, shares_, sums, rank_, sums + 1, kPages);
      if (!fixed_) ok(cudaMemcpy(&residuals_[2 * i + 1], sums + 1, sizeof(float), cudaMemcpyDeviceToHost));
    }
    if (fixed_) ok(cudaMemcpy(residuals_.data(), sums_, sums_.bytes(), cudaMemcpyDeviceToHost));
  }

  float result() override { return residuals_.back() + value_at(rank_ + 5); }

 private:
  static constexpr int kPages = 1 << 18, kIterations = 100;
  bool fixed_;
  std::vector<float> residuals_;
  Array<int> offsets_, sources_, links_out_{kPages};
  Array<float> rank_{kPages}, shares_{kPages}, sums_{2 * kIterations};
};

// --- a join of sales with products -----------------------------------------------------------------------------------

constexpr uint32_t kProducts = 2u << 20, kSlots = 4u << 20, kSales = 32u << 20, kGroups = 256;
constexpr unsigned long long kEmpty = ~0ull;

// All keys of products are different, as the factor is odd.
__host__ __device__ inline uint32_t product_key(uint32_t i) { return (i * 2654435761u) & 0x7fffffffu; }

__global__ void draw_sales(uint32_t* keys, float* amounts) {
  const size_t i = element();
  keys[i] = product_key(mixed(i) % (kProducts + kProducts / 4));
  amounts[i] = uniform(i, 5);
}

// A slot holds the key above the product's row.
__global__ void build_table(const uint32_t* keys, unsigned long long* slots) {
  const uint32_t row = static_cast<uint32_t>(element()), key = keys[row];
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
  for (size_t i = element(); i < kSales; i += static_cast<size_t>(gridDim.x) * 256) {
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
  explicit SalesJoin(bool fixed)
      : fixed_(fixed), host_keys_(kProducts), host_groups_(kProducts), host_rates_(kProducts) {
    for (uint32_t i = 0; i < kProducts; ++i) {
      host_keys_[i] = product_key(i);
      host_groups_[i] = mixed(i) % kGroups;
      host_rates_[i] = 0.5f + uniform(i, 9);
    }
    load_products();
    for_each(kSales, draw_sales, sale_keys_, amounts_);
  }

  void step() override {
    if (!fixed_) load_products();
    ok(cudaMemsetAsync(slots_, 0xff, slots_.bytes(), queue));
    ok(cudaMemsetAsync(revenue_, 0, revenue_.bytes(), queue));
    for_each(kProducts, build_table, keys_, slots_);
    launch(probe_sales, 132 * 8, 256, sale_keys_, amounts_, slots_, groups_, rates_, revenue_);
  }

  float result() override { return value_at(revenue_ + 3); }

 private:
  void load_products() {
    ok(cudaMemcpy(keys_, host_keys_.data(), keys_.bytes(), cudaMemcpyHostToDevice));
    ok(cudaMemcpy(groups_, host_groups_.data(), groups_.bytes(), cudaMemcpyHostToDevice));
    ok(cudaMemcpy(rates_, host_rates_.data(), rates_.bytes(), cudaMemcpyHostToDevice));
  }

  bool fixed_;
  std::vector<uint32_t> host_keys_, host_groups_;
  std::vector<float> host_rates_;
  Array<uint32_t> keys_{kProducts}, groups_{kProducts}, sale_keys_{kSales};
  Array<float> rates_{kProducts}, amounts_{kSales}, revenue_{kGroups};
  Array<unsigned long long> slots_{kSlots};
};

// --- matrix factorization by stochastic gradient descent -------------------------------------------------------------

constexpr int kFactors = 32;
constexpr uint32_t kUsers = 2u << 20, kMovies = 64u << 10, kRatings = 4u << 20;

__global__ void draw_ratings(int* users, int* movies, float* stars, size_t count) {
  const size_t i = element();
  if (i >= count) return;
  users[i] = static_cast<int>(mixed(3 * i) % kUsers);
  movies[i] = static_cast<int>(mixed(3 * i + 1) % kMovies);
  stars[i] = 0.5f + 0.5f * static_cast<float>(mixed(3 * i + 2) % 10);
}

// The factors as matrices of kFactors rows: one thread a rating.
__global__ void __launch_bounds__(256) sgd_columns(const int* users, const int* movies, const float* stars,
                                                   float* user_factors, float* movie_factors, float rate) {
  const size_t i = element();
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
  const size_t i = element() / 8;
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
  explicit MovieFactors(bool fixed) : fixed_(fixed) {
    for_each(stars_.size(), draw_ratings, users_, movies_, stars_, stars_.size());
  }

  void step() override {
    const size_t first = step_++ % kBatches * kRatings;
    const size_t threads = fixed_ ? size_t{8} * kRatings : kRatings;
    for_each(threads, fixed_ ? sgd_rows : sgd_columns, users_ + first, movies_ + first, stars_ + first, user_factors_,
             movie_factors_, 0.002f);
  }

  float result() override { return value_at(user_factors_ + 17) + value_at(movie_factors_ + 17); }

 private:
  static constexpr size_t kBatches = 4;
  bool fixed_;
  size_t step_ = 0;
  Array<int> users_{kBatches * kRatings}, movies_{kBatches * kRatings};
  Array<float> stars_{kBatches * kRatings};
  Array<float> user_factors_{size_t{kFactors} * kUsers, 11, 0.1f, 0.4f};
  Array<float> movie_factors_{size_t{kFactors} * kMovies, 13, 0.1f, 0.4f};
};
