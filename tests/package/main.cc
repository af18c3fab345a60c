#include "dataflow/base/ids.h"
#include "dataflow/types/batch.h"

#include <cstdio>

int main() {
  sluice::Batch batch({{"observation", sluice::DType::F32, {4}}}, 8);
  std::printf("%lld rows, %lld bytes\n", static_cast<long long>(batch.rows()),
              static_cast<long long>(batch.bytes()));
  const sluice::VersionTag tag;
  return batch.bytes() == 8 * 4 * 4 && tag == sluice::VersionTag{} ? 0 : 1;
}
