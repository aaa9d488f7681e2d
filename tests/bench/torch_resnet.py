#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ResNet in PyTorch, written out as torchvision's (which Debian does not have).

As a program: torch_resnet.py THREADS BATCH SIDE [channels_last]
For each line "STEPS" on standard input it trains so many steps and answers with the seconds of
wall and of CPU time that they took, as micro/train.c does.
"""

import sys
import time

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(
            nn.Conv2d(channels, width * 4, 1, stride, bias=False),
            nn.BatchNorm2d(width * 4)) if downsample else None

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, blocks=(3, 4, 6, 3), width=64, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for stage, count in enumerate(blocks):
            layer = []
            for block in range(count):
                stride = 2 if stage and not block else 1
                layer.append(Bottleneck(channels, width << stage, stride, not block))
                channels = (width << stage) * 4
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def main():
    threads, batch, side = (int(a) for a in sys.argv[1:4])
    layout = torch.channels_last if sys.argv[4:] == ["channels_last"] else torch.contiguous_format
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net = ResNet().to(memory_format=layout)
    images = torch.randn(batch, 3, side, side).to(memory_format=layout)
    labels = torch.arange(batch) % 1000
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4)
    for line in sys.stdin:
        wall, cpu = time.monotonic(), time.process_time()
        for _ in range(int(line)):
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            loss.item()
        print(f"{time.monotonic() - wall:.6f} {time.process_time() - cpu:.6f}", flush=True)


if __name__ == "__main__":
    main()
