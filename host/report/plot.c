// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pictures, drawn by gnuplot.  It is given numbers, and words of ours or words
 * cut down to letters and digits: nothing that came from the guest gets into
 * its script as it is.
 */
#include "base/scratch.h"
#include "report/report.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX	720	/* of a picture of eviction order */
#define ZONES_MAX	6

struct plots {
	char *dir;
	GString *script;
	int n;
	bool drawn;
};

static const char *const age_colours[] = {
	"#d1495b", "#d98324", "#8f9e3c", "#2f87b7", "#7767a8", "#808080", "#808080", "#808080",
};

/* Ages from hot to cold: the coldest is always the blue one */
static const char *age_colour(const struct order *o, guint age)
{
	return o->nages > 1 && age == o->nages - 1 ? age_colours[3] : age_colours[age];
}

static const char *age_name(const struct order *o, guint age)
{
	static const char *const names[] = { "hot", "age 1", "age 2", "age 3", "age 4", "age 5",
					     "age 6", "age 7" };

	return o->nages > 1 && age == o->nages - 1 ? "cold" : names[age];
}

static const char *const zone_colours[] = {
	"#2f87b7", "#d98324", "#5b9a4b", "#d1495b", "#7767a8", "#808080",
};

struct plots *plots_new(void)
{
	struct plots *p = g_new0(struct plots, 1);

	p->script = g_string_new("set encoding utf8\nset style data lines\n");
	return p;
}

void plots_free(struct plots *p)
{
	if (!p)
		return;
	if (p->dir)
		mmg_rmtree(p->dir);
	g_free(p->dir);
	g_string_free(p->script, TRUE);
	g_free(p);
}

void series_free(void *data)
{
	struct series *s = data;

	g_free(s->name);
	g_array_unref(s->values);
	g_free(s);
}

/* Letters, digits and a few marks of @s, so that it can stand in a script; g_free() it */
static char *word(const char *s)
{
	GString *out = g_string_new(NULL);

	for (; *s && out->len < 32; s++)
		if (g_ascii_isalnum(*s) || strchr("_.- ", *s))
			g_string_append_c(out, *s);
	return g_string_free(out, FALSE);
}

static int begin(struct plots *p, int width, int height)
{
	g_string_append_printf(p->script,
			       "reset\nset terminal svg size %d,%d dynamic noenhanced font 'sans-serif,13'\n"
			       "set output 'plot%d.svg'\nset key outside top center horizontal\n"
			       "set border 3\nset tics nomirror out\n", width, height, p->n);
	return p->n++;
}

/* Each page a short dash at (page, step), as one path; every age in a lane of its own */
static void order_points(GString *s, const struct order *o, guint age, guint every)
{
	double dash = (double)o->n / 130;
	double lane = o->nages > 1 ? 0.5 * (0.5 - (double)age / (o->nages - 1)) : 0;

	g_string_append_printf(s, "$a%u <<EOD\n", age);
	for (guint i = 0; i < o->n; i += every) {
		if (o->age[i] != age)
			continue;
		g_string_append_printf(s, "%u %.2f\n%.1f %.2f\n\n", o->page[i], o->step[i] + lane,
				       o->page[i] + dash, o->step[i] + lane);
	}
	g_string_append(s, "EOD\n");
}

static void order_curve(GString *s, const struct order *o, guint age)
{
	g_string_append_printf(s, "$c%u <<EOD\n", age);
	for (guint t = 0; t <= o->nsteps; t++)
		g_string_append_printf(s, "%u %.2f\n", t, o->total[age] ?
				       100.0 * o->gone[age * (o->nsteps + 1) + t] / o->total[age] : 0);
	g_string_append(s, "EOD\n");
}

static guint last_page(const struct order *o)
{
	guint last = 0;

	for (guint i = 0; i < o->n; i++)
		last = MAX(last, o->page[i]);
	return last;
}

/* A round distance between the marks of an axis that ends at @last, about five of them */
static double tic_step(double last)
{
	static const double round[] = { 1, 2, 2.5, 5, 10 };
	double unit = pow(10, floor(log10(MAX(last, 1) / 5)));

	for (gsize i = 0; i < G_N_ELEMENTS(round); i++)
		if (round[i] * unit * 5 >= last)
			return MAX(round[i] * unit, 1);
	return MAX(10 * unit, 1);
}

int plots_order(struct plots *p, const struct order *o)
{
	guint every = (o->n + POINTS_MAX - 1) / POINTS_MAX;
	GString *s = p->script;
	int i = begin(p, 720, 300);
	bool first = true;

	for (guint a = 0; a < o->nages; a++) {
		if (!o->total[a])
			continue;
		order_points(s, o, a, every);
		order_curve(s, o, a);
	}
	g_string_append_printf(s,
			       "set multiplot layout 1,2\nset xlabel 'page'\nset ylabel 'step at which it left'\n"
			       "set xrange [0:%u]\nset xtics %g\nset yrange [0.5:%g]\nset ytics %g\n"
			       "set ytics add ('stayed' %u)\nplot ", MAX(last_page(o), 1),
			       tic_step(last_page(o)), o->nsteps + 1.5, tic_step(o->nsteps),
			       o->nsteps + 1);
	for (guint a = 0; a < o->nages; a++) {
		if (!o->total[a])
			continue;
		g_string_append_printf(s, "%s$a%u using 1:2 with lines lw 3 lc rgb '%s' title '%s'",
				       first ? "" : ", ", a, age_colour(o, a), age_name(o, a));
		first = false;
	}
	g_string_append_printf(s,
			       "\nset xlabel 'step'\nset ylabel '%% gone'\nset xrange [0:%u]\n"
			       "set xtics %g\nset yrange [0:100]\nset ytics 20\nplot ", o->nsteps,
			       tic_step(o->nsteps));
	first = true;
	for (guint a = 0; a < o->nages; a++) {
		if (!o->total[a])
			continue;
		g_string_append_printf(s, "%s$c%u using 1:2 with steps lw 2 lc rgb '%s' title '%s'",
				       first ? "" : ", ", a, age_colour(o, a), age_name(o, a));
		first = false;
	}
	g_string_append(s, "\nunset multiplot\n");
	return i;
}

/* Generations over the passes of ageing: a bar a pass, the oldest generation at the bottom */
int plots_gens(struct plots *p, const struct tsv *t)
{
	static const char *const names[] = { "oldest", "second", "third", "youngest" };
	static const int colours[] = { 3, 2, 1, 0 };
	int cp = tsv_column(t, "pass"), cg = tsv_column(t, "gen"), ca = tsv_column(t, "anon");
	int cf = tsv_column(t, "file"), at = 0, i;
	GString *data = g_string_new("$g <<EOD\n");
	gint64 pass = -1, v[4] = { 0 };

	if (t->fault || cp < 0 || cg < 0 || ca < 0 || cf < 0 || !t->rows->len || t->rows->len > 2000)
		goto unfit;
	for (guint r = 0; r <= t->rows->len; r++) {
		char **row = r < t->rows->len ? t->rows->pdata[r] : NULL;
		gint64 now = row ? tsv_int(row[cp]) : -1;

		if (r && now != pass) {
			g_string_append_printf(data, "%lld %lld %lld %lld %lld\n", (long long)pass,
					       (long long)v[0], (long long)v[1], (long long)v[2],
					       (long long)v[3]);
			memset(v, 0, sizeof(v));
			at = 0;
		}
		if (!row)
			break;
		if (now < 0 || tsv_int(row[cg]) < 0 || tsv_int(row[ca]) < 0 || tsv_int(row[cf]) < 0)
			goto unfit;
		v[MIN(at, 3)] += tsv_int(row[ca]) + tsv_int(row[cf]);
		at++;
		pass = now;
	}
	i = begin(p, 720, 240);
	g_string_append(data, "EOD\n");
	g_string_append(p->script, data->str);
	g_string_append(p->script,
			"set style data histograms\nset style histogram rowstacked\n"
			"set style fill solid 0.85 noborder\nset boxwidth 0.7\n"
			"set xlabel 'pass of ageing'\nset ylabel 'pages'\nset yrange [0:*]\nplot ");
	for (int g = 0; g < 4; g++)
		g_string_append_printf(p->script, "%s$g using %d:xtic(1) lc rgb '%s' title '%s'",
				       g ? ", " : "", g + 2, age_colours[colours[g]], names[g]);
	g_string_append_c(p->script, '\n');
	g_string_free(data, TRUE);
	return i;
unfit:
	g_string_free(data, TRUE);
	return -1;
}

/* Free pages of each zone while memory is filled, and the reserve that should stay */
int plots_fill(struct plots *p, const struct tsv *t)
{
	int cm = tsv_column(t, "mib"), cn = tsv_column(t, "node"), cz = tsv_column(t, "zone");
	int cf = tsv_column(t, "free"), cr = tsv_column(t, "reserve"), i;
	GPtrArray *zones, *blocks;

	if (t->fault || cm < 0 || cn < 0 || cz < 0 || cf < 0 || cr < 0 || !t->rows->len)
		return -1;
	zones = g_ptr_array_new_with_free_func(g_free);
	blocks = g_ptr_array_new();
	for (guint r = 0; r < t->rows->len; r++) {
		char **row = t->rows->pdata[r];
		gint64 m = tsv_int(row[cm]), f = tsv_int(row[cf]), e = tsv_int(row[cr]);
		char *name = word(row[cz]), *zone = g_strdup_printf("%lld %s",
				(long long)MAX(tsv_int(row[cn]), 0), name);
		guint z;

		g_free(name);
		if (!g_ptr_array_find_with_equal_func(zones, zone, g_str_equal, &z)) {
			z = zones->len;
			if (z < ZONES_MAX) {
				g_ptr_array_add(zones, g_strdup(zone));
				g_ptr_array_add(blocks, g_string_new(NULL));
			}
		}
		g_free(zone);
		if (z < ZONES_MAX && m >= 0 && f >= 0 && e >= 0)
			g_string_append_printf(blocks->pdata[z], "%lld %lld %lld\n", (long long)m,
					       (long long)f, (long long)e);
	}
	i = begin(p, 720, 280);
	for (guint z = 0; z < zones->len; z++) {
		GString *b = blocks->pdata[z];

		g_string_append_printf(p->script, "$z%u <<EOD\n%sEOD\n", z, b->len ? b->str : "0 0 0\n");
		g_string_free(b, TRUE);
	}
	g_string_append(p->script,
			"set xlabel 'MiB taken'\nset ylabel 'free pages'\nset yrange [0:*]\nplot ");
	for (guint z = 0; z < zones->len; z++)
		g_string_append_printf(p->script,
				       "%s$z%u using 1:2 with lines lw 2 lc rgb '%s' title 'node %s', $z%u using 1:3 with lines lw 1 dt 2 lc rgb '%s' title '%s'",
				       z ? ", " : "", z, zone_colours[z], (char *)zones->pdata[z], z,
				       zone_colours[z], z ? "" : "reserve");
	g_string_append_c(p->script, '\n');
	g_ptr_array_unref(zones);
	g_ptr_array_unref(blocks);
	return i;
}

/* Values over runs: a line with points for each series */
int plots_values(struct plots *p, GPtrArray *series, const char *ylabel, double ymin, double ymax)
{
	char *label = word(ylabel);
	int i = begin(p, 720, 240);
	bool first = true;

	for (guint k = 0; k < series->len; k++) {
		struct series *s = series->pdata[k];

		g_string_append_printf(p->script, "$s%u <<EOD\n", k);
		for (guint n = 0; n < s->values->len; n++) {
			double v = g_array_index(s->values, double, n);

			if (isfinite(v))
				g_string_append_printf(p->script, "%u %.6g\n", n + 1, v);
		}
		g_string_append(p->script, "0 NaN\nEOD\n");
	}
	g_string_append_printf(p->script, "set xlabel 'run'\nset ylabel '%s'\nset xrange [0.5:*]\n"
			       "set xtics 1\n", label);
	if (isfinite(ymin) && isfinite(ymax))
		g_string_append_printf(p->script, "set yrange [%g:%g]\n", ymin, ymax);
	g_string_append(p->script, "plot ");
	for (guint k = 0; k < series->len; k++) {
		struct series *s = series->pdata[k];
		char *name = word(s->name);

		g_string_append_printf(p->script,
				       "%s$s%u using 1:2 with linespoints pt 6 ps 0.8 lw 1.5 lc rgb '%s' title '%s'",
				       first ? "" : ", ", k, zone_colours[k % ZONES_MAX], name);
		first = false;
		g_free(name);
	}
	g_string_append_c(p->script, '\n');
	g_free(label);
	return i;
}

void curve_free(void *data)
{
	struct curve *c = data;

	g_free(c->name);
	g_array_unref(c->points);
	g_free(c);
}

static void curve_data(GString *s, const struct curve *c, guint k, double shift, bool logx, bool logy)
{
	g_string_append_printf(s, "$c%u <<EOD\n", k);
	for (guint i = 0; i + 1 < c->points->len; i += 2) {
		double x = g_array_index(c->points, double, i) + shift;
		double y = g_array_index(c->points, double, i + 1);

		if (isfinite(x) && isfinite(y) && (!logx || x > 0) && (!logy || y > 0))
			g_string_append_printf(s, "%.6g %.6g\n", x, y);
	}
	g_string_append(s, "NaN NaN\nEOD\n");
}

int plots_curves(struct plots *p, GPtrArray *curves, const char *xlabel, const char *ylabel,
		 enum curve_form form, bool logx, bool logy)
{
	static const char *const with[] = {
		[CURVE_STEPS] = "steps lw 2", [CURVE_LINES] = "linespoints pt 6 ps 0.8 lw 1.5",
		[CURVE_BARS] = "boxes fs solid 0.85 noborder",
	};
	double width = curves->len ? 0.8 / curves->len : 0.8;
	char *x = word(xlabel), *y = word(ylabel);
	int i = begin(p, 720, 260);
	GString *s = p->script;

	for (guint k = 0; k < curves->len; k++)
		curve_data(s, curves->pdata[k], k,
			   form == CURVE_BARS ? (k - (curves->len - 1) / 2.0) * width : 0, logx, logy);
	g_string_append_printf(s, "set xlabel '%s'\nset ylabel '%s'\nset boxwidth %g\n", x, y, width * 0.9);
	if (form == CURVE_BARS)
		g_string_append(s, "set xtics 1\nset xrange [0.4:*]\n");
	g_string_append_printf(s, "%s%s%s", logx ? "set logscale x\n" : "", logy ? "set logscale y\n" : "",
			       logy ? "" : form == CURVE_STEPS ? "set yrange [0:100]\n" : "set yrange [0:*]\n");
	for (guint k = 0; k < curves->len; k++) {
		char *name = word(((struct curve *)curves->pdata[k])->name);

		g_string_append_printf(s, "%s$c%u using 1:2 with %s lc rgb '%s' title '%s'",
				       k ? ", " : "plot ", k, with[form], zone_colours[k % ZONES_MAX], name);
		g_free(name);
	}
	g_string_append_c(s, '\n');
	g_free(x);
	g_free(y);
	return i;
}

static bool gnuplot(const char *dir, const GString *script, GError **err)
{
	char *path = g_build_filename(dir, "script", NULL);
	const char *argv[] = { "gnuplot", "--default-settings", "script", NULL };
	GString *out = g_string_new(NULL);
	struct mmg_cmd cmd = {
		.what = "drawing the plots", .argv = argv, .cwd = dir, .out = out,
	};
	bool ok = mmg_write_atomic(path, script->str, script->len, err) && mmg_run(&cmd, err);

	g_string_free(out, TRUE);
	g_free(path);
	return ok;
}

bool plots_run(struct plots *p, GError **err)
{
	if (!p->n)
		return true;
	p->dir = scratch_dir("plot", err);
	p->drawn = p->dir && gnuplot(p->dir, p->script, err);
	return p->drawn;
}

static const char *attribute(const xmlNode *n, const char *name)
{
	for (const xmlAttr *a = n->properties; a; a = a->next)
		if (!strcmp((const char *)a->name, name) && a->children && a->children->content)
			return (const char *)a->children->content;
	return "";
}

static bool has(const xmlNode *n, const char *name, const char *value)
{
	return !strcmp(attribute(n, name), value);
}

/* gnuplot's definitions, titles and background, and groups with nothing in them */
static bool left_out(const xmlNode *n)
{
	const char *tag = (const char *)n->name;
	const xmlNode *in = n->children;

	while (in && xmlIsBlankNode(in))
		in = in->next;
	return !strcmp(tag, "defs") || !strcmp(tag, "title") || (!strcmp(tag, "g") && !in) ||
	       (!strcmp(tag, "rect") && has(n, "x", "0") && has(n, "y", "0"));
}

/* What is so already where nothing says otherwise, and ids, of which a page may have each once */
static bool default_attribute(const xmlNode *n, const char *name, const char *value)
{
	if (!strcmp(name, "id"))
		return g_str_has_prefix(value, "gnuplot");
	if (!strcmp(name, "font-family"))
		return !strcmp(value, "sans-serif");
	if (strcmp(name, "stroke-width") && strcmp(name, "stroke-linecap") && strcmp(name, "stroke-linejoin"))
		return false;
	return has(n, "stroke-width", "1.00") && has(n, "stroke-linecap", "butt") &&
	       has(n, "stroke-linejoin", "miter");
}

/* Lines and text have the colour of the page, also where it is dark */
static const char *page_colour(const char *value)
{
	return !strcmp(value, "black") || !strcmp(value, "rgb(  0,   0,   0)") ? "currentColor" : value;
}

static void copy_nodes(struct html *h, const xmlNode *n)
{
	for (; n; n = n->next) {
		if (n->type == XML_TEXT_NODE && !xmlIsBlankNode(n))
			html_text(h, "%s", (const char *)n->content);
		if (n->type != XML_ELEMENT_NODE || left_out(n))
			continue;
		html_open(h, (const char *)n->name, NULL);
		for (const xmlAttr *a = n->properties; a; a = a->next) {
			const char *name = (const char *)a->name, *value = attribute(n, name);

			if (!default_attribute(n, name, value))
				html_attr(h, name, "%s", page_colour(value));
		}
		copy_nodes(h, n->children);
		html_close(h);
	}
}

static const xmlNode *canvas(const xmlNode *n)
{
	const xmlNode *found = NULL;

	for (; n && !found; n = n->next)
		if (n->type == XML_ELEMENT_NODE)
			found = has(n, "id", "gnuplot_canvas") ? n : canvas(n->children);
	return found;
}

/*
 * gnuplot's file made fit to stand many times in one page: no prologue, ids or
 * definitions, colours of lines and text taken from the page, a text
 * alternative of ours.
 */
bool plots_svg(struct html *h, const struct plots *p, int i, const char *label)
{
	g_autofree char *path = g_strdup_printf("%s/plot%d.svg", p->dir, i);
	const xmlNode *root, *drawing;
	xmlDocPtr doc;

	if (!p->drawn || i < 0 || i >= p->n)
		return false;
	doc = xmlReadFile(path, NULL, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	root = doc ? xmlDocGetRootElement(doc) : NULL;
	drawing = canvas(root);
	if (drawing) {
		html_open(h, "svg", NULL);
		html_attr(h, "role", "img");
		html_attr(h, "viewBox", "%s", attribute(root, "viewBox"));
		html_attr(h, "aria-label", "%s", label);
		html_element(h, "title", NULL, label);
		copy_nodes(h, drawing);
		html_close(h);
	}
	xmlFreeDoc(doc);
	return drawing;
}

/* A round mark, which gnuplot's files name and each define again */
static void mark(struct html *h, const char *id, const char *r, const char *width)
{
	html_open(h, "circle", NULL);
	html_attr(h, "id", "%s", id);
	html_attr(h, "r", "%s", r);
	html_attr(h, "stroke-width", "%s", width);
	html_attr(h, "stroke", "currentColor");
	html_close(h);
}

void plots_defs(struct html *h)
{
	html_open(h, "svg", "defs");
	html_attr(h, "width", "0");
	html_attr(h, "height", "0");
	html_attr(h, "aria-hidden", "true");
	html_open(h, "defs", NULL);
	mark(h, "gpDot", "0.5", "0.5");
	mark(h, "gpPt5", "1", "0.222");
	html_close(h);
	html_close(h);
}

char *plot_order_dumb(const struct order *o, GError **err)
{
	GString *s = g_string_new(NULL);
	guint cold = o->nages - 1;
	char *dir, *path, *text = NULL;

	order_curve(s, o, 0);
	if (cold)
		order_curve(s, o, cold);
	g_string_append_printf(s,
			       "set terminal dumb noenhanced size 70,17\nset output 'plot.txt'\n"
			       "set key outside top center horizontal\nset border 3\nset tics nomirror\n"
			       "set xlabel 'step of reclaim'\nset ylabel '%%'\nset xrange [0:%u]\n"
			       "set yrange [0:100]\nplot $c0 using 1:2 with points pt 'H' title '%% of hot pages gone'",
			       o->nsteps);
	if (cold)
		g_string_append_printf(s, ", $c%u using 1:2 with points pt 'c' title '%% of cold pages gone'",
				       cold);
	g_string_append_c(s, '\n');
	dir = scratch_dir("plot", err);
	if (dir && gnuplot(dir, s, err)) {
		path = g_build_filename(dir, "plot.txt", NULL);
		if (!g_file_get_contents(path, &text, NULL, NULL))
			mmg_set_error(err, MMG_EXIT_BROKEN, "drawing the plot: gnuplot wrote none");
		g_free(path);
	}
	if (dir)
		mmg_rmtree(dir);
	g_free(dir);
	g_string_free(s, TRUE);
	return text;
}
