// Black-Scholes sensitivities of 100M options: precision. Flaw: everything in FP64. Cured by: FP32.
#include "program.cuh"

template <typename Real>
struct Options {
  const Real *spot, *strike, *years, *volatility;
};

template <typename Real>
struct Greeks {
  Real *price, *delta, *gamma, *vega, *theta;
};

// erfc, exp, log and sqrt are overloaded for both types.
template <typename Real>
__global__ void __launch_bounds__(256) option_greeks(Options<Real> options, Greeks<Real> greeks, Real rate) {
  const size_t i = thread_index();
  const Real spot = options.spot[i], strike = options.strike[i], years = options.years[i];
  const Real volatility = options.volatility[i];
  const Real root = sqrt(years), scatter = volatility * root;
  const Real d1 = (log(spot / strike) + (rate + Real(0.5) * volatility * volatility) * years) / scatter;
  const Real d2 = d1 - scatter;
  const Real n1 = Real(0.5) * erfc(-d1 * Real(0.70710678118654752)),
             n2 = Real(0.5) * erfc(-d2 * Real(0.70710678118654752));
  const Real density = Real(0.39894228040143268) * exp(Real(-0.5) * d1 * d1);
  const Real discounted = strike * exp(-rate * years);
  greeks.price[i] = spot * n1 - discounted * n2;
  greeks.delta[i] = n1;
  greeks.gamma[i] = density / (spot * scatter);
  greeks.vega[i] = spot * density * root;
  greeks.theta[i] = -spot * density * volatility / (Real(2) * root) - rate * discounted * n2;
}

template <typename Real>
class Book {
 public:
  explicit Book(size_t options) : options_(options) {
    for (Buffer<Real>& sensitivity : out_) sensitivity = Buffer<Real>(options);
  }

  void revalue() {
    over(options_, option_greeks<Real>, Options<Real>{spot_, strike_, years_, volatility_},
         Greeks<Real>{out_[0], out_[1], out_[2], out_[3], out_[4]}, Real(0.03));
  }

  float price() { return first_value(out_[0] + options_ / 2); }

 private:
  size_t options_;
  Buffer<Real> spot_{options_, 21, 80.0f, 120.0f}, strike_{options_, 22, 70.0f, 130.0f};
  Buffer<Real> years_{options_, 23, 0.1f, 2.0f}, volatility_{options_, 24, 0.1f, 0.6f}, out_[5];
};

class OptionBook : public Program {
 public:
  explicit OptionBook(bool cured) {
    if (cured)
      single_ = std::make_unique<Book<float>>(kOptions);
    else
      wide_ = std::make_unique<Book<double>>(kOptions);
  }

  void step() override {
    if (single_ != nullptr)
      single_->revalue();
    else
      wide_->revalue();
  }

  float result() override { return single_ != nullptr ? single_->price() : wide_->price(); }

 private:
  static constexpr size_t kOptions = size_t{96} << 20;
  std::unique_ptr<Book<float>> single_;
  std::unique_ptr<Book<double>> wide_;
};

int main(int count, char** words) { return run<OptionBook>(count, words); }
