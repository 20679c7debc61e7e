// Smith-Waterman alignment of a protein with 4096 others: gpu_underused. Flaw: 64 proteins a launch. Cured by: all
// proteins in one launch.
#include "program.cuh"

constexpr int kQueryLength = 512, kLongest = 384, kAcids = 24;

// Smith and Waterman's score with affine gaps. A block takes one protein of the database and a thread one acid of the
// query; the block walks along the diagonals. A cell needs the cells above and above left, which its neighbour has
// computed one and two diagonals before.
__global__ void __launch_bounds__(kQueryLength)
    align_proteins(const int8_t* query, const int8_t* database, const int* lengths, const int8_t* likeness,
                   int* scores) {
  __shared__ int8_t likely[kAcids * kAcids], protein[kLongest];
  __shared__ int score[3][kQueryLength + 1], gap[2][kQueryLength + 1], highest;
  constexpr int kOpen = 11, kExtend = 1;
  const int row = threadIdx.x, length = lengths[blockIdx.x];
  for (int i = row; i < kAcids * kAcids; i += kQueryLength) likely[i] = likeness[i];
  for (int i = row; i < length; i += kQueryLength)
    protein[i] = database[static_cast<size_t>(blockIdx.x) * kLongest + i];
  for (int i = row; i <= kQueryLength; i += kQueryLength) {
    for (int k = 0; k < 3; ++k) score[k][i] = 0;
    gap[0][i] = gap[1][i] = -10000;
  }
  if (row == 0) highest = 0;
  __syncthreads();
  const int8_t* likely_here = likely + query[row] * kAcids;
  int left = 0, left_gap = -10000, best = 0, now = 0, before = 2, earlier = 1;
  for (int diagonal = 0; diagonal < kQueryLength + length - 1; ++diagonal) {
    const int column = diagonal - row;
    if (column >= 0 && column < length) {
      // Index row is the acid above, row + 1 the own; rows are shifted by one.
      const int above_gap = max(gap[(diagonal + 1) & 1][row] - kExtend, score[before][row] - kOpen);
      left_gap = max(left_gap - kExtend, left - kOpen);
      const int matched = (column == 0 ? 0 : score[earlier][row]) + likely_here[protein[column]];
      left = max(max(0, matched), max(above_gap, left_gap));
      best = max(best, left);
      score[now][row + 1] = left;
      gap[diagonal & 1][row + 1] = above_gap;
    }
    const int free = earlier;
    earlier = before;
    before = now;
    now = free;
    __syncthreads();
  }
  for (int apart = 16; apart > 0; apart /= 2) best = max(best, __shfl_xor_sync(0xffffffffu, best, apart));
  if (row % 32 == 0) atomicMax(&highest, best);
  __syncthreads();
  if (row == 0) scores[blockIdx.x] = highest;
}

class ProteinSearch : public Program {
 public:
  explicit ProteinSearch(bool cured) : at_once_(cured ? kProteins : 64) {
    std::vector<int8_t> query(kQueryLength), database(size_t{kProteins} * kLongest), likeness(kAcids * kAcids);
    std::vector<int> lengths(kProteins);
    for (size_t i = 0; i < query.size(); ++i) query[i] = static_cast<int8_t>(mixed(i) % 20);
    for (size_t i = 0; i < database.size(); ++i) database[i] = static_cast<int8_t>(mixed(i + 1000) % 20);
    for (int a = 0; a < kAcids; ++a)
      for (int b = 0; b < kAcids; ++b)
        likeness[a * kAcids + b] = static_cast<int8_t>(a == b ? 5 : static_cast<int>(mixed(a * b + a + b) % 5) - 4);
    for (int i = 0; i < kProteins; ++i) lengths[i] = kLongest - static_cast<int>(mixed(i + 77) % 65);
    query_ = Buffer<int8_t>(query);
    database_ = Buffer<int8_t>(database);
    likeness_ = Buffer<int8_t>(likeness);
    lengths_ = Buffer<int>(lengths);
  }

  void step() override {
    for (int first = 0; first < kProteins; first += at_once_)
      launch(align_proteins, at_once_, kQueryLength, query_, database_ + size_t(first) * kLongest, lengths_ + first,
             likeness_, scores_ + first);
  }

  float result() override { return first_value(scores_ + kProteins - 1); }

 private:
  static constexpr int kProteins = 4096;
  int at_once_;
  Buffer<int8_t> query_, database_, likeness_;
  Buffer<int> lengths_, scores_{kProteins};
};

int main(int count, char** words) { return run<ProteinSearch>(count, words); }
