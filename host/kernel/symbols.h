/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which function an address of a running kernel lies in.
 */
#ifndef MMGATE_SYMBOLS_H
#define MMGATE_SYMBOLS_H

#include "base/base.h"

struct kernel;
struct symbols;

/**
 * struct code_probe - some code as it was read from the running kernel
 * @addr:	where it was read
 * @n:		how many of @bytes are there
 */
struct code_probe {
	uint64_t addr;
	guint n;
	uint8_t bytes[64];
};

/* The functions of @k, from its image or a System.map beside it; NULL with *@err (broken) where neither names any */
struct symbols *symbols_load(const struct kernel *k, GError **err);
/*
 * The same of an unpacked image, which it takes over, and of @maps (paths, NULL-terminated, or
 * NULL); NULL where there are no names.
 */
struct symbols *symbols_parse(GByteArray *image, const char *const *maps);
void symbols_free(struct symbols *s);
/*
 * Find where the kernel runs, KASLR or not, by comparing code with the image; the
 * place that most of @n probes agree on.  False where none of them tells.
 */
bool symbols_place(struct symbols *s, const struct code_probe *probes, guint n);
/* How far it was moved from where it is linked; 0 before symbols_place() */
uint64_t symbols_moved(const struct symbols *s);
/* The function at @addr and how far in; NULL where it is none of the kernel's own, or before symbols_place() */
const char *symbols_name(const struct symbols *s, uint64_t addr, uint64_t *offset);
/* True where the instruction before @addr can be a call, so that it can be a return address */
bool symbols_is_return(const struct symbols *s, uint64_t addr);

#endif /* MMGATE_SYMBOLS_H */
