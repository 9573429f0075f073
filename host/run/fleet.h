/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Job folders run elsewhere: as elements of Slurm's job arrays, or on hosts that ssh reaches.
 * A job has ended well where its folder "result" is there; one that left none is given out
 * again, FLEET_TRIES times in all, then it is lost.
 */
#ifndef MMGATE_FLEET_H
#define MMGATE_FLEET_H

#include "base/base.h"

#define FLEET_TRIES 3

/**
 * struct fleet - where VMs run
 * @slurm:	by sbatch
 * @hosts:	"ssh://[USER@]HOST[:PORT][/DIR]", char *
 * @write_only:	nowhere yet: the jobs are written, somebody takes them along
 * @resume:	results that are there already count
 * @at_once:	jobs at the same time on each host, or of an array, 0: as many as fit
 */
struct fleet {
	bool slurm, write_only, resume;
	const GPtrArray *hosts;
	int at_once;
};

/**
 * struct fleet_job - a job folder to run
 * @id:		its name below the folder of jobs
 * @timeout:	seconds that its VM may take
 * @mib:	memory it needs
 * @done:	its result is there
 * @tries:	how often it was given out
 * @why:	what became of it the last time, or NULL
 */
struct fleet_job {
	char *id, *why;
	int timeout, tries;
	long long mib;
	bool done;
	/* for whoever runs it */
	bool out;			/* it was given out and has not come back */
	int where;
};

void fleet_job_free(gpointer job);

/* False with *@err where one of "ssh://..." is not of that form (usage) */
bool fleet_hosts_valid(const GPtrArray *hosts, GError **err);

/*
 * Run @jobs (struct fleet_job *) of the folder @dir to their ends.  @ended is called once for each, with
 * @why NULL where its result is there, else why it is lost; @enough is asked after each, and ends the rest.
 * Ends early where mmg_interrupted().  False with *@err where nothing can be run there at all.
 */
bool fleet_run(const struct fleet *f, const char *dir, const char *campaign, GPtrArray *jobs,
	       void (*ended)(guint nr, const char *why, void *data), bool (*enough)(void *data), void *data,
	       GError **err);

/* ---- for fleet.c: what a kind of fleet does; slurm.c, ssh.c ---- */

/**
 * struct fleet_ops - a kind of fleet
 * @begin:	make ready; its state, or NULL with *@err
 * @give:	hand out what is neither done nor out, as much as there is room for; false with *@err
 * @poll:	find out which came back: @out is cleared, and @why set where there is no result; waits a moment.
 *		False with *@err where that cannot be found out any more
 * @end:	take back what is still out, and free the state
 */
struct fleet_ops {
	void *(*begin)(const struct fleet *f, const char *dir, const char *campaign, GPtrArray *jobs, GError **err);
	bool (*give)(void *state, GError **err);
	bool (*poll)(void *state, GError **err);
	void (*end)(void *state);
};

extern const struct fleet_ops slurm_ops, ssh_ops;

/* Turn the main context for @ms milliseconds, less where a signal comes */
void fleet_wait(int ms);
/* Has job @id of @dir its result? */
bool fleet_has_result(const char *dir, const struct fleet_job *job);

#endif /* MMGATE_FLEET_H */
