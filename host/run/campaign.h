/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The results of a campaign of jobs put together.
 */
#ifndef MMGATE_CAMPAIGN_H
#define MMGATE_CAMPAIGN_H

#include "run/job.h"

/* Add to @folders (char *) what in @dir may be a result: itself, its "result", or those of the folders in it */
void campaign_look_in(const char *dir, GPtrArray *folders);

/*
 * The run of which @all (jobs.json) are the jobs, from the results in @folders, in any order; the files of the boots
 * go below @out.  Of several results of a job the one counts that says most: a fail, then a pass or skip, then a
 * broken one, and of those alike the one that began first.  Folders of other jobs and damaged ones are said and
 * left out.  @lost gets the ids of jobs without a result (char *).  json_decref() it; NULL with *@err.
 */
json_t *campaign_merge(json_t *all, const GPtrArray *folders, const char *out, GPtrArray *lost, GError **err);

#endif /* MMGATE_CAMPAIGN_H */
