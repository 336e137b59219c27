"""The ``aor`` command: each of its commands makes one call into the library."""

import signal


def main() -> None:
    """Entry point of ``aor``; Ctrl-C ends it silently, even while modules are being imported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from aor_lib.cli.app import app
    from aor_lib.cli.steps import run_app

    run_app(app, "aor")
