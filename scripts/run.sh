#!/usr/bin/env bash
# The `sluice` command: installs what is missing, builds if needed, then runs it with the same
# arguments and exit code. SLUICE_PRESET selects another preset than release.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
preset=${SLUICE_PRESET:-release}
"$root/scripts/build.sh" "$preset" sluice
exec "$root/build/$preset/bin/sluice" "$@"
