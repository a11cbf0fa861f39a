"""Debian's Firefox without a screen, driven by Marionette: JSON over TCP, which Firefox speaks by itself.

Playwright drives Chromium here. Of Firefox it wants builds of its own, or commands that an ESR does not have.
"""

import json
import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.command_line import eventually
from tests.support.event_loop import BOUND_SECONDS

FIREFOX = shutil.which("firefox-esr")
PREFERENCES = {"marionette.port": 0, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False}
CSS, XPATH = "css selector", "xpath"


class FirefoxError(AssertionError):
    """A command that Firefox refused, with its reason."""


class Firefox:
    """A browser with a profile of its own. Each window stays open; commands go to the one chosen last."""

    def __init__(self, profile: Path) -> None:
        profile.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        call = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile), "--marionette"]
        self._process = subprocess.Popen(
            call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(profile)}
        )
        self._count = 0
        try:
            port_file = profile / "MarionetteActivePort"
            port = int(eventually(lambda: port_file.exists() and port_file.read_text(), "Firefox"))
            self._connection = socket.create_connection(("127.0.0.1", port), BOUND_SECONDS)
            self._stream = self._connection.makefile("rb")
            self._message()  # it says which protocol it speaks
            milliseconds = round(BOUND_SECONDS * 1000)
            timeouts = {"script": milliseconds, "pageLoad": milliseconds}
            self._call("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": timeouts}})
        except BaseException:
            self._process.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._call("Marionette:Quit", flags=["eForceQuit"])
            self._process.wait(BOUND_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._stream.close()
            self._connection.close()

    def go(self, address: str) -> None:
        """Load a page to its end."""
        self._call("WebDriver:Navigate", url=address)

    def arrived(self, path: str) -> None:
        """Wait until the page at a path is loaded to its end. A click waits for that, too, but not for a load that
        begins late."""
        script = "return document.readyState === 'complete' && location.pathname"

        def is_there() -> bool:
            with suppress(FirefoxError):  # the page that was asked has just been left
                return bool(self.run(script) == path)
            return False

        eventually(is_there, f"Firefox at {path}")

    def press(self, name: str) -> None:
        """Click a button or a link by its name."""
        own = f'(self::button or self::a or self::summary) and (@aria-label="{name}" or normalize-space()="{name}")'
        self._call("WebDriver:ElementClick", id=self._element(XPATH, f"//*[{own}]"))

    def type(self, selector: str, text: str) -> None:
        self._call("WebDriver:ElementSendKeys", id=self._element(CSS, selector), text=text)

    def run(self, script: str) -> Any:
        """The body of a function; what it gives."""
        return self._call("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def until(self, expression: str) -> None:
        """Wait until an expression holds: it is looked at now, and after each change of the page."""
        script = f"""const [done] = arguments; const holds = () => {expression};
            if (holds()) return done(true);
            const watch = new MutationObserver(() => {{ if (holds()) {{ watch.disconnect(); done(true); }} }});
            watch.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});"""
        self._call("WebDriver:ExecuteAsyncScript", script=script, args=[])

    def window(self) -> str:
        """Another window, which is chosen."""
        handle = str(self._call("WebDriver:NewWindow", type="window", focus=True)["handle"])
        self.choose(handle)
        return handle

    def choose(self, handle: str) -> None:
        self._call("WebDriver:SwitchToWindow", handle=handle)

    def _element(self, using: str, value: str) -> str:
        found = self._call("WebDriver:FindElement", using=using, value=value)["value"]
        return str(next(iter(found.values())))

    def _call(self, command: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        sent = json.dumps([0, self._count, command, parameters]).encode()
        self._connection.sendall(b"%d:%s" % (len(sent), sent))
        _, _, error, result = self._message()
        if error is not None:
            raise FirefoxError(f"{command}: {error['error']}: {error['message']}")
        return result if isinstance(result, dict) else {}

    def _message(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            read = self._stream.read(1)
            assert read, "Firefox has ended"
            length += read
        return json.loads(self._stream.read(int(length[:-1])))
