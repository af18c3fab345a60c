#!/usr/bin/env python3
"""Writes the golden files beside this script from the real Gymnasium.

Made with Python 3.11, gymnasium==1.4.0, numpy==2.4.6 on x86-64 Linux:

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install gymnasium==1.4.0 numpy==2.4.6
    /tmp/golden/bin/python envs/testdata/make_golden.py

cartpole.csv, pendulum.csv: one environment from the first line to the last, a line per call:
    reset,SEED or "-" for none,OBSERVATION...
    step,ACTION,OBSERVATION...,REWARD,TERMINATED,TRUNCATED
pcg64.csv: a line per seed: SEED, three raw 64-bit words, then three uniform(-0.05, 0.05) as hex floats.
Numbers are float32 with the 9 digits that identify one.
"""
import pathlib

import gymnasium
import numpy as np

HERE = pathlib.Path(__file__).parent
SEEDS = [0, 1, 42, 2**32 - 1, 2**32, 2**64 - 1]


def text(value):
    return f"{np.float32(value):.9g}"


class Recorder:
    def __init__(self, name):
        self.env = gymnasium.make(name)
        self.lines = []

    def reset(self, seed=None):
        observation, _ = self.env.reset(seed=seed)
        self.lines.append(["reset", "-" if seed is None else str(seed), *map(text, observation)])

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.env.step(action)
        shown = str(action) if np.isscalar(action) else text(action[0])
        flags = [str(int(terminated)), str(int(truncated))]
        self.lines.append(["step", shown, *map(text, observation), text(reward), *flags])
        return terminated, truncated

    def write(self, name):
        (HERE / name).write_text("".join(",".join(line) + "\n" for line in self.lines))


def balance(env):
    x, x_dot, theta, theta_dot = env.unwrapped.state
    return int(theta + 0.5 * theta_dot + 0.05 * x + 0.1 * x_dot > 0)


def fall_at(seed, limit):
    """The step from which pushing right makes the pole fall exactly at the time limit."""
    for start in range(limit - 60, limit):
        env = gymnasium.make("CartPole-v1")
        env.reset(seed=seed)
        for step in range(1, limit + 1):
            _, _, terminated, truncated, _ = env.step(1 if step >= start else balance(env))
            if terminated or truncated:
                break
        if terminated and truncated:
            return start
    return None


def cartpole():
    out = Recorder("CartPole-v1")
    choose = np.random.default_rng(7)
    for seed in SEEDS:
        out.reset(seed)
        while not any(out.step(int(choose.integers(2)))):
            pass
        for _ in range(3):  # without a seed the generator goes on
            out.reset()
            while not any(out.step(int(choose.integers(2)))):
                pass
    out.reset(5)  # abandoned in the middle
    for _ in range(5):
        out.step(1)
    out.reset(11)
    ends = (False, False)
    while not any(ends):
        ends = out.step(balance(out.env))
    assert ends == (False, True), ends
    seed, start = next((s, f) for s in range(100) if (f := fall_at(s, 500)) is not None)
    out.reset(seed)
    for step in range(1, 501):
        ends = out.step(1 if step >= start else balance(out.env))
    assert ends == (True, True), ends
    out.reset()
    out.write("cartpole.csv")


def pendulum():
    out = Recorder("Pendulum-v1")
    choose = np.random.default_rng(8)
    for seed in SEEDS:
        out.reset(seed)
        for _ in range(20):
            out.step(choose.uniform(-4, 4, 1).astype(np.float32))  # half of them get clipped
    out.reset(3)
    spin = [np.array([2.0], np.float32)]  # to the speed limit and past a full turn
    for _ in range(199):
        assert out.step(spin[0]) == (False, False)
    assert out.step(spin[0]) == (False, True)
    for _ in range(2):
        out.reset()
        ends = (False, False)
        while not any(ends):
            ends = out.step(choose.uniform(-2, 2, 1).astype(np.float32))
    out.reset()
    out.write("pendulum.csv")


def pcg64():
    lines = []
    for seed in [*SEEDS, 123456789, 2**63]:
        words = np.random.default_rng(seed).bit_generator.random_raw(3)
        uniform = np.random.default_rng(seed).uniform(-0.05, 0.05, 3)
        lines.append([str(seed), *map(str, words.tolist()), *(float(u).hex() for u in uniform)])
    (HERE / "pcg64.csv").write_text("".join(",".join(line) + "\n" for line in lines))


if __name__ == "__main__":
    cartpole()
    pendulum()
    pcg64()
