#pragma once
#include "models/transformer/architecture.h"

/// The families, each in the file of its name.
namespace sluice::arch {

const Architecture& llama();
const Architecture& mistral();
const Architecture& qwen2();
const Architecture& qwen3();
const Architecture& qwen3_moe();
const Architecture& mixtral();
const Architecture& smollm3();
const Architecture& gemma2();
const Architecture& gpt2();
const Architecture& qwen3_next();

}  // namespace sluice::arch
