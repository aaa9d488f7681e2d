// SPDX-License-Identifier: BSD-2-Clause
/*
 * loads LIBRARY TIMES: loads the library and unloads it TIMES times, prints where its code was each
 * time, then what it has mapped to be executed itself, then waits for a line of input.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Print the lines of our maps that are executable, of @name or of all. */
static void print_maps(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " r-xp ") && (!name || strstr(line, name)))
			printf("%d %s", name != NULL, line);
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	char line[16];
	int i;

	if (argc != 3)
		return 2;
	for (i = 0; i < atoi(argv[2]); i++) {
		void *handle = dlopen(argv[1], RTLD_NOW);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		print_maps(strrchr(argv[1], '/') + 1);
		dlclose(handle);
	}
	print_maps(NULL);
	puts("ready");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 3;
}
