"""Video gaming: what plays on the television or in the hall."""

from aor_lib.audio.scenes.video_gaming.arcade_hall import arcade_hall
from aor_lib.audio.scenes.video_gaming.fantasy_quest import fantasy_quest
from aor_lib.audio.scenes.video_gaming.racing_game import racing_game
from aor_lib.audio.scenes.video_gaming.space_battle import space_battle
from aor_lib.audio.scenes.video_gaming.stealth_shooter import stealth_shooter

COMPOSERS = (stealth_shooter, arcade_hall, racing_game, fantasy_quest, space_battle)
