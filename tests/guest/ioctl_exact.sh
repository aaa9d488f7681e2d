#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the test of that name claims, under other kernels.
# kernels: 6.1 6.12
# timeout: 300
exec "$SRC/tests/e2e/ioctl_exact.sh" 10 60
