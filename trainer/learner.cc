#include "trainer/learner.h"

#include <cstring>

namespace sluice {
namespace {

constexpr uint64_t kMagic = 0x31'4e4c'4355'4c53ULL;  // "SLUCLN1"

template <class T>
void put(std::string& bytes, const T* values, size_t n) {
  bytes.append(reinterpret_cast<const char*>(values), n * sizeof(T));
}

template <class T>
bool take(std::string_view& bytes, T* values, size_t n) {
  if (bytes.size() < n * sizeof(T)) return false;
  if (n > 0) std::memcpy(values, bytes.data(), n * sizeof(T));
  bytes.remove_prefix(n * sizeof(T));
  return true;
}

}  // namespace

Status Learner::update(const LearnBatch& batch, double learning_rate) {
  RETURN_IF_ERROR(begin(batch, learning_rate));
  while (step()) {
  }
  return {};
}

UpdateConfig update_config(const PpoConfig& config) {
  UpdateConfig result;
  result.epochs = config.epochs;
  result.minibatches = config.minibatches;
  result.max_grad_norm = config.max_grad_norm;
  result.adam.eps = config.adam_eps;
  return result;
}

Status check_batch(const LearnBatch& batch, const ActorCriticSpec& spec, int64_t minibatches) {
  if (batch.rows < 1 || minibatches < 1 || batch.rows % minibatches != 0) {
    return invalid_argument("a batch of {} rows does not divide into {} minibatches", batch.rows,
                            minibatches);
  }
  if (batch.observation == nullptr) return invalid_argument("the batch has no observations");
  if (spec.head.discrete() ? batch.choice == nullptr : batch.action == nullptr) {
    return invalid_argument("the batch has no actions for a {} head",
                            spec.head.discrete() ? "categorical" : "Gaussian");
  }
  if (batch.log_prob == nullptr || batch.value == nullptr || batch.advantage == nullptr ||
      batch.returns == nullptr) {
    return invalid_argument("the batch lacks log_prob, value, advantage or return");
  }
  return {};
}

void epoch_order(RandomKey key, int64_t update, int64_t epoch, int64_t rows, int64_t* out) {
  shuffle(key.split(static_cast<uint64_t>(update)).split(static_cast<uint64_t>(epoch)), rows, out);
}

std::string save_learner(const ParameterSet& parameters, const Adam& adam, int64_t update) {
  const AdamState state = adam.save();
  std::string bytes;
  const int64_t header[] = {parameters.size(), update, state.step};
  put(bytes, &kMagic, 1);
  put(bytes, header, 3);
  put(bytes, parameters.data(), static_cast<size_t>(parameters.size()));
  put(bytes, state.m.data(), state.m.size());
  put(bytes, state.v.data(), state.v.size());
  return bytes;
}

Status load_learner(std::string_view bytes, ParameterSet& parameters, Adam& adam, int64_t& update) {
  uint64_t magic = 0;
  int64_t header[3] = {};
  if (!take(bytes, &magic, 1) || magic != kMagic || !take(bytes, header, 3)) {
    return error(Code::DataLoss, "not a saved learner");
  }
  if (header[0] != parameters.size()) {
    return error(Code::DataLoss, "a saved learner of {} parameters, the network has {}", header[0],
                 parameters.size());
  }
  const auto n = static_cast<size_t>(parameters.size());
  std::vector<float> values(n);
  AdamState state{header[2], std::vector<float>(n), std::vector<float>(n)};
  if (!take(bytes, values.data(), n) || !take(bytes, state.m.data(), n) ||
      !take(bytes, state.v.data(), n) || !bytes.empty()) {
    return error(Code::DataLoss, "a saved learner of the wrong length");
  }
  RETURN_IF_ERROR(adam.load(state));
  parameters.assign(values.data());
  update = header[1];
  return {};
}

}  // namespace sluice
