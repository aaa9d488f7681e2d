#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make the JPEG files and the expected values of tests/unit/augment.c.

Needs python3-torchvision (made with 0.14.1, Pillow 9.4.0, libjpeg-turbo 2.1.5 of Debian 12).
What is expected comes from torchvision itself: its resized_crop, hflip, to_tensor and normalize on
the decoded files, and its RandomResizedCrop.get_params fed with the random numbers of rng.h.
"""
import math
import os
import random
import zlib

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import functional as F
from torchvision.transforms import transforms as T

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1


class Rng:
    """rng.h in Python."""

    def __init__(self, seed, epoch, index):
        self.state = seed
        self.state = self.u64() ^ epoch
        self.state = self.u64() ^ index
        self.state = self.u64()

    def u64(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def f64(self):
        return (self.u64() >> 11) * 2.0**-53

    def uniform(self, low, high):
        return low + (high - low) * self.f64()

    def below(self, n):
        return (self.u64() * n) >> 64


class Drawn:
    """Stands for torch within RandomResizedCrop: the same calls, other random numbers."""

    def __init__(self, rng):
        self.rng = rng
        self.value = None

    def tensor(self, value):
        return value

    def log(self, value):
        return [math.log(v) for v in value]

    def exp(self, drawn):
        drawn.value = math.exp(drawn.value)
        return drawn

    def empty(self, _):
        return self

    def uniform_(self, low, high):
        self.value = self.rng.uniform(low, high)
        return self

    def randint(self, low, high, size):
        self.value = low + self.rng.below(high - low)
        return self

    def item(self):
        return self.value


def crop_params(width, height, rng):
    real = T.torch
    T.torch = Drawn(rng)
    try:
        y, x, h, w = T.RandomResizedCrop.get_params(
            torch.empty(3, height, width), [0.08, 1.0], [3 / 4, 4 / 3]
        )
    finally:
        T.torch = real
    return x, y, w, h, int(rng.f64() < 0.5)


def picture(width, height, mode):
    y, x = np.mgrid[0:height, 0:width]
    rng = np.random.RandomState(width * 1000 + height)
    base = [
        128 + 100 * np.sin(x / 7.0) * np.cos(y / 11.0),
        255.0 * x / width,
        255.0 * ((x // 8 + y // 8) % 2),
        255.0 * y / height,
    ]
    planes = [np.clip(b + rng.normal(0, 12, b.shape), 0, 255).astype(np.uint8) for b in base]
    if mode == "L":
        return Image.fromarray(planes[0], "L")
    return Image.fromarray(np.dstack(planes[: len(mode)]), mode)


FILES = [
    ("420", 167, 131, "RGB", {"subsampling": 2}),
    ("422", 120, 90, "RGB", {"subsampling": 1}),
    ("444", 97, 113, "RGB", {"subsampling": 0}),
    ("progressive", 150, 75, "RGB", {"progressive": True}),
    ("grey", 80, 121, "L", {}),
    ("cmyk", 64, 70, "CMYK", {}),
    ("tall", 9, 160, "RGB", {}),
    ("wide", 200, 17, "RGB", {}),
    ("dot", 1, 1, "RGB", {}),
]


def crc(data):
    return zlib.crc32(np.ascontiguousarray(data).tobytes())


def main():
    random.seed(1)
    pixels = open(os.path.join(HERE, "pixels.txt"), "w")
    crops = open(os.path.join(HERE, "crops.txt"), "w")
    pixels.write("# file width height x y w h side flip: crc32 of the crop's pixels,"
                 " of the resized planes, of the normalised floats (NCHW)\n")
    for name, width, height, mode, how in FILES:
        path = os.path.join(HERE, name + ".jpeg")
        picture(width, height, mode).save(path, quality=75, **how)
        image = Image.open(path).convert("RGB")
        rects = [(0, 0, width, height)]
        for _ in range(6):
            w, h = random.randint(1, width), random.randint(1, height)
            rects.append((random.randint(0, width - w), random.randint(0, height - h), w, h))
        for x, y, w, h in rects:
            side, flip = random.choice([1, 8, 32, 61, 224]), random.randint(0, 1)
            out = F.resized_crop(image, y, x, h, w, [side, side])
            if flip:
                out = F.hflip(out)
            tensor = F.normalize(F.to_tensor(out), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
            part = np.asarray(image)[y : y + h, x : x + w]
            planes = np.asarray(out).transpose(2, 0, 1)
            pixels.write(f"{name} {width} {height} {x} {y} {w} {h} {side} {flip}: "
                         f"{crc(part):08x} {crc(planes):08x} {crc(tensor.numpy()):08x}\n")
    crops.write("# width height seed epoch index: x y w h flip\n")
    for width, height in [(384, 384), (500, 375), (375, 500), (1, 1), (9, 160), (200, 17), (64, 1),
                          (4000, 3000)]:
        for _ in range(25):
            key = random.getrandbits(64), random.randrange(100), random.randrange(1 << 40)
            crops.write("%d %d %d %d %d: " % ((width, height) + key))
            crops.write("%d %d %d %d %d\n" % crop_params(width, height, Rng(*key)))


main()
