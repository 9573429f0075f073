// SPDX-License-Identifier: GPL-2.0-only
/*
 * C as libclang reads it (clang-c/Index.h).  The library is opened when it is needed: it is large,
 * and only `mutants --generate` has use for it.
 *
 * The tree says what a place is, the text says whether it stands there as such: places that a macro
 * makes have the text of the macro's call, which is no operator and no literal, and are passed over.
 */
#include "source/cparse.h"

#include <string.h>

#ifdef LIBCLANG

#include <clang-c/Index.h>
#include <dlfcn.h>

#define CALLS(X) \
	X(clang_createIndex) X(clang_disposeIndex) X(clang_parseTranslationUnit2) X(clang_disposeTranslationUnit) \
	X(clang_getTranslationUnitCursor) X(clang_visitChildren) X(clang_getCursorKind) X(clang_getCursorExtent) \
	X(clang_getRangeStart) X(clang_getRangeEnd) X(clang_getFileLocation) X(clang_getFile) X(clang_File_isEqual) \
	X(clang_getCursorSpelling) X(clang_getCString) X(clang_disposeString) X(clang_isCursorDefinition) \
	X(clang_Cursor_getNumArguments) X(clang_Cursor_getArgument) X(clang_getCursorType) X(clang_getCanonicalType) \
	X(clang_equalTypes) X(clang_isExpression) X(clang_getCursorResultType)

static struct {
#define X(name) __typeof__(name) *name;
	CALLS(X)
#undef X
} lib;

static bool open_library(GError **err)
{
	static const char *const names[] = { LIBCLANG, "libclang.so.1", "libclang.so" };
	static void *handle;

	for (size_t i = 0; !handle && i < G_N_ELEMENTS(names); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "generating mutants needs libclang: %s; install libclang-dev", dlerror());
		return false;
	}
#define X(name) \
	do { \
		void *sym = dlsym(handle, #name); \
		if (!sym) { \
			mmg_set_error(err, MMG_EXIT_BROKEN, "libclang has no %s: it is too old", #name); \
			return false; \
		} \
		memcpy(&lib.name, &sym, sizeof(sym)); \
	} while (0);
	CALLS(X)
#undef X
	return true;
}

struct c_file {
	CXIndex index;
	CXTranslationUnit unit;
	CXFile file;
	char *text;
	size_t len;
};

bool c_parser_here(GError **err)
{
	return open_library(err);
}

struct c_file *c_file_parse(const char *path, const char *text, const char *const *flags, GError **err)
{
	struct CXUnsavedFile unsaved = { .Filename = path, .Contents = text, .Length = strlen(text) };
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	struct c_file *f;

	if (!open_library(err))
		return NULL;
	for (; flags && *flags; flags++)
		g_ptr_array_add(argv, (char *)*flags);
	/* what is for another compiler is not worth a word here */
	g_ptr_array_add(argv, (char *)"-w");
	g_ptr_array_add(argv, (char *)"-Wno-error");
	g_ptr_array_add(argv, (char *)"-ferror-limit=0");
	f = g_new0(struct c_file, 1);
	f->text = g_strdup(text);
	f->len = strlen(text);
	f->index = lib.clang_createIndex(0, 0);
	if (lib.clang_parseTranslationUnit2(f->index, path, (const char *const *)argv->pdata, argv->len, &unsaved, 1,
					    CXTranslationUnit_KeepGoing, &f->unit) || !f->unit) {
		mmg_set_error(err, MMG_EXIT_BROKEN, "libclang cannot parse %s", path);
		c_file_free(f);
		return NULL;
	}
	f->file = lib.clang_getFile(f->unit, path);
	return f;
}

void c_file_free(struct c_file *f)
{
	if (!f)
		return;
	if (f->unit)
		lib.clang_disposeTranslationUnit(f->unit);
	if (f->index)
		lib.clang_disposeIndex(f->index);
	g_free(f->text);
	g_free(f);
}

/**
 * struct visit - what a walk of the tree knows
 * @result:	of the function that it is in: 'b', 'i', 'p' or 0
 */
struct visit {
	const struct c_file *f;
	const char *function;
	GArray *sites;
	char result;
};

/* Where @c stands in the file itself; false where that is elsewhere or nowhere */
static bool span_of(const struct c_file *f, CXCursor c, struct c_span *span)
{
	CXSourceRange range = lib.clang_getCursorExtent(c);
	CXFile a = NULL, b = NULL;

	lib.clang_getFileLocation(lib.clang_getRangeStart(range), &a, NULL, NULL, &span->begin);
	lib.clang_getFileLocation(lib.clang_getRangeEnd(range), &b, NULL, NULL, &span->end);
	return a && b && lib.clang_File_isEqual(a, f->file) && lib.clang_File_isEqual(b, f->file) &&
	       span->begin < span->end && span->end <= f->len;
}

/* The character before @at, and the one at or after it, white space aside; 0 at an end */
static char before(const struct c_file *f, unsigned int at)
{
	while (at && g_ascii_isspace(f->text[at - 1]))
		at--;
	return at ? f->text[at - 1] : 0;
}

static char after(const struct c_file *f, unsigned int at)
{
	while (at < f->len && g_ascii_isspace(f->text[at]))
		at++;
	return at < f->len ? f->text[at] : 0;
}

static void add(struct visit *v, const struct c_site *site)
{
	for (guint i = 0; i < v->sites->len; i++) {
		const struct c_site *s = &g_array_index(v->sites, struct c_site, i);

		if (s->kind == site->kind && s->span.begin == site->span.begin && s->span.end == site->span.end &&
		    s->first.begin == site->first.begin && s->second.begin == site->second.begin &&
		    s->first.end == site->first.end)
			return;
	}
	g_array_append_vals(v->sites, site, 1);
}

/* ---- children as a list ---- */

static enum CXChildVisitResult collect(CXCursor c, CXCursor parent, CXClientData data)
{
	(void)parent;
	g_array_append_vals(data, &c, 1);
	return CXChildVisit_Continue;
}

static GArray *children(CXCursor c)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(CXCursor));

	lib.clang_visitChildren(c, collect, list);
	return list;
}

/* ---- kinds of sites ---- */

/* A condition stands between what the syntax puts around it: one of a macro's body does not */
static void add_condition(struct visit *v, CXCursor c, const char *opens, const char *closes)
{
	struct c_site s = { .kind = C_CONDITION };
	char o, e;

	if (!span_of(v->f, c, &s.span))
		return;
	o = before(v->f, s.span.begin);
	e = after(v->f, s.span.end);
	if (o && e && strchr(opens, o) && strchr(closes, e))
		add(v, &s);
}

static bool is_goto(enum CXCursorKind kind)
{
	return kind == CXCursor_BreakStmt || kind == CXCursor_ContinueStmt || kind == CXCursor_GotoStmt;
}

/* @c as a statement of its own: what a macro expands to, such as do { } while (0), counts as its call */
static void add_statement(struct visit *v, CXCursor c)
{
	enum CXCursorKind kind = lib.clang_getCursorKind(c);
	struct c_site s = { .kind = C_STATEMENT };
	char o;

	if (!(lib.clang_isExpression(kind) || is_goto(kind) || kind == CXCursor_DoStmt) || !span_of(v->f, c, &s.span))
		return;
	if (after(v->f, s.span.end) != ';')
		return;
	if (kind == CXCursor_DoStmt && g_str_has_prefix(v->f->text + s.span.begin, "do"))
		return;
	o = before(v->f, s.span.begin);
	/* after a statement, a bracket, a label, a condition; "else" and "do" end in a letter */
	if (o && (strchr("{};):", o) || g_ascii_isalpha(o)))
		add(v, &s);
}

static void add_binary(struct visit *v, CXCursor c)
{
	struct c_site s = { .kind = C_BINARY };
	g_autoptr(GArray) operands = children(c);
	g_autofree char *op = NULL;

	if (operands->len != 2 || !span_of(v->f, c, &s.span) ||
	    !span_of(v->f, g_array_index(operands, CXCursor, 0), &s.first) ||
	    !span_of(v->f, g_array_index(operands, CXCursor, 1), &s.second) || s.first.end >= s.second.begin)
		return;
	op = g_strstrip(g_strndup(v->f->text + s.first.end, s.second.begin - s.first.end));
	if (!*op || strlen(op) >= sizeof(s.op) || strspn(op, "<>=!&|^+-*/%") != strlen(op))
		return;
	g_strlcpy(s.op, op, sizeof(s.op));
	add(v, &s);
}

static void add_number(struct visit *v, CXCursor c)
{
	struct c_site s = { .kind = C_NUMBER };

	if (!span_of(v->f, c, &s.span))
		return;
	for (unsigned int i = s.span.begin; i < s.span.end; i++)
		if (!g_ascii_isalnum(v->f->text[i]))
			return;
	if (g_ascii_isdigit(v->f->text[s.span.begin]))
		add(v, &s);
}

static void add_return(struct visit *v, CXCursor c)
{
	struct c_site s = { .kind = C_RETURN, .type = v->result };
	g_autoptr(GArray) value = children(c);
	struct c_span whole;

	if (value->len != 1 || !v->result || !span_of(v->f, c, &whole) ||
	    !span_of(v->f, g_array_index(value, CXCursor, 0), &s.span))
		return;
	if (g_str_has_prefix(v->f->text + whole.begin, "return") && after(v->f, s.span.end) == ';' &&
	    s.span.begin > whole.begin)
		add(v, &s);
}

/* The only thing between two neighbours in a list of arguments is a comma, and brackets balance */
static bool is_argument(const struct c_file *f, const struct c_span *a)
{
	char o = before(f, a->begin), e = after(f, a->end);

	return o && e && strchr("(,", o) && strchr("),", e);
}

static void add_arguments(struct visit *v, CXCursor call)
{
	int n = lib.clang_Cursor_getNumArguments(call);
	struct c_site s = { .kind = C_ARGUMENTS };

	if (n < 2 || !span_of(v->f, call, &s.span))
		return;
	for (int i = 0; i < n; i++) {
		CXCursor a = lib.clang_Cursor_getArgument(call, i);
		CXType ta = lib.clang_getCanonicalType(lib.clang_getCursorType(a));

		if (!span_of(v->f, a, &s.first) || !is_argument(v->f, &s.first))
			continue;
		for (int j = i + 1; j < n; j++) {
			CXCursor b = lib.clang_Cursor_getArgument(call, j);

			if (!span_of(v->f, b, &s.second) || !is_argument(v->f, &s.second) || s.first.end > s.second.begin ||
			    !lib.clang_equalTypes(ta, lib.clang_getCanonicalType(lib.clang_getCursorType(b))))
				continue;
			if (s.first.end - s.first.begin == s.second.end - s.second.begin &&
			    !memcmp(v->f->text + s.first.begin, v->f->text + s.second.begin,
				    s.first.end - s.first.begin))
				continue;
			add(v, &s);
		}
	}
}

/* ---- the walk ---- */

/* Statements and conditions that are children of @c by its kind */
static void add_parts(struct visit *v, CXCursor c, enum CXCursorKind kind)
{
	g_autoptr(GArray) parts = children(c);
	const CXCursor *p = (const CXCursor *)parts->data;
	guint n = parts->len;

	switch (kind) {
	case CXCursor_CompoundStmt:
		for (guint i = 0; i < n; i++)
			add_statement(v, p[i]);
		break;
	case CXCursor_IfStmt:
		if (n)
			add_condition(v, p[0], "(", ")");
		for (guint i = 1; i < n; i++)
			add_statement(v, p[i]);
		break;
	case CXCursor_WhileStmt:
		if (n > 1) {
			add_condition(v, p[0], "(", ")");
			add_statement(v, p[1]);
		}
		break;
	case CXCursor_DoStmt:
		if (n > 1)
			add_condition(v, p[1], "(", ")");
		break;
	case CXCursor_ForStmt:
		/* parts that are left out are not there: the condition is the one between semicolons */
		for (guint i = 0; i + 1 < n; i++)
			add_condition(v, p[i], ";", ";");
		if (n)
			add_statement(v, p[n - 1]);
		break;
	case CXCursor_ConditionalOperator:
		if (n)
			add_condition(v, p[0], "(=,;&|!{}", "?");
		break;
	case CXCursor_CaseStmt:
	case CXCursor_DefaultStmt:
	case CXCursor_LabelStmt:
		if (n)
			add_statement(v, p[n - 1]);
		break;
	default:
		break;
	}
}

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data)
{
	enum CXCursorKind kind = lib.clang_getCursorKind(c);
	struct visit *v = data;

	(void)parent;
	add_parts(v, c, kind);
	switch (kind) {
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
		add_binary(v, c);
		break;
	case CXCursor_IntegerLiteral:
		add_number(v, c);
		break;
	case CXCursor_ReturnStmt:
		add_return(v, c);
		break;
	case CXCursor_CallExpr:
		add_arguments(v, c);
		break;
	default:
		break;
	}
	return CXChildVisit_Recurse;
}

static char result_of(CXCursor function)
{
	CXType t = lib.clang_getCanonicalType(lib.clang_getCursorResultType(function));

	if (t.kind == CXType_Bool)
		return 'b';
	if (t.kind == CXType_Pointer)
		return 'p';
	if ((t.kind >= CXType_Char_U && t.kind <= CXType_Int128) || t.kind == CXType_Enum)
		return 'i';
	return 0;
}

static enum CXChildVisitResult visit_top(CXCursor c, CXCursor parent, CXClientData data)
{
	struct visit *v = data;
	CXString name;
	struct c_span span;

	(void)parent;
	if (lib.clang_getCursorKind(c) != CXCursor_FunctionDecl || !lib.clang_isCursorDefinition(c))
		return CXChildVisit_Continue;
	name = lib.clang_getCursorSpelling(c);
	if (!strcmp(lib.clang_getCString(name) ?: "", v->function) && span_of(v->f, c, &span)) {
		v->result = result_of(c);
		lib.clang_visitChildren(c, visit, v);
	}
	lib.clang_disposeString(name);
	return CXChildVisit_Continue;
}

static int by_place(gconstpointer a, gconstpointer b)
{
	const struct c_site *x = a, *y = b;

	if (x->span.begin != y->span.begin)
		return x->span.begin < y->span.begin ? -1 : 1;
	if (x->span.end != y->span.end)
		return x->span.end < y->span.end ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

GArray *c_file_sites(const struct c_file *f, const char *function)
{
	struct visit v = { .f = f, .function = function, .sites = g_array_new(FALSE, TRUE, sizeof(struct c_site)) };

	lib.clang_visitChildren(lib.clang_getTranslationUnitCursor(f->unit), visit_top, &v);
	g_array_sort(v.sites, by_place);
	return v.sites;
}

#else /* LIBCLANG */

struct c_file {
	char none;
};

bool c_parser_here(GError **err)
{
	mmg_set_error(err, MMG_EXIT_BROKEN, "generating mutants needs libclang, and mmgate was built without its header: "
		      "install libclang-dev and build anew");
	return false;
}

struct c_file *c_file_parse(const char *path, const char *text, const char *const *flags, GError **err)
{
	(void)path;
	(void)text;
	(void)flags;
	c_parser_here(err);
	return NULL;
}

GArray *c_file_sites(const struct c_file *f, const char *function)
{
	(void)f;
	(void)function;
	return g_array_new(FALSE, TRUE, sizeof(struct c_site));
}

void c_file_free(struct c_file *f)
{
	(void)f;
}

#endif /* LIBCLANG */
