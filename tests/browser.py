#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Look at report.html in headless Chromium, as a reader would.

usage: browser.py report.html [PICTURES] [SCREENSHOT-PREFIX]

PICTURES is how many there must be at least.  Chromium is driven over a pipe by
its DevTools protocol, so nothing but Chromium and Python itself is needed.
Prints what is wrong, a line each; exit status 1 where anything is.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]
TIMEOUT = 120

# Contrast of text against what is behind it, by the formula of WCAG 2
CONTRAST = """(() => {
  const lum = c => { const v = c.map(x => { x /= 255; return x <= .03928 ? x / 12.92 :
    ((x + .055) / 1.055) ** 2.4; }); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length == 3 || c[3] == 1) return c.slice(0, 3); } return [255, 255, 255]; };
  let worst = 99, who = '';
  for (const e of document.querySelectorAll('h1,h2,h3,p,td,th,a,span,summary,dt,dd,li,label')) {
    if (!e.innerText || !e.getClientRects().length) continue;
    const a = lum(rgb(getComputedStyle(e).color).slice(0, 3)), b = lum(behind(e));
    const r = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (r < worst) { worst = r; who = e.tagName + '.' + e.className + ' ' + e.innerText.slice(0, 30); }
  }
  return [worst, who];
})()"""

PICTURES = """[...document.querySelectorAll('svg[role=img]')].map(s => { const b = s.getBoundingClientRect();
  return [b.width, b.height, s.querySelectorAll('path,use,polygon').length,
          (s.getAttribute('aria-label') || '').length, s.querySelectorAll('text').length]; })"""

LINKS = """[...document.querySelectorAll('a[href]')].filter(a => !a.getAttribute('href').startsWith('#') ||
  !document.getElementById(a.getAttribute('href').slice(1))).map(a => a.getAttribute('href'))"""


class Browser:
    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="mmgate-browser-")
        to_r, self.to = os.pipe()
        self.back, back_w = os.pipe()

        def fds():
            keep = os.dup(to_r), os.dup(back_w)
            os.dup2(keep[0], 3)
            os.dup2(keep[1], 4)

        program = shutil.which("chromium") or shutil.which("chromium-browser")
        self.proc = subprocess.Popen([program, "--user-data-dir=" + self.home] + FLAGS,
                                     preexec_fn=fds, close_fds=False, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_r)
        os.close(back_w)
        self.buf, self.events, self.n, self.session = b"", [], 0, None
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = [t for t in targets if t["type"] == "page"][0]["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]

    def read(self):
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self.buf:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("Chromium is gone")
            self.buf += data
        line, self.buf = self.buf.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":   # it would wait for ever
            self.n += 1
            os.write(self.to, json.dumps({"id": self.n, "sessionId": self.session,
                                          "method": "Page.handleJavaScriptDialog",
                                          "params": {"accept": False}}).encode() + b"\0")

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def load(self, url):
        self.ask("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.note(self.read())

    def size(self, width, height, dark):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def shot(self, path):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        self.proc.kill()
        self.proc.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def what_it_said(browser, url):
    """Events that a page at peace does not cause"""
    for e in browser.events:
        method, p = e.get("method"), e.get("params", {})
        if method == "Runtime.consoleAPICalled":
            yield "console: " + json.dumps(p.get("args"))[:200]
        elif method == "Log.entryAdded":
            yield "log: " + p["entry"]["text"][:200]
        elif method == "Runtime.exceptionThrown":
            yield "exception: " + p["exceptionDetails"]["text"][:200]
        elif method == "Page.javascriptDialogOpening":
            yield "a script of the page ran: " + p.get("message", "")[:200]
        elif method == "Network.requestWillBeSent" and \
                p["request"]["url"].split("#")[0] not in (url, "data:,"):
            yield "it asked for " + p["request"]["url"][:200]


def look(browser, wanted, prefix):
    """What a reader would find wrong, on a desk and on a phone, in light and in dark"""
    for name, width, height, dark in (("light", 1100, 900, False), ("dark", 1100, 900, True),
                                      ("phone", 390, 844, False), ("phone-dark", 390, 844, True)):
        browser.size(width, height, dark)
        pictures = browser.value(PICTURES)
        if len(pictures) < wanted:
            yield f"{name}: {len(pictures)} pictures, not {wanted}"
        for i, (w, h, marks, label, words) in enumerate(pictures):
            if w < min(300, width * .7) or h < 80 or marks < 4 or label < 20 or words < 3:
                yield f"{name}: picture {i} is {w:.0f}x{h:.0f}, {marks} marks, {label} letters of alternative, {words} words"
        wide = browser.value("document.documentElement.scrollWidth")
        if wide > width:
            yield f"{name}: the page is {wide} wide on a screen of {width}"
        ratio, who = browser.value(CONTRAST)
        if ratio < 4.5:
            yield f"{name}: contrast {ratio:.1f} of {who}"
        if prefix:
            browser.shot(f"{prefix}-{name}.png")
            if pictures:
                browser.value("(document.querySelector('#order')||document.querySelector('#zones')).scrollIntoView()")
                browser.shot(f"{prefix}-{name}-pictures.png")
                browser.value("scrollTo(0, 0)")


def use(browser):
    """Links and the one control of the page"""
    for href in browser.value(LINKS):
        yield f"link {href} leads nowhere"
    if browser.value("document.scripts.length"):
        yield "there is a script in the page"
    if browser.value("document.querySelectorAll('img,iframe,object,embed,form').length"):
        yield "there is an element in the page that it does not write"
    shown = "[...document.querySelectorAll('.matrix tr.ok')].filter(r => r.getClientRects().length).length"
    before = browser.value(f"document.querySelectorAll('details').forEach(d => d.open = true), {shown}")
    browser.value("document.getElementById('only').click()")
    if before and browser.value(shown):
        yield "\"only what is not a pass\" hides nothing"


def main():
    url = "file://" + os.path.abspath(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    prefix = sys.argv[3] if len(sys.argv) > 3 else None
    browser = Browser()
    try:
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.ask(domain + ".enable")
        browser.load(url)
        wrong = list(look(browser, wanted, prefix)) + list(use(browser))
        wrong += what_it_said(browser, url)
    finally:
        browser.close()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
