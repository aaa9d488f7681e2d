#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make resnet.txt: three steps of a small ResNet by PyTorch, in double.

usage: tests/data/torch/make.py >tests/data/torch/resnet.txt

Needs PyTorch (Debian: python3-torch; tried with 1.13). Values of parameters, images and labels are
formulas of name and index, which tests/unit/test_workload_resnet50.c has, too. A tensor is written as
three numbers: its length, and its products with two vectors that are formulas of the index.
"""

import math
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from torch_resnet import ResNet  # noqa: E402

BLOCKS, WIDTH, CLASSES, BATCH, SIDE = (1, 2, 1, 1), 8, 10, 6, 40
LR, MOMENTUM, DECAY = 0.01, 0.9, 1e-3


def spread(n, seed):
    """n numbers of [-1, 1), the same in f32 everywhere"""
    i = torch.arange(n, dtype=torch.int64)
    x = (i * 40503 + seed * 30011 + 12345) % 65536
    x = (x * x + 7 * i) % 65521
    return (x.to(torch.float64) / 65521 * 2 - 1).to(torch.float32)


def first_value(shape, name):
    seed = sum((i + 1) * ord(c) for i, c in enumerate(name)) % 997
    x = spread(math.prod(shape), seed).reshape(shape)
    if len(shape) == 4:
        return x * torch.tensor(math.sqrt(6 / math.prod(shape[1:])), dtype=torch.float32)
    if len(shape) == 2:
        return x * torch.tensor(0.25, dtype=torch.float32)
    return x * torch.tensor(0.125, dtype=torch.float32)


def digest(t):
    t = t.detach().to(torch.float64).flatten()
    one, two = (spread(t.numel(), seed).to(torch.float64) for seed in (1001, 1002))
    return f"{t.norm():.9e} {torch.dot(t, one):.9e} {torch.dot(t, two):.9e}"


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = ResNet(BLOCKS, WIDTH, CLASSES).to(torch.float64)
    params = list(net.named_parameters())
    with torch.no_grad():
        for name, p in params:
            p.copy_(first_value(p.shape, name).to(torch.float64))
            if p.dim() == 1 and name.endswith("weight"):
                p.add_(1)
    images = (spread(BATCH * 3 * SIDE * SIDE, 2001) * 2).reshape(BATCH, 3, SIDE, SIDE)
    labels = (torch.arange(BATCH) * 3 + 1) % CLASSES
    optimizer = torch.optim.SGD(net.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=DECAY)
    for step in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images.to(torch.float64)), labels)
        loss.backward()
        print(f"loss {step} {loss.item():.9e}")
        if step == 0:
            for name, p in params:
                print("gradient", name, digest(p.grad))
        optimizer.step()
    for name, p in params:
        print("parameter", name, digest(p))
    for name, b in net.named_buffers():
        if "running" in name:
            print("buffer", name, digest(b))


if __name__ == "__main__":
    main()
