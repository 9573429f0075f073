// SPDX-License-Identifier: GPL-2.0-only
/* An edit script, and the text it is applied to */
#include "fuzz.h"
#include "source/source.h"

static const char code[] =
	"static int walk(int a)\n{\n\tif (a)\n\t\treturn 1;\n\treturn 0;\n}\n\n"
	"int other(void)\n{\n\treturn walk(2);\n}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GPtrArray *edits = g_ptr_array_new_with_free_func((GDestroyNotify)edit_free);
	GKeyFile *kf = g_key_file_new();
	char *text = fuzz_text(data, size);

	if (g_key_file_load_from_data(kf, text, strlen(text), G_KEY_FILE_NONE, NULL) &&
	    edit_read_groups(kf, "x", edits, NULL)) {
		for (guint i = 0; i < edits->len; i++) {
			g_free(edit_apply_text(edits->pdata[i], code, NULL));
			g_free(edit_apply_text(edits->pdata[i], text, NULL));
		}
	}
	g_ptr_array_unref(edits);
	g_key_file_unref(kf);
	g_free(text);
	return 0;
}
