"""Medicine: a ward, an ambulance, an operating theatre, a dentist and a veterinarian."""

from aor_lib.audio.scenes.medical_emergency.ambulance import ambulance
from aor_lib.audio.scenes.medical_emergency.dental_surgery import dental_surgery
from aor_lib.audio.scenes.medical_emergency.hospital_ward import hospital_ward
from aor_lib.audio.scenes.medical_emergency.operating_theatre import operating_theatre
from aor_lib.audio.scenes.medical_emergency.veterinary_clinic import veterinary_clinic

COMPOSERS = (hospital_ward, ambulance, operating_theatre, dental_surgery, veterinary_clinic)
