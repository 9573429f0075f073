/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MMGATE_UNBUILT_H
#define MMGATE_UNBUILT_H

#include "base/base.h"

/**
 * struct unbuilt - what make -k -Otarget said of targets that it could not make
 * @said:	first complaint since the last target that failed
 * @failed:	"kvm/nested" (a test) or "kvm" (a family) -> the compiler's line
 */
struct unbuilt {
	char *said;
	GHashTable *failed;
};

struct unbuilt *unbuilt_new(void);
void unbuilt_free(struct unbuilt *u);
/* One line of make's output; @out: make's OUTPUT, which targets start with */
void unbuilt_line(struct unbuilt *u, const char *out, const char *line);
/* Why @test ("kvm/nested") was not built: a line of the compiler or of make; NULL where nothing tells */
const char *unbuilt_why(const struct unbuilt *u, const char *test);
/* True where @line is about the source, rather than about this host (a full disk, a killed compiler) */
bool unbuilt_is_diagnosis(const char *line);

/* Write test -> line to the folder of built tests @dir; false with *@err */
bool unbuilt_save(const char *dir, json_t *tests, GError **err);
/* What selftests_build() noted in @dir: test -> line, empty where all were built; json_decref() it */
json_t *unbuilt_load(const char *dir);

#endif /* MMGATE_UNBUILT_H */
