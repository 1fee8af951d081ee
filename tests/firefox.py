"""Firefox for tests of pages, spoken to by WebDriver BiDi: a profile of its own, and no way to another machine."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from browser import NoBrowser

# Every address but a file's goes to a proxy that there is not.
PREFERENCES = {
    "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "", "app.normandy.enabled": False, "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}  # fmt: skip
QUIET = subprocess.DEVNULL
BEGINS = 60  # seconds that Firefox may take until it listens
ANSWERS = 300  # seconds that it may take for one answer


class Page:
    """The one tab of a Firefox."""

    def __init__(self, connection):
        self.connection, self.sent = connection, 0
        self.ask("session.new", capabilities={})
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params) -> dict:
        """The result of a command of WebDriver BiDi."""
        self.sent += 1
        self.connection.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while True:
            message = json.loads(self.connection.recv())
            if message.get("id") != self.sent:
                continue  # an event
            if message["type"] == "error":
                raise RuntimeError(f"{method}: {message['message']}")
            return message["result"]

    def goto(self, address: str) -> None:
        """Open an address, and wait until all of it is there."""
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, function: str):
        """The value of a JavaScript function without arguments, or of the promise that it gives."""
        expression = f"Promise.resolve(({function})()).then(JSON.stringify)"
        target = {"context": self.context}
        found = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])


@contextlib.contextmanager
def firefox():
    """`with firefox() as page`: its one tab, empty; `NoBrowser` where there is no Firefox."""
    executable = shutil.which("firefox-esr") or shutil.which("firefox")
    if not executable:
        raise NoBrowser("no firefox-esr or firefox on the PATH")
    import websocket  # of jupyter-server

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        profile = pathlib.Path(folder)
        lines = [
            f"user_pref({json.dumps(key)}, {json.dumps(value)});"
            for key, value in PREFERENCES.items()
        ]
        (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
        command = [executable, "--headless", "--no-remote", "--profile", folder]
        command += ["--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=QUIET, stderr=QUIET, start_new_session=True)
        try:
            port = listening(process, profile / "WebDriverBiDiServer.json")
            address = f"ws://127.0.0.1:{port}/session"
            connection = websocket.create_connection(address, timeout=ANSWERS, suppress_origin=True)
            yield Page(connection)
            connection.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its profile goes with it
            process.wait()


def listening(process: subprocess.Popen, path: pathlib.Path) -> int:
    """The port that Firefox writes down once it listens."""
    end = time.monotonic() + BEGINS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(path.read_text(encoding="utf-8"))["ws_port"]
        time.sleep(0.1)
    raise RuntimeError(f"Firefox did not listen within {BEGINS} s, or ended: {process.poll()}")
