/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel words that the tests use, for builds with and without the
 * headers under tools/include of a kernel tree.  Those come first where both
 * are used: they do not ask whether a word is there already.
 */
#ifndef MMGATE_COMPILER_H
#define MMGATE_COMPILER_H

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;

#ifndef __printf
#define __printf(a, b) __attribute((format(printf, a, b)))
#endif
#ifndef __noreturn
#define __noreturn __attribute((noreturn))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute((unused))
#endif
#ifndef fallthrough
#define fallthrough __attribute__((__fallthrough__))
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#endif /* MMGATE_COMPILER_H */
