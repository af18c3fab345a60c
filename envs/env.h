#pragma once
#include "dataflow/base/result.h"
#include "dataflow/base/spec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// What an environment accepts: one of `n` choices, or a box of floats.
struct ActionSpec {
  enum class Kind : uint8_t { Discrete, Box };
  Kind kind = Kind::Discrete;
  int64_t n = 0;               ///< Discrete: number of choices
  std::vector<int64_t> shape;  ///< Box: shape of one action
  float low = 0;               ///< Box: bounds of every element
  float high = 0;

  static ActionSpec discrete(int64_t n) { return {Kind::Discrete, n, {}, 0, 0}; }
  static ActionSpec box(std::vector<int64_t> shape, float low, float high) {
    return {Kind::Box, 0, std::move(shape), low, high};
  }
  /// The column that holds actions: "action int64[]" or "action float32[shape]".
  [[nodiscard]] TensorSpec tensor() const {
    return kind == Kind::Discrete ? TensorSpec{"action", DType::I64, {}}
                                  : TensorSpec{"action", DType::F32, shape};
  }
  friend bool operator==(const ActionSpec&, const ActionSpec&) = default;
};

/// Everything a graph needs to know about an environment before one exists.
struct EnvSpec {
  std::string name;
  Schema observation;  ///< one entry per observation tensor, usually just "obs"
  ActionSpec action;
  int64_t max_episode_steps = 0;  ///< the environment truncates itself after so many; 0 = never
  std::optional<double> reward_threshold;
};

/// What one step did, apart from the observation. Truncation is never termination: at a time limit
/// `truncated` is set and `terminated` only if the task also ended there.
struct Transition {
  float reward = 0;
  bool terminated = false;
  bool truncated = false;
};

/// Where an observation is written: one preallocated slice per entry of EnvSpec::observation, of
/// exactly TensorSpec::bytes() bytes. The environment writes, the caller owns.
using ObservationOut = std::span<void* const>;

/// One copy of an environment. Used by one thread at a time. Deterministic: the same seed and
/// actions give the same observations, rewards and flags. See envs/dummy.h for one to copy.
class Env {
 public:
  virtual ~Env() = default;
  [[nodiscard]] virtual const EnvSpec& spec() const noexcept = 0;

  /// Starts an episode. With a seed the random generator starts again from it (as Gymnasium's
  /// reset(seed=..)); without, it goes on.
  virtual Status reset(std::optional<uint64_t> seed, ObservationOut observation) = 0;

  /// Takes one action (laid out as ActionSpec::tensor()). After `terminated` or `truncated` the
  /// next call must be reset; a step then is FailedPrecondition. An action out of range is
  /// InvalidArgument. The observation of a final step is the final one, never the next start.
  virtual Status step(const void* action, ObservationOut observation, Transition& out) = 0;

  /// The whole state (generator, physics, counters), so that load() continues bit for bit.
  [[nodiscard]] virtual std::string save() const = 0;
  virtual Status load(std::string_view state) = 0;
};

/// Steps `envs[i]` with the i-th action for all i, writing observation field f of row i at
/// `fields[f] + i * bytes(f)`. Stops at the first failure and says which row failed.
Status step_all(std::span<Env* const> envs, const void* actions, ObservationOut fields,
                std::span<Transition> out);

}  // namespace sluice
