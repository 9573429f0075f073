// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmgate-about: is guest memory aged and evicted in order in the shapes that VMMs give it?
 * mmgate-guards: 1d4832becdc2 mm: multi-gen LRU: use {ptep,pmdp}_clear_young_notify()
 * mmgate-guards: bd74fdaea146 mm: multi-gen LRU: support page table walks
 * mmgate-machines: default npt-off
 * mmgate-needs: CONFIG_KVM CONFIG_LRU_GEN CONFIG_MEMCG CONFIG_SWAP debugfs root
 * mmgate-modules: kvm zram
 * mmgate-timeout: 900
 *
 * The shapes are rows of a table in shape.c: memslots over one range, memslots that end
 * within huge pages or move, several VMs of one process, folios of several sizes, memory
 * that other processes have mapped.  Three experiments go over them:
 *
 *	aging-*	half of the units are touched before each of two agings: they, and no
 *		others, are in the generation that was aged; an aging without touches
 *		moves nothing
 *	order-*	what was touched leaves last: AUC 1.00, and 0.50 with the walk off, which
 *		is the negative control of each
 *	look-*	with the walk off reclaim asks page by page: nothing that was touched
 *		leaves; the control touches nothing, and both halves leave alike
 *
 * A unit is a folio.  One page of it is touched, never its first, so that a kernel which
 * asks about the first page of a range only is blind.  Where there are two ways to touch a
 * unit (two memslots, VMs or vCPUs) a hash of its number, which its label does not depend
 * on, decides: a kernel that asks only one of them, or takes only the last answer, loses
 * half of what was touched.  The host-* cases are the same memory touched by this process,
 * for shapes that have such a form.
 *
 * How it could mislead: a shape that the kernel did not make (huge entries, folios of the
 * size and residency are checked first, and skipped or broken); moving a memslot zaps its
 * entries with their accessed bits (it is moved before the touches, never after).  There is
 * no order-moved-slot: up to 6.12 KVM marks a page accessed when its entry is zapped, so
 * that tiers tell hot from cold with the walk off as well, and the control is not blind.
 */
#include "mglru.h"
#include "shape_cases.h"

static const struct mmg_case cases[] = {
	SHAPE_CASE("aging-aliases", shape_aging_case, "aliases", false),
	SHAPE_CASE("order-aliases", shape_order_case, "aliases", false),
	SHAPE_CASE("look-aliases", shape_look_case, "aliases", false),
	SHAPE_CASE("aging-aliases-thp", shape_aging_case, "aliases-thp", false),
	SHAPE_CASE("order-aliases-thp", shape_order_case, "aliases-thp", false),
	SHAPE_CASE("aging-odd-slots-thp", shape_aging_case, "odd-slots-thp", false),
	SHAPE_CASE("order-odd-slots-thp", shape_order_case, "odd-slots-thp", false),
	SHAPE_CASE("aging-moved-slot", shape_aging_case, "moved-slot", false),
	SHAPE_CASE("aging-many-vmas", shape_aging_case, "many-vmas", false),
	SHAPE_CASE("order-many-vmas", shape_order_case, "many-vmas", false),
	SHAPE_CASE("host-aging-many-vmas", shape_aging_case, "many-vmas", true),
	SHAPE_CASE("aging-pud-edge", shape_aging_case, "pud-edge", false),
	SHAPE_CASE("order-pud-edge", shape_order_case, "pud-edge", false),
	SHAPE_CASE("host-aging-pud-edge", shape_aging_case, "pud-edge", true),
	SHAPE_CASE("aging-two-vms", shape_aging_case, "two-vms", false),
	SHAPE_CASE("order-two-vms", shape_order_case, "two-vms", false),
	SHAPE_CASE("look-two-vms", shape_look_case, "two-vms", false),
	SHAPE_CASE("aging-two-vms-thp", shape_aging_case, "two-vms-thp", false),
	SHAPE_CASE("look-two-vms-thp", shape_look_case, "two-vms-thp", false),
	SHAPE_CASE("aging-two-vms-halves", shape_aging_case, "two-vms-halves", false),
	SHAPE_CASE("order-two-vms-halves", shape_order_case, "two-vms-halves", false),
	SHAPE_CASE("aging-two-roots", shape_aging_case, "two-roots", false),
	SHAPE_CASE("order-two-roots", shape_order_case, "two-roots", false),
	SHAPE_CASE("aging-thp-4k-tables", shape_aging_case, "thp-4k-tables", false),
	SHAPE_CASE("order-thp-4k-tables", shape_order_case, "thp-4k-tables", false),
	SHAPE_CASE("look-thp-4k-tables", shape_look_case, "thp-4k-tables", false),
	SHAPE_CASE("aging-thp-partly", shape_aging_case, "thp-partly", false),
	SHAPE_CASE("host-aging-thp-partly", shape_aging_case, "thp-partly", true),
	SHAPE_CASE("aging-mthp-16k", shape_aging_case, "mthp-16k", false),
	SHAPE_CASE("order-mthp-16k", shape_order_case, "mthp-16k", false),
	SHAPE_CASE("host-aging-mthp-16k", shape_aging_case, "mthp-16k", true),
	SHAPE_CASE("aging-mthp-64k", shape_aging_case, "mthp-64k", false),
	SHAPE_CASE("order-mthp-64k", shape_order_case, "mthp-64k", false),
	SHAPE_CASE("look-mthp-64k", shape_look_case, "mthp-64k", false),
	SHAPE_CASE("host-aging-mthp-64k", shape_aging_case, "mthp-64k", true),
	SHAPE_CASE("aging-mthp-1m", shape_aging_case, "mthp-1m", false),
	SHAPE_CASE("host-aging-mthp-1m", shape_aging_case, "mthp-1m", true),
	SHAPE_CASE("aging-shmem-thp", shape_aging_case, "shmem-thp", false),
	SHAPE_CASE("host-aging-shmem-thp", shape_aging_case, "shmem-thp", true),
	SHAPE_CASE("aging-helper", shape_aging_case, "helper", false),
	SHAPE_CASE("order-helper", shape_order_case, "helper", false),
	SHAPE_CASE("aging-forked", shape_aging_case, "forked", false),
	SHAPE_CASE("order-forked", shape_order_case, "forked", false),
};

static const struct mmg_test test = {
	.name = "kvm/shapes",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.settings = mglru_settings,
};

int main(int argc, char **argv)
{
	return mmg_main(argc, argv, &test);
}
