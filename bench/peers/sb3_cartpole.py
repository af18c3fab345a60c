"""Stable-Baselines3: env steps per second while PPO trains on CartPole-v1."""

import peer

args = peer.parse(peer.parser(__doc__, envs=256))
torch, gym, sb3, vec, callbacks = peer.need(
    "torch", "gymnasium", "stable_baselines3", "stable_baselines3.common.vec_env",
    "stable_baselines3.common.callbacks")
HORIZON, EPOCHS, MINIBATCHES = 128, 4, 4


class Meter(callbacks.BaseCallback):
    """Reads the clock where a rollout starts, so that a window holds whole iterations."""

    def __init__(self):
        super().__init__()
        self.windows, self.done = peer.Windows(args.seconds), False

    def _on_rollout_start(self):
        self.done = self.windows.tick(self.num_timesteps)

    def _on_step(self):
        return not self.done


def measure(s):
    torch.set_num_threads(s["threads"])
    # Neither Monitor nor the environment checker: both only slow the peer down.
    make = lambda: gym.make("CartPole-v1", disable_env_checker=True)
    envs = vec.DummyVecEnv([make] * s["envs"])
    net = dict(pi=[64, 64], vf=[64, 64])
    model = sb3.PPO("MlpPolicy", envs, n_steps=HORIZON, n_epochs=EPOCHS, seed=args.seed,
                    batch_size=s["envs"] * HORIZON // MINIBATCHES, device="cpu",
                    policy_kwargs=dict(net_arch=net, activation_fn=torch.nn.Tanh))
    meter = Meter()
    model.learn(int(1e12), callback=meter)
    envs.close()
    return meter.windows.rates


best, rates = peer.sweep(args, measure, {"envs": (args.envs, peer.SWEEP_ENVS),
                                         "threads": (args.threads, peer.SWEEP_THREADS)})
peer.emit("sb3", sb3.__version__, "train_steps_per_second", "steps/s",
          {**best, "horizon": HORIZON, "epochs": EPOCHS, "minibatches": MINIBATCHES,
           "vec": "DummyVecEnv", "seed": args.seed, "seconds": args.seconds}, rates)
