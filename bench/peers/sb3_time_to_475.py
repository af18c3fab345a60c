"""Stable-Baselines3: wall seconds until PPO's mean evaluation return on CartPole-v1 is 475.

The settings are those that rl-zoo tuned for this task. An evaluation plays deterministic episodes.
`value` leaves the time of the evaluations out; `with_evaluation` counts it."""

import statistics
import time

import peer

p = peer.parser(__doc__, envs=8)
p.add_argument("--episodes", type=int, default=100, help="episodes of one evaluation")
p.add_argument("--every", type=int, default=4096, help="env steps between evaluations")
p.add_argument("--seeds", type=int, default=1, help="how many seeds, counted from --seed")
p.add_argument("--budget", type=int, default=100_000, help="env steps of the schedule")
args = peer.parse(p)
torch, gym, sb3, vec, callbacks = peer.need(
    "torch", "gymnasium", "stable_baselines3", "stable_baselines3.common.vec_env",
    "stable_baselines3.common.callbacks")
GOAL = 475.0


def make_envs(n):
    return vec.DummyVecEnv([lambda: gym.make("CartPole-v1", disable_env_checker=True)] * n)


def evaluate(model, envs, seed):
    """Mean return of one episode per environment; all run side by side, so it is batched."""
    envs.seed(seed)
    obs, returns = envs.reset(), [0.0] * envs.num_envs
    alive = [True] * envs.num_envs
    while any(alive):
        obs, rewards, dones, _ = envs.step(model.predict(obs, deterministic=True)[0])
        for i in range(envs.num_envs):
            returns[i] += rewards[i] * alive[i]
            alive[i] = alive[i] and not dones[i]
    return statistics.fmean(returns)


class Evaluator(callbacks.BaseCallback):
    """Evaluates between iterations and stops the run at the goal."""

    def __init__(self, envs, seed):
        super().__init__()
        self.envs, self.seed, self.next_at, self.paused = envs, seed, args.every, 0.0
        self.best, self.hit = 0.0, None

    def check(self):
        now = time.perf_counter()
        self.next_at = self.num_timesteps + args.every
        score = evaluate(self.model, self.envs, 10_000 + self.seed)
        self.best = max(self.best, score)
        trained = now - self.start - self.paused
        self.paused += time.perf_counter() - now
        peer.say(f"seed {self.seed}: {self.num_timesteps} steps, {trained:.2f} s, return {score:.1f}")
        if score >= GOAL:
            self.hit = (trained, time.perf_counter() - self.start, self.num_timesteps)

    def _on_training_start(self):
        self.start = time.perf_counter()

    def _on_rollout_start(self):
        if self.hit is None and self.num_timesteps >= self.next_at:
            self.check()

    def _on_step(self):
        return self.hit is None


def run(seed, threads):
    """(seconds without evaluation, seconds with it, env steps), or None when the budget ran out."""
    torch.set_num_threads(threads)
    envs, test = make_envs(args.envs), make_envs(args.episodes)
    model = sb3.PPO("MlpPolicy", envs, n_steps=32, batch_size=min(256, args.envs * 32), n_epochs=20,
                    gamma=0.98, gae_lambda=0.8, ent_coef=0.0, learning_rate=lambda left: 1e-3 * left,
                    clip_range=lambda left: 0.2 * left, seed=seed, device="cpu")
    evaluator = Evaluator(test, seed)
    model.learn(args.budget, callback=evaluator)
    if evaluator.hit is None:
        evaluator.check()  # the last iteration is followed by no rollout
    envs.close(), test.close()
    return evaluator.hit


def measure(threads):
    return {seed: run(seed, threads) for seed in range(args.seed, args.seed + args.seeds)}


# A seed that never got there counts as infinitely slow, so the median stays honest.
at = lambda hits, k: statistics.median(h[k] if h else float("inf") for h in hits.values())
tried = {t: measure(t) for t in (peer.SWEEP_THREADS if args.sweep else (args.threads,))}
threads = min(tried, key=lambda t: at(tried[t], 0))
hits = tried[threads]
finite = lambda x: None if x == float("inf") else x
peer.emit("sb3", sb3.__version__, "time_to_475", "s",
          {"envs": args.envs, "threads": threads, "n_steps": 32, "batch": 256, "epochs": 20,
           "episodes": args.episodes, "every": args.every, "seeds": list(hits)},
          [h[0] if h else None for h in hits.values()], value=finite(at(hits, 0)),
          with_evaluation=finite(at(hits, 1)), env_steps=finite(at(hits, 2)),
          reached=sum(h is not None for h in hits.values()))
