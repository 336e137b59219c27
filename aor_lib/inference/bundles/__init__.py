"""Results that travel: one machine's answers and verdicts, as a folder that another takes in.

:func:`export_results` writes a bundle of a study's results, :func:`import_results` adds one to a
study of the same stimuli. :mod:`aor_lib.inference.bundles.schema` says what is in the folder.
:mod:`aor_lib.inference.bundles.inspect_log` makes a bundle of what inspect_ai asked.
"""

from aor_lib.inference.bundles.exchange import (
    Imported,
    add_bundle,
    export_results,
    forget_model,
    import_results,
)
from aor_lib.inference.bundles.folder import read_bundle, write_bundle
from aor_lib.inference.bundles.schema import Bundle, BundleError

__all__ = [
    "Bundle",
    "BundleError",
    "Imported",
    "add_bundle",
    "export_results",
    "forget_model",
    "import_results",
    "read_bundle",
    "write_bundle",
]
