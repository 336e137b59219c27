"""Film and theatre: where scenes are shot, rehearsed, shown and cut."""

from aor_lib.audio.scenes.film_theatre.editing_suite import editing_suite
from aor_lib.audio.scenes.film_theatre.film_set import film_set
from aor_lib.audio.scenes.film_theatre.horror_film import horror_film
from aor_lib.audio.scenes.film_theatre.stage_combat_class import stage_combat_class
from aor_lib.audio.scenes.film_theatre.theatre_rehearsal import theatre_rehearsal

COMPOSERS = (film_set, theatre_rehearsal, stage_combat_class, horror_film, editing_suite)
