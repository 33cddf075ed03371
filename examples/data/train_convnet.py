#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trains the network of ../convnet.c on digits.csv with NumPy, some two minutes, and writes its weights:

    python3 train_convnet.py convnet.f32

f32, little-endian, one tensor behind the other: the weight and bias of two convolutions ([16, 1, 3, 3],
[32, 16, 3, 3]) and of a linear layer ([512, 10]). Every fifth digit is held out, as in the examples.
"""
import os
import sys

import numpy as np

SHAPES = ((16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), (512, 10), (10,))
FAN_IN = (9, 1, 144, 1, 512, 1)


def digits():
    """Learned from, and held out: pixels [n, 1, 8, 8] from 0 to 1, and labels."""
    table = np.loadtxt(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv"), delimiter=",")
    held = np.arange(len(table)) % 5 == 4
    x, y = (table[:, :64] / 16).astype(np.float32).reshape(-1, 1, 8, 8), table[:, 64].astype(int)
    return x[~held], y[~held], x[held], y[held]


def columns(x):
    """Each place's window of 3 x 3, with zeros around: [n, 8, 8, channels * 9]."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return seen.transpose(0, 2, 3, 1, 4, 5).reshape(x.shape[0], 8, 8, -1)


def forward(w, x):
    """The logits, and what the gradient needs."""
    first = columns(x)
    a = np.maximum(first @ w[0].reshape(16, -1).T + w[1], 0)
    second = columns(a.transpose(0, 3, 1, 2))
    b = np.maximum(second @ w[2].reshape(32, -1).T + w[3], 0).transpose(0, 3, 1, 2)
    tiles = b.reshape(-1, 32, 4, 2, 4, 2)
    flat = tiles.max((3, 5)).reshape(len(x), -1)
    return flat @ w[4] + w[5], (first, a, second, tiles, flat)


def gradient(w, x, y):
    logits, (first, a, second, tiles, flat) = forward(w, x)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    d = p.copy()
    d[np.arange(len(y)), y] -= 1
    d /= len(y)
    out = [None] * 6
    out[4], out[5] = flat.T @ d, d.sum(0)
    most = tiles.max((3, 5), keepdims=True)
    chosen = (tiles == most) / (tiles == most).sum((3, 5), keepdims=True)
    d = (chosen * (d @ w[4].T).reshape(-1, 32, 4, 1, 4, 1)).reshape(-1, 32, 8, 8).transpose(0, 2, 3, 1)
    d = d * (tiles.reshape(-1, 32, 8, 8).transpose(0, 2, 3, 1) > 0)
    out[2], out[3] = np.tensordot(d, second, ((0, 1, 2), (0, 1, 2))).reshape(w[2].shape), d.sum((0, 1, 2))
    turned = w[2].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1].reshape(16, -1)
    d = (columns(d.transpose(0, 3, 1, 2)) @ turned.T) * (a > 0)
    out[0], out[1] = np.tensordot(d, first, ((0, 1, 2), (0, 1, 2))).reshape(w[0].shape), d.sum((0, 1, 2))
    return [g.astype(np.float32) for g in out], -np.log(p[np.arange(len(y)), y]).mean()


def train(epochs=25, batch=32, rate=2e-3):
    random = np.random.default_rng(1)
    x, y, held_x, held_y = digits()
    w = [(random.standard_normal(s) * np.sqrt(2 / f) * (len(s) > 1)).astype(np.float32) for s, f in zip(SHAPES, FAN_IN)]
    mean, square, step = [np.zeros_like(v) for v in w], [np.zeros_like(v) for v in w], 0
    for epoch in range(epochs):
        order, losses = random.permutation(len(x)), []
        for at in range(0, len(x) - batch + 1, batch):
            chosen = order[at : at + batch]
            gradients, loss = gradient(w, x[chosen], y[chosen])
            losses.append(loss)
            step += 1
            now = rate * (1 - epoch / epochs)
            for v, g, m, s in zip(w, gradients, mean, square): # Adam
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                v -= now * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
        right = (forward(w, held_x)[0].argmax(1) == held_y).mean()
        print("epoch %d: loss %.4f, held out %.2f %% right" % (epoch + 1, np.mean(losses), 100 * right), flush=True)
    return w


if __name__ == "__main__":
    np.concatenate([v.ravel() for v in train()]).astype("<f4").tofile(sys.argv[1])
