"""Chromium without a window, by its DevTools protocol over two pipes: what a person sees and does.

    with Browser() as browser:
        page = browser.page("http://127.0.0.1:30080/")
        page.click("button", "Abort")
        page.until("document.title == 'Executions · Troupe'")
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from program import LIMIT_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

KEYS = {"Enter": ("\r", 13), "Tab": ("", 9), "Escape": ("", 27), "ArrowDown": ("", 40),
        "ArrowUp": ("", 38), "ArrowLeft": ("", 37), "ArrowRight": ("", 39),
        " ": (" ", 32)}

FIND = """((selector, text) => [...document.querySelectorAll(selector)].find((one) =>
    one.offsetParent !== null && one.textContent.trim().startsWith(text)))"""


class Browser:
    """One process of Chromium; requests of several pages and their answers on one pipe."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="troupe-browser-")
        read, self.write = os.pipe()
        self.read, write = os.pipe()
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--mute-audio",
                   "--disable-component-update", "--remote-debugging-pipe", "--hide-scrollbars",
                   f"--user-data-dir={self.folder}", "about:blank"]
        # Chromium reads requests at 3 and answers at 4.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec 3<&{read} 4>&{write}; exec \"$@\"", "sh", *command],
            pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.number = 0
        self.answers = {}
        self.events = []
        self.changed = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it, and what it kept."""
        self.process.terminate()
        self.process.wait(LIMIT_S)
        os.close(self.write)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _listen(self):
        rest = b""
        while True:
            piece = os.read(self.read, 1 << 20)
            if not piece:
                return
            *messages, rest = (rest + piece).split(b"\0")
            with self.changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self.answers[message["id"]] = message
                    else:
                        self.events.append(message)
                self.changed.notify_all()

    def ask(self, method, session=None, **given):
        """What a method of the protocol answers."""
        self.number += 1
        number = self.number
        request = {"id": number, "method": method, "params": given}
        if session is not None:
            request["sessionId"] = session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers, LIMIT_S):
                raise AssertionError(f"Chromium has not answered {method}")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, url, size=(1280, 800)):
        """A tab of its own."""
        return Page(self, url, size)


class Page:
    """One tab."""

    def __init__(self, browser, url, size):
        self.browser = browser
        self.target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=self.target,
                                   flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Runtime.enable")
        self.ask("Log.enable")
        self.resize(*size)
        self.open(url)

    def ask(self, method, **given):
        """The same of this tab."""
        return self.browser.ask(method, self.session, **given)

    def open(self, url):
        """Goes to an address and waits for the page."""
        self.ask("Page.navigate", url=url)
        self.until("document.readyState == 'complete'")

    def run(self, script):
        """The value of an expression or of a promise of one."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True,
                          returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def until(self, script, limit_s=LIMIT_S):
        """Waits for an expression to be true, frame by frame, and returns how long that took."""
        begin = time.monotonic()
        while True:
            try:
                if self.run(f"""new Promise((done) => {{
                        const end = Date.now() + 2000;
                        const look = () => {{
                            let is = false;
                            try {{ is = Boolean({script}); }} catch {{ is = false; }}
                            if (is || Date.now() > end) {{ done(is); }}
                            else {{ setTimeout(look, 10); }}
                        }};
                        look(); }})"""):
                    return time.monotonic() - begin
            except AssertionError:
                pass  # the page has changed beneath it
            if time.monotonic() - begin > limit_s:
                raise AssertionError(f"in vain for {limit_s} s: {script}\n{self.text()[:2000]}")

    def text(self):
        """What stands on the page."""
        return self.run("document.body.innerText")

    def sees(self, text, limit_s=LIMIT_S):
        """Waits until a text stands on the page."""
        return self.until(f"document.body.innerText.includes({json.dumps(text)})", limit_s)

    def click(self, selector, text=""):
        """Clicks the first such thing in sight, when it is there."""
        found = f"{FIND}({json.dumps(selector)}, {json.dumps(text)})"
        self.until(found)
        self.run(f"{found}.scrollIntoView({{block: 'center'}})")
        box = self.run(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
                       f"({found}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                     clickCount=1)

    def fill(self, selector, text):
        """Writes into a field."""
        self.until(f"(document.querySelector({json.dumps(selector)}).focus(), document"
                   f".activeElement == document.querySelector({json.dumps(selector)}))")
        self.run("document.activeElement.select?.()")
        self.ask("Input.insertText", text=text)

    def press(self, key):
        """A key of the keyboard."""
        text, code = KEYS.get(key, (key, ord(key[0])))
        given = {"key": key, "windowsVirtualKeyCode": code, "code": key}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **given)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **given)

    def resize(self, width, height, is_phone=False):
        """The size of its window."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=is_phone)

    def prefer(self, scheme):
        """light or dark."""
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """Writes what is seen as PNG."""
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def faults(self):
        """What the browser complained about on this tab: scripts, policies, requests."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"].get("exception", {})
                             .get("description", "an exception"))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def close(self):
        """Ends the tab, and what it listens to."""
        self.browser.ask("Target.closeTarget", targetId=self.target)
