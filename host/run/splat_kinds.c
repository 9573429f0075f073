// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a kernel says that something in it went wrong: a line a row, read from
 * the sources of 5.10 to 7.3 that print it.  The first row that matches names
 * the kind.  A kind that nobody has met yet is one more row with its sample.
 */
#include <string.h>

#include "run/splat.h"

#define A	SPLAT_ANYWHERE
#define F	SPLAT_OF_FAULT
#define E	SPLAT_END
#define S	SPLAT_SINGLE
#define T	SPLAT_STAMPED
#define N	SPLAT_NOT_FIRST
#define M	SPLAT_MESSAGE

const struct splat_kind splat_kinds[] = {
	/* mm/kasan/report.c, mm/kfence/report.c, kernel/kcsan/report.c, mm/kmsan/report.c */
	{ "KASAN: ", "\\bBUG: KASAN: ", "KASAN",
	  "BUG: KASAN: slab-use-after-free in walk_pmd_range+0x1c4/0x9e0", A },
	{ "KFENCE: ", "\\bBUG: KFENCE: ", "KFENCE",
	  "BUG: KFENCE: out-of-bounds read in test_read+0x20/0x80", A },
	{ "KCSAN: ", "\\bBUG: KCSAN: ", "KCSAN",
	  "BUG: KCSAN: data-race in folio_add_lru / lru_gen_add_folio", A },
	{ "KMSAN: ", "\\bBUG: KMSAN: ", "KMSAN",
	  "BUG: KMSAN: uninit-value in shrink_one+0x7a/0x410", A },
	{ "Reported by Kernel", "^Reported by Kernel Concurrency Sanitizer on:", "KCSAN",
	  "Reported by Kernel Concurrency Sanitizer on:", F },
	{ "KASAN: ", "^KASAN: (?:\\w+ )?[\\w-]+ (?:in|on) ", "KASAN",
	  "KASAN: null-ptr-deref in range [0x0000000000000008-0x000000000000000f]", F },
	{ "kasan: GPF", "^kasan: GPF could be caused by ", "KASAN",
	  "kasan: GPF could be caused by NULL-ptr deref or user memory access", F },
	{ "KASAN: ", "\\bKernel panic - not syncing: KASAN: ", "panic",
	  "Kernel panic - not syncing: KASAN: panic_on_warn set ...", A | E },
	/* lib/ubsan.c, arch/x86/kernel/cfi.c and kernel/cfi.c, arch/x86/kernel/cet.c */
	{ "UBSAN: ", "^UBSAN: ", "UBSAN",
	  "UBSAN: array-index-out-of-bounds in mm/vmscan.c:812:9", 0 },
	{ "UBSAN: ", "\\bUBSAN: (?:Undefined behaviour|[\\w-]+) in \\S+:\\d", "UBSAN",
	  "mm: UBSAN: Undefined behaviour in mm/swap.c:71:3", A },
	{ "CFI failure", "\\bCFI failure (?:at \\S|\\(target: )", "CFI",
	  "CFI failure at shrink_node+0x10/0x20 (target: my_fn+0x0/0x4; expected type: 0x1234abcd)", A },
	{ "Missing ENDBR", "^(?:traps: )?Missing ENDBR: ", "CFI",
	  "traps: Missing ENDBR: vmx_exit+0x0/0x40", 0 },

	/* kernel/watchdog.c, watchdog_hld.c, arch/powerpc/kernel/watchdog.c, kernel/workqueue.c */
	{ "soft lockup", "\\bBUG: soft lockup\\b", "soft lockup",
	  "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [kswapd0:45]", A },
	{ "hard LOCKUP", "\\bhard LOCKUP (?:on (?:cpu|other CPUs)|@)", "hard lockup",
	  "watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", A },
	{ "hard LOCKUP", "\\b(?:self-)?detected hard LOCKUP\\b", "hard lockup",
	  "watchdog: CPU 2 self-detected hard LOCKUP @ shrink_lruvec+0x40/0x90", A },
	{ "hard lockup", "\\bKernel panic - not syncing: .*[Hh]ard", "panic",
	  "Kernel panic - not syncing: Watchdog detected a hard lockup", A | E },
	{ "Hard LOCKUP", "\\bCPU[: ]\\d+ (?:detected )?Hard LOCKUP\\b", "hard lockup", "watchdog: CPU 7 Hard LOCKUP", A | F },
	/* kernel/smp.c: csd_lock_wait_toolong() */
	{ "CSD lock", "\\bcsd: (?:Detected|Continued) non-responsive CSD lock ", "stall",
	  "smp: csd: Detected non-responsive CSD lock (#1) on CPU#2, waiting 5000000032 ns for CPU#03 do_sync_core+0x0/0x30(0x0).", A | F },
	{ "NMI Watchdog", "\\bNMI Watchdog detected LOCKUP\\b", "hard lockup",
	  "BUG: NMI Watchdog detected LOCKUP on CPU0, ip 004f1a20, registers:", A },
	{ "workqueue lockup", "\\bBUG: workqueue lockup\\b", "stall",
	  "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 61s!", A },

	/* kernel/rcu/tree_stall.h, tree_exp.h, tasks.h */
	{ "detected", "\\brcu[\\w: ]*\\b(?:self-)?detected (?:expedited )?stalls?\\b", "RCU stall",
	  "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-...D } 21 jiffies", A },
	{ "self-detected stall", "\\bself-detected stall on CPU\\b", "RCU stall",
	  "INFO: rcu_sched self-detected stall on CPU { 1}", A },
	{ "detected", "\\bdetected (?:expedited )?stalls on (?:CPUs|tasks)\\b", "RCU stall",
	  "INFO: rcu_tasks detected stalls on tasks:", A },
	{ "kthread starved", "^(?:rcu: )?\\s*rcu\\S* kthread starved for ", "RCU stall",
	  "rcu: rcu_preempt kthread starved for 2102 jiffies! g4425 f0x0 RCU_GP_WAIT_FQS(5)", F },
	{ "RCU", "\\bKernel panic - not syncing: RCU Stall", "panic",
	  "Kernel panic - not syncing: RCU Stall", A | E },

	/* kernel/hung_task.c; a task's name may hold anything, even an end of line */
	{ "INFO: task ", "^INFO: task .*(?:blocked|can't die)\\b", "hung task",
	  "INFO: task kswapd0:45 blocked for more than 122 seconds.", 0 },
	{ "blocked ", ":\\d+ (?:is )?blocked (?:for more than|on an? |in I/O wait)", "hung task",
	  "t k:913 blocked for more than 143 seconds.", 0 },
	{ "can't die", ":\\d+ can't die for more than \\d", "hung task",
	  "INFO: task worker:77 can't die for more than 143 seconds.", A },
	{ "INFO: task ", "^INFO: task ", "hung task", "INFO: task q", T },
	{ "INFO: The task ", "^INFO: The task .*waiting for writeback completion", "hung task",
	  "INFO: The task sync:7 has been waiting for writeback completion for more than 120 seconds.", 0 },

	/* kernel/locking/lockdep.c, kernel/rcu/update.c, tree.c; INFO and [ ] until 4.x */
	{ "locking d", "possible (?:circular|recursive) locking d", "lockdep",
	  "WARNING: possible circular locking dependency detected", A },
	{ "possible irq lock", "possible irq lock(?:ing)? inversion", "lockdep",
	  "[ INFO: possible irq lock inversion dependency detected ]", A },
	{ "inconsistent lock", "\\binconsistent lock state\\b", "lockdep",
	  "WARNING: inconsistent lock state", A },
	{ "-unsafe lock order", "-safe -> \\S+-unsafe lock order", "lockdep",
	  "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected", A },
	{ "bad ", "\\b(?:WARNING|BUG): bad (?:unlock balance|contention) detected", "lockdep",
	  "WARNING: bad unlock balance detected!", A },
	{ "held lock freed", "\\bheld lock freed!", "lockdep", "WARNING: held lock freed!", A },
	{ "lock held ", "\\block held (?:when returning to user space|at task exit)", "lockdep",
	  "WARNING: lock held when returning to user space!", A },
	{ "still has locks", "\\bstill has locks held\\b", "lockdep",
	  "WARNING: reclaim_test/321 still has locks held!", A },
	{ "RCU usage", "\\bsuspicious RCU usage\\b", "lockdep",
	  "[ INFO: suspicious RCU usage. ]", A },
	{ "suspicious rcu_", "^\\S+:\\d+ suspicious rcu_\\w+", "lockdep",
	  "mm/memcontrol.c:410 suspicious rcu_dereference_check() usage!", F },
	{ "Nested lock", "\\bNested lock was not taken\\b", "lockdep",
	  "WARNING: Nested lock was not taken", A },
	{ "non-static key", "\\btrying to register non-static key\\b", "lockdep",
	  "INFO: trying to register non-static key.", A },
	{ "wait context", "\\bInvalid wait context\\b", "lockdep", "[ BUG: Invalid wait context ]", A },
	{ "chain_key", "\\bWARNING: chain_key collision", "lockdep", "WARNING: chain_key collision", A },
	{ "[ BUG: ", "^\\[ BUG: ", "lockdep", "[ BUG: a lock of a kind to come ]", 0 },
	{ "MAX_LOCK", "\\bBUG: MAX_\\w+ too low", "lockdep", "BUG: MAX_LOCKDEP_CHAINS too low!", A },
	{ "possible deadlock", "^(?:WARNING|INFO|BUG): possible deadlock\\b", "lockdep",
	  "WARNING: possible deadlock detected on a wakeup", 0 },

	/* kernel/panic.c: warn_print_message and its older forms; lib/bug.c */
	{ "WARNING: ", "\\bWARNING: CPU: \\d+ PID: \\d+ at ", "WARNING",
	  "WARNING: CPU: 1 PID: 87 at mm/vmscan.c:3210 walk_mm+0x1a/0x3b0", A },
	{ "WARNING: ", "\\bWARNING: (?=at |[^#]* at )[^#]*\\bCPU#\\d", "WARNING",
	  "WARNING: at walk_mm+0x1a/0x3b0, CPU#0: kswapd0/45", A },
	{ "WARNING: ", "\\bWARNING: at [\\w./-]+\\+0x", "WARNING",
	  "WARNING: at walk_mm+0x1a/0x3b0", A },
	{ "WARNING: ", "^WARNING: (?:.* )?at \\S+\\.[chS]:\\d+", "WARNING",
	  "WARNING: at mm/vmscan.c:3210 walk_mm()", 0 },
	{ "WARNING: ", "^WARNING: \\S+\\.[chS]:\\d+ at ", "WARNING",
	  "WARNING: fs/x.c:1058 at 0x0", 0 },
	{ "WARNING: ", "^WARNING: CPU: \\d+ PID: \\d+", "WARNING", "WARNING: CPU: 0 PID: 12", 0 },
	{ "WARNING: CPU:", "^WARNING: CPU:\\s*(?:\\d+\\s*)?(?:P(?:ID?)?:?\\s*)?$", "WARNING", "WARNING: CPU: 0 PI", T },
	{ "WARNING: ", "^WARNING: [\\w.-]+/[\\w./-]+\\.[chS]:\\d+", "WARNING", "WARNING: mm/vmscan.c:3210", T },
	{ "system-wide workq", "\\bWARNING: Flushing system-wide workqueues", "WARNING",
	  "WARNING: Flushing system-wide workqueues will be prohibited in near future.", A },
	{ "WARNING: at ", "^WARNING: at (?:0x)?[0-9a-f]{8,}", "WARNING",
	  "WARNING: at 0xffffffff81234567", 0 },
	{ "WARNING:", "^WARNING:\\s*$", "WARNING", "WARNING:", T },

	/* arch/x86/kernel/unwind_*.c, dumpstack.c, stacktrace.c */
	{ "WARNING: kernel stack", "\\bWARNING: kernel stack (?:regs|frame pointer) ", "unwinder",
	  "WARNING: kernel stack frame pointer at 00000000d4f00000 in a:2363 has bad value 0", A },
	{ "WARNING: ", "\\bWARNING: (?:can't (?:access registers|dereference)|stack going in the wrong|"
	  "stack recursion|unknown unwind hint|unrecognized|bad unwind|invalid unwind)", "unwinder",
	  "WARNING: stack recursion on stack type 4", A },
	{ "WARNING: Kernel stack", "\\bWARNING: Kernel stack (?:overflow|is)", "unwinder",
	  "WARNING: Kernel stack overflow at 00000000deadbeef", A },

	/* lib/bug.c, arch's traps: BUG() */
	{ "ernel BUG", "\\b[kK]ernel BUG (?:at|in|\\[|[0-9a-f]{8,})", "BUG", "kernel BUG at mm/vmscan.c:812!", A | F },
	{ "BUG at ", "^BUG at \\S+:\\d+", "BUG", "BUG at fs/jfs/jfs_dmap.c:2765 assert(n)", 0 },
	{ "BUG: failure at", "\\bBUG: failure at ", "BUG", "BUG: failure at mm/vmscan.c:812/shrink()!", A },

	/* mm/slub.c, slab_common.c, page_poison.c, kmemleak.c */
	{ "BUG ", "^BUG \\S.* \\((?:Not tainted|Tainted: |[A-Z ]+\\))", "SLUB",
	  "BUG kmalloc-512 (Not tainted): Redzone overwritten", 0 },
	{ "BUG kmalloc-", "^BUG kmalloc-", "SLUB", "BUG kmalloc-cg-64", 0 },
	{ " 0x", "^(?:INFO: )?(?:Slab|Object) 0x[0-9a-f]+ (?:objects=|@offset=)", "SLUB",
	  "INFO: Slab 0x00000000d1f2a000 objects=16 used=3 fp=0x0 flags=0x200", F },
	{ "ed in ", "^(?:INFO: )?(?:Freed|Allocated) in \\S+ age=", "SLUB",
	  "INFO: Allocated in alloc_it+0x20/0x40 age=12 cpu=0 pid=9", F },
	{ "still has objects", "\\bSlab cache still has objects", "SLUB",
	  "kmem_cache_destroy my_cache: Slab cache still has objects", A },
	{ "FIX ", "^FIX \\S+: (?:[A-Z]\\w+ ){1,3}", "SLUB", "FIX kmalloc-64: Restoring Poison 0xffff88800123-0xffff88800124=0x6b", F },
	{ "lab ", "^(?:Slab corruption \\(|slab error in )", "SLUB",
	  "Slab corruption (Not tainted): kmalloc-64 start=ffff888012345678, len=64", 0 },
	{ "slab: Internal", "^slab: Internal list corruption detected", "SLUB",
	  "slab: Internal list corruption detected in cache 'x'(7), slabp ffff888012345678(7)", 0 },
	{ "bad p", "^\\S+\\.[ch]:\\d+: bad (?:p[gum4]d|pte)\\b", "page table",
	  "mm/pgtable-generic.c:33: bad pmd ffff888012345678(00000000deadbeef)", S },
	{ "PAGETABLE BUG", "^PAGETABLE BUG #", "page table", "PAGETABLE BUG #00! ffff888012345678 <-> ffff888012345679", S },
	/* arch/arm64/mm/ptdump.c and mm/ptdump.c; x86's is a WARN() */
	{ "W+X mappings", "\\bChecked W\\+X mappings: FAILED", "page table",
	  "Checked W+X mappings: FAILED, 3 W+X pages found, 0 non-UXN pages found", A | S },
	/* mm/vma.c: validate_mm() */
	{ "issue in ", "^(?:mmap: )?issue in \\S+$", "VMA", "mmap: issue in a.out", 0 },
	/* include/linux/maple_tree.h: MT_WARN_ON() */
	{ "WARN at ", "^WARN at \\w+:\\d+ \\(\\d+\\)", "WARNING", "WARN at mas_find:5012 (1)", 0 },
	{ "swap", "^(?:_?swap_\\w+|get_swap_device): (?:Bad swap|Unused swap)", "swap",
	  "get_swap_device: Bad swap file entry 3ffffffffffff", S },
	{ "pagealloc: ", "^pagealloc: (?:memory corruption|single bit error)", "page poison",
	  "pagealloc: memory corruption", 0 },
	{ "kmemleak: ", "^kmemleak: \\d+ new suspected memory leak", "memory leak",
	  "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)", S },
	{ "BUG: memory leak", "\\bBUG: memory leak\\b", "memory leak", "BUG: memory leak", A },
	{ "unreferenced object", "^(?:kmemleak: )?unreferenced object 0x", "memory leak",
	  "kmemleak: unreferenced object 0xffff888005a31200 (size 64):", F },
	{ "comm \"", "^comm \".*\", pid \\d+, jiffies \\d+", "memory leak", "comm \"a.out\", pid 87, jiffies 4294940000 (age 12.340s)", F },
	{ "kmemleak: ", "^kmemleak: (?:Cannot insert|Found object by alias|Freeing unknown|Trying to color|\\[?Partially freeing|"
	  "Scan area larger|(?:Adding scan area to|Setting excess_ref on|Not scanning|Updating stack trace for) unknown|"
	  "Not resetting the checksum)", "kmemleak",
	  "kmemleak: Cannot insert 0xffff888005a31200 into the object search tree (overlaps existing)", 0 },

	/* mm/page_alloc.c: warn_alloc; mm/oom_kill.c */
	{ "allocation failure", "^\\S.*: (?:page|vmalloc:?) allocation failure[:.] ", "allocation failure",
	  "kworker/0:1: page allocation failure: order:2, mode:0x40cc0(GFP_KERNEL), nodemask=(null)", 0 },
	{ "allocation ", "\\bpage allocation (?:failure: order:|stalls? for )\\d", "allocation failure",
	  "eviction: page allocation stalls for 10013ms, order:0, mode:0x6200ca", A },
	{ "vmalloc error", "\\bvmalloc error: size \\d", "allocation failure",
	  "insmod: vmalloc error: size 4096, failed to allocate pages, mode:0xcc2", A },
	/* mm/percpu.c: pcpu_alloc() */
	{ "percpu: alloc", "^percpu: allocation failed, size=", "allocation failure",
	  "percpu: allocation failed, size=64 align=8 atomic=0, alloc from reserved chunk failed", 0 },
	{ "ut of memory: Kill", "^(?:Out of memory|Memory cgroup out of memory): Kill", "OOM kill",
	  "Memory cgroup out of memory: Killed process 12 (hog) total-vm:1kB", S },
	{ "ut of memory", "^Out of memory \\(oom_kill_allocating_task\\): Kill", "OOM kill",
	  "Out of memory (oom_kill_allocating_task): Killed process 12 (hog)", S },

	/* arch/x86: fault.c, traps.c, dumpstack.c */
	{ "BUG: unable to ", "\\bBUG: unable to handle ", "BUG",
	  "BUG: unable to handle page fault for address: ffffed1000000000", A },
	{ "unable to handle", "^unable to handle kernel (?:paging request|NULL pointer)", "BUG",
	  "unable to handle kernel paging request at ffff888012345678", F },
	{ "NULL pointer deref", "\\bBUG: [kK]ernel NULL pointer dereference", "BUG",
	  "BUG: kernel NULL pointer dereference, address: 0000000000000008", A },
	{ "NX-protected", "\\bkernel tried to execute NX-protected page", "Oops",
	  "kernel tried to execute NX-protected page - exploit attempt? (uid: 0)", A | F },
	{ "userspace code (SMEP", "\\bunable to execute userspace code \\(SMEP", "Oops",
	  "unable to execute userspace code (SMEP?) (uid: 0)", A | F },
	{ "general protection", "\\bgeneral protection fault(?:, (?:probably|maybe) for |: [0-9a-f]{4}\\b| in \\S+: )",
	  "Oops", "general protection fault, probably for non-canonical address 0xdffffc0000000001: 0000 [#1] SMP", A | F },
	{ ": 0", "\\b(?:divide[ _]error|invalid opcode|stack segment|segment not present|invalid TSS|"
	  "alignment check|overflow|bounds|int3|debug|simd exception|fpu exception|coprocessor segment overrun|"
	  "device not available|control protection fault|stack exception|coprocessor error): [0-9a-f]{4}\\b",
	  "Oops", "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI", A | F },
	{ "double fault", "\\bPANIC: double fault\\b", "Oops", "traps: PANIC: double fault, error_code: 0x0", A },
	{ "early exception", "\\bPANIC: early exception ", "Oops",
	  "PANIC: early exception 0x0e IP 10:ffffffff81000000 error 0 cr2 0x8", A },
	/* arch/x86/entry/entry_fred.c */
	{ "FRED event", "\\bPANIC: invalid or fatal FRED event", "Oops",
	  "PANIC: invalid or fatal FRED event; event type 3 vector 8 error 0x0 aux 0x0 at 0010:ffffffff81234567", A },
	{ "Corrupted page table", "\\bCorrupted page table at address ", "Oops", "a.out: Corrupted page table at address 7f0000000000", F },
	/* arch/x86/mm/extable.c */
	{ "unchecked MSR access", "\\bunchecked MSR access error: ", "MSR",
	  "unchecked MSR access error: WRMSR to 0x1f (tried to write 0x0000000000000000) at rIP: 0xffffffff81234567 (f+0x4/0x20)", A },
	{ "overran stack", "^Thread overran stack, or stack corrupted", "Oops", "Thread overran stack, or stack corrupted", F },
	/* arch/arm/kernel/traps.c: __div0() */
	{ "Division by zero", "^Division by zero in kernel\\.", "Oops", "Division by zero in kernel.", 0 },
	{ "kernel stack", "^do_IRQ: \\S+ has overflown the kernel stack", "Oops",
	  "do_IRQ: swapper/0 has overflown the kernel stack (cur:1,sp:2,irq stk top-bottom:3-4)", 0 },
	{ "do_IRQ: stack", "^do_IRQ: stack overflow: ", "Oops", "do_IRQ: stack overflow: 1024", 0 },
	{ "double fault: ", "^double fault: [0-9a-f]{4}\\b", "Oops", "double fault: 0000 [#1] SMP", F },
	{ "control protection", "\\bkernel control protection exception|\\bcontrol protection fault:", "Oops",
	  "traps: unexpected kernel control protection exception, error 3", A },

	/* arch/arm64, arm: fault.c, traps.c, kvm */
	{ "Unable to handle kernel", "\\bUnable to handle kernel ", "Oops",
	  "Unable to handle kernel paging request at virtual address dfff800000000001", A | F },
	{ "Internal error: ", "\\bInternal error: [A-Z]\\S*.*(?:\\[#\\d|: [0-9a-f]{3,})", "Oops",
	  "Internal error: Oops - Undefined instruction: 0000000002000000 [#1] SMP", A | F },
	{ "Internal error: ", "^Internal error: ", "Oops",
	  "Internal error: synchronous external abort", F },
	{ "nhandled ", "^(?:Unhandled|unhandled) (?:fault|prefetch abort|exception|\\d+-bit \\S+ (?:sync|irq|fiq|error))\\b", "Oops",
	  "Unhandled 64-bit el1h sync exception on CPU0, ESR 0x0000000002000000 -- Unknown/Uncategorized", F },
	{ "Unhandled fault", "\\bUnhandled (?:fault|prefetch abort): ", "Oops",
	  "Unhandled fault: alignment exception (0x001) at 0xc0000013", A | F },
	{ "Bad mode in", "\\bBad mode in .*\\bhandler\\b", "Oops",
	  "Bad mode in Synchronous Abort handler detected on CPU1, code 0x8600000e", A | F },
	{ "SError Interrupt", "\\bSError Interrupt on CPU\\d", "Oops",
	  "SError Interrupt on CPU2, code 0x00000000bf000002 -- SError", A | F },
	{ "Unexpected kernel ", "\\bUnexpected kernel (?:BRK|single-step) exception\\b", "Oops",
	  "Unexpected kernel BRK exception at EL1", A | F },
	{ "nsufficient stack", "\\b[Ii]nsufficient stack space to handle exception", "Oops",
	  "Insufficient stack space to handle exception!", A },
	{ "nVHE hyp", "\\bnVHE hyp (?:BUG|panic)\\b", "hypervisor",
	  "kvm [1]: nVHE hyp BUG at: [<ffff8000081a4b10>] __kvm_nvhe_fixup+0x10/0x20!", A },
	{ "hardware error", "^KVM: entry failed, hardware error", "hypervisor",
	  "KVM: entry failed, hardware error 0x80000021", 0 },

	/* arch/powerpc: fault.c, traps.c, mce.c */
	{ "ernel ", "^(?:BUG: )?[kK]ernel (?:tried to (?:exec|execute|access|read|write)|attempted to (?:read|write|access|execute)) ",
	  "Oops", "Kernel attempted to read user page (8) - exploit attempt? (uid: 0)", F },
	{ "Bad kernel stack", "\\bBad kernel stack pointer [0-9a-f]+ at ", "Oops",
	  "Bad kernel stack pointer 3fffe7c0 at c000000000009a3c", A },
	{ "nrecoverable", "^Unrecoverable .* at [0-9a-f]{4,}", "Oops",
	  "Unrecoverable FP Unavailable Exception 800 at c000000000123456", F },
	{ "in kernel mode at", "\\b(?:unavailable \\(\\d+\\)|assist) exception in kernel mode at ", "Oops",
	  "Facility 'TM' unavailable (5) exception in kernel mode at c000000000123456", A },
	{ "Bad Thing", "^Unexpected TM Bad Thing exception at ", "Oops",
	  "Unexpected TM Bad Thing exception at c000000000123456 (msr 0x8000000102a03031) tm_scratch=0", F },
	/* arch/powerpc/xmon/xmon.c */
	{ ": Vector: ", "^cpu 0x[0-9a-f]+: Vector: [0-9a-f]+ ", "Oops",
	  "cpu 0x1: Vector: 300 (Data Access) at [c00000000123b8f0]", F },
	{ "achine ", "^(?:Severe|Fatal) Machine check ", "Oops", "Severe Machine check interrupt [Not recovered]", 0 },

	/* arch/s390/kernel/dumpstack.c: die(); its monitor events are BUG() and WARN() */
	{ " ilc:", "^[a-z][\\w /-]*: [0-9a-f]{4} ilc:\\d", "Oops",
	  "monitor event: 0040 ilc:2 [#1] SMP", F },
	{ "ernel stack overflow", "\\b[Kk]ernel stack overflow\\b", "Oops",
	  "CPU 1: Kernel stack overflow.", A | F },

	/* every architecture's die() counts; kernel/exit.c */
	{ "Oops", "^(?:Internal error: )?Oops(?:[: -]|$)", "Oops",
	  "Oops: Kernel access of bad area, sig: 11 [#1]", F },
	{ "Oops", "^(?:Oops#: \\d|[^\\s(]+\\(\\d+\\): Oops -?\\d|\\S+\\[\\d+\\]: Oops \\d+ \\[\\d+\\])", "Oops",
	  "swapper(1): Oops 0", F },
	{ "[#", "^[A-Za-z][^\\[\\]]{2,120}\\[#\\d+\\]:", "Oops", "Kernel bug detected[#1]:", F },
	/* arch/mips and arch/loongarch/kernel/traps.c, arch/parisc/kernel/traps.c */
	{ "bus error, epc", "^(?:Data|Instruction) bus error, epc ==", "Oops", "Data bus error, epc == 80001234, ra == 80001230", F },
	{ "reserved exception", "^Caught reserved exception \\d+ ", "Oops",
	  "Caught reserved exception 7 on pid:9 [init] - should not happen", F },
	{ "Code=", "^(?:Kernel Fault|Bad Address \\(null pointer deref\\?\\)): Code=", "Oops",
	  "Kernel Fault: Code=15 (Data TLB miss fault) at addr 0000000000000008", F },
	{ "Oops", "\\bOops(?:: [0-9a-f]{4}| - \\S.*)? \\[#\\d+\\]", "Oops",
	  "swapper: Oops - illegal instruction [#2]", A | F },
	{ " [#", "^[A-Za-z][^\\[\\]]{2,120} \\[#\\d+\\](?: [A-Z_]|$)", "Oops",
	  "a trap of a kind to come: 0000 [#1] SMP", F },
	{ "recursive fault", "\\bFixing recursive fault but reboot is needed", "Oops",
	  "Fixing recursive fault but reboot is needed!", A | E },
	{ "exited with", "^note: .*\\[\\d+\\] exited with (?:preempt_count|irqs disabled)", "Oops",
	  "note: reclaim[99] exited with preempt_count 1", E },

	/* kernel/panic.c */
	{ "Kernel panic", "\\bKernel panic - not syncing", "panic",
	  "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b", A | E },
	{ "Kernel panic", "^Kernel panic\\b", "panic", "Kernel panic", E },
	{ "Rebooting in ", "^Rebooting in \\d+ ?seconds", "panic", "Rebooting in 86400 seconds..", E },
	{ "Kernel Offset: ", "^Kernel Offset: (?:disabled|0x[0-9a-f]+ from)", "panic",
	  "Kernel Offset: 0x1a000000 from 0xffffffff81000000 (relocation range: 0xffffffff80000000-0xffffffffbfffffff)", E },

	/* net/core/dev.c, net/sched/sch_generic.c, fs/super.c, kernel/irq/spurious.c */
	{ "unregister_netdevice", "\\bunregister_netdevice: waiting for .* to become free", "netdevice",
	  "unregister_netdevice: waiting for lo to become free. Usage count = 2", A | S },
	{ "NETDEV WATCHDOG", "\\bNETDEV WATCHDOG: .*timed out", "netdevice",
	  "NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5000 ms", A | M },
	{ "Busy inodes", "\\bVFS: Busy inodes after unmount", "VFS",
	  "VFS: Busy inodes after unmount of vda (ext4). Self-destruct in 5 seconds.  Have a nice day...", A | S },
	{ "file count is 0", "\\bVFS: Close: file count is 0", "VFS",
	  "VFS: Close: file count is 0 (f_op=ext4_file_operations)", A | S },
	{ "nobody cared", "^irq \\d+: nobody cared", "IRQ",
	  "irq 11: nobody cared (try booting with the \"irqpoll\" option)", 0 },
	{ "bogus return value", "^irq event \\d+: bogus return value ", "IRQ", "irq event 7: bogus return value ffffffff", 0 },
	/* kernel/resource.c, kernel/rcu/tree.c, kernel/sched/idle.c and psi.c, kernel/time, fs/locks.c, net */
	{ "nonexistent resource", "^(?:resource: )?Trying to free nonexistent resource ", "resource",
	  "resource: Trying to free nonexistent resource <0000000000000000-00000000000000ff>", S },
	{ "Double-freed CB", "\\(\\): Double-freed CB ", "BUG",
	  "rcu: __call_rcu_common(): Double-freed CB 00000000a1b2c3d4->my_fn+0x1a/0x3b0()!!!", A },
	{ "the idle thread", "^bad: scheduling from the idle thread!", "BUG", "bad: scheduling from the idle thread!", 0 },
	{ "psi: ", "^psi: (?:inconsistent task state|task underflow)!", "BUG", "psi: task underflow! cpu=0 t=2 tasks=[0 0 0 0] clear=4 set=0", S },
	{ "wrong timeout value", "^schedule_timeout: wrong timeout value ", "BUG", "schedule_timeout: wrong timeout value ffffffffffffffff", 0 },
	{ "Leaked ", "^Leaked (?:locks|\\w+ lock) on dev=", "VFS", "Leaked POSIX lock on dev=0x8:0x1 ino=0x12 fl_owner=00000000a1b2c3d4", S },
	{ "alive neighbour", "\\bDestroying alive neighbour ", "netdevice", "neighbour: Destroying alive neighbour 00000000a1b2c3d4", A },
	{ "Attempt to release", "\\bAttempt to release (?:alive inet|TCP) socket ", "netdevice",
	  "IPv4: Attempt to release TCP socket in state 10 00000000a1b2c3d4", A | S },
	{ "trusty: panic", "\\btrusty: panic(?! notif)", "firmware", "trusty: panic (caller 0x10): ASSERT FAILED", A | S },

	{ "huh, entered", "\\bhuh, entered softirq ", "softirq",
	  "huh, entered softirq 3 NET_RX ffffffff81234567 with preempt_count 00000100, exited with 00000101?", A | S },

	/*
	 * What a WARN() or BUG() says before, or in older kernels after, the line that
	 * names its place: counts alone where that line was lost.  lib/debugobjects.c,
	 * refcount.c, list_debug.c, kobject.c, string_helpers.c, mm/usercopy.c, ...
	 */
	{ "ODEBUG: ", "^ODEBUG: (?:\\w[\\w ]* (?:\\(active state \\d|object type: )|object \\S+ is (?:NOT )?on stack|selftest (?!passed))",
	  "WARNING", "ODEBUG: free active (active state 0) object type: timer_list hint: my_fn+0x0/0x40", M },
	{ "refcount_t: ", "^refcount_t: \\w", "WARNING", "refcount_t: underflow; use-after-free.", M },
	{ "ref", "^rcuref(?: saturated| - imbalanced)|^refcount_t$", "WARNING", "rcuref - imbalanced put()", M },
	{ "list_", "^list_(?:add|del|add_rcu|del_rcu)\\w*(?: corruption| double add)", "WARNING",
	  "list_del corruption. prev->next should be ffff888012345678, but was ffff888012345679", M },
	{ "DEBUG_", "^DEBUG_(?:LOCKS|RWSEMS|RT_MUTEX)\\w*_WARN_ON\\(", "WARNING", "DEBUG_LOCKS_WARN_ON(lock->magic != lock)", M },
	{ "kobject", "^(?:kobject: )?(?:kobject_add_internal failed for |kobject: .* is not initialized, yet |"
	  "(?:kobject )?\\S+ \\(\\w+\\): (?:tried to (?:init an initialized|add an uninitialized) object|attempted to be registered with empty name))", "WARNING",
	  "kobject_add_internal failed for x with -EEXIST, don't try to register things with the same name in the same directory.", M },
	{ "duplicate filename", "\\bsysfs: cannot create duplicate filename ", "WARNING",
	  "sysfs: cannot create duplicate filename '/class/x'", M | A },
	{ "already registered", "^proc_dir_entry '.*' already registered", "WARNING", "proc_dir_entry 'net/x' already registered", M },
	{ "page dumped because", "^page dumped because: VM_", "WARNING", "page dumped because: VM_BUG_ON_PAGE(PageTail(page))", M },
	{ "rying to vfree()", "^Trying to vfree\\(\\) (?:nonexistent|bad)", "WARNING", "Trying to vfree() nonexistent vm area (000000000badcafe)", M },
	{ "ernel memory ", "\\b[Kk]ernel memory (?:exposure|overwrite) attempt detected", "WARNING",
	  "usercopy: Kernel memory exposure attempt detected from SLUB object 'x' (offset 0, size 9)!", M },
	{ "detected buffer ", "\\bdetected buffer (?:overflow|underflow|overread)", "WARNING",
	  "memcpy: detected buffer overflow: 8 byte write of buffer size 4", M },
	{ "field-spanning", "\\bdetected field-spanning (?:write|read)", "WARNING",
	  "memcpy: detected field-spanning write (size 8) of single field \"x\" at a.c:1 (size 4)", M },
	{ "_panic: text:", "\\bskb_(?:over|under)_panic: text:", "WARNING",
	  "skbuff: skb_over_panic: text:ffffffff81234567 len:9 put:9 head:1 data:1 tail:9 end:8 dev:lo", M | A },
	{ "nbalanced enable", "^Unbalanced enable for IRQ ", "WARNING", "Unbalanced enable for IRQ 5", M },
	{ "rong slab cache", "\\bWrong slab cache\\. ", "WARNING",
	  "cache_from_obj: Wrong slab cache. kmalloc-64 but object is from x", M },
	{ "ssertion fail", "\\b[Aa]ssertion fail(?:ed|ure)\\b", "BUG", "BTRFS: assertion failed: x, in fs/btrfs/x.c:7", M | T },

	/* rust/kernel/lib.rs; arch/arm/mm/alignment.c */
	{ "rust_kernel: ", "\\brust_kernel: panicked\\b", "BUG", "rust_kernel: panicked at drivers/x/x.rs:12:3:", A },
	{ "Alignment trap: ", "^Alignment trap: not handling ", "Oops",
	  "Alignment trap: not handling instruction e1923f9f at [<c01234ab>]", F },

	/* boot code of the architectures: a kernel that starts where one ran already */
	{ "Booting the kernel", "^(?:Uncompressing Linux|Decompressing Linux).*[Bb]ooting the kernel|^Booting the kernel", "reboot",
	  "Booting the kernel.", S | N },

	/* everything else that calls itself one: mm/memory.c, mm/page_alloc.c, fs/dcache.c, lib, kernel/sched */
	{ "BUG: ", "\\bBUG: (?:Bad rss-counter|non-zero |Dentry )", "BUG",
	  "BUG: Bad rss-counter state mm:00000000a1b2c3d4 type:MM_ANONPAGES val:2", A | S },
	{ "BUG: ", "\\bBUG: (?:sleeping function called|scheduling while atomic|using \\S+ in preemptible|"
	  "(?:spinlock|rwlock|rw ?lock|mutex|atomic)\\b|Bad page|workqueue leaked|"
	  "stack guard page|TASK stack|IRQ stack|stack overflow|at \\S+)", "BUG",
	  "usb: BUG: sleeping function called from invalid context at mm/slab.h:421", A },
	{ "BUG: ", "^(?:[\\w.,/@#:-]+(?: [\\w.,/@#:-]+)?(?:\\([\\w -]*\\))?: ){0,3}BUG: \\S", "BUG",
	  "IPv6: BUG: a thing of a kind to come", T },
	{ "BUG", "^(?:[\\w:.-]+: )?(?:LOGIC |Logic )?BUG(?:, | in | BUG )", "BUG", "NEIGH: BUG, double timer add, state is 1f", T },
	{ "in_atomic(): ", "^in_atomic\\(\\): \\d, irqs_disabled\\(\\): \\d", "BUG",
	  "in_atomic(): 1, irqs_disabled(): 0, non_block: 0, pid: 45, name: kswapd0", F },
	{ "caller is ", "^caller is [A-Za-z_][\\w.]*\\+0x", "BUG", "caller is walk_mm+0x1a/0x3b0", F },
	{ " code ", "^BUG \\S+ code -?\\d", "BUG", "BUG eth0 code 7 qlen 7", T },
	{ "BUG:", "^BUG:\\s*$", "BUG", "BUG:", T },
	{ "INFO:", "^INFO:\\s*$", "BUG", "INFO:", T },
};
const size_t splat_nr_kinds = G_N_ELEMENTS(splat_kinds);

const struct splat_innocent splat_innocents[] = {
	{ "ommand line", "^(?:Kernel )?[cC]ommand line: ", "Kernel command line: note=\"Kernel panic - not syncing: x\"", false },
	{ "Unknown kernel", "^Unknown kernel command line parameters", "Unknown kernel command line parameters \"BUG: x\"", false },
	{ "audit: ", "^audit: ", "audit: type=1400 audit(1.2:3): comm=\"BUG: KASAN: x in y\"", false },
	{ ": ", "^(?:systemd|udevd|systemd-\\w+|init|dracut|login|sshd|sh|bash)(?:\\[\\d+\\])?: ",
	  "systemd[1]: BUG: soft lockup detection is a unit's name", false },
	{ "[pid ", "^\\[pid +\\d+\\] ", "[pid  12] BUG: is what it says", false },
	{ "= ", "^\\w+\\(.*\\) += -?\\d", "write(1, \"Kernel panic - not syncing\", 26) = 26", false },
	{ "WARNING", "^(?:kprobe|trace_kprobe|ftrace|event trace|printk|random|ACPI|DMAR|efi|x86/\\S+|Spectre V\\d ?): .*WARNING",
	  "Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on", false },
	{ "traps: ", "^traps: .*\\[\\d+\\].* (?:ip|sp):[0-9a-f]", "traps: a[12] general protection fault ip:401000 sp:7ffd error:0", false },
	{ "no syscalls", "^BUG: no syscalls can create", "BUG: no syscalls can create resource fd", false },
	{ "INFO: ", "\\bINFO: (?:lockdep is turned off|NMI handler|Stall ended before|recovery required)",
	  "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.2 msecs", false },
	{ "Test ", "\\bTest (?:for|of) (?:BUG|WARN)", "Test for BUG: sleeping function", false },
	{ "# ", "^# ", "# BUG: KASAN: expected by its test", false },
	{ "ok ", "^ *(?:not )?ok \\d", "ok 3 - BUG: KASAN: expected by its test", false },
	/* what was asked for: drivers/tty/sysrq.c, lib/fault-inject.c, mm/oom_kill.c, fs/userfaultfd.c */
	{ "sysrq: ", "^sysrq: ", "sysrq: Show State", true },
	{ "FAULT_INJ", "^FAULT_INJECTION: forcing a failure", "FAULT_INJECTION: forcing a failure.", true },
	{ "oom-killer", "\\binvoked oom-killer: ", "hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", true },
	{ "FAULT_FLAG", "^FAULT_FLAG_ALLOW_RETRY missing", "FAULT_FLAG_ALLOW_RETRY missing 30", true },
};
const size_t splat_nr_innocents = G_N_ELEMENTS(splat_innocents);

/*
 * Reporters by name: what prints, what checks on behalf of its caller (fortify,
 * usercopy, refcounts, lists, debug objects), the copies that a caller got wrong,
 * locks and waits, and the entry code of traps.
 */
static const char *const reporters[] = {
	/* printing */
	"dump_stack", "dump_stack_lvl", "__dump_stack", "dump_stack_print_info", "show_stack", "show_trace*",
	"show_regs*", "dump_backtrace*", "dump_trace", "print_report", "print_address_description*", "stack_trace_save",
	"__warn", "__warn_printk", "warn_slowpath_*", "__report_bug", "report_bug*", "handle_bug", "bug_handler",
	"panic", "vpanic", "nmi_panic", "print_tainted", "__show_regs", "end_report", "start_report",
	"check_panic_on_warn", "nbcon_*", "vprintk*", "_printk", "printk", "__warn_thunk",
	"check_usage*", "__sanitizer_cov_*", "nmi_*", "__warn_flushing_systemwide_wq",
	"should_fail*", "__should_fail*", "fail_dump", "print_kernel_ident", "print_irqtrace_events*", "print_lock*",
	/* sanitizers */
	"kasan_*", "__kasan_*", "__asan_*", "asan_*", "check_memory_region*", "check_region_inline", "check_poison_mem",
	"kcsan_*", "__kcsan_*", "__tsan_*", "kmsan_*", "__kmsan_*", "__msan_*", "kfence_*", "__kfence_*",
	"ubsan_*", "__ubsan_*", "handle_overflow", "handle_object_size_mismatch", "ubsan_type_mismatch_common",
	"memcpy*", "memmove*", "memset*", "memcmp*", "memchr*", "memscan*", "__memcpy*", "__memmove*", "__memset*",
	"__pi_memcpy*", "__pi_memset*", "__pi_memmove*", "__pi_memcmp", "__pi_str*",
	"strcpy", "strncpy", "strlcpy", "strscpy", "strcat", "strncat", "strlcat", "strlen", "strnlen", "strcmp",
	"strncmp", "strchr", "strrchr", "strnchr", "strstr", "sized_strscpy", "strcasecmp", "strncasecmp", "strspn",
	"strreplace", "strsep", "str*_user", "_copy_to_user", "_copy_from_user", "copy_to_user*", "copy_from_user*",
	"__copy_*_user*", "clear_user*", "__clear_user", "_copy_to_iter", "_copy_from_iter", "csum_partial*",
	"instrument_*", "cfi_*", "__cfi_*", "report_cfi_failure", "__ubsan_handle_cfi*",
	/* one-line helpers of bits, counts, lists, trees and strings */
	"test_and_*bit*", "_test_bit", "test_bit*", "set_bit*", "clear_bit*", "__set_bit", "__clear_bit", "change_bit*",
	"find_*_bit*", "_find_*_bit*", "bitmap_*", "__bitmap_*", "atomic_*", "atomic64_*", "raw_atomic*", "arch_atomic*",
	"arch_test_*", "__atomic_*", "list_*", "hlist_*", "__hlist_*", "llist_*", "rb_erase*", "rb_insert*", "rb_next", "rb_prev",
	"rb_first*", "__rb_*", "xas_*", "xa_*", "__xa_*", "idr_*", "memzero_explicit", "kmemdup*", "kstrdup*", "vsnprintf",
	"snprintf", "sprintf", "string_nocheck", "percpu_ref_*", "percpu_counter_*", "string", "pointer", "format_decode",
	"vscnprintf", "seq_printf", "seq_puts", "kasprintf", "kvasprintf*", "radix_tree_*", "__radix_tree_*", "ida_*", "lockref_*",
	"mas_*", "mtree_*", "__mt_*", "copy_page*", "clear_page*", "copy_mc_*", "copy_highpage", "__arch_copy*", "__arch_clear_user",
	"raw_copy_*", "__raw_copy_*", "__get_user_*", "__put_user_*", "iov_iter_*", "csum_and_copy_*", "do_csum", "crc32*",
	/* addresses, mappings and references of pages */
	"__phys_addr*", "__virt_to_phys*", "virt_to_*", "__virt_addr_valid", "vmalloc_to_*", "kmap*", "kunmap*", "__kmap*", "__kunmap*",
	"folio_get", "folio_put*", "__folio_put*", "put_page*", "get_page", "try_get_page", "try_get_folio", "try_grab_*", "folio_ref_*",
	"page_ref_*", "folio_unlock", "unlock_page", "folio_lock", "lock_page", "folio_end_writeback*", "end_page_writeback",
	"page_counter_*", "mmap_assert_*", "vma_assert_*", "rwsem_assert_*", "assert_*locked*", "lockdep_assert*",
	/* checks on behalf of the caller */
	"fortify_panic", "__fortify_panic", "__fortify_report", "fortify_report", "usercopy_abort", "__check_object_size*",
	"check_heap_object", "__check_heap_object", "check_object_size", "check_stack_object", "__stack_chk_fail",
	"refcount_warn_saturate", "__refcount_*", "refcount_*", "kref_*", "debug_print_object", "debug_object_*",
	"__debug_object_*", "debug_check_no_obj_freed", "__debug_check_no_obj_freed", "debug_objects_*",
	"debug_timer_*", "debug_work_*", "debug_hrtimer_*", "debug_rcu_head_*",
	"__list_add_valid*", "__list_del_entry_valid*", "__list_add", "__list_del_entry",
	"kobject_warn", "skb_panic", "skb_over_panic", "skb_under_panic", "skb_put*", "skb_push", "skb_pull*", "check_preemption_disabled", "debug_smp_processor_id", "__this_cpu_preempt_check",
	"__might_resched", "___might_sleep", "__might_sleep", "__might_fault", "might_fault", "__cant_sleep", "__cant_migrate",
	"warn_alloc", "bad_page", "bad_page_state", "print_bad_pte", "print_bad_page_map", "dump_page", "free_page_is_bad*",
	"check_new_page*", "check_free_page*", "free_pages_prepare", "__free_pages_ok",
	"__free_frozen_pages", "get_page_from_freelist", "__alloc_pages*", "alloc_pages*", "__alloc_frozen_pages*",
	"__folio_alloc*", "folio_alloc*", "vma_alloc_folio*", "rmqueue*", "prep_new_page", "post_alloc_hook",
	"slab_err", "object_err", "slab_bug", "slab_fix", "slab_pad_check", "check_bytes_and_report", "check_object",
	"check_slab", "print_trailer", "print_page_info", "free_debug_processing*", "alloc_debug_processing*",
	"free_to_partial_list", "__slab_free", "___slab_alloc", "__slab_alloc*", "slab_free*", "slab_alloc*",
	"kfree", "kvfree", "kmem_cache_free*", "kmem_cache_alloc*", "__kmem_cache_alloc*", "__kmem_cache_free*",
	"kmalloc*", "__kmalloc*", "__do_kmalloc*", "kzalloc*", "krealloc*", "kvmalloc*", "__kvmalloc*", "kmem_cache_destroy",
	"vmalloc*", "__vmalloc*", "vzalloc*", "vfree", "save_stack*", "set_track*",
	/* locks, RCU, waits, stalls */
	"lockdep_*", "print_circular_bug*", "check_noncircular", "check_prev_add", "check_prevs_add", "check_path",
	"check_irq_usage", "check_deadlock", "check_chain_key", "check_wait_context", "check_redundant",
	"__lock_acquire", "lock_acquire*", "__lock_release", "lock_release", "lock_set_class", "lock_downgrade",
	"__lock_set_class", "validate_chain", "valid_state", "mark_lock*", "mark_held_locks", "mark_usage",
	"print_usage_bug*", "print_deadlock_bug", "print_bad_irq_dependency", "print_unlock_imbalance_bug",
	"print_irq_inversion_bug*", "print_lock_invalid_wait_context", "print_freed_lock_bug", "debug_check_no_locks_*",
	"print_held_locks_bug", "register_lock_class", "assign_lock_key", "__rcu_*", "rcu_lock_*", "rcu_note_*",
	"_raw_*", "__raw_*", "do_raw_*", "queued_spin_lock_slowpath", "native_queued_spin_lock_slowpath", "spin_bug",
	"spin_dump", "rwlock_bug", "arch_spin_lock", "debug_spin_*", "mutex_lock*", "__mutex_lock*", "mutex_unlock*",
	"__mutex_unlock*", "mutex_spin_on_owner", "down_read*", "down_write*", "__down_read*", "__down_write*",
	"up_read*", "up_write*", "__up_read", "__up_write", "rwsem_*", "rt_spin_*", "rt_mutex_*", "__rt_mutex_*",
	"rtlock_*", "percpu_down_read*", "percpu_rwsem_*", "down", "__down*", "down_*interruptible", "might_alloc",
	"__schedule*", "schedule*", "__schedule_bug", "preempt_schedule*", "context_switch", "schedule_debug",
	"wait_for_completion*", "__wait_for_common", "wait_for_common", "do_wait_for_common", "io_schedule*",
	"bit_wait*", "__wait_on_bit*", "out_of_line_wait_on_bit*", "prepare_to_wait*", "fs_reclaim_acquire",
	"watchdog_*", "check_hung_*", "watchdog", "rcu_check_*", "print_cpu_stall*", "print_other_cpu_stall*",
	"rcu_sched_clock_irq", "rcu_dump_cpu_stacks", "sched_show_task", "nmi_cpu_backtrace*", "nmi_trigger_cpumask_backtrace",
	"update_process_times", "tick_*", "__hrtimer_run_queues", "hrtimer_interrupt", "smp_call_function_*",
	"csd_lock_wait*", "__cmpwait*", "dump_header", "oom_kill_process", "out_of_memory", "mem_cgroup_out_of_memory",
	"dump_task*", "__wake_up*", "wake_up*", "try_to_wake_up", "swake_up*", "complete", "complete_all", "add_wait_queue*",
	"remove_wait_queue*", "finish_wait", "autoremove_wake_function", "default_wake_function", "on_each_cpu*", "call_rcu*",
	"__call_rcu*", "kvfree_call_rcu", "synchronize_rcu*", "synchronize_srcu*",
	/* timers, work, interrupts, objects and DMA of a caller */
	"__mod_timer", "mod_timer*", "add_timer*", "del_timer*", "timer_delete*", "timer_shutdown*", "__timer_delete*", "try_to_del_timer*",
	"hrtimer_start*", "hrtimer_cancel", "hrtimer_try_to_cancel", "__flush_work*", "flush_work*", "flush_delayed_work", "flush_rcu_work",
	"drain_workqueue", "destroy_workqueue", "check_flush_dependency", "start_flush_work", "__queue_work", "queue_work_on",
	"__queue_delayed_work", "queue_delayed_work_on", "mod_delayed_work_on", "cancel_work*", "cancel_delayed_work*", "__cancel_work*",
	"kobject_*", "sysfs_warn_dup", "sysfs_create_*", "sysfs_remove_*", "sysfs_add_*", "internal_create_group*", "kernfs_remove_by_name*",
	"remove_proc_entry", "remove_proc_subtree", "proc_register", "proc_create*", "__enable_irq", "enable_irq", "disable_irq*",
	"free_irq", "__free_irq", "check_unmap", "check_sync", "check_for_stack", "check_for_illegal_area", "add_dma_entry", "debug_dma_*",
	"dma_map_*", "dma_unmap_*", "dma_free_*", "dma_alloc_*", "__static_key_slow_*", "static_key_slow_*", "jump_label_update",
	"module_put", "__put_task_struct*", "__put_cred", "css_put", "css_get", "dst_release",
	/* traps and interrupts of all architectures */
	"die", "__die*", "die_*", "oops_*", "do_trap*", "do_error_trap", "exc_*", "asm_exc_*", "do_invalid_op", "invalid_op",
	"do_general_protection", "general_protection", "do_divide_error", "divide_error", "page_fault*", "do_page_fault*",
	"__do_page_fault", "async_page_fault", "no_context", "bad_area*", "__bad_area*", "kernelmode_fixup_or_oops",
	"spurious_kernel_fault", "double_fault", "do_double_fault", "fixup_bug*", "error_entry", "asm_sysvec_*", "sysvec_*",
	"__sysvec_*", "__do_softirq", "handle_softirqs", "__irq_exit_rcu", "irq_exit*", "asm_common_interrupt",
	"apic_timer_interrupt", "smp_apic_timer_interrupt", "local_apic_timer_interrupt",
	"call_break_hook", "brk_handler", "do_debug_exception", "do_el1_brk64", "el1_brk64", "el1_dbg", "el1_abort", "el1_sync*",
	"el1_undef", "el1_irq", "el1h_64_*", "el1_interrupt", "el1t_64_*", "do_undefinstr", "do_el1_undef", "do_mem_abort",
	"do_sea", "do_translation_fault", "do_bad", "do_bad_area", "do_serror", "arm64_serror_panic", "do_sp_pc_abort",
	"arm64_notify_die", "__do_kernel_fault", "do_DataAbort", "__dabt_svc", "__und_svc", "do_PrefetchAbort",
	"do_trap_break", "do_trap_*", "handle_break", "handle_exception", "ret_from_exception", "do_traps", "die_kernel_fault",
	"program_check_exception", "program_check_common*", "do_program_check", "data_access_common*", "data_access_exception",
	"unrecoverable_exception", "interrupt_return*", "hash__do_page_fault", "do_hash_fault", "handle_page_fault",
	"___do_page_fault", "bad_page_fault*", "_exception*", "__pgm_check*", "pgm_check_handler", "monitor_event_exception",
	"do_dat_exception", "do_protection_exception", "do_report_trap", "illegal_op", "addressing_exception",
	"kernel_stack_overflow", "stack_overflow", "handle_stack_overflow",
};

/* How the kernel was entered, and what runs a thread or a work: below the frames that tell one bug from another */
static const char *const endings[] = {
	"do_syscall_*", "x64_sys_call", "entry_SYSCALL_*", "entry_INT80_*", "entry_SYSENTER_*", "do_int80_*", "do_fast_syscall_*",
	"ia32_sys_call", "invoke_syscall*", "el0_svc*", "el0t_64_*", "el0t_32_*", "do_el0_svc*", "ret_from_fork*", "ret_fast_syscall",
	"kthread", "worker_thread", "process_one_work", "process_scheduled_works", "system_call_*", "do_trap_ecall_u", "ret_from_kernel_thread*",
	"syscall_handler", "__do_syscall", "call_on_stack", "start_kernel", "x86_64_start_*", "secondary_startup_64*", "common_startup_64",
	"do_one_initcall", "do_initcall*", "kernel_init*", "do_group_exit", "get_signal",
};

struct names {
	GHashTable *whole;
	GPtrArray *patterns;
};

static bool among(struct names *n, const char *const *all, gsize nr, const char *function)
{
	if (!n->whole) {
		n->patterns = g_ptr_array_new();
		n->whole = g_hash_table_new(g_str_hash, g_str_equal);
		for (gsize i = 0; i < nr; i++) {
			if (strpbrk(all[i], "*?"))
				g_ptr_array_add(n->patterns, g_pattern_spec_new(all[i]));
			else
				g_hash_table_add(n->whole, (gpointer)all[i]);
		}
	}
	if (g_hash_table_contains(n->whole, function))
		return true;
	for (guint i = 0; i < n->patterns->len; i++)
		if (g_pattern_spec_match_string(g_ptr_array_index(n->patterns, i), function))
			return true;
	return false;
}

bool splat_reporter(const char *function)
{
	static struct names names;

	return among(&names, reporters, G_N_ELEMENTS(reporters), function);
}

bool splat_ending(const char *function)
{
	static struct names names;

	return among(&names, endings, G_N_ELEMENTS(endings), function);
}

/* First match counts; names of one thing in several kernels are one family */
static const struct {
	const char *pattern, *family;
} families[] = {
	{ "*refcount_*", "refcount" }, { "kref_*", "refcount" },
	{ "debug_*obj*", "debugobjects" }, { "__debug_*obj*", "debugobjects" }, { "debug_timer_*", "debugobjects" },
	{ "debug_work_*", "debugobjects" }, { "debug_hrtimer_*", "debugobjects" }, { "debug_rcu_head_*", "debugobjects" },
	{ "*fortify_*", "fortify" }, { "usercopy_abort", "usercopy" }, { "check_heap_object", "usercopy" },
	{ "__check_heap_object", "usercopy" }, { "*check_object_size*", "usercopy" }, { "check_stack_object", "usercopy" },
	{ "*hlist_*", "list" }, { "*list_*", "list" }, { "percpu_ref_*", "percpu_ref" }, { "percpu_counter_*", "percpu_counter" },
	{ "mem*", "string" }, { "__mem*", "string" }, { "__pi_*", "string" }, { "str*_user", "user" },
	{ "str*", "string" }, { "*copy_*user*", "user" }, { "*clear_user*", "user" }, { "*get_user*", "user" }, { "*put_user*", "user" },
	{ "rb_*", "rbtree" }, { "__rb_*", "rbtree" }, { "xa*", "xarray" }, { "__xa*", "xarray" }, { "*radix_tree_*", "xarray" },
	{ "idr_*", "idr" }, { "ida_*", "idr" }, { "mas_*", "maple" }, { "mtree_*", "maple" }, { "__mt_*", "maple" },
	{ "*virt_*", "address" }, { "__phys_addr*", "address" }, { "vmalloc_to_*", "address" }, { "*kmap*", "kmap" }, { "*kunmap*", "kmap" },
	{ "*vmalloc*", "vmalloc" }, { "vzalloc*", "vmalloc" }, { "vfree", "vmalloc" }, { "*alloc_pages*", "pages" },
	{ "*alloc_frozen_pages*", "pages" }, { "*folio_alloc*", "pages" }, { "vma_alloc_folio*", "pages" }, { "get_page_from_freelist", "pages" },
	{ "rmqueue*", "pages" }, { "*kmalloc*", "slab" }, { "kzalloc*", "slab" }, { "krealloc*", "slab" }, { "*kmem_cache_*", "slab" },
	{ "kfree", "slab" }, { "kvfree", "slab" }, { "*slab_*", "slab" }, { "*folio_put*", "folio reference" }, { "put_page*", "folio reference" },
	{ "*get_page", "folio reference" }, { "try_g*", "folio reference" }, { "folio_get", "folio reference" }, { "*lock_page", "folio lock" },
	{ "folio_*lock", "folio lock" }, { "*_writeback*", "writeback" }, { "page_counter_*", "page_counter" }, { "*assert*", "assert" },
	{ "mutex_*", "mutex" }, { "__mutex_*", "mutex" }, { "down_*", "rwsem" }, { "up_*", "rwsem" }, { "*rwsem_*", "rwsem" },
	{ "*rt_mutex_*", "rtmutex" }, { "*raw_*lock*", "spinlock" }, { "lock*", "lockdep" }, { "__lock*", "lockdep" },
	{ "*timer*", "timer" }, { "*work*", "work" }, { "*kobject_*", "kobject" }, { "*sysfs_*", "sysfs" }, { "*proc_*", "proc" },
	{ "*_irq*", "irq" }, { "*dma_*", "dma" }, { "check_unmap", "dma" }, { "check_sync", "dma" }, { "*static_key_*", "static key" },
	{ "skb_*", "skb" }, { "*wake_up*", "wake" }, { "complete*", "wake" }, { "css_*", "css" }, { "*call_rcu*", "rcu" }, { "rcu_*", "rcu" },
	{ "*bitmap_*", "bitmap" }, { "*_bit*", "bit" }, { "*atomic*", "atomic" }, { "iov_iter_*", "iov_iter" },
};

const char *splat_family(const char *reporter)
{
	for (gsize i = 0; i < G_N_ELEMENTS(families); i++)
		if (g_pattern_match_simple(families[i].pattern, reporter))
			return families[i].family;
	return NULL;
}
