/* SPDX-License-Identifier: BSD-2-Clause */
/* xpugap info --paths: where the mark library is. */
#ifndef XPUGAP_CMD_INFO_PATHS_H
#define XPUGAP_CMD_INFO_PATHS_H

#include <stdbool.h>

void info_paths__print(bool as_json);

#endif
