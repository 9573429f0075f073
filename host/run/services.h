/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What services that give out work are told of a folder of jobs.
 */
#ifndef MMGATE_SERVICES_H
#define MMGATE_SERVICES_H

#include "base/base.h"

/* True where each of @names is "gitlab", "github", "jenkins" or "lava"; else false with *@err (usage) */
bool services_known(const GPtrArray *names, GError **err);
/*
 * Write into the folder @dir what service @name is to be given: gitlab-ci.yml, github.yml, Jenkinsfile, or lava.yaml
 * of each job.  @all: jobs.json; @path: the folder as the service's jobs see it; @args: the options that
 * wrote the jobs, char *.  False with *@err.
 */
bool services_write(const char *name, const json_t *all, const char *dir, const char *path, const GPtrArray *args,
		    GError **err);

#endif /* MMGATE_SERVICES_H */
