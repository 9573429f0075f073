// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of JSON objects that may be absent or of another type than expected.
 */
#include "base/base.h"

const char *obj_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

double obj_num(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

json_int_t obj_int(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

bool obj_bool(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

