#include "workers/llm/saved_model.h"

#include "models/io/checkpoint.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"
#include "workers/llm/lm_trainer.h"

#include <ATen/ATen.h>

#include <cstring>

namespace sluice {

bool SavedModel::in(const Snapshot& worker) { return worker.has(LmTrainerWorker::kModel); }

Result<SavedModel> SavedModel::load(const Snapshot& worker) {
  SavedModel out;
  ASSIGN_OR_RETURN(const auto base, worker.get(LmTrainerWorker::kModel));
  out.base = base;
  ASSIGN_OR_RETURN(const std::string path, resolve_model(out.base));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint));
  ASSIGN_OR_RETURN(const auto encoded, worker.get("learner"));
  ASSIGN_OR_RETURN(const Snapshot learner, Snapshot::decode(encoded));
  for (const auto& entry : model.parameters().entries()) {
    ASSIGN_OR_RETURN(const auto bytes, learner.get("parameter." + entry.name));
    if (bytes.size() != entry.tensor.nbytes()) {
      return error(Code::DataLoss, "'{}' of '{}' has {} bytes, not {}", entry.name, out.base,
                   bytes.size(), entry.tensor.nbytes());
    }
    std::memcpy(entry.tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  }
  out.weights = to_checkpoint(model.config(), model.parameters());
  return out;
}

}  // namespace sluice
