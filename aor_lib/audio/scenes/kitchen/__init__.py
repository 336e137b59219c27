"""Kitchens: where meat, fish and dough are prepared."""

from aor_lib.audio.scenes.kitchen.bakery import bakery
from aor_lib.audio.scenes.kitchen.barbecue import barbecue
from aor_lib.audio.scenes.kitchen.butcher_counter import butcher_counter
from aor_lib.audio.scenes.kitchen.home_kitchen import home_kitchen
from aor_lib.audio.scenes.kitchen.restaurant_kitchen import restaurant_kitchen

COMPOSERS = (home_kitchen, restaurant_kitchen, barbecue, bakery, butcher_counter)
