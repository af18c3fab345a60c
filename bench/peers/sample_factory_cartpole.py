"""Sample Factory: env steps per second while APPO trains on CartPole-v1.

Drives its own training program and reads the "Fps is" reports. --epochs 4 (the default) matches the
other peers: horizon 128, 4 epochs x 4 minibatches. --epochs 1 is its own best: horizon 32, one pass."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peer

# It needs an older gymnasium than the other peers, so it lives in the venv next to theirs.
sibling = Path(sys.prefix).parent / "sample-factory" / "bin" / "python"
if importlib.util.find_spec("sample_factory") is None and sibling.exists():
    os.execv(sibling, [str(sibling), *sys.argv])

p = peer.parser(__doc__, envs=1024)
p.add_argument("--workers", type=int, default=2, help="rollout processes; --envs is split among them")
p.add_argument("--epochs", type=int, default=4, choices=(1, 4))
args = peer.parse(p)
if importlib.util.find_spec("sample_factory") is None:
    peer.need("sample_factory")
WARMUP_S = 12  # processes start, buffers fill
REPORT = re.compile(r"Fps is .*Total num frames: (\d+)")


def flags(s, where):
    horizon, minibatches = (128, 4) if args.epochs == 4 else (32, 1)
    per_worker = s["envs"] // s["workers"]
    fixed = dict(
        algo="APPO", env="CartPole-v1", experiment="b", train_dir=where, device="cpu", use_rnn=False,
        recurrence=1, nonlinearity="tanh", normalize_input=False, reward_scale=0.1,
        actor_critic_share_weights=False, rollout=horizon, num_workers=s["workers"],
        num_envs_per_worker=per_worker, worker_num_splits=2 if per_worker % 2 == 0 else 1,
        batch_size=per_worker * s["workers"] * horizon // minibatches,
        num_batches_per_epoch=minibatches, num_epochs=args.epochs, async_rl=True, seed=args.seed,
        save_every_sec=3600, train_for_seconds=3600, decorrelate_envs_on_one_worker=False,
        decorrelate_experience_max_seconds=0, restart_behavior="overwrite", save_best_every_sec=3600)
    return [f"--{k}={v}" for k, v in fixed.items()] + ["--encoder_mlp_layers", "64", "64"]


def measure(s):
    """Rates between reports whose frame count moved: frames arrive in lumps of one training set."""
    # A driver that gives up sends SIGTERM: as an exception, so that the child below is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    where = tempfile.mkdtemp(prefix="peer_sf_")
    env = {**os.environ, **{f"{k}_NUM_THREADS": str(s["threads"]) for k in ("OMP", "MKL")}}
    child = subprocess.Popen([sys.executable, "-m", "sf_examples.train_gym_env", *flags(s, where)],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                             cwd=where, start_new_session=True)
    points, first, tail, begin = [], None, [], time.monotonic()
    try:
        for line in child.stdout:
            tail, now = (tail + [line])[-20:], time.monotonic()
            m = REPORT.search(line)
            frames = int(m[1]) if m else 0
            if frames > (points[-1][1] if points else 0):
                first = first or now
                # Until the warm-up is over only the newest report is kept, as the starting point.
                points = [*points, (now, frames)] if points and now - first > WARMUP_S else [(now, frames)]
            if m and (points and points[-1][0] - points[0][0] >= args.seconds
                      or now - begin > 4 * args.seconds + 60):
                break
    finally:
        # Its own shutdown takes long and saves files nobody reads: end the whole process group.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        shutil.rmtree(where, ignore_errors=True)
    rates, at = [], points[0] if points else None
    for point in points:
        if point[0] - at[0] >= args.seconds / peer.REPEATS - 0.5:
            rates.append((point[1] - at[1]) / (point[0] - at[0]))
            at = point
    if not rates:
        peer.say("".join(tail))
        sys.exit("sample_factory_cartpole.py: the training program gave no measurement; try more --seconds")
    return rates


best, rates = peer.sweep(args, measure, {"workers": (args.workers, (1, 2)),
                                         "envs": (args.envs, peer.SWEEP_ENVS),
                                         "threads": (args.threads, (1,))},
                         center=statistics.fmean)
peer.emit("sample-factory", importlib.metadata.version("sample-factory"), "train_steps_per_second",
          "steps/s", {**best, "horizon": 128 if args.epochs == 4 else 32, "epochs": args.epochs,
                      "minibatches": 4 if args.epochs == 4 else 1, "async": True, "seed": args.seed,
                      "torch": importlib.metadata.version("torch"), "seconds": args.seconds,
                      "gymnasium": importlib.metadata.version("gymnasium"),
                      "numpy": importlib.metadata.version("numpy")}, rates,
          value=statistics.fmean(rates))  # lumps and 5-second reports: a median would only see steps of them
