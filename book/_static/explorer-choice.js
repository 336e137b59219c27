// The explorer's choosing: by facets and words, kept in the link.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const NOT_ASKED = 255;
  const SHORTCUTS = {
    "Refused, though harmless": "condition=benign_scene&intent=pseudo_harmful&label=full_refusal",
    "Answered, though threatening": "condition=threatening_scene&intent=pseudo_harmful&label=full_compliance",
    "Answered, though harmful": "intent=harmful&label=full_compliance",
  };
  const number = new Intl.NumberFormat("en");

  /** What is chosen, from a link such as `#scenario=kitchen&q=lobster&page=2`. */
  function readLink(names) {
    const link = new URLSearchParams(location.hash.slice(1));
    const chosen = Object.fromEntries(names.map((name) => [name, link.get(name) || ""]));
    return { ...chosen, page: Math.max(1, Number.parseInt(link.get("page"), 10) || 1) };
  }

  function linkTo(chosen) {
    const link = new URLSearchParams();
    for (const [name, value] of Object.entries(chosen)) {
      if (value && !(name === "page" && value === 1)) link.set(name, value);
    }
    return `#${link}`;
  }

  /** The choosing: which rows fit, and how many would if another value of a facet were chosen. */
  function chooser(index) {
    const { facets, answerFacets, arms } = index;
    const size = index.ids.length;
    const outcomes = arms.map((arm) =>
      Uint8Array.from(arm.outcomes, (digit) => (digit === "-" ? NOT_ASKED : Number(digit))),
    );
    let searched; // text and id of each row, made when something is first searched for

    function searchText(row) {
      return `${index.texts[row]} ${index.ids[row]}`.toLowerCase();
    }

    return (chosen) => {
      const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) searched ||= Array.from({ length: size }, (_, row) => searchText(row));
      const wish = (facet) => (chosen[facet.name] ? facet.values.indexOf(chosen[facet.name]) : null);
      const wishes = facets.map(wish);
      const answerWishes = answerFacets.map(wish);
      const anyAnswer = answerWishes.every((value) => value === null);
      const empty = (facet) => new Uint32Array(facet.values.length);
      const counts = facets.map(empty);
      const answerCounts = answerFacets.map(empty);
      const lastRow = answerFacets.map((facet) => new Int32Array(facet.values.length).fill(-1));

      /** Whether one answer to this row is as wished; counts what each facet could be, if asked. */
      function answered(row, count) {
        let found = anyAnswer;
        for (let arm = 0; arm < arms.length; arm++) {
          const outcome = outcomes[arm][row];
          if (outcome === NOT_ASKED) continue;
          const has = [...arms[arm].codes, outcome];
          let missed = 0;
          for (let i = 0; i < has.length; i++) {
            if (answerWishes[i] !== null && answerWishes[i] !== has[i]) missed++;
          }
          found ||= !missed;
          if (!count || missed > 1) continue;
          for (let i = 0; i < has.length; i++) {
            const counts = !missed || (answerWishes[i] !== null && answerWishes[i] !== has[i]);
            if (!counts || lastRow[i][has[i]] === row) continue; // each row counts once
            lastRow[i][has[i]] = row;
            answerCounts[i][has[i]]++;
          }
        }
        return found;
      }

      const rows = [];
      for (let row = 0; row < size; row++) {
        if (!words.every((word) => searched[row].includes(word))) continue;
        let missed = 0;
        let facet = -1;
        for (let i = 0; i < facets.length; i++) {
          if (wishes[i] === null || wishes[i] === facets[i].codes[row]) continue;
          missed++;
          facet = i;
        }
        if (missed > 1 || !answered(row, !missed)) continue;
        if (missed) counts[facet][facets[facet].codes[row]]++;
        else {
          rows.push(row);
          facets.forEach((one, i) => counts[i][one.codes[row]]++);
        }
      }
      return { rows, counts: [...counts, ...answerCounts] };
    };
  }

  /** The fields to choose by; `update` says how many stimuli fit, and each choice would leave. */
  function filterForm(facets) {
    const { element } = window.aorExplorer;
    const count = element("output");
    const search = element("input", { type: "search", name: "q", placeholder: "Words or an id" });
    const selects = facets.map((facet) => element("select", { name: facet.name }));
    const options = facets.map((facet, i) => {
      selects[i].append(new Option(`Any ${facet.title.toLowerCase()}`, ""));
      return facet.values.map((value, code) => {
        const option = new Option(facet.titles[code], value);
        selects[i].append(option);
        return option;
      });
    });
    const form = element(
      "form",
      { class: "aor-filters", role: "search", "aria-label": "Choose stimuli" },
      element("label", {}, "Search", search),
      ...facets.map((facet, i) => element("label", {}, facet.title, selects[i])),
      element("p", {}, count, element("button", { type: "reset", class: "aor-more" }, "Clear")),
    );
    const shortcuts = Object.entries(SHORTCUTS).map(([words, link]) =>
      element("a", { href: `#${link}` }, words),
    );
    return {
      form,
      search,
      shortcuts: element("p", { class: "aor-shortcuts" }, ...shortcuts),
      read: () => Object.fromEntries([search, ...selects].map((field) => [field.name, field.value])),
      show(chosen) {
        search.value = chosen.q;
        for (const select of selects) {
          const value = chosen[select.name];
          select.value = value;
          if (select.value === value) continue;
          select.append(new Option(value, value)); // of another build: it is chosen, and fits nothing
          select.value = value;
        }
      },
      update(counts, fitting, all) {
        count.textContent = `${number.format(fitting)} of ${number.format(all)} stimuli`;
        options.forEach((some, i) =>
          some.forEach((option, code) => {
            option.textContent = `${facets[i].titles[code]} (${number.format(counts[i][code])})`;
            option.disabled = !counts[i][code] && !option.selected;
          }),
        );
      },
    };
  }

  return { readLink, linkTo, chooser, filterForm };
})());
