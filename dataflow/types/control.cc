#include "dataflow/types/control.h"

#include "dataflow/types/trajectory.h"

namespace sluice {

Schema Observation::schema(const Schema& observation) {
  Schema out = observation;
  out.add({std::string(kSlot), DType::I64, {}});
  out.add({std::string(kDraw), DType::I64, {}});
  out.add({std::string(kWant), DType::U8, {}});
  return out;
}

Schema Action::schema(const TensorSpec& action) {
  return {action, {"log_prob", DType::F32, {}}, {"value", DType::F32, {}}};
}

Schema Trajectory::schema(const Schema& observation, const TensorSpec& action) {
  Schema out = observation;
  out.add(action);
  out.add({"log_prob", DType::F32, {}});
  out.add({"value", DType::F32, {}});
  out.add({"reward", DType::F32, {}});
  out.add({"terminated", DType::U8, {}});
  out.add({"truncated", DType::U8, {}});
  out.add({"bootstrap", DType::F32, {}});
  return out;
}

}  // namespace sluice
