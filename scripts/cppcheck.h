/* SPDX-License-Identifier: BSD-2-Clause */
/* What macros of other people's headers mean, for cppcheck, which does not read those. */
#define XPUGAP_VERSION	""
#define XPUGAP_RELEASED ""

#define json_array_foreach(array, i, value)                                                        \
	for ((i) = 0; ((value) = json_array_get((array), (i))); (i)++)
#define json_object_foreach(object, key, value)                                                    \
	for (void *it = json_object_iter(object);                                                  \
	     it && ((key) = json_object_iter_key(it)) && ((value) = json_object_iter_value(it));   \
	     it = json_object_iter_next((object), it))

#define Test(suite, name, ...) static void suite##_##name(void)
#define TestSuite(...)
