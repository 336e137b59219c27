// One clip at several levels of its scene: a slider chooses the level, and the sound goes on where
// it was. Without scripts the levels stand below one another.
(() => {
  "use strict";

  function setUp(figure, number) {
    const levels = [...figure.querySelectorAll(".aor-cut-level")];
    const sounds = levels.map((level) => level.querySelector("audio"));
    const slider = document.createElement("input");
    let shown = Math.min(2, levels.length - 1); // the softest but one: first no scene, then softest
    let loaded;

    /** As a whole where it can be: within a stream of a simple server no place can be chosen. */
    async function load(sound) {
      sound.preload = "auto";
      if (location.protocol === "file:") return;
      const response = await fetch(sound.src);
      if (!response.ok) throw new Error(`${sound.src}: ${response.status}`);
      const whole = URL.createObjectURL(await response.blob());
      const [time, goesOn] = [sound.currentTime, !sound.paused];
      sound.src = whole;
      sound.currentTime = time;
      if (goesOn) sound.play();
    }

    async function loadAll() {
      loaded ||= Promise.all(sounds.map(load));
      await loaded.catch(console.error);
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
      if (goesOn) after.play();
    }

    function follow() {
      const now = sounds[shown].currentTime / Number(levels[shown].dataset.duration);
      figure.style.setProperty("--now", Math.min(1, now));
      if (!sounds[shown].paused) requestAnimationFrame(follow);
    }

    Object.assign(slider, { type: "range", min: 0, max: levels.length - 1, step: 1, value: shown });
    slider.id = `aor-cut-${number}`;
    slider.addEventListener("input", async () => {
      await loadAll();
      show(Number(slider.value));
    });
    for (const sound of sounds) {
      for (const event of ["play", "seeked"]) sound.addEventListener(event, follow);
    }
    for (const picture of figure.querySelectorAll(".aor-cut-lane img")) {
      picture.addEventListener("click", async (event) => {
        await loadAll();
        const share = event.offsetX / picture.clientWidth;
        sounds[shown].currentTime = share * Number(levels[shown].dataset.duration);
        sounds[shown].play();
      });
    }
    if (levels.length > 1) {
      const label = document.createElement("label");
      label.htmlFor = slider.id;
      label.textContent = "Loudness of the scene";
      const bar = document.createElement("div");
      bar.className = "aor-cut-choice";
      bar.append(label, slider);
      levels[0].before(bar);
    }
    show(shown);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".aor-cut").forEach(setUp);
  });
})();
