/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of oneDNN that the cpu device calls; version 2 of its C interface. */
#ifndef XPUGAP_DEVICE_CPU_DNNL_H
#define XPUGAP_DEVICE_CPU_DNNL_H

#include <oneapi/dnnl/dnnl.h>

#define CPU_DNNL_FILE	 "libdnnl.so.2"
#define CPU_DNNL_PACKAGE "libdnnl2"

#define CPU_DNNL_SYMBOLS(X)                                                                        \
	X(version)                                                                                 \
	X(engine_create)                                                                           \
	X(engine_destroy)                                                                          \
	X(stream_create)                                                                           \
	X(stream_destroy)                                                                          \
	X(memory_desc_init_by_strides)                                                             \
	X(memory_desc_equal)                                                                       \
	X(memory_desc_get_size)                                                                    \
	X(memory_create)                                                                           \
	X(memory_destroy)                                                                          \
	X(primitive_attr_create)                                                                   \
	X(primitive_attr_set_scratchpad_mode)                                                      \
	X(primitive_attr_destroy)                                                                  \
	X(primitive_desc_create)                                                                   \
	X(primitive_desc_query_md)                                                                 \
	X(primitive_desc_destroy)                                                                  \
	X(primitive_create)                                                                        \
	X(primitive_execute)                                                                       \
	X(primitive_destroy)                                                                       \
	X(reorder_primitive_desc_create)                                                           \
	X(convolution_forward_desc_init)                                                           \
	X(convolution_backward_data_desc_init)                                                     \
	X(convolution_backward_weights_desc_init)
#endif
