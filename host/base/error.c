// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors: one line, and the exit status that it deserves.
 */
#include "base/base.h"

GQuark mmg_error_quark(void)
{
	return g_quark_from_static_string("mmgate");
}

void mmg_set_error(GError **err, enum mmg_exit status, const char *fmt, ...)
{
	va_list ap;
	char *text, *clean;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	clean = mmg_clean(text, -1, 4000);
	g_set_error_literal(err, MMG_ERROR, status, clean);
	g_free(clean);
	g_free(text);
}
