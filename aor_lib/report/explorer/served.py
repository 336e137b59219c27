"""The explorer in a running notebook: its page, served from the study's folder to a frame."""

import io
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from IPython.display import IFrame

from aor_lib.config.params import PARAMS
from aor_lib.report.explorer.page import FOLDER, write_page

PAGE = "explorer.html"
"""The page in the study's folder; a browser also opens it from there."""

_STATIC = PARAMS.parent / "book" / "_static"
_THEME = """
:root { --pst-color-text-base: #222832; --pst-color-text-muted: #48566b; }
:root { --pst-color-border: #d1d5da; --pst-color-background: #fff; --pst-color-surface: #f3f4f5; }
body { color: var(--pst-color-text-base); font-family: system-ui, sans-serif; }
"""
_SHOWN = {PAGE, FOLDER, "clips"}


def serve_page(build: Path | str, port: int = 0) -> IFrame:
    """Write the explorer of a study as a page of its own, and show it in a frame.

    The page is served on this machine for as long as the kernel lives; nothing else of the study's
    folder is.

    Parameters
    ----------
    build
        Folder of the study.
    port
        Where to serve it, such as one that is forwarded from a remote machine; 0: any free one.

    Raises
    ------
    FileNotFoundError
        As :func:`aor_lib.report.explorer.page.write_page`.
    """
    build = Path(build)
    root = write_page(build, "clips")
    styles = [_THEME, *(_static(name) for name in ("aor.css", "explorer.css"))]
    names = ("explorer-cards.js", "explorer-choice.js", "explorer.js")
    scripts = "".join(f"<script>{_static(name)}</script>" for name in names)
    (build / PAGE).write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Explorer</title>'
        f"<style>{''.join(styles)}</style>{scripts}</head>"
        f'<body><main class="bd-article">{root.html}</main></body></html>',
        encoding="utf-8",
    )
    handler = partial(_Handler, directory=str(build.resolve()))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return IFrame(f"http://127.0.0.1:{server.server_port}/{PAGE}", width="100%", height=900)


class _Handler(SimpleHTTPRequestHandler):
    """Serves the page, its data and the clips: results hold answers that are shown nowhere."""

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Answer as the base class does, but for what is not of the page."""
        parts = Path(self.translate_path(self.path)).relative_to(self.directory).parts
        if parts and parts[0] in _SHOWN:
            return super().send_head()
        self.send_error(404)
        return None

    def log_message(self, *_: object) -> None:
        """Keep the notebook quiet."""


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")
