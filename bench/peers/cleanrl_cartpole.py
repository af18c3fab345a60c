"""CleanRL-style: env steps per second while a single-file PPO trains on CartPole-v1.

CleanRL is a collection of single-file programs, not a library, so this is an own PPO written in its
manner and with its defaults (gymnasium vector env, torch, one loop); it is not CleanRL's code. `sync`
steps Python environments one by one as CleanRL does; `native` is Gymnasium's own NumPy CartPole,
which is kinder to this peer than what CleanRL ships."""

import peer

p = peer.parser(__doc__, envs=1024)
p.add_argument("--vec", choices=("sync", "native"), default="sync")
args = peer.parse(p)
np, torch, gym = peer.need("numpy", "torch", "gymnasium")
from torch import nn
from torch.distributions import Categorical

HORIZON, EPOCHS, MINIBATCHES = 128, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM, LR = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 2.5e-4
UPDATES = 4000  # only the learning rate's schedule reads it


def mlp(outputs, gain):
    def linear(i, o, g):
        layer = nn.Linear(i, o)
        nn.init.orthogonal_(layer.weight, g)
        nn.init.zeros_(layer.bias)
        return layer
    return nn.Sequential(linear(4, 64, 2**0.5), nn.Tanh(), linear(64, 64, 2**0.5), nn.Tanh(),
                         linear(64, outputs, gain))


def make_envs(kind, n):
    if kind == "native":
        return gym.make_vec("CartPole-v1", n, vectorization_mode="vector_entry_point")
    one = lambda: gym.make("CartPole-v1", disable_env_checker=True)
    return gym.vector.SyncVectorEnv([one] * n, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)


def train(s):
    torch.manual_seed(args.seed)
    torch.set_num_threads(s["threads"])
    n, envs = s["envs"], make_envs(s["vec"], s["envs"])
    actor, critic = mlp(2, 0.01), mlp(1, 1.0)
    params = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(params, lr=LR, eps=1e-5)
    obs = torch.zeros(HORIZON, n, 4)
    actions, logps, rewards, dones, values = (torch.zeros(HORIZON, n) for _ in range(5))
    x, done, steps, update = torch.from_numpy(envs.reset(seed=args.seed)[0]), torch.zeros(n), 0, 0
    windows = peer.Windows(args.seconds)
    while not windows.tick(steps):
        adam.param_groups[0]["lr"] = LR * max(0.0, 1 - update / UPDATES)
        update += 1
        for t in range(HORIZON):
            obs[t], dones[t] = x, done
            with torch.no_grad():
                dist = Categorical(logits=actor(x), validate_args=False)
                a = dist.sample()
                values[t] = critic(x).flatten()
            actions[t], logps[t] = a, dist.log_prob(a)
            nx, r, term, trunc, _ = envs.step(a.numpy())
            rewards[t] = torch.from_numpy(np.asarray(r, np.float32))
            # The native env spends a step on each reset: such a row is no env step.
            steps += n - (int(done.sum()) if s["vec"] == "native" else 0)
            x = torch.from_numpy(np.asarray(nx, np.float32))
            done = torch.from_numpy(np.logical_or(term, trunc).astype(np.float32))
        with torch.no_grad():
            adv, last, following = torch.zeros_like(rewards), 0.0, critic(x).flatten()
            for t in reversed(range(HORIZON)):
                alive = 1.0 - (done if t == HORIZON - 1 else dones[t + 1])
                delta = rewards[t] + GAMMA * following * alive - values[t]
                last = delta + GAMMA * LAMBDA * alive * last
                adv[t], following = last, values[t]
        flat = [v.reshape(-1) for v in (actions.long(), logps, adv, adv + values, values)]
        b_obs, size = obs.reshape(-1, 4), HORIZON * n // MINIBATCHES
        for _ in range(EPOCHS):
            for rows in torch.randperm(HORIZON * n).split(size):
                o, (a, lp, ad, ret, old) = b_obs[rows], (v[rows] for v in flat)
                dist = Categorical(logits=actor(o), validate_args=False)
                ratio = (dist.log_prob(a) - lp).exp()
                ad = (ad - ad.mean()) / (ad.std() + 1e-8)
                policy = torch.max(-ad * ratio, -ad * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                v = critic(o).flatten()
                clipped = old + (v - old).clamp(-CLIP, CLIP)
                value = 0.5 * torch.max((v - ret) ** 2, (clipped - ret) ** 2).mean()
                loss = policy - ENTROPY * dist.entropy().mean() + VALUE * value
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(params, MAX_NORM)
                adam.step()
    envs.close()
    peer.say(f"mean episode length of the last rollout: {HORIZON * n / max(1.0, float(dones.sum())):.0f}")
    return windows.rates


best, rates = peer.sweep(args, train, {"vec": (args.vec, (args.vec,)),
                                       "envs": (args.envs, peer.SWEEP_ENVS),
                                       "threads": (args.threads, peer.SWEEP_THREADS)})
peer.emit("cleanrl-style" + ("-numpy-env" if args.vec == "native" else ""), "own loop after CleanRL's ppo.py", "train_steps_per_second", "steps/s",
          {**best, "horizon": HORIZON, "epochs": EPOCHS, "minibatches": MINIBATCHES,
           "seed": args.seed, "seconds": args.seconds}, rates)
