"""Sports: boxing, a stadium, a dojo, basketball and a shooting range."""

from aor_lib.audio.scenes.sports_martial_arts.basketball_court import basketball_court
from aor_lib.audio.scenes.sports_martial_arts.boxing_gym import boxing_gym
from aor_lib.audio.scenes.sports_martial_arts.dojo import dojo
from aor_lib.audio.scenes.sports_martial_arts.shooting_range import shooting_range
from aor_lib.audio.scenes.sports_martial_arts.stadium import stadium

COMPOSERS = (boxing_gym, stadium, dojo, basketball_court, shooting_range)
