// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is guest memory aged and evicted in order while a VMM or the kernel works on it?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-wants: CONFIG_USERFAULTFD CONFIG_KSM CONFIG_TRANSPARENT_HUGEPAGE
 * mmgate-modules: kvm zram
 * mmgate-timeout: 900
 *
 * The experiments of shapes_test.c (shape_cases.h) over memory that is worked on: its dirty
 * log is fetched, which protects KVM's entries, between touches and aging; a userfaultfd
 * places its pages (post-copy), or protects them against writes (a live snapshot) or any
 * access (a VMM's own look at the working set, from 7.3 on); it was collapsed to huge pages,
 * merged by KSM, or advised MADV_COLD; or it is more than a walk takes in one go.  The shapes
 * are rows of a table in shape_live.c.
 *
 * A unit of "merged" is one page that is mapped four times.  It is touched by one of its
 * mappings, never by the first.  The "logged" shapes are touched by writes, and the log has
 * to name these pages and no others in each round.
 *
 * How it could mislead: what protects, collapses or merges takes KVM's entries away, with
 * the accessed bits in them.  That is done before the first aging, and all is read once
 * afterwards, so that hot and cold start alike.  There is no order-logged: on shadow pages of
 * 7.3 a write after the log was fetched is a fault that marks the page accessed, so that tiers
 * tell hot from cold with the walk off as well, and the control is not blind.
 */
#include "mglru.h"
#include "shape_cases.h"

static const struct mmg_case cases[] = {
	SHAPE_CASE("aging-logged", shape_aging_case, "logged", false),
	SHAPE_CASE("look-logged", shape_look_case, "logged", false),
	SHAPE_CASE("aging-logged-thp", shape_aging_case, "logged-thp", false),
	SHAPE_CASE("look-logged-thp", shape_look_case, "logged-thp", false),
	SHAPE_CASE("aging-uffd-missing", shape_aging_case, "uffd-missing", false),
	SHAPE_CASE("order-uffd-missing", shape_order_case, "uffd-missing", false),
	SHAPE_CASE("host-aging-uffd-missing", shape_aging_case, "uffd-missing", true),
	SHAPE_CASE("aging-uffd-wp", shape_aging_case, "uffd-wp", false),
	SHAPE_CASE("order-uffd-wp", shape_order_case, "uffd-wp", false),
	SHAPE_CASE("look-uffd-wp", shape_look_case, "uffd-wp", false),
	SHAPE_CASE("host-aging-uffd-wp", shape_aging_case, "uffd-wp", true),
	SHAPE_CASE("aging-uffd-wp-thp", shape_aging_case, "uffd-wp-thp", false),
	SHAPE_CASE("aging-uffd-rwp", shape_aging_case, "uffd-rwp", false),
	SHAPE_CASE("look-uffd-rwp", shape_look_case, "uffd-rwp", false),
	SHAPE_CASE("aging-cold", shape_aging_case, "cold", false),
	SHAPE_CASE("order-cold", shape_order_case, "cold", false),
	SHAPE_CASE("look-cold", shape_look_case, "cold", false),
	SHAPE_CASE("aging-cold-thp", shape_aging_case, "cold-thp", false),
	SHAPE_CASE("aging-collapsed", shape_aging_case, "collapsed", false),
	SHAPE_CASE("order-collapsed", shape_order_case, "collapsed", false),
	SHAPE_CASE("look-collapsed", shape_look_case, "collapsed", false),
	SHAPE_CASE("host-aging-collapsed", shape_aging_case, "collapsed", true),
	SHAPE_CASE("aging-merged", shape_aging_case, "merged", false),
	SHAPE_CASE("order-merged", shape_order_case, "merged", false),
	SHAPE_CASE("look-merged", shape_look_case, "merged", false),
	SHAPE_CASE("host-aging-merged", shape_aging_case, "merged", true),
	SHAPE_CASE("aging-batch-edge", shape_aging_case, "batch-edge", false),
	SHAPE_CASE("host-aging-batch-edge", shape_aging_case, "batch-edge", true),
	SHAPE_CASE("aging-huge-row", shape_aging_case, "huge-row", false),
	SHAPE_CASE("host-aging-huge-row", shape_aging_case, "huge-row", true),
};

static const struct mmg_test test = {
	.name = "kvm/live_shapes",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
