// Speed of the fused networks at PPO's CartPole size: separate actor and critic 4-64-64. Every rate
// is given in GFLOP/s of the matrix products alone (2 per multiply-add; tanh, loss, Adam count as
// time).
#include "models/nets/distributions.h"
#include "trainer/fused_learner.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace sluice {
namespace {

ActorCriticSpec cartpole() { return {4, {64, 64}, Head::categorical(2), Activation::Tanh}; }

double forward_flops(const MlpSpec& spec) {
  double flops = 0;
  for (int64_t i = 0; i < spec.layers(); ++i)
    flops += 2.0 * static_cast<double>(spec.in(i)*spec.out(i));
  return flops;
}

// Forward, gradient of the weights, and gradient of the inputs of all layers but the first.
double training_flops(const MlpSpec& spec) {
  return 3 * forward_flops(spec) - 2.0 * static_cast<double>(spec.in(0) * spec.out(0));
}

struct Data {
  explicit Data(const ActorCritic& net, int64_t rows)
      : observation(static_cast<size_t>(rows * net.spec().observation)),
        head(static_cast<size_t>(rows * net.spec().head.size)),
        value(static_cast<size_t>(rows)),
        log_prob(value.size()),
        advantage(value.size()),
        returns(value.size()),
        choice(value.size()) {
    const RandomKey key(3);
    for (size_t i = 0; i < observation.size(); ++i) observation[i] = key.normal(i)[0];
    ActorCriticScratch scratch(net);
    net.forward(observation.data(), rows, scratch, head.data(), value.data());
    for (size_t i = 0; i < value.size(); ++i) {
      choice[i] = categorical_sample(head.data() + 2 * i, 2, key.uniform(i), &log_prob[i]);
      advantage[i] = key.split(1).normal(i)[0];
      returns[i] = value[i] + key.split(2).normal(i)[0];
    }
    batch = {rows,         observation.data(), choice.data(), nullptr, log_prob.data(),
             value.data(), advantage.data(),   returns.data()};
  }
  std::vector<float> observation, head, value, log_prob, advantage, returns;
  std::vector<int64_t> choice;
  LearnBatch batch;
};

void report(benchmark::State& state, double rows, double flops_per_row) {
  const double per_second = rows * static_cast<double>(state.iterations());
  state.counters["rows/s"] = benchmark::Counter(per_second, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(per_second * flops_per_row * 1e-9, benchmark::Counter::kIsRate);
}

void forward(benchmark::State& state) {
  ActorCritic net(cartpole(), RandomKey(1));
  ActorCriticScratch scratch(net);
  const int64_t rows = state.range(0);
  Data data(net, rows);
  for (auto _ : state)
    net.forward(data.observation.data(), rows, scratch, data.head.data(), data.value.data());
  report(state, static_cast<double>(rows),
         forward_flops(net.spec().actor()) + forward_flops(net.spec().critic()));
}
BENCHMARK(forward)->Arg(8)->Arg(64)->Arg(96)->Arg(1024)->MinTime(0.3);

// One layer of one trunk: matrix product with and without tanh, and the two products of backward.
void layer(benchmark::State& state) {
  const MlpKernels& k = mlp_kernels(active_isa());
  const int64_t rows = Mlp::kBlockRows, ld = 80;
  AlignedFloats a(static_cast<size_t>(rows * ld), 0.01F), b(a), c(a), w(64 * 64, 0.01F), g(64 * 64),
      bias(64);
  for (auto _ : state) {
    switch (state.range(0)) {
      case 0:
        k.forward(a.data(), ld, rows, 64, w.data(), bias.data(), 64, Epilogue::None, c.data(), ld);
        break;
      case 1:
        k.forward(a.data(), ld, rows, 64, w.data(), bias.data(), 64, Epilogue::Tanh, c.data(), ld);
        break;
      case 2:
        k.backward(a.data(), ld, rows, 64, w.data(), b.data(), ld, 64, Epilogue::Tanh, c.data(),
                   ld);
        break;
      default:
        k.accumulate(a.data(), ld, 64, b.data(), ld, 64, rows, g.data(), 64);
        break;
    }
    benchmark::ClobberMemory();
  }
  const char* names[] = {"forward", "forward+tanh", "backward", "accumulate"};
  state.SetLabel(names[state.range(0)]);
  report(state, static_cast<double>(rows), 2.0 * 64 * 64);
}
BENCHMARK(layer)->DenseRange(0, 3)->MinTime(0.3);

// A whole PPO update of 4 epochs x 4 minibatches; rows/s is env steps/s as far as learning goes.
void update(benchmark::State& state) {
  ActorCritic net(cartpole(), RandomKey(1));
  const PpoConfig config;
  FusedPpoLearner learner(net, config, RandomKey(2), static_cast<int>(state.range(1)));
  const int64_t rows = state.range(0);
  Data data(net, rows);
  for (auto _ : state) {
    const Status status = learner.update(data.batch, 1e-6);
    SLUICE_CHECK(status.ok()) << status.message();
  }
  report(state, static_cast<double>(rows),
         static_cast<double>(config.epochs) *
             (training_flops(net.spec().actor()) + training_flops(net.spec().critic())));
}
BENCHMARK(update)
    ->ArgNames({"rows", "threads"})
    ->Args({8192, 1})
    ->Args({8192, 2})
    ->Args({65536, 1})
    ->Args({65536, 2})
    ->UseRealTime()
    ->MinTime(0.5);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
