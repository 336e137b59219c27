// The explorer's cards, and the player of their sounds. Whatever is shown is set as text: answers
// are not to be trusted.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const SHOWN = 160; // characters of an answer that is not opened
  const SVG = "http://www.w3.org/2000/svg";

  /** An element with attributes and children; strings become text, never markup. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  /** One sound at a time, loaded when it is played. A track is a button and perhaps an outline. */
  function soundPlayer() {
    const audio = element("audio", { preload: "none" });
    let current = null;
    let loading = null;
    let frame = 0;

    function show() {
      cancelAnimationFrame(frame);
      if (!current) return;
      const { button, position, title, duration } = current;
      button.setAttribute("aria-label", `${audio.paused ? "Play" : "Pause"}: ${title}`);
      button.dataset.playing = !audio.paused;
      if (!position) return;
      const time = audio.currentTime;
      if (!position.matches(":active")) position.value = time;
      position.setAttribute("aria-valuetext", `${time.toFixed(1)} of ${duration.toFixed(1)} seconds`);
      position.parentElement.style.setProperty("--played", `${(100 * time) / duration}%`);
      if (!audio.paused) frame = requestAnimationFrame(show);
    }

    /** As a whole where it can be: within a stream of a simple server no place can be chosen. */
    async function load(track) {
      let address = track.source;
      if (location.protocol !== "file:") {
        const response = await fetch(address);
        if (!response.ok) throw new Error(`${address}: ${response.status}`);
        address = URL.createObjectURL(await response.blob());
      }
      if (current !== track) return;
      URL.revokeObjectURL(audio.src);
      audio.src = address;
    }

    function stop() {
      audio.pause();
      audio.currentTime = 0;
      show();
      current = null;
    }

    async function play(track, time) {
      if (current !== track) {
        stop();
        current = track;
        loading = load(track);
      }
      track.message.textContent = "";
      try {
        await loading;
        if (current !== track) return; // another one was chosen meanwhile
        if (time !== undefined) audio.currentTime = time;
        await audio.play();
      } catch (error) {
        if (error.name === "AbortError") return; // it was paused before it began
        track.message.textContent = "This clip could not be played.";
        if (current === track) stop();
      }
    }

    for (const event of ["play", "pause", "ended", "seeked"]) audio.addEventListener(event, show);
    return {
      audio,
      stop,
      play,
      toggle: (track) => (current === track && !audio.paused ? audio.pause() : play(track)),
    };
  }

  /** The outline of a sound as a drawing, twice: the upper one shows what has been played. */
  function outlineOf(digits) {
    const bars = [...digits].map((digit, i) => {
      const height = Math.max(1, Number.parseInt(digit, 36));
      return `M${i + 0.5} ${36 - height}V${36 + height}`;
    });
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("viewBox", `0 0 ${digits.length} 72`);
    drawing.setAttribute("preserveAspectRatio", "none");
    drawing.setAttribute("aria-hidden", "true");
    for (const name of ["whole", "played"]) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", name);
      path.setAttribute("d", bars.join(""));
      drawing.append(path);
    }
    return drawing;
  }

  /** Draws the cards of one study. */
  function cardMaker(index, player) {
    const { linkTo } = window.aorExplorer;
    const titles = {};
    for (const facet of index.answerFacets) {
      titles[facet.name] = new Map(facet.values.map((value, i) => [value, facet.titles[i]]));
    }
    const address = (path) => `${index.clips}/${path.split("/").map(encodeURIComponent).join("/")}`;

    function playButton(track) {
      track.button = element("button", {
        type: "button",
        class: "aor-play",
        "aria-label": `Play: ${track.title}`,
      });
      track.button.addEventListener("click", () => player.toggle(track));
      return track.button;
    }

    function sound(card) {
      const message = element("p", { class: "aor-play-failed", role: "status" });
      const duration = card.duration_s;
      const position = element("input", {
        type: "range",
        min: "0",
        max: String(duration),
        step: "0.05",
        value: "0",
        "aria-label": `Position in: ${card.text}`,
      });
      const track = { source: address(card.path), title: card.text, duration, position, message };
      position.addEventListener("input", () => player.play(track, Number(position.value)));
      return element(
        "div",
        { class: "aor-sound" },
        playButton(track),
        element("div", { class: "aor-outline" }, outlineOf(card.outline), position),
        element("span", { class: "aor-duration" }, `${duration.toFixed(1)} s`),
        message,
      );
    }

    function turn(one) {
      const message = element("span", { class: "aor-play-failed", role: "status" });
      const who = element("b", {}, one.role === "user" ? "Speaker:" : "Assistant:");
      const button = one.path && playButton({ source: address(one.path), title: one.text, message });
      return element("li", {}, button, who, ` ${one.text} `, message);
    }

    /** Who answered, the label, and how the answer begins; opened, all of it. */
    function answer(one) {
      const words = (name, text) => (text === null ? null : element("p", { class: name }, text));
      const mitigation = one.mitigation === "none" ? "" : titles.mitigation.get(one.mitigation);
      const who = [
        element("span", { class: "aor-model" }, one.model),
        element("span", { class: "aor-mitigation" }, mitigation),
        element("span", { class: "aor-label", "data-label": one.outcome }, titles.label.get(one.outcome)),
      ];
      if (one.text === null && one.heard === null) return element("li", {}, ...who);
      const beginning = element("span", { class: "aor-beginning" }, (one.text || "").slice(0, SHOWN));
      return element(
        "li",
        {},
        element(
          "details",
          {},
          element("summary", {}, ...who, beginning),
          words("aor-said", one.text),
          words("aor-heard", one.heard && `Heard ${one.heard}`),
        ),
      );
    }

    return (card, chosen) => {
      const fits = (one) =>
        ["model", "mitigation"].every((name) => !chosen[name] || chosen[name] === one[name]);
      const other = (one) => Boolean(chosen.label) && one.outcome !== chosen.label;
      const answers = card.answers.filter(fits).sort((one, two) => other(one) - other(two));
      const facts = Object.entries(card.facts).map(([name, fact]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, fact)),
      );
      const read = () =>
        element("p", { class: "aor-clip-read" }, element("b", {}, "Read, not heard: "), card.read);
      const link = (id, words) =>
        element("a", { href: linkTo({ q: id }), "aria-label": `${words}: ${card.text}` }, words);
      return element(
        "article",
        { class: "aor-clip", tabindex: "-1", "data-stimulus": card.stimulus_id },
        element(
          "div",
          {},
          element("h2", { class: "aor-clip-said" }, `“${card.text}”`),
          card.earlier.length ? element("ol", { class: "aor-earlier" }, ...card.earlier.map(turn)) : null,
          card.path === null ? read() : sound(card),
          element("dl", { class: "aor-clip-facts" }, ...facts),
          element(
            "p",
            { class: "aor-clip-links" },
            link(card.utterance_id, "This request in every form"),
            " ",
            link(card.stimulus_id, "Link to this card"),
          ),
        ),
        answers.length ? element("ul", { class: "aor-answers" }, ...answers.map(answer)) : null,
      );
    };
  }

  return { element, soundPlayer, cardMaker };
})());
