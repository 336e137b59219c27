// The explorer's choosing: by facets and words, kept in the link.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const NOT_ASKED = 255;
  const ANY = "any";
  const FIRST = ["model", "refused", "condition", "elsewhere", "intent", "scenario"]; // others are folded
  const IDS = { stimulus_id: "ids", utterance_id: "utterances" }; // lists that only links choose by
  const number = new Intl.NumberFormat("en");

  /** The choice that a link holds, such as `#scenario=kitchen,workshop&q=lobster&page=2`. */
  function readLink(facets) {
    const link = new URLSearchParams(location.hash.slice(1));
    const value = (name, unless) => (link.get(name) === unless ? "" : link.get(name)) || "";
    const chosen = Object.fromEntries(facets.map((one) => [one.name, value(one.name, one.default)]));
    const page = Math.max(1, Number.parseInt(link.get("page"), 10) || 1);
    const ids = Object.fromEntries(Object.keys(IDS).map((name) => [name, value(name)]));
    return { q: value("q"), ...chosen, ...ids, page, compare: value("compare") };
  }

  /** The values of a facet, one of which an answer or a stimulus must have; null: any. */
  function wished(facet, chosen) {
    const value = chosen[facet.name] || facet.default;
    return value === ANY ? null : value.split(",");
  }

  /** The choice in words. */
  function inWords(facets, chosen) {
    const some = facets.filter((facet) => chosen[facet.name]).map((facet) => titleOf(facet, chosen[facet.name]));
    for (const name of Object.keys(IDS)) {
      const listed = chosen[name] ? chosen[name].split(",").length : 0;
      const what = name === "stimulus_id" ? "clip" : "request";
      if (listed) some.push(`${listed} ${what}${listed > 1 ? "s" : ""} by id`);
    }
    return some.join(" · ");
  }

  /** The title of a value of a facet, or of several with commas between them. */
  const titleOf = (facet, value) =>
    value === ANY
      ? `${facet.title}: any`
      : value.split(",").map((one) => facet.titles[facet.values.indexOf(one)] ?? one).join(" or ");

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
    const code = (digit) => (digit === "-" ? NOT_ASKED : Number(digit));
    const same = (value) => new Uint8Array(size).fill(value);
    const columns = arms.map((arm) => [...arm.codes.map(same), ...arm.digits.map((all) => Uint8Array.from(all, code))]);
    let searched; // text and id of each row, made when something is first searched for

    function searchText(row) {
      return `${index.texts[row]} ${index.ids[row]}`.toLowerCase();
    }

    return (chosen) => {
      const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) searched ||= Array.from({ length: size }, (_, row) => searchText(row));
      const wish = (facet) => {
        const values = wished(facet, chosen);
        return values && new Set(values.map((value) => facet.values.indexOf(value)));
      };
      const listed = Object.entries(IDS)
        .filter(([name]) => chosen[name])
        .map(([name, ids]) => [index[ids], new Set(chosen[name].split(","))]);
      const wishes = facets.map(wish);
      const answerWishes = answerFacets.map(wish);
      const anyAnswer = answerFacets.every((facet, i) => !chosen[facet.name] || !answerWishes[i]);
      const empty = (facet) => new Uint32Array(facet.values.length);
      const counts = facets.map(empty);
      const answerCounts = answerFacets.map(empty);
      const lastRow = answerFacets.map((facet) => new Int32Array(facet.values.length).fill(-1));

      /** True if an answer to this row matches; with `count`, also counts the values of the facets. */
      function answered(row, count) {
        let found = anyAnswer;
        for (const codes of columns) {
          if (codes.at(-1)[row] === NOT_ASKED) continue;
          let missed = 0;
          for (let i = 0; i < codes.length; i++) {
            if (answerWishes[i] && !answerWishes[i].has(codes[i][row])) missed++;
          }
          found ||= !missed;
          if (!count || missed > 1) continue;
          for (let i = 0; i < codes.length; i++) {
            const counts = !missed || (answerWishes[i] && !answerWishes[i].has(codes[i][row]));
            if (!counts || lastRow[i][codes[i][row]] === row) continue; // each row counts once
            lastRow[i][codes[i][row]] = row;
            answerCounts[i][codes[i][row]]++;
          }
        }
        return found;
      }

      const rows = [];
      for (let row = 0; row < size; row++) {
        if (!words.every((word) => searched[row].includes(word))) continue;
        if (!listed.every(([ids, wanted]) => wanted.has(ids[row]))) continue;
        let missed = 0;
        let facet = -1;
        for (let i = 0; i < facets.length; i++) {
          if (!wishes[i] || wishes[i].has(facets[i].codes[row])) continue;
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
  function filterForm(facets, presets) {
    const { element } = window.aorExplorer;
    const count = element("output");
    const words = element("span", { class: "aor-chosen" });
    const lists = Object.keys(IDS).map((name) => element("input", { type: "hidden", name }));
    const search = element("input", { type: "search", name: "q", placeholder: "Words or an id" });
    const selects = facets.map((facet) => element("select", { name: facet.name }));
    const valueOf = (facet, value) => (value === facet.default ? "" : value);
    const options = facets.map((facet, i) => {
      const any = new Option("Any", valueOf(facet, ANY));
      const some = facet.values.map(
        (value, code) => new Option(facet.titles[code], valueOf(facet, value)),
      );
      const chosen = [any, ...some].find((option) => option.value === "");
      selects[i].append(chosen, ...[any, ...some].filter((option) => option !== chosen));
      return some;
    });
    const labels = facets.map((facet, i) => element("label", {}, facet.title, selects[i]));
    const first = FIRST.map((name) => labels[facets.findIndex((facet) => facet.name === name)]);
    const more = labels.filter((label) => !first.includes(label));
    const folded = element(
      "details",
      {},
      element("summary", {}, "More filters"),
      element("div", { class: "aor-fields" }, ...more),
    );
    const form = element(
      "form",
      { class: "aor-choice", role: "search", "aria-label": "Choose stimuli" },
      element("div", { class: "aor-fields" }, element("label", {}, "Search", search), ...first),
      folded,
      ...lists,
      element("p", {}, count, element("button", { type: "reset", class: "aor-more" }, "Clear"), words),
    );
    const items = presets.map(({ title, link }) =>
      element("li", {}, element("a", { href: `#${link}` }, title)),
    );
    return {
      form,
      search,
      count,
      presets: element("ul", { class: "aor-presets", "aria-label": "Mistakes to begin with" }, ...items),
      read: () => Object.fromEntries([search, ...selects, ...lists].map((field) => [field.name, field.value])),
      show(chosen) {
        search.value = chosen.q;
        for (const list of lists) list.value = chosen[list.name];
        words.textContent = inWords(facets, chosen);
        facets.forEach((facet, i) => {
          const select = selects[i];
          const value = chosen[facet.name];
          select.value = value;
          labels[i].hidden = facet.values.length < 2 && !value;
          if (value && more.includes(labels[i])) folded.open = true;
          if (select.value === value) return;
          select.append(new Option(titleOf(facet, value), value)); // several, or of another build
          select.value = value;
        });
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

  return { readLink, linkTo, wished, chooser, filterForm };
})());
