"""Kitchens: where meat, fish and dough are prepared."""

from aor_lib.soundscape.kitchen.bakery import bakery
from aor_lib.soundscape.kitchen.barbecue import barbecue
from aor_lib.soundscape.kitchen.butcher_counter import butcher_counter
from aor_lib.soundscape.kitchen.home_kitchen import home_kitchen
from aor_lib.soundscape.kitchen.restaurant_kitchen import restaurant_kitchen

COMPOSERS = (home_kitchen, restaurant_kitchen, barbecue, bakery, butcher_counter)
