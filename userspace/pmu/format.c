// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/pmu/format.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/lib/opt.h"

#define TERM_MAX 128
#define TOP_BIT	 63

static const char *const config_names[PMU_CONFIGS] = {"config", "config1", "config2"};

/* A bit's number at *@text, which moves behind it. -1: there is none. */
static int parse_bit(const char **text)
{
	int bit = 0;

	if (!isdigit((unsigned char)**text))
		return -1;
	while (isdigit((unsigned char)**text) && bit <= TOP_BIT)
		bit = bit * 10 + *(*text)++ - '0';
	return bit <= TOP_BIT ? bit : -1;
}

/* Which of the configs is called as the first @n bytes of @name are; PMU_CONFIGS: none. */
static unsigned int find_config(const char *name, size_t n)
{
	unsigned int i;

	for (i = 0; i < PMU_CONFIGS; i++)
		if (strlen(config_names[i]) == n && memcmp(name, config_names[i], n) == 0)
			break;
	return i;
}

int pmu_format__parse(struct pmu_format *f, const char *text)
{
	const char *colon = strchr(text, ':');
	int first, last;

	*f = (struct pmu_format){0};
	if (!colon)
		return -EINVAL;
	f->config = find_config(text, (size_t)(colon - text));
	if (f->config == PMU_CONFIGS)
		return -EINVAL;
	text = colon;
	do {
		text++;
		first = last = parse_bit(&text);
		if (*text == '-') {
			text++;
			last = parse_bit(&text);
		}
		if (first < 0 || last < first || f->n == PMU_FORMAT_RANGES)
			return -EINVAL;
		f->range[f->n].first = (uint8_t)first;
		f->range[f->n++].last = (uint8_t)last;
	} while (*text == ',');
	return *text == '\0' || (*text == '\n' && !text[1]) ? 0 : -EINVAL;
}

int pmu_format__set(const struct pmu_format *f, uint64_t value, uint64_t configs[PMU_CONFIGS])
{
	uint64_t mask;
	unsigned int i, bits;

	for (i = 0; i < f->n; i++) {
		bits = f->range[i].last - f->range[i].first + 1u;
		mask = bits > TOP_BIT ? UINT64_MAX : (1ULL << bits) - 1;
		configs[f->config] &= ~(mask << f->range[i].first);
		configs[f->config] |= (value & mask) << f->range[i].first;
		value = bits > TOP_BIT ? 0 : value >> bits;
	}
	return value ? -ERANGE : 0;
}

static int set_term(char *term, pmu_find_format *find, void *arg, uint64_t configs[PMU_CONFIGS],
		    char *why, size_t size)
{
	char *text = strchr(term, '=');
	struct pmu_format f;
	uint64_t value = 1;
	unsigned int config;

	if (text)
		*text++ = '\0';
	if (text && opt__parse_u64(text, &value)) {
		snprintf(why, size, "'%s' of '%s' is no number", text, term);
		return -EINVAL;
	}
	config = find_config(term, strlen(term));
	if (config < PMU_CONFIGS) {
		configs[config] = value;
		return 0;
	}
	if (find(arg, term, &f)) {
		snprintf(why, size, "there is no term '%s'", term);
		return -ENOENT;
	}
	if (pmu_format__set(&f, value, configs)) {
		snprintf(why, size, "%#llx is too large for '%s'", (unsigned long long)value, term);
		return -ERANGE;
	}
	return 0;
}

int pmu_terms__pack(const char *terms, pmu_find_format *find, void *arg,
		    uint64_t configs[PMU_CONFIGS], char *why, size_t size)
{
	char term[TERM_MAX];
	size_t n;
	int err;

	*why = '\0';
	for (;; terms++) {
		n = strcspn(terms, ",\n");
		if (!n || n >= sizeof(term)) {
			snprintf(why, size, "a term is %s", n ? "too long" : "empty");
			return -EINVAL;
		}
		memcpy(term, terms, n);
		term[n] = '\0';
		err = set_term(term, find, arg, configs, why, size);
		terms += n;
		if (err || *terms != ',')
			return err;
	}
}
