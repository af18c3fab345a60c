#pragma once
#include "dataflow/base/result.h"
#include "dataflow/base/spec.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  /// tensor().bytes() without building one: the distance between two rows of actions.
  [[nodiscard]] int64_t bytes() const noexcept;
  friend bool operator==(const ActionSpec&, const ActionSpec&) = default;
};

/// Everything a graph needs to know about an environment before one exists.
struct EnvSpec {
  std::string name;
  Schema observation;  ///< one entry per observation tensor, usually just "obs"
  ActionSpec action;
  int64_t max_episode_steps = 0;  ///< the environment truncates itself after so many; 0 = never
  std::optional<double> reward_threshold;

  friend bool operator==(const EnvSpec&, const EnvSpec&) = default;
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

/// An environment has at most this many observation tensors.
inline constexpr size_t kMaxObservationTensors = 16;

/// One copy of an environment. Used by one thread at a time. Deterministic: the same seed and
/// actions give the same observations, rewards and flags. A call that fails changes nothing. Slices
/// and actions need no alignment. See envs/dummy.h for one to copy.
class Env {
 public:
  virtual ~Env() = default;
  [[nodiscard]] virtual const EnvSpec& spec() const noexcept = 0;

  /// Starts an episode. With a seed the random generator starts again from it (as Gymnasium's
  /// reset(seed=..)); without, it goes on; one that was never seeded starts from seed 0, so copies
  /// that shall differ must be seeded. May be called at any time, also in the middle of an episode.
  virtual Status reset(std::optional<uint64_t> seed, ObservationOut observation) = 0;

  /// Takes one action (laid out as ActionSpec::tensor()). After `terminated` or `truncated` the
  /// next call must be reset; a step then, or before the first reset, is FailedPrecondition. A
  /// discrete action out of range and a NaN or infinite box action are InvalidArgument; a finite
  /// box action outside the bounds is clipped to them. The observation of a final step is the final
  /// one, never the next start. All of `observation` and `out` is written.
  virtual Status step(const void* action, ObservationOut observation, Transition& out) = 0;

  /// The whole state (generator, physics, counters), so that load() continues bit for bit. Bytes
  /// that are damaged or come from another environment are DataLoss. See envs/state_blob.h.
  [[nodiscard]] virtual std::string save() const = 0;
  virtual Status load(std::string_view state) = 0;
};

/// Finds the slices of one row in the columns of a batch: observation field f of row i starts at
/// `fields[f] + i * bytes(f)`. Allocates nothing.
///
///   ObservationRow row(env.spec().observation);
///   env.reset(seed, row.at(columns, i));
class ObservationRow {
 public:
  /// `observation` has at most kMaxObservationTensors fields.
  explicit ObservationRow(const Schema& observation);
  /// Valid until the next call.
  [[nodiscard]] ObservationOut at(ObservationOut fields, int64_t row) noexcept;

 private:
  size_t size_;
  std::array<int64_t, kMaxObservationTensors> bytes_{};
  std::array<void*, kMaxObservationTensors> slices_{};
};

/// Steps `envs[i]` with the i-th action for all i, writing observation field f of row i at
/// `fields[f] + i * bytes(f)`. All are copies of one environment. Stops at the first failure and
/// says which row failed; the rows before it have stepped.
Status step_all(std::span<Env* const> envs, const void* actions, ObservationOut fields,
                std::span<Transition> out);

}  // namespace sluice
