// SPDX-License-Identifier: GPL-2.0-only
/*
 * An HTML page, written by libxml2's writer.  Elements are closed in full but for those that HTML
 * has no end of, and for those of a picture: so the page is well-formed XML as well.
 */
#include "report/html.h"

#include <libxml/xmlwriter.h>
#include <string.h>

#include "base/words.h"

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c2228;--soft:#5c6670;--line:#d8dde2;"
	"--card:#f6f7f9;--pass:#1a7f4b;--fail:#c02c38;--broken:#8a3fb0;--skip:#8a6100;--link:#1f5fa8;"
	"--mark:#ffe2e2}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#dfe5ea;--soft:#9aa5af;"
	"--line:#343c44;--card:#1d2328;--pass:#5cc98d;--fail:#ff7b84;--broken:#cf95ee;--skip:#e0b04b;"
	"--link:#7fb4f0;--mark:#58202a}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.25rem;margin:2rem 0 .6rem;padding-bottom:"
	".2rem;border-bottom:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4rem 0 .4rem}\n"
	"a{color:var(--link)}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.8rem 0}\n"
	"nav a{padding:.3rem 0}\n"
	".soft,.alt,.note{color:var(--soft)}.alt,.note{font-size:.9rem;margin:.3rem 0}\n"
	".verdict{border-left:.5rem solid var(--soft);background:var(--card);padding:.7rem 1rem;margin:"
	".6rem 0}.verdict.pass{border-color:var(--pass)}.verdict.fail{border-color:var(--fail)}"
	".verdict.broken{border-color:var(--broken)}.verdict.skip{border-color:var(--skip)}\n"
	"span.pass,td.pass,td.pass a{color:var(--pass)}span.fail,td.fail,td.fail a{color:var(--fail);"
	"font-weight:600}span.broken,td.broken,td.broken a{color:var(--broken);font-weight:600}"
	"span.skip,td.skip{color:var(--skip)}td.none{color:var(--soft)}\n"
	".counts{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.5rem 0}\n"
	".scroll{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:.92rem;margin:"
	".4rem 0}th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:"
	"top;overflow-wrap:normal}thead th{background:var(--card)}.num{text-align:right;"
	"font-variant-numeric:tabular-nums}td.res{white-space:nowrap}\n"
	"article,figure{background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
	"padding:.7rem 1rem;margin:.8rem 0}article h3{margin:0 0 .3rem}article p{margin:.35rem 0}figure svg{width:100%;height:"
	"auto;max-width:60rem;display:block;margin:.4rem 0}figcaption{font-size:.95rem}\n"
	"svg.defs{position:absolute;width:0;height:0}\n"
	"details{margin:.3rem 0}summary{cursor:pointer;padding:.25rem 0}\n"
	"pre{background:var(--card);border:1px solid var(--line);padding:.6rem;overflow:auto;max-height:"
	"32rem;font:.8rem/1.4 ui-monospace,monospace;white-space:pre-wrap}\n"
	"mark{background:var(--mark);color:inherit}dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:.1rem 1rem;margin:.3rem 0}dt{color:var(--soft)}dd{margin:0;min-width:0}\n"
	"#only{margin:0 .4rem 0 0}#only:checked~.matrix tr.ok,#only:checked~.matrix details.ok"
	"{display:none}\n"
	"@media(max-width:40rem){body{padding:.6rem;font-size:15px}dl{grid-template-columns:1fr}"
	"dd{margin:0 0 .4rem}article,figure{padding:.5rem .6rem}figure{overflow-x:auto}"
	"figure svg{min-width:38rem}}\n"
	"@media print{details{display:block}pre{max-height:none}}\n";

struct html {
	xmlBufferPtr buf;
	xmlTextWriterPtr w;
	GPtrArray *open;	/* tags, the innermost last */
};

/* Elements that are followed by a line break, for those who read the source */
static bool is_block(const char *tag)
{
	static const char *const tags[] = {
		"article", "body", "details", "div", "dl", "figcaption", "figure", "h1", "h2", "h3", "head",
		"header", "li", "main", "meta", "link", "nav", "p", "pre", "section", "style", "svg",
		"table", "thead", "title", "tr", "ul", NULL
	};

	return g_strv_contains(tags, tag);
}

/* Elements that HTML has no end of, and those of SVG, where an empty one may end itself */
static bool ends_itself(const struct html *h, const char *tag)
{
	static const char *const tags[] = { "br", "input", "link", "meta", NULL };

	if (g_strv_contains(tags, tag))
		return true;
	for (guint i = 0; i + 1 < h->open->len; i++)
		if (!strcmp(h->open->pdata[i], "svg"))
			return true;
	return false;
}

void html_open(struct html *h, const char *tag, const char *class)
{
	xmlTextWriterStartElement(h->w, BAD_CAST tag);
	g_ptr_array_add(h->open, g_strdup(tag));
	if (class)
		html_attr(h, "class", "%s", class);
}

void html_attr(struct html *h, const char *name, const char *fmt, ...)
{
	g_autofree char *text = NULL, *clean = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	clean = text_harmless(text);
	xmlTextWriterWriteAttribute(h->w, BAD_CAST name, BAD_CAST clean);
}

void html_close(struct html *h)
{
	const char *tag = h->open->pdata[h->open->len - 1];
	bool block = is_block(tag);

	if (ends_itself(h, tag))
		xmlTextWriterEndElement(h->w);
	else
		xmlTextWriterFullEndElement(h->w);
	g_ptr_array_remove_index(h->open, h->open->len - 1);
	if (block && h->open->len)
		xmlTextWriterWriteString(h->w, BAD_CAST "\n");
}

static void write_text(struct html *h, const char *text)
{
	g_autofree char *clean = text_harmless(text);

	xmlTextWriterWriteString(h->w, BAD_CAST clean);
}

void html_text(struct html *h, const char *fmt, ...)
{
	g_autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	write_text(h, text);
}

void html_element(struct html *h, const char *tag, const char *class, const char *text)
{
	html_open(h, tag, class);
	write_text(h, text);
	html_close(h);
}

void html_elementf(struct html *h, const char *tag, const char *class, const char *fmt, ...)
{
	g_autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	html_element(h, tag, class, text);
}

void html_link(struct html *h, const char *text, const char *fmt, ...)
{
	g_autofree char *to = NULL;
	va_list ap;

	va_start(ap, fmt);
	to = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	html_open(h, "a", NULL);
	html_attr(h, "href", "%s", to);
	write_text(h, text);
	html_close(h);
}

void html_table(struct html *h, const char *class, const char *const *heads)
{
	html_open(h, "div", "scroll");
	html_open(h, "table", class);
	html_open(h, "thead", NULL);
	html_open(h, "tr", NULL);
	for (; *heads; heads++) {
		html_open(h, "th", NULL);
		html_attr(h, "scope", "col");
		write_text(h, *heads);
		html_close(h);
	}
	html_close(h);
	html_close(h);
	html_open(h, "tbody", NULL);
}

void html_table_end(struct html *h)
{
	html_close(h);
	html_close(h);
	html_close(h);
}

void html_details(struct html *h, bool open, const char *summary)
{
	html_open(h, "details", NULL);
	if (open)
		html_attr(h, "open", "open");
	html_element(h, "summary", NULL, summary);
}

static void meta(struct html *h, const char *name, const char *value, const char *content)
{
	html_open(h, "meta", NULL);
	html_attr(h, name, "%s", value);
	if (content)
		html_attr(h, "content", "%s", content);
	html_close(h);
}

/* Rules of ours: HTML takes what is in <style> as it is */
static void rules(struct html *h, const char *css)
{
	html_open(h, "style", NULL);
	xmlTextWriterWriteRaw(h->w, BAD_CAST css);
	html_close(h);
}

struct html *html_new(const char *title, const char *css)
{
	struct html *h = g_new0(struct html, 1);

	h->open = g_ptr_array_new_with_free_func(g_free);
	h->buf = xmlBufferCreate();
	h->w = h->buf ? xmlNewTextWriterMemory(h->buf, 0) : NULL;
	if (!h->w)
		g_error("out of memory");
	xmlTextWriterWriteDTD(h->w, BAD_CAST "html", NULL, NULL, NULL);
	xmlTextWriterWriteString(h->w, BAD_CAST "\n");
	html_open(h, "html", NULL);
	html_attr(h, "lang", "en");
	html_open(h, "head", NULL);
	meta(h, "charset", "utf-8", NULL);
	/* no network and no script, so that nothing that came from a guest can use them */
	meta(h, "http-equiv", "Content-Security-Policy",
	     "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
	meta(h, "name", "viewport", "width=device-width,initial-scale=1");
	meta(h, "name", "referrer", "no-referrer");
	html_open(h, "link", NULL);
	html_attr(h, "rel", "icon");
	html_attr(h, "href", "data:,");
	html_close(h);
	html_element(h, "title", NULL, title);
	rules(h, style);
	if (css)
		rules(h, css);
	html_close(h);
	html_open(h, "body", NULL);
	return h;
}

GString *html_finish(struct html *h)
{
	GString *out;

	while (h->open->len)
		html_close(h);
	xmlTextWriterWriteString(h->w, BAD_CAST "\n");
	xmlFreeTextWriter(h->w);
	out = g_string_new_len((const char *)xmlBufferContent(h->buf), xmlBufferLength(h->buf));
	xmlBufferFree(h->buf);
	g_ptr_array_unref(h->open);
	g_free(h);
	return out;
}

const char *html_class(const char *word)
{
	/* words of tables that stand in no enum */
	static const struct {
		const char *word;
		enum result shown;
	} others[] = {
		{ "caught", RESULT_PASS }, { "worse", RESULT_FAIL }, { "better", RESULT_PASS },
		{ "build error", RESULT_BROKEN },
	};

	for (int kind = 0; kind < NR_WORDS; kind++) {
		int value = word_find(kind, word);
		enum result shown = value < 0 ? RESULT_NONE : word_shown(kind, value);

		if (shown != RESULT_NONE)
			return result_name(shown);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		if (!strcmp(word, others[i].word))
			return result_name(others[i].shown);
	return NULL;
}
