// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: does a signal end a memory.reclaim?
 * mmgate-guards: 94968384dde1 memcg: introduce per-memcg reclaim interface
 * mmgate-machines: default numa-fake2
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP CONFIG_ZRAM debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 120
 *
 * Four times as much as the group has is asked for while SIGALRM comes every 5 ms: the
 * write has to end with EINTR.  A kernel that is deaf to signals takes all there is and
 * ends with EAGAIN.
 *
 * How it could mislead: a reclaim that is over before the first signal (broken then).
 */
#include "reclaim_request.h"

#include <signal.h>
#include <sys/time.h>

static int ticks;

static void on_tick(int sig)
{
	(void)sig;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

/* More than there is: a kernel that is deaf to signals ends with EAGAIN */
static void signal_case(const struct mmg_case *c)
{
	static const struct cold_params p = { .backing = BACK_ANON };
	struct sigaction sa = { .sa_handler = on_tick };
	const struct itimerval every = { { 0, 5000 }, { 0, 5000 } }, never = { };
	static struct scenario s;
	double start, took;
	u64 gone;
	int err;

	(void)c;
	set_up_cold(&s, &p, cold_bytes(&p));
	sigaction(SIGALRM, &sa, NULL);
	mmg_doing("reclaiming while a signal comes every 5 ms");
	start = reclaim_seconds();
	setitimer(ITIMER_REAL, &every, NULL);
	err = memcg_reclaim(&s.group.cg, 4 * cold_bytes(&p), NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	took = reclaim_seconds() - start;
	gone = s.r.units - region_read(&s.r);
	mmg_metric("interrupted_after_s", took);
	mmg_metric("gone", gone);
	if (!ticks)
		mmg_broken("no signal came in %.3f s", took);
	if (err != -EINTR)
		mmg_fail("memory.reclaim: %s after %d signals in %.3f s instead of EINTR",
			 err ? strerror(-err) : "0", ticks, took);
	mmg_pass("a signal ended memory.reclaim with EINTR after %.3f s and %llu pages", took,
		 (unsigned long long)gone);
}

#define SLOW(name_, ...) { .name = name_, .timeout_s = RECLAIM_TIMEOUT_S, __VA_ARGS__ }

static const struct mmg_case cases[] = {
	SLOW("signal", .fn = signal_case),
};

static const struct mmg_test test = {
	.name = "kvm/reclaim_signal",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
