#include "workers/env_ring.h"

#include "envs/registry.h"
#include "workers/clip_action.h"
#include "workers/foreign_call.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

using enum Trajectory::Column;

bool finite(const void* data, const TensorSpec& spec) {
  if (spec.dtype != DType::F32) return true;
  const auto* x = static_cast<const float*>(data);
  // The sum is not finite exactly when an element is not (or the values are absurdly large).
  float sum = 0;
  for (int64_t i = 0; i < spec.elements(); ++i) sum += x[i] * 0.0F;
  return std::isfinite(sum);
}

}  // namespace

Result<EnvRing> EnvRing::make(const std::string& env, int64_t size, int64_t first_id, RandomKey key,
                              int64_t attempt, std::shared_ptr<Whereabouts> where) {
  EnvRing ring;
  for (int64_t i = 0; i < size; ++i) {
    ASSIGN_OR_RETURN(auto made, make_env(env));
    EnvSlot slot;
    slot.env = std::move(made);
    slot.id = first_id + i;
    slot.draws = attempt << 40;
    slot.chunks = attempt << 40;
    ring.slots_.push_back(std::move(slot));
  }
  ring.key_ = key.split("env");
  if (attempt > 0) ring.key_ = ring.key_.split(static_cast<uint64_t>(attempt));
  ring.spec_ = ring.slots_.front().env->spec();
  ring.where_ = std::move(where);
  ring.where_->call(fmt::format("environment '{}'", ring.spec_.name), "slot");
  ring.fields_ = static_cast<int64_t>(ring.spec_.observation.size());
  ring.action_column_ = ring.fields_;
  ring.out_.resize(static_cast<size_t>(ring.fields_));
  for (auto& slot : ring.slots_) {
    for (const auto& field : ring.spec_.observation.fields()) {
      slot.parked.emplace_back(static_cast<size_t>(field.bytes()), '\0');
    }
  }
  return ring;
}

ObservationOut EnvRing::place(EnvSlot& slot) {
  const bool in_chunk = slot.chunk && slot.t < slot.chunk->steps.rows();
  for (int64_t f = 0; f < fields_; ++f) {
    const auto at = static_cast<size_t>(f);
    out_[at] = in_chunk ? static_cast<void*>(slot.chunk->steps.data<char>(f) +
                                             slot.t * slot.chunk->steps.row_bytes(f))
                        : slot.parked[at].data();
  }
  return out_;
}

const void* EnvRing::observation(const EnvSlot& slot, int64_t field) const {
  if (slot.chunk && slot.t < slot.chunk->steps.rows()) {
    return slot.chunk->steps.data<char>(field) + slot.t * slot.chunk->steps.row_bytes(field);
  }
  return slot.parked[static_cast<size_t>(field)].data();
}

Status EnvRing::open_chunk(EnvSlot& slot, std::shared_ptr<Trajectory> chunk) {
  chunk->slot = slot.id;
  chunk->number = slot.chunks;
  chunk->versions = {};
  chunk->episodes.clear();
  std::memset(chunk->steps.data<float>(fields_ + kBootstrap), 0,
              static_cast<size_t>(chunk->steps.rows()) * sizeof(float));
  slot.chunk = std::move(chunk);
  slot.t = 0;
  if (slot.needs_reset) return reset(slot);
  for (int64_t f = 0; f < fields_; ++f) {
    const auto& bytes = slot.parked[static_cast<size_t>(f)];
    std::memcpy(slot.chunk->steps.data<char>(f), bytes.data(), bytes.size());
  }
  return {};
}

std::shared_ptr<Trajectory> EnvRing::close_chunk(EnvSlot& slot) {
  ++slot.chunks;
  return std::move(slot.chunk);
}

Result<Transition> EnvRing::step(EnvSlot& slot, const void* action) {
  Batch& steps = slot.chunk->steps;
  const int64_t t = slot.t++;
  ++slot.life;
  Transition transition;
  const Status stepped = foreign_call(*where_, slot.id, slot.life, [&] {
    return slot.env->step(clip_action(spec_.action, action, clipped_), place(slot), transition);
  });
  if (!stepped.ok()) {
    return stepped.with_context(
        fmt::format("environment '{}', slot {}, step {}", spec_.name, slot.id, slot.life));
  }
  RETURN_IF_ERROR(check_finite(slot, transition));
  const int64_t action_bytes = steps.row_bytes(action_column_);
  std::memcpy(steps.data<char>(action_column_) + t * action_bytes, action,
              static_cast<size_t>(action_bytes));
  steps.data<float>(fields_ + kReward)[t] = transition.reward;
  steps.data<uint8_t>(fields_ + kTerminated)[t] = transition.terminated ? 1 : 0;
  steps.data<uint8_t>(fields_ + kTruncated)[t] =
      transition.truncated && !transition.terminated ? 1 : 0;
  slot.episode_return += transition.reward;
  ++slot.episode_length;
  if (transition.terminated || transition.truncated) {
    slot.chunk->episodes.push_back(
        {slot.episode_return, slot.episode_length, !transition.terminated});
    slot.needs_reset = true;
  }
  return transition;
}

Status EnvRing::check_finite(const EnvSlot& slot, const Transition& transition) const {
  for (int64_t f = 0; f < fields_; ++f) {
    const TensorSpec& field = spec_.observation.fields()[static_cast<size_t>(f)];
    if (!finite(out_[static_cast<size_t>(f)], field)) {
      return error(Code::DataLoss, "environment '{}' gave a NaN or Inf in '{}' (slot {}, step {})",
                   spec_.name, field.name, slot.id, slot.life);
    }
  }
  if (!std::isfinite(transition.reward)) {
    return error(Code::DataLoss, "environment '{}' gave the reward {} (slot {}, step {})",
                 spec_.name, transition.reward, slot.id, slot.life);
  }
  return {};
}

Status EnvRing::reset(EnvSlot& slot) {
  // Only the first episode is seeded: later ones go on with the environment's own generator.
  const bool first = slot.life == 0 && !std::exchange(slot.seeded, true);
  const auto seed =
      first ? std::optional<uint64_t>(key_.split(static_cast<uint64_t>(slot.id)).word(0))
            : std::nullopt;
  const Status status =
      foreign_call(*where_, slot.id, slot.life, [&] { return slot.env->reset(seed, place(slot)); });
  if (!status.ok()) {
    return status.with_context(fmt::format("environment '{}', slot {}, reset after step {}",
                                           spec_.name, slot.id, slot.life));
  }
  RETURN_IF_ERROR(check_finite(slot, {}));
  slot.needs_reset = false;
  slot.episode_return = 0;
  slot.episode_length = 0;
  return {};
}

Status EnvRing::save(Snapshot& out) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const EnvSlot& slot = slots_[i];
    Snapshot one;
    one.put("env", slot.env->save());
    one.put_value("id", slot.id);
    one.put_value("draws", slot.draws);
    one.put_value("chunks", slot.chunks);
    one.put_value("life", slot.life);
    one.put_value("return", slot.episode_return);
    one.put_value("length", slot.episode_length);
    one.put_value("needs_reset", slot.needs_reset);
    for (int64_t f = 0; f < fields_; ++f) {
      const auto bytes = slot.parked[static_cast<size_t>(f)].size();
      one.put(fmt::format("obs{}", f),
              std::string(static_cast<const char*>(observation(slot, f)), bytes));
    }
    out.put(fmt::format("slot{}", i), one.encode());
  }
  return {};
}

Status EnvRing::load(const Snapshot& in) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    EnvSlot& slot = slots_[i];
    const std::string name = fmt::format("slot{}", i);
    if (!in.has(name)) break;  // the ring has grown
    ASSIGN_OR_RETURN(const auto bytes, in.get(name));
    ASSIGN_OR_RETURN(const Snapshot one, Snapshot::decode(bytes));
    ASSIGN_OR_RETURN(const auto env, one.get("env"));
    RETURN_IF_ERROR(slot.env->load(env));
    RETURN_IF_ERROR(one.get_value("id", slot.id));
    RETURN_IF_ERROR(one.get_value("draws", slot.draws));
    RETURN_IF_ERROR(one.get_value("chunks", slot.chunks));
    RETURN_IF_ERROR(one.get_value("life", slot.life));
    RETURN_IF_ERROR(one.get_value("return", slot.episode_return));
    RETURN_IF_ERROR(one.get_value("length", slot.episode_length));
    RETURN_IF_ERROR(one.get_value("needs_reset", slot.needs_reset));
    for (int64_t f = 0; f < fields_; ++f) {
      auto& parked = slot.parked[static_cast<size_t>(f)];
      RETURN_IF_ERROR(
          one.get_array(fmt::format("obs{}", f), std::span(parked.data(), parked.size())));
    }
  }
  return {};
}

}  // namespace sluice
