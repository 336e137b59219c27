"""Results that travel: one machine's answers and verdicts, as a folder that another takes in.

:func:`export_results` writes a bundle of a study's results, :func:`import_results` adds one to a
study of the same stimuli. :mod:`aor_lib.inference.bundles.form` says what is in the folder.
"""

from aor_lib.inference.bundles.content import Bundle, BundleError
from aor_lib.inference.bundles.exporting import export_results, write_bundle
from aor_lib.inference.bundles.importing import Imported, forget_model, import_results
from aor_lib.inference.bundles.reading import read_bundle

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
