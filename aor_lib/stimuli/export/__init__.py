"""The data set for others: an audio folder, a data card and a Croissant file.

:func:`export_hf` writes the folder, which reads with ``datasets.load_dataset``, ``mlcroissant``, or
plainly with pandas and an audio library. :func:`data_card` returns the card alone.
"""

from aor_lib.stimuli.export.data_card import card_sections, data_card
from aor_lib.stimuli.export.hf import export_hf

__all__ = ["card_sections", "data_card", "export_hf"]
