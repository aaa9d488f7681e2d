/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of oneDNN that the cpu device calls; version 2 of its C interface. */
#ifndef XPUGAP_DEVICE_CPU_DNNL_H
#define XPUGAP_DEVICE_CPU_DNNL_H

#include <oneapi/dnnl/dnnl.h>

#define CPU_DNNL_FILE	 "libdnnl.so.2"
#define CPU_DNNL_PACKAGE "libdnnl2"

#define CPU_DNNL_SYMBOLS(X) X(version)
#endif
