"""Results that travel: one machine's answers and verdicts, as a folder that another takes in.

:func:`export_results` writes a bundle of a study's results, :func:`import_results` adds one to a
study of the same stimuli. :mod:`aor_lib.inference.bundles.schema` says what is in the folder.
"""

from aor_lib.inference.bundles.exchange import (
    Imported,
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
    "export_results",
    "forget_model",
    "import_results",
    "read_bundle",
    "write_bundle",
]
