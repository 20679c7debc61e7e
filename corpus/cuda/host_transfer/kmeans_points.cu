// K-means, 1M points of 32 features, 1024 clusters: host_transfer. Flaw: points copied in from pageable memory and
// labels copied back in each iteration. Cured by: points and labels stay on the GPU.
#include "program.cuh"

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
  explicit KMeans(bool cured) : cured_(cured), host_points_(points_.size()), host_labels_(kCount) {
    check(cudaMemcpy(host_points_.data(), points_, points_.bytes(), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(centers_, points_, centers_.bytes(), cudaMemcpyDeviceToDevice));
  }

  void step() override {
    if (!cured_) check(cudaMemcpy(points_, host_points_.data(), points_.bytes(), cudaMemcpyHostToDevice));
    launch(nearest_center, kCount / 256, 256, points_, centers_, labels_, kCount);
    if (!cured_) check(cudaMemcpy(host_labels_.data(), labels_, labels_.bytes(), cudaMemcpyDeviceToHost));
    check(cudaMemsetAsync(sums_, 0, sums_.bytes(), stream));
    check(cudaMemsetAsync(members_, 0, members_.bytes(), stream));
    over(points_.size(), add_to_clusters, points_, labels_, sums_, members_, kCount);
    over(centers_.size(), move_centers, sums_, members_, centers_);
  }

  float result() override { return first_value(centers_.data()); }

 private:
  static constexpr int kCount = 1 << 20;
  bool cured_;
  Buffer<float> points_{size_t{kCount} * kFeatures, 13u, -1.0f, 1.0f};
  Buffer<float> centers_{kClusters * kFeatures}, sums_{kClusters * kFeatures};
  Buffer<int> labels_{kCount}, members_{kClusters};
  std::vector<float> host_points_;
  std::vector<int> host_labels_;
};

int main(int count, char** words) { return run<KMeans>(count, words); }
