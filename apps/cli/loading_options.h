#pragma once
#include "apps/cli/text_model.h"

namespace CLI {
class App;
}

namespace sluice {

/// The options of every command that loads a model to generate with: --device, --weights, --kv,
/// --kv-mib, --speculate, --threads. `options` must outlive the command line.
void add_loading_options(CLI::App& command, TextModelOptions& options);

}  // namespace sluice
