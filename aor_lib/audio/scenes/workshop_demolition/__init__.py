"""Workshops and heavy work: wood, metal, demolition, a quarry and logging."""

from aor_lib.audio.scenes.workshop_demolition.demolition_site import demolition_site
from aor_lib.audio.scenes.workshop_demolition.logging_site import logging_site
from aor_lib.audio.scenes.workshop_demolition.metal_workshop import metal_workshop
from aor_lib.audio.scenes.workshop_demolition.quarry import quarry
from aor_lib.audio.scenes.workshop_demolition.woodworking_shop import woodworking_shop

COMPOSERS = (woodworking_shop, demolition_site, metal_workshop, quarry, logging_site)
