// The explorer's cards, and the player of their sounds. Whatever is shown is set as text: answers
// are not to be trusted.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const SHOWN = 100; // characters of an answer that is not opened
  const NAMED = ["SNR", "Split"]; // facts that do not speak for themselves
  const FOLD = 5; // answers on a card; a click shows the others
  const SVG = "http://www.w3.org/2000/svg";

  /** An element with attributes and children; strings become text, never markup. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child));
    return made;
  }

  const refusedOf = (outcome) =>
    outcome.endsWith("_refusal") ? "refused" : outcome === "full_compliance" ? "answered" : "neither";

  const folded = (words, content) => element("details", {}, element("summary", {}, words), content);

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
    const { linkTo, wished } = window.aorExplorer;
    const titles = {};
    for (const facet of index.answerFacets) {
      titles[facet.name] = new Map(facet.values.map((value, i) => [value, facet.titles[i]]));
    }
    const address = (path) => path.split("/").map(encodeURIComponent).join("/");

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

    /** A label, and whether it is right: told by a sign and a word, too. */
    function outcome(one) {
      const worth = ["right", "wrong"].includes(one.verdict) ? `, ${one.verdict}` : "";
      return element(
        "span",
        { class: "aor-label", "data-label": one.outcome, "data-verdict": one.verdict },
        `${titles.label.get(one.outcome)}${worth}`,
      );
    }

    /** Whose answer it is, unless the place says so, and its label; opened, the answer. */
    function answer(one, placed) {
      const words = (name, text) => (text === null ? null : element("p", { class: name }, text));
      const mitigation = one.mitigation === "none" ? "" : titles.mitigation.get(one.mitigation);
      const who = placed ? null : element("span", { class: "aor-model" }, titles.model.get(one.model));
      const under = mitigation && element("span", { class: "aor-mitigation" }, mitigation);
      const beginning = element("span", {}, (one.text || "").slice(0, SHOWN));
      const short = element("span", { class: "aor-beginning" }, outcome(one), " ", placed ? null : beginning);
      if (one.text === null && one.heard === null) return element("div", {}, who, under, short);
      return element(
        "details",
        {},
        element("summary", {}, who, under, short),
        words("aor-said", one.text),
        words("aor-heard", one.heard && `Heard ${one.heard}`),
      );
    }

    const [model, mitigation] = index.answerFacets;
    function answersOf(card, chosen, by) {
      const fits = (one) =>
        by.every((facet) => wished(facet, chosen)?.includes(one[facet.name]) ?? true);
      return card.answers.filter(fits);
    }

    function answerList(answers) {
      const list = (some) =>
        element("ul", { class: "aor-answers" }, ...some.map((one) => element("li", {}, answer(one))));
      const others = answers.slice(FOLD);
      if (!others.length) return list(answers);
      const more = folded(`${others.length} more`, list(others));
      return element("div", {}, list(answers.slice(0, FOLD)), more);
    }

    function earlier(card) {
      if (!card.earlier.length) return null;
      const turns = element("ol", { class: "aor-earlier" }, ...card.earlier.map(turn));
      return folded(`After ${card.earlier.length} earlier turns`, turns);
    }

    const read = (card) =>
      element("p", { class: "aor-clip-read" }, element("b", {}, "Read, not heard: "), card.read);

    /** The card of a stimulus; answers with the label or the verdict that was chosen stand first. */
    function draw(card, chosen) {
      const fitting = (name, value) => !chosen[name] || chosen[name].split(",").includes(value);
      const other = (one) =>
        !fitting("label", one.outcome) ||
        !fitting("verdict", one.verdict) ||
        !fitting("refused", refusedOf(one.outcome));
      const answers = answersOf(card, chosen, [model, mitigation]);
      answers.sort((one, two) => Boolean(other(one)) - Boolean(other(two)));
      const facts = Object.entries(card.facts).map(([name, fact]) =>
        element(
          "div",
          {},
          element("dt", { class: NAMED.includes(name) ? "" : "visually-hidden" }, name),
          element("dd", {}, fact),
        ),
      );
      const link = (choice, words) =>
        element("a", { href: linkTo(choice), "aria-label": `${words}: ${card.text}` }, words);
      return element(
        "article",
        { class: "aor-clip", tabindex: "-1", "data-stimulus": card.stimulus_id, "data-utterance": card.utterance_id },
        element(
          "div",
          {},
          element("h2", { class: "aor-clip-said" }, `“${card.text}”`),
          earlier(card),
          card.path === null ? read(card) : sound(card),
          element("dl", { class: "aor-clip-facts" }, ...facts),
          element(
            "p",
            { class: "aor-clip-links" },
            link({ ...chosen, compare: card.utterance_id }, "Compare"),
            " ",
            element("a", { href: `clip/${address(card.stimulus_id)}.html`, "aria-label": `Open this clip: ${card.text}` }, "Open this clip"),
            " ",
            ...copyButton(card),
          ),
        ),
        answers.length ? answerList(answers) : null,
      );
    }

    /** Copies the address at which this card stands alone, and says so. */
    function copyButton(card) {
      const button = element("button", { type: "button", "aria-label": `Copy link: ${card.text}` }, "Copy link");
      const status = element("span", { role: "status" });
      button.addEventListener("blur", () => status.replaceChildren());
      button.addEventListener("click", async () => {
        const target = new URL(linkTo({ stimulus_id: card.stimulus_id }), location.href).href;
        try {
          await navigator.clipboard.writeText(target);
          status.replaceChildren("Copied");
        } catch {
          window.prompt("The address of this card:", target); // a browser may keep its clipboard
        }
      });
      return [button, status];
    }

    /** A form of a request as a row: what is heard, and a cell for each model. */
    function comparedRow(card, models, chosen) {
      const about = ["Scene", "SNR", "Voice"].map((name) => card.facts[name]).filter(Boolean);
      const message = element("span", { class: "aor-play-failed", role: "status" });
      const cells = models.map((one) => {
        const answers = answersOf(card, chosen, [mitigation]).filter((a) => a.model === one);
        return element("td", {}, ...answers.map((a) => answer(a, true)));
      });
      const title = [card.facts.Condition, ...about].join(", ");
      const track = { source: card.path && address(card.path), title, message };
      const form = element(
        "th",
        { scope: "row" },
        card.path === null ? null : playButton(track),
        card.facts.Condition,
        element("span", {}, about.join(", ")),
        card.path === null ? folded("What the models read", element("p", {}, card.read)) : earlier(card),
        message,
      );
      return element("tr", { "data-stimulus": card.stimulus_id }, form, ...cells);
    }

    /** One request in all of its forms, by what each model made of it. */
    function compare(cards, chosen) {
      if (!cards.length) return element("p", {}, "This build has no such request.");
      const asked = new Set(cards.flatMap((card) => card.answers.map((one) => one.model)));
      const models = model.values.filter((one) => asked.has(one));
      const head = models.map((one) => element("th", { scope: "col" }, titles.model.get(one)));
      const { text, facts } = cards[0];
      return element(
        "section",
        { class: "aor-compare" },
        element("h2", { tabindex: "-1" }, `“${text}”`),
        element("p", {}, `${facts.Intent}. ${facts.Scenario}.`),
        element(
          "div",
          { class: "aor-scroll", role: "region", tabindex: "0", "aria-label": "Forms of the request by model" },
          element(
            "table",
            {},
            element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Form"), ...head)),
            element("tbody", {}, ...cards.map((card) => comparedRow(card, models, chosen))),
          ),
        ),
      );
    }

    return { draw, compare };
  }

  return { element, soundPlayer, cardMaker };
})());
