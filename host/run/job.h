/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One boot as a folder of its own, which runs where there is QEMU and this program
 * and no network, kernel source or checkout; and its result, read back.
 *
 *	job.json	what job_open() reads
 *	image		the kernel
 *	initramfs.cpio	PID 1, its plan, the tests, modules
 *	NAME.conf	the machine
 *	disk/		programs of the host for the data disk, where the machine has some
 *	result/		what came of it, once it ran: run.json and the boot's folder
 *
 * Job folders and results come from elsewhere: sizes, names and numbers are bounded,
 * nothing but plain files and folders is taken, and what a job is made of must have the
 * hashes that job.json gives.
 */
#ifndef MMGATE_JOB_H
#define MMGATE_JOB_H

#include "run/run.h"

#define JOBS_MAX 100000			/* of one campaign */

/**
 * struct job - a job folder that was read and found whole
 * @dir:	the folder, an absolute path
 * @kernel:	its image is the one in the folder
 * @plan:	one struct boot_plan, its tests known by name alone
 * @json:	job.json
 * @initramfs, @staged: paths in the folder; @staged: NULL where the machine takes no programs
 * @command:	what its result names as the command
 * @require, @asked_tests, @asked_machines: of the command line that wrote it
 * The strings below point into @json.
 */
struct job {
	char *dir, *initramfs, *staged;
	struct kernel *kernel;
	GPtrArray *plan, *tests;
	GPtrArray *command, *require, *asked_tests, *asked_machines;
	json_t *json;
	const char *accel, *append, *sub, *initramfs_sha256, *verb;
	enum result refused;		/* of a boot that needs no VM to be judged, or RESULT_NONE; and why */
	const char *refused_why;
	int nr, repeat, repeats, timeout;
	uint64_t seed, shuffle;
	bool one_seed;
};

/* Read @dir and check it; NULL with *@err (usage: no job folder; broken: a damaged one) */
struct job *job_open(const char *dir, GError **err);
void job_free(struct job *job);

/* "00003" for job number @nr; g_free() it */
char *job_id(int nr);

/**
 * struct job_parts - what a job folder is made of
 * @dir:	the folder; it holds initramfs.cpio already (but for a boot that is @refused)
 * @images:	folder beside it where each image lies once
 * @plan:	all tests that were asked for on the machine
 * @unbuilt:	test -> why it does not build
 * @qemu:	the words of the QEMU command line
 * @run:	run.json as it is before the first boot
 */
struct job_parts {
	const char *dir, *images, *sub, *append, *initramfs_sha256, *refused_why;
	enum result refused;
	const struct kernel *kernel;
	const struct boot_plan *plan;
	const struct accel *accel;
	const GPtrArray *qemu;
	const json_t *unbuilt, *run;
	int nr, kernel_nr, repeat, repeats, timeout;
	uint64_t seed, shuffle;
	bool one_seed;
};

/* Put the image and the machine into the folder; job.json to be, without its campaign.  NULL with *@err */
json_t *job_make(const struct job_parts *parts, GError **err);

/*
 * Name the campaign of @jobs (what job_make() gave, in their order) by all that is in them, and write each
 * job.json, and jobs.json of @dir with @run.  The campaign's name, g_free() it; NULL with *@err.
 */
char *jobs_write(const char *dir, json_t *jobs, const json_t *run, GError **err);

/* jobs.json of @dir, checked; NULL with *@err (usage: there is none) */
json_t *jobs_load(const char *dir, GError **err);

/* The number of the job whose result is in @dir; 0 with *@err where there is none */
int job_number(const char *dir, GError **err);
/*
 * The result in the folder @dir of job @entry (of jobs.json) of @campaign, checked, or NULL with *@err.
 * json_decref() it.
 */
json_t *job_result(const char *dir, const json_t *entry, const char *campaign, GError **err);
/*
 * Take @result, which lies in @dir, over into @run and its files below @out.  @result is changed.
 * The number of its boot in @run; -1 with *@err.
 */
int job_take(json_t *run, const json_t *entry, json_t *result, const char *dir, const char *out, GError **err);
/* Put job @entry, which has no result, into @run: each of its tests is broken for @why.  The number of its boot */
int job_lost(json_t *run, const json_t *entry, const char *why);

/* The files of @from as @to: links where the file system has them, else copies; false with *@err */
bool job_copy_tree(const char *from, const char *to, GError **err);
/* Nothing but folders and regular files, no more of them than a boot can leave; false with *@err */
bool job_tree_is_plain(const char *dir, GError **err);

/* ---- runner.c ---- */

/*
 * This program, the libraries it is linked with, and its loader as the folder @dir, with a script
 * "mmgate" that starts it on a host of the same architecture that has none of them.  False with *@err.
 */
bool runner_stage(const char *dir, GError **err);

#endif /* MMGATE_JOB_H */
