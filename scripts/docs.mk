# SPDX-License-Identifier: BSD-2-Clause
# Pages and completion, generated from the option rows by the program itself.

.PHONY: docs
docs:
