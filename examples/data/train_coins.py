#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trains the detector of ../coins.c with NumPy (and Pillow, to read the photograph), some minutes:

    python3 train_coins.py coins.f32

It learns from the 15 coins at the left of coins.png, cut out at random places and sizes; the nine others are
held out. Weights are written as f32, little-endian, one tensor behind the other: weight and bias of six
convolutions, whose shapes are SHAPES. An image of gray, from 0 to 1, less 0.5, becomes five numbers for each
8 x 8 pixels: the logit of a coin whose middle is there, where the middle is relative to that of the cell, in
cells, and the logarithms of width and height over 32 pixels.
"""
import os
import sys

import numpy as np
from PIL import Image

SHAPES = ((8, 1, 3, 3), (16, 8, 3, 3), (24, 16, 3, 3), (24, 24, 3, 3), (24, 24, 3, 3), (5, 24, 1, 1))
STRIDES = (2, 2, 2, 1, 1, 1)
SIZE, CELL, UNIT, GRAY = 160, 8, 32.0, 114
# Left, top, width and height of each coin in the photograph.
LEARNED = ((23, 33, 43, 41), (82, 39, 39, 35), (132, 28, 46, 46), (193, 30, 46, 43), (25, 103, 42, 42),
           (83, 107, 39, 38), (133, 110, 41, 35), (186, 105, 41, 40), (25, 176, 38, 41), (80, 174, 45, 43),
           (134, 179, 41, 38), (188, 170, 49, 47), (18, 233, 57, 55), (92, 244, 43, 42), (143, 236, 58, 50))
CUT = (220, 240, 49, 48)  # by the edge of what is learned from
HELD = ((255, 33, 41, 39), (306, 16, 59, 56), (246, 96, 50, 48), (317, 104, 40, 41), (251, 172, 47, 45),
        (316, 156, 64, 61), CUT, (275, 239, 52, 49), (335, 246, 47, 42))
EDGE = 243


def columns(x, window, stride):
    if window == 1:
        return x.transpose(0, 2, 3, 1)
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    return seen.transpose(0, 2, 3, 1, 4, 5).reshape(x.shape[0], seen.shape[2], seen.shape[3], -1)


def back_to_image(d, shape, stride):
    """Adds up what columns() has copied."""
    n, c, h, w = shape
    out, d = np.zeros((n, c, h + 2, w + 2), np.float32), d.reshape(*d.shape[:3], c, 3, 3)
    for i in range(3):
        for j in range(3):
            out[:, :, i : i + stride * d.shape[1] : stride, j : j + stride * d.shape[2] : stride] += d[
                :, :, :, :, i, j].transpose(0, 3, 1, 2)
    return out[:, :, 1:-1, 1:-1]


def forward(w, x):
    """[n, 5, rows, columns], and what the gradient needs."""
    kept = []
    for k, stride in enumerate(STRIDES):
        seen = columns(x, SHAPES[k][2], stride)
        y = (seen @ w[2 * k].reshape(SHAPES[k][0], -1).T + w[2 * k + 1]).transpose(0, 3, 1, 2)
        y = np.maximum(y, 0) if k < 5 else y
        kept.append((x.shape, seen, y))
        x = y
    return x, kept


def backward(w, kept, d):
    out = [None] * 12
    for k in range(5, -1, -1):
        shape, seen, y = kept[k]
        d = (d * (y > 0) if k < 5 else d).transpose(0, 2, 3, 1)
        out[2 * k] = np.tensordot(d, seen, ((0, 1, 2), (0, 1, 2))).reshape(SHAPES[k])
        out[2 * k + 1] = d.sum((0, 1, 2))
        if k:
            d = d @ w[2 * k].reshape(SHAPES[k][0], -1)
            d = d.transpose(0, 3, 1, 2) if SHAPES[k][2] == 1 else back_to_image(d, shape, STRIDES[k])
    return out


def sample(random, photo):
    """An image, and for each cell whether it is a coin (-1: it does not count), and the four other numbers."""
    scale = np.exp(random.uniform(np.log(0.4), np.log(1.2)))
    across, down = scale * random.uniform(0.9, 1.1), scale * random.uniform(0.9, 1.1)
    w, h = SIZE / across, SIZE / down
    left = random.uniform(min(0, EDGE - w) - 20, max(0, EDGE - w) + 20)
    top = random.uniform(min(0, photo.height - h) - 20, max(0, photo.height - h) + 20)
    image = photo.crop((0, 0, EDGE, photo.height)).transform(
        (SIZE, SIZE), Image.AFFINE, (1 / across, 0, left, 0, 1 / down, top), Image.BILINEAR, fillcolor=GRAY)
    x = (np.asarray(image, np.float32) / 255 - 0.5) * random.uniform(0.7, 1.3) + random.uniform(-0.15, 0.15)
    n = SIZE // CELL
    kind, numbers = np.zeros((n, n), np.float32), np.zeros((4, n, n), np.float32)
    middle = (np.arange(n) + 0.5) * CELL
    for coin in LEARNED + (CUT,):
        cx, cy = (coin[0] + coin[2] / 2 - left) * across, (coin[1] + coin[3] / 2 - top) * down
        cw, ch = coin[2] * across, coin[3] * down
        dx, dy = (cx - middle)[None, :], (cy - middle)[:, None]
        kind[(abs(dx) < cw * 0.35) & (abs(dy) < ch * 0.35) & (kind == 0)] = -1
        inside = cx > cw * 0.3 and cy > ch * 0.3 and cx < SIZE - cw * 0.3 and cy < SIZE - ch * 0.3
        if coin is CUT or not inside:
            continue
        there = (abs(dx) < max(cw * 0.15, CELL / 2)) & (abs(dy) < max(ch * 0.15, CELL / 2))
        kind[there] = 1
        for k, v in enumerate((dx / CELL + 0 * dy, dy / CELL + 0 * dx, np.log(cw / UNIT), np.log(ch / UNIT))):
            numbers[k][there] = np.broadcast_to(v, (n, n))[there]
    if random.random() < 0.5:
        x, kind, numbers = x[:, ::-1], kind[:, ::-1], numbers[:, :, ::-1] * np.array([-1, 1, 1, 1]).reshape(4, 1, 1)
    if random.random() < 0.5:
        x, kind, numbers = x[::-1], kind[::-1], numbers[:, ::-1] * np.array([1, -1, 1, 1]).reshape(4, 1, 1)
    return x, kind, numbers


def gradient(out, kind, numbers):
    p = 1 / (1 + np.exp(-out[:, 0]))
    coins = max((kind == 1).sum(), 1)
    counts = (kind >= 0) * np.where(kind == 1, 1 - p, p)  # what is right already counts less
    d = np.zeros_like(out)
    d[:, 0] = counts * (p - (kind == 1)) / coins
    off = (out[:, 1:] - numbers) * (kind == 1)[:, None]
    d[:, 1:] = np.clip(off, -0.5, 0.5) / coins
    loss = -(counts * np.log(np.where(kind == 1, p, 1 - p) + 1e-9)).sum() / coins
    return d, loss, (off**2).sum() / coins


def found(w, photo, least=0.5):
    """Boxes in the whole photograph, best first, after non-maximum suppression."""
    scale = min(256 / photo.width, 192 / photo.height)
    width, height = round(photo.width * scale), round(photo.height * scale)
    left, top = (256 - width) // 2, (192 - height) // 2
    canvas = Image.new("L", (256, 192), GRAY)
    canvas.paste(photo.resize((width, height), Image.BILINEAR), (left, top))
    out = forward(w, (np.asarray(canvas, np.float32) / 255 - 0.5)[None, None])[0][0]
    rows, cols = np.nonzero(out[0] > np.log(least / (1 - least)))
    boxes = []
    for r, c in sorted(zip(rows, cols), key=lambda at: -out[0][at]):
        cx, cy = (c + 0.5 + out[1, r, c]) * CELL, (r + 0.5 + out[2, r, c]) * CELL
        bw, bh = np.exp(out[3:5, r, c]) * UNIT
        box = np.array([cx - bw / 2 - left, cy - bh / 2 - top, bw, bh]) / scale
        if all(overlap(box, other) < 0.4 for other in boxes):
            boxes.append(box)
    return boxes


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(w, 0) * max(h, 0) / (a[2] * a[3] + b[2] * b[3] - max(w, 0) * max(h, 0))


def train(steps=1600, batch=12, rate=3e-3):
    random = np.random.default_rng(1)
    photo = Image.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "coins.png")).convert("L")
    w = []
    for s in SHAPES:
        w.append((random.standard_normal(s) * np.sqrt(2 / np.prod(s[1:]))).astype(np.float32))
        w.append(np.zeros(s[0], np.float32))
    w[11][0] = -3
    mean, square = [np.zeros_like(v) for v in w], [np.zeros_like(v) for v in w]
    for step in range(1, steps + 1):
        x, kind, numbers = (np.stack(v) for v in zip(*(sample(random, photo) for _ in range(batch))))
        out, kept = forward(w, x[:, None].astype(np.float32))
        d, loss, off = gradient(out, kind, numbers)
        now = rate * min(1, 2 * (1 - step / steps)) + 1e-5
        for v, g, m, s in zip(w, backward(w, kept, d.astype(np.float32)), mean, square):  # Adam
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            v -= now * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
        if step % 100 == 0:
            boxes = found(w, photo)
            hits = [sum(max((overlap(b, c) for b in boxes), default=0) > 0.5 for c in part) for part in (LEARNED, HELD)]
            print("step %d: loss %.4f, %.4f; %d boxes; found %d of %d learned, %d of %d held out"
                  % (step, loss, off, len(boxes), hits[0], len(LEARNED), hits[1], len(HELD)), flush=True)
    return w


if __name__ == "__main__":
    np.concatenate([v.ravel() for v in train()]).astype("<f4").tofile(sys.argv[1])
