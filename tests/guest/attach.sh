#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A tree that runs already, under other kernels: each call, each task once.
# kernels: 6.1 6.12
# timeout: 560
exec "$SRC/tests/e2e/record_attach.sh" 2 4
