#!/usr/bin/env bash
# Installs what is missing, builds everything, checks the tree, runs the tests. Arguments go to
# ctest: `scripts/test.sh -L unit`, `scripts/test.sh -R Stream`. SLUICE_PRESET selects a preset.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
preset=${SLUICE_PRESET:-release}
"$root/scripts/build.sh" "$preset"
SLUICE_PRESET=$preset "$root/scripts/check.sh"
cd "$root"
exec ctest --preset "$preset" "$@"
