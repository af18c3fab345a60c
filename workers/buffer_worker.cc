#include "workers/buffer_worker.h"

namespace sluice {

template struct Buffer<Trajectory>;
template class BufferWorker<Trajectory>;

}  // namespace sluice
