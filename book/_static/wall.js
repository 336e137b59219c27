// The wall: every answer of the study as a square that plays its clip, by mouse and by keyboard.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const TITLES = ["Complied", "Partially refused", "Refused", "No verdict"];
  const BY = { model: "Model", scenario: "Scenario", intent: "Requests" };
  const number = new Intl.NumberFormat("en");

  /** The choices: a list for each of `BY`, and the legend, whose entries single out an answer. */
  function chooser(wall, changed) {
    const { element, ANSWERS } = window.aorExplorer;
    const lists = Object.keys(BY).map((name) => {
      const { values, titles, default: first } = wall.facets[name];
      const option = (words, value) => new Option(words, value === first ? "" : value);
      const options = values.map((value, i) => option(titles[i], value));
      const list = element("select", { name }, option("Any", "any"), ...options);
      list.addEventListener("change", () => changed(name, list.value));
      return list;
    });
    const counts = TITLES.map(() => element("b"));
    const legend = TITLES.map((title, i) => {
      const swatch = element("span", { class: "aor-swatch", "data-answer": ANSWERS[i] });
      const button = element("button", { type: "button" }, swatch, `${title} `, counts[i]);
      button.addEventListener("click", () => changed("answer", ANSWERS[i]));
      return button;
    });
    const count = element("output");
    return {
      form: element(
        "form",
        { class: "aor-filters", "aria-label": "Choose answers" },
        ...lists.map((list) => element("label", {}, `${BY[list.name]} `, list)),
        element("div", { class: "aor-wall-legend", role: "group", "aria-label": "Highlight an answer" }, ...legend),
        count,
      ),
      show(found, chosen) {
        for (const list of lists) list.value = chosen[list.name];
        legend.forEach((button, i) => button.setAttribute("aria-pressed", found.answer === i));
        found.counts.forEach((n, i) => { counts[i].textContent = number.format(n); });
        const all = found.counts.reduce((a, b) => a + b, 0);
        const some = found.answer < 0 ? all : found.counts[found.answer];
        count.textContent = `${number.format(some)} of ${number.format(all)} answers, to ${number.format(found.rows.length)} requests`;
      },
    };
  }

  function coloursOf(root) {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    return {
      answers: ["--aor-complied", "--aor-refused", "--aor-refused", "--pst-color-text-muted"].map(colour),
      faint: colour("--pst-color-text-muted"),
      words: colour("--pst-color-text-base"),
    };
  }

  async function setUp(root) {
    const { element, openStudy, soundPlayer, readLink, linkTo } = window.aorExplorer;
    const { wallOf, chooseSquares, drawWall, squareAt, ANSWERS, NOT_ASKED } = window.aorExplorer;
    const { index, cardOf } = await openStudy(root);
    const wall = wallOf(index);
    const { condition, model, scenario } = wall.facets;
    const player = soundPlayer();
    const facets = [...Object.keys(BY).map((name) => wall.facets[name]), { name: "answer", values: ANSWERS }];
    let chosen = read();
    const words = element("span", { role: "status" });
    const link = element("a", {}, "Open this clip");
    const message = element("span", { class: "aor-play-failed", role: "status" });
    const line = element("p", { class: "aor-wall-line" }, words, " ", link, message);
    const canvas = element("canvas", { "aria-hidden": "true" });
    const row = element("div", { role: "row" });
    const grid = element("div", { role: "grid", "aria-label": "Answers, by request and by condition of each model" }, row);
    const picture = element("div", { class: "aor-wall-picture" }, canvas, grid);
    const filters = chooser(wall, (name, value) => {
      // An answer's button takes its choice back.
      choose({ ...chosen, [name]: chosen[name] === value ? "" : value });
      history.replaceState(null, "", linkTo(chosen));
    });
    let found; // what is chosen
    let places; // where it stands
    let active = null; // the square that the keys are at, as { row, column }
    let track = null; // what is playing, or was
    let room = 0; // the width that it was drawn in
    let frame = 0;

    const asked = ({ row, column }) => (found.rows[row]?.answers[column] ?? NOT_ASKED) !== NOT_ASKED;

    /** The choice of the link, but for what this build does not hold. */
    function read() {
      const choice = readLink(facets);
      for (const { name, values } of facets) if (![...values, "any"].includes(choice[name])) choice[name] = "";
      return choice;
    }

    /** What played may have no square any more, so it stops. */
    function choose(choice) {
      chosen = choice;
      player.stop();
      redraw();
    }

    /** Draws at most once a frame; the keys stay at their square, or come to the first. */
    function redraw() {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        const left = active && about(active);
        found = chooseSquares(wall, chosen);
        filters.show(found, chosen);
        const models = found.columns.filter((_, i) => i % found.width === 0).map(({ m }) => model.titles[m]);
        const titles = { models, conditions: condition.titles, scenarios: scenario.titles };
        places = drawWall(canvas, found, titles, coloursOf(root));
        grid.setAttribute("aria-rowcount", found.rows.length);
        grid.setAttribute("aria-colcount", found.columns.length);
        const focused = grid.contains(document.activeElement);
        row.replaceChildren();
        active = squareOf(left) || squareOf(null);
        if (active) place();
        if (!left || !active || about(active).title !== left.title) invite();
        if (focused) row.firstChild?.focus({ preventScroll: true }); // and tells its square
        root.dataset.drawn = linkTo(chosen);
      });
    }

    /** The square of a request, a model and a condition, or, without these, the first of all. */
    function squareOf(wish) {
      for (let row = 0; row < found.rows.length; row++) {
        if (wish && found.rows[row].request !== wish.request) continue;
        const column = found.columns.findIndex(({ m, c }, column) =>
          wish ? m === wish.m && c === wish.c : asked({ row, column }));
        if (column >= 0) return { row, column };
      }
      return null;
    }

    /** Request, model, condition, title and clip of a square. */
    function about({ row, column }) {
      const { request } = found.rows[row];
      const { m, c } = found.columns[column];
      const answer = wall.labelOf(request, m, c).toLowerCase();
      const title = `“${request.text}” ${condition.titles[c]}, ${model.titles[m]}: ${answer}.`;
      return { request, m, c, title, stimulus: request.rows[c] };
    }

    function tell(square) {
      const { title, stimulus } = about(square);
      words.textContent = title;
      link.href = `clip/${encodeURIComponent(index.ids[stimulus])}.html`;
      link.hidden = false;
      message.textContent = "";
    }

    function invite() {
      words.textContent = "Point at a square to read what it is, or click it to hear its clip.";
      link.hidden = true;
    }

    /** Puts the cell that the keys are at over its square. */
    function place() {
      const { title, stimulus } = about(active);
      const [left, top, side] = [places.lefts[active.column], places.tops[active.row], places.size - 1];
      row.setAttribute("aria-rowindex", active.row + 1);
      const cell = element("div", {
        role: "gridcell",
        tabindex: "0",
        "aria-colindex": active.column + 1,
        "aria-label": title,
        style: `left: ${left}px; top: ${top}px; width: ${side}px; height: ${side}px`,
      });
      if (track?.stimulus === stimulus && !player.audio.paused) {
        cell.dataset.playing = true;
        track.button = cell;
      }
      row.replaceChildren(cell);
      return cell;
    }

    function goTo(square) {
      active = square;
      const cell = place();
      cell.focus({ preventScroll: true });
      cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    async function play(square) {
      const { title, stimulus } = about(square);
      if (track?.stimulus !== stimulus) {
        message.textContent = "";
        const card = await cardOf(stimulus).catch((error) => { message.textContent = error.message; });
        if (!card || !active || about(active).title !== title) return; // or another one was chosen meanwhile
        if (!card.path) {
          player.stop();
          message.textContent = "The model read this request; there is no clip.";
          return;
        }
        track = { source: card.path.split("/").map(encodeURIComponent).join("/"), stimulus, message };
      }
      Object.assign(track, { title, button: row.firstChild });
      player.toggle(track);
    }

    /** Goes to the next square in a direction; where nobody was asked, to the one behind. */
    function step(down, right, { row, column } = active) {
      const to = { row: row + down, column: column + right };
      if (asked(to)) goTo(to);
      else if (found.rows[to.row] && found.columns[to.column]) step(down, right, to);
    }

    function edge(right) {
      const columns = [...found.columns.keys()].filter((column) => asked({ ...active, column }));
      goTo({ ...active, column: columns.at(right ? -1 : 0) });
    }

    const keys = {
      ArrowDown: () => step(1, 0),
      ArrowUp: () => step(-1, 0),
      ArrowRight: () => step(0, 1),
      ArrowLeft: () => step(0, -1),
      Home: () => edge(false),
      End: () => edge(true),
      Enter: () => play(active),
      " ": () => play(active),
    };
    grid.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation(); // the theme has its own idea of some keys
      keys[event.key]();
    });
    grid.addEventListener("focusin", () => tell(active));

    function under({ clientX, clientY }) {
      const { left, top } = canvas.getBoundingClientRect();
      const square = squareAt(places, clientX - left, clientY - top);
      return square && asked(square) && square;
    }

    picture.addEventListener("click", (event) => {
      const square = under(event);
      if (!square) return;
      goTo(square);
      play(square);
    });
    // What is under the mouse is told; then again the square that the keys are at.
    picture.addEventListener("pointermove", (event) => {
      const square = event.pointerType === "mouse" && under(event);
      if (square) tell(square);
    });
    picture.addEventListener("pointerleave", () => {
      if (grid.contains(document.activeElement)) tell(active);
      else invite();
    });
    window.addEventListener("popstate", () => {
      if (location.hash && !location.hash.includes("=")) return; // a heading's link
      choose(read());
    });
    root.replaceChildren(filters.form, line, picture, player.audio);
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === room) return;
      room = contentRect.width;
      redraw();
    }).observe(root);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  return { setUpWall: setUp };
})());
