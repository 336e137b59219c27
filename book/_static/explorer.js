// The listening explorer: choose among all stimuli of a study, hear them, read what models answered.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const PER_PAGE = 12;
  const number = new Intl.NumberFormat("en");

  async function setUp(root) {
    const { element, chooser, filterForm, readLink, linkTo } = window.aorExplorer;
    const { openStudy, soundPlayer, cardMaker } = window.aorExplorer;
    const { index, cardOf } = await openStudy(root);
    const size = index.ids.length;
    const fitting = chooser(index);
    const player = soundPlayer();
    const cards = cardMaker(index, player);
    const facets = [...index.facets, ...index.answerFacets];
    const filters = filterForm(facets, index.presets);
    const list = element("ol", { class: "aor-cards" });
    const previous = element("button", { type: "button", class: "aor-more" }, "Previous");
    const next = element("button", { type: "button", class: "aor-more" }, "Next");
    const place = element("span");
    const pages = element("nav", { class: "aor-pages", "aria-label": "Pages of cards" }, previous, place, next);
    const choosing = element("div", {}, filters.presets, filters.form, list, pages);
    const back = element("a", {}, "Back to the cards");
    const compared = element("div");
    const comparison = element("div", {}, element("p", {}, back), compared);
    let chosen = readLink(facets);
    let drawing = 0; // of what was asked for last; what comes later than that is dropped
    let lastPage = 1;
    let active = -1; // position of the card that the keys are at
    let typed = false;

    /** Show what is chosen; then, if asked, go to a card by its position (-1: the last). */
    async function draw(goTo = null) {
      const mine = ++drawing;
      const { rows, counts } = fitting(chosen);
      const comparing = Boolean(chosen.compare);
      lastPage = Math.max(1, Math.ceil(rows.length / PER_PAGE));
      chosen.page = Math.min(chosen.page, lastPage);
      filters.show(chosen);
      filters.update(counts, rows.length, size);
      const first = (chosen.page - 1) * PER_PAGE;
      const shown = comparing ? formsOf(chosen.compare) : rows.slice(first, first + PER_PAGE);
      let items;
      try {
        const some = await Promise.all(shown.map(cardOf));
        items = comparing
          ? [cards.compare(some, chosen)]
          : some.map((card) => element("li", {}, cards.draw(card, chosen)));
      } catch (error) {
        items = [element(comparing ? "div" : "li", {}, element("p", { role: "alert" }, error.message))];
      }
      if (mine !== drawing) return;
      player.stop();
      if (!comparing && list.contains(document.activeElement)) goTo ??= 0; // the keys stay there
      (comparing ? compared : list).replaceChildren(...items);
      back.href = linkTo({ ...chosen, compare: "" });
      choosing.hidden = comparing;
      comparison.hidden = !comparing;
      active = -1;
      place.textContent = `Page ${chosen.page} of ${number.format(lastPage)}`;
      previous.disabled = chosen.page === 1;
      next.disabled = chosen.page === lastPage;
      pages.hidden = lastPage === 1;
      root.dataset.drawn = linkTo(chosen);
      if (goTo !== null) goToCard(goTo === -1 ? items.length - 1 : goTo);
    }

    const formsOf = (utterance) =>
      index.utterances.flatMap((one, row) => (one === utterance ? [row] : []));

    /** The reader comes to a comparison at its heading, and back at the card that was left. */
    async function follow() {
      const left = chosen.compare;
      chosen = readLink(facets);
      typed = false;
      await draw();
      if (chosen.compare) (compared.querySelector("h2") || back).focus();
      else if (!left) filters.count.parentElement.scrollIntoView();
      else goToCard([...list.children].findIndex((item) => item.firstChild.dataset.utterance === left));
    }

    function goToCard(position) {
      const card = list.querySelectorAll(".aor-clip")[position];
      if (!card) return;
      active = position;
      card.focus({ preventScroll: true });
      card.scrollIntoView({ block: "nearest" });
    }

    function turnPage(by, goTo = 0) {
      const page = chosen.page + by;
      if (page < 1 || page > lastPage) return;
      chosen = { ...chosen, page };
      history.pushState(null, "", linkTo(chosen));
      draw(goTo);
    }

    function step(by) {
      const to = active + by;
      if (to < 0 && active >= 0) turnPage(-1, -1);
      else if (to >= list.children.length) turnPage(1);
      else goToCard(Math.max(0, to));
    }

    function onKey(event) {
      const { key, target } = event;
      if (chosen.compare || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (!root.contains(target)) return;
      const slider = target.matches("input[type=range]");
      if (!slider && target.closest("input, select")) return;
      const inCard = target.closest(".aor-clip");
      if (key === "/") {
        filters.search.focus();
        filters.search.select();
      } else if (key === "j" || (key === "ArrowDown" && inCard && !slider)) step(1);
      else if (key === "k" || (key === "ArrowUp" && inCard && !slider)) step(-1);
      else if (key === " " && !target.closest("button, summary, a")) {
        const card = inCard || list.querySelectorAll(".aor-clip")[Math.max(0, active)];
        card?.querySelector(".aor-sound .aor-play")?.click();
      } else return;
      event.preventDefault();
      event.stopPropagation(); // the theme has its own idea of some keys
    }

    function choose(wish, typing) {
      chosen = { ...wish, page: 1 };
      // What is typed is one step of the way back, not one a letter.
      history[typing && typed ? "replaceState" : "pushState"](null, "", linkTo(chosen));
      typed = typing;
      draw();
    }

    filters.form.addEventListener("input", ({ target }) => choose(filters.read(), target === filters.search));
    filters.form.addEventListener("reset", (event) => {
      event.preventDefault(); // `draw` empties the fields, at once
      choose(Object.fromEntries(Object.keys(chosen).map((name) => [name, ""])), false);
    });
    filters.form.addEventListener("submit", (event) => {
      event.preventDefault();
      goToCard(0);
    });
    list.addEventListener("focusin", ({ target }) => {
      active = [...list.children].findIndex((item) => item.contains(target));
    });
    previous.addEventListener("click", () => turnPage(-1));
    next.addEventListener("click", () => turnPage(1));
    document.addEventListener("keydown", onKey, true);
    window.addEventListener("popstate", () => {
      if (location.hash && !location.hash.includes("=")) return; // a heading's link
      follow();
    });
    await draw();
    root.replaceChildren(choosing, comparison, player.audio);
    // A link leads past the instructions to what it chooses.
    if (chosen.compare) (compared.querySelector("h2") || back).focus();
    else if (location.hash.includes("=")) filters.count.parentElement.scrollIntoView();
  }

  return { setUpExplorer: setUp };
})());
