"""The data set for others: an audio folder, a data card and a Croissant file.

:func:`export_hf` is the way in. The folder reads with ``datasets.load_dataset``, ``mlcroissant``,
or plainly with pandas and an audio library.
"""

from aor_lib.stimuli.export.hf import ExportError, export_hf

__all__ = ["ExportError", "export_hf"]
