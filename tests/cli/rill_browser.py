"""Chromium for tests of pages, driven over its pipe: `with Browser(path) as b: b.open(url, width, "dark"); b.run("1 + 1")`.

--Chromium's --dump-dom would wait for a fixed virtual time, which may pass while a busy server computes.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time


def find_browser():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, path, seconds=240):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (asked, asks), (answers, answered) = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + self.profile.name,
             "--remote-debugging-pipe", "about:blank"], stderr=subprocess.DEVNULL, pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(asked, 3), os.dup2(answered, 4)))
        os.close(asked)
        os.close(answered)
        self.asks, self.answers, self.n = open(asks, "wb", 0), open(answers, "rb"), 0
        self.too_late = threading.Timer(seconds, self.process.kill)
        self.too_late.start()
        self.session, pages = None, []
        while not pages:
            pages = [t["targetId"] for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=pages[0], flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.too_late.cancel()
        self.process.kill()
        self.process.wait()
        self.asks.close()
        self.answers.close()
        self.profile.cleanup()

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        self.asks.write(json.dumps(message).encode() + b"\0")
        while True:
            text = b""
            while not text.endswith(b"\0"):
                byte = self.answers.read(1)
                if not byte:
                    raise SystemExit("the browser has ended")
                text += byte
            reply = json.loads(text[:-1])
            if reply.get("id") == self.n:
                if "error" in reply:
                    raise SystemExit(f"{method}: {reply['error']}")
                return reply["result"]

    def open(self, url, width=1200, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="about:blank")  # The browser does not load a page again if only the part after # differs.
        self.call("Page.navigate", url=url)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'")

    def run(self, script):
        reply = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise SystemExit(f"{script[:200]}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def until(self, script, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return True
            time.sleep(0.05)
        return False

    def screenshot(self, path):
        height = min(self.run("document.documentElement.scrollHeight"), 4000)
        clip = {"x": 0, "y": 0, "width": self.run("innerWidth"), "height": height, "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]))
