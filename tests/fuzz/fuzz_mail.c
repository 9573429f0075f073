// SPDX-License-Identifier: GPL-2.0-only
/* Mails and the patches in them */
#include "fuzz.h"
#include "source/mailbox.h"
#include "source/patch.h"

static bool exists(const char *path, void *data)
{
	(void)data;
	return !strcmp(path, "mm/vmscan.c");
}

static void patch(const GPtrArray *changes)
{
	GPtrArray *paths = patch_paths(changes, patch_strip(changes, exists, NULL), NULL);

	for (guint i = 0; paths && i < paths->len; i++)
		must(*(char *)paths->pdata[i] != '/' && !strstr(paths->pdata[i], "/../"));
	if (paths)
		g_ptr_array_unref(paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_file("x.mbox", data, size);
	GPtrArray *mails = g_ptr_array_new_with_free_func(mail_free), *list;
	guint odd;

	if (mails_read(path, "x", mails, NULL)) {
		for (guint i = 0; i < mails->len; i++) {
			struct mail *m = mails->pdata[i];

			if (m->changes)
				patch(m->changes);
		}
		list = mails_select(mails, NULL);
		if (list)
			g_ptr_array_unref(list);
	}
	g_ptr_array_unref(mails);
	list = patch_changes((const char *)data, size, NULL);
	if (list) {
		patch(list);
		g_ptr_array_unref(list);
	}
	list = mailbox_read(path, &odd, NULL);
	if (list) {
		GPtrArray *series = mailbox_series(list);

		g_ptr_array_unref(series);
		g_ptr_array_unref(list);
	}
	g_free(path);
	return 0;
}
