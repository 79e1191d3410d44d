"""Headless Chromium, driven over its debugging pipe (Chrome DevTools Protocol): messages of JSON, each
ended by a NUL, on descriptors 3 and 4. No driver, no package, no port."""

import base64
import collections
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import jvm

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-color-profile=srgb", "--remote-debugging-pipe"]


def find_chromium():
    path = os.environ.get("JSAMPLER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        print("skipped: no chromium here (scripts/setup installs it)")
        sys.exit(jvm.SKIP)
    return path


class PageError(Exception):
    pass


class Chromium:
    """One browser; ended with the with-block."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="jsampler-chromium-")
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        self.proc = subprocess.Popen(
            [find_chromium(), *FLAGS, "--user-data-dir=" + self.home, "about:blank"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, start_new_session=True,
            preexec_fn=lambda: self._child(theirs_in, theirs_out))
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.next_id = b"", 0
        self.events = collections.deque()
        self.front = None

    @staticmethod
    def _child(read, write):
        jvm.die_with_parent()
        # Aside first: either may be 3 or 4 itself.
        a, b = os.dup(read), os.dup(write)
        a2, b2 = os.dup(a), os.dup(b)
        os.dup2(max(a, a2), 3)
        os.dup2(max(b, b2), 4)
        os.set_inheritable(3, True)
        os.set_inheritable(4, True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.out)
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        os.close(self.into)
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise PageError("chromium does not answer")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise PageError("chromium ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, params=None, session=None, timeout=jvm.PATIENCE):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        deadline = time.monotonic() + timeout
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise PageError("%s: %s" % (method, answer["error"].get("message")))
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def page(self, url, **options):
        return Page(self, url, **options)


class Page:
    """One tab: what it logs and asks of the network is collected."""

    def __init__(self, browser, url, width=1280, height=800, dark=False, scale=1):
        self.browser, self.log, self.requests = browser, [], []
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.open(url)

    def call(self, method, params=None):
        result = self.browser.call(method, params, self.session)
        self.sort_events()
        return result

    def sort_events(self):
        for e in list(self.browser.events):
            if e.get("sessionId") != self.session:
                continue
            self.browser.events.remove(e)
            method, params = e["method"], e["params"]
            if method == "Runtime.exceptionThrown":
                d = params["exceptionDetails"]
                self.log.append("exception: %s" % d.get("exception", {}).get("description", d["text"]))
            elif method == "Runtime.consoleAPICalled":
                self.log.append("console: %s" % [a.get("value") for a in params["args"]])
            elif method == "Log.entryAdded":
                self.log.append("log: %s" % params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def open(self, url):
        """Loads; a change of the fragment alone would load nothing, so by way of an empty page."""
        self.call("Page.navigate", {"url": "about:blank"})
        self.call("Page.navigate", {"url": url})
        deadline = time.monotonic() + jvm.PATIENCE
        while not self.js("document.readyState === 'complete' && location.href !== 'about:blank'"):
            if time.monotonic() > deadline:
                raise PageError("%s does not load" % url)
            time.sleep(0.02)

    def js(self, expression):
        """The value of an expression; promises are waited for."""
        r = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True,
                                           "userGesture": True})
        if "exceptionDetails" in r:
            d = r["exceptionDetails"]
            raise PageError("%s: %s" % (expression, d.get("exception", {}).get("description", d["text"])))
        return r["result"].get("value")

    def settle(self):
        """Two frames later, and what was put off is done. A tab in the background draws no frames."""
        if self.browser.front is not self:
            self.browser.front = self
            self.call("Page.bringToFront")
        self.js("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 180))))")

    def cpu_ms(self):
        """CPU time of the page's main thread; Performance.enable with threadTicks comes first."""
        for m in self.call("Performance.getMetrics")["metrics"]:
            if m["name"] == "TaskDuration":
                return m["value"] * 1000
        return 0

    def mouse(self, x, y, kind="click", button="left"):
        self.settle()
        self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        if kind != "move":
            for t in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", {"type": t, "x": x, "y": y, "button": button, "clickCount": 1})
        self.settle()

    def key(self, key, shift=False):
        """A key as a person presses it: "i", "Escape", "ArrowUp"."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        params = {"key": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": code.get(key, ord(key[0]))}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **params, **text})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **params})
        self.settle()

    def type(self, text):
        self.call("Input.insertText", {"text": text})
        self.settle()

    def screenshot(self, path):
        self.settle()
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", {"format": "png"})["data"]))

    def close(self):
        self.sort_events()
        self.browser.call("Target.closeTarget", {"targetId": self.target})
