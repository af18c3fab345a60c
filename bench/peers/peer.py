"""What every peer script shares: flags, thread pinning, repeats, the sweep and the one JSON line."""

import argparse
import importlib
import json
import os
import platform
import statistics
import sys
import time

SWEEP_ENVS = (64, 256, 1024)
SWEEP_THREADS = (1, 2)
REPEATS = 5


def parser(doc, envs):
    p = argparse.ArgumentParser(description=doc)
    p.add_argument("--envs", type=int, default=envs, help="environments in all")
    p.add_argument("--threads", type=int, default=1, help="threads of the tensor library")
    p.add_argument("--seconds", type=float, default=20, help="length of the steady window")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--sweep", action="store_true", help="try all sizes and keep the best")
    return p


def parse(p, argv=None):
    """Parses and pins threads; call it before torch is imported (its pools size at import)."""
    args = p.parse_args(argv)
    for name in ("envs", "threads", "seconds"):
        if getattr(args, name) <= 0:
            p.error(f"--{name} must be positive")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(max(SWEEP_THREADS) if args.sweep else args.threads)
    return args


def need(*modules):
    """Imports modules by name; a missing one is a clear message and exit code 2."""
    try:
        return [importlib.import_module(m) for m in modules]
    except ImportError as e:
        print(f"{sys.argv[0]}: {e}. Run scripts/peers.sh and use the interpreter that it names.",
              file=sys.stderr)
        sys.exit(2)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Windows:
    """Splits a run into a warm-up and REPEATS windows of equal length; rates in steps per second."""

    def __init__(self, seconds, warmup=None):
        self.length = seconds / REPEATS
        self.warmup = self.length if warmup is None else warmup
        self.start, self.last, self.rates, self.warm = time.perf_counter(), 0, [], False

    def tick(self, steps):
        """Call at iteration borders with the steps so far; True when the last window is full."""
        now = time.perf_counter()
        spent = now - self.start
        # The first iteration is never measured, however long it took.
        if spent >= (self.length if self.warm else self.warmup) and steps > 0:
            if self.warm:
                self.rates.append((steps - self.last) / spent)
            self.start, self.last, self.warm = now, steps, True
        return len(self.rates) >= REPEATS


def sweep(args, measure, axes, center=statistics.median):
    """Runs measure(settings) -> rates over the grid, or once; returns (settings, rates) of the best.

    `axes` maps a name to (value when not sweeping, values to sweep)."""
    grid = [{}]
    for name, (single, many) in axes.items():
        grid = [{**g, name: v} for g in grid for v in (many if args.sweep else (single,))]
    best = None
    for settings in grid:
        rates = measure(settings)
        say(f"{settings}: {center(rates):.0f} (load {os.getloadavg()[0]:.1f})")
        if best is None or center(rates) > center(best[1]):
            best = (settings, rates)
    return best


def emit(peer, version, metric, unit, settings, repeats, value=None, **more):
    """Prints the one JSON line that the benchmark driver reads."""
    if value is None and repeats:
        value = statistics.median(repeats)
    settings = {**settings, "python": platform.python_version(), "cores": os.cpu_count(),
                "load": round(os.getloadavg()[0], 2)}
    for name in ("torch", "gymnasium", "numpy"):
        if name in sys.modules:
            settings[name] = sys.modules[name].__version__
    digits = lambda x: None if x is None else round(x, 4)
    print(json.dumps({"peer": peer, "version": version, "metric": metric, "value": digits(value),
                      "unit": unit, "settings": settings,
                      "repeats": [digits(r) for r in repeats], **more}), flush=True)
