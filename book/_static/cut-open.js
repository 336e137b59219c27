// One clip at several levels of its scene: a slider chooses the level, and the sound goes on where
// it was. Without scripts the levels stand below one another.
(() => {
  "use strict";

  function setUp(figure, number) {
    const levels = [...figure.querySelectorAll(".aor-cut-level")];
    const sounds = levels.map((level) => level.querySelector("audio"));
    const slider = document.createElement("input");
    const loads = new Map();
    let shown = Math.floor(levels.length / 2);

    const play = (sound) =>
      sound.play().catch((error) => {
        if (error.name !== "AbortError") console.error(error); // it was paused before it began
      });

    /** As a whole where it can be: within a stream of a simple server no place can be chosen. */
    async function fetched(sound) {
      sound.preload = "auto";
      if (location.protocol === "file:") return;
      const response = await fetch(sound.src);
      if (!response.ok) throw new Error(`${sound.src}: ${response.status}`);
      sound.src = URL.createObjectURL(await response.blob());
    }

    function load(sound) {
      if (!loads.has(sound)) loads.set(sound, fetched(sound).catch(console.error));
      return loads.get(sound);
    }

    function show(chosen) {
      const [before, after] = [sounds[shown], sounds[chosen]];
      const [time, goesOn] = [before.currentTime, !before.paused];
      shown = chosen;
      levels.forEach((level, i) => {
        level.hidden = i !== chosen;
      });
      slider.setAttribute("aria-valuetext", levels[chosen].dataset.level);
      if (before === after) return;
      before.pause();
      after.currentTime = time;
      if (goesOn) play(after);
    }

    function follow() {
      const now = sounds[shown].currentTime / Number(levels[shown].dataset.duration);
      figure.style.setProperty("--now", Math.min(1, now));
      if (!sounds[shown].paused) requestAnimationFrame(follow);
    }

    Object.assign(slider, { type: "range", min: 0, max: levels.length - 1, step: 1, value: shown });
    slider.id = `aor-cut-${number}`;
    slider.addEventListener("input", async () => {
      const chosen = Number(slider.value);
      await load(sounds[chosen]);
      if (chosen === Number(slider.value)) show(chosen);
    });
    for (const sound of sounds) {
      for (const event of ["play", "seeked"]) sound.addEventListener(event, follow);
    }
    for (const picture of figure.querySelectorAll(".aor-cut-lane img")) {
      picture.addEventListener("click", async (event) => {
        await load(sounds[shown]);
        const share = event.offsetX / picture.clientWidth;
        sounds[shown].currentTime = share * Number(levels[shown].dataset.duration);
        play(sounds[shown]);
      });
    }
    if (levels.length > 1) {
      const label = document.createElement("label");
      label.htmlFor = slider.id;
      label.textContent = "Loudness of the scene";
      const bar = document.createElement("div");
      bar.className = "aor-cut-choice";
      bar.append(label, "none", slider, "loudest");
      levels[0].before(bar);
    }
    show(shown);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".aor-cut").forEach(setUp);
  });
})();
