// What the tests ask of a page, by name.
({
  // Style sheets are not fetched again (`preload`): from a file the browser would refuse it.
  axe: (rules) => axe.run(document, { preload: false, resultTypes: ["violations"], ...rules })
    .then((result) => result.violations
      .filter((found) => ["serious", "critical"].includes(found.impact))
      .map((found) => `${found.id}: ${found.nodes.map((node) => node.html).join(" ")}`)),

  themeIsShown: (theme) => document.getAnimations().every((one) => one.playState !== "running")
    && [...document.querySelectorAll(".aor-chart")].every((one) => one.dataset.drawn === theme),

  // Headings with nothing to read, see or hear before the next one, unless that is one level deeper.
  emptySections: () => {
    const article = document.querySelector("article.bd-article");
    const headings = [...article.querySelectorAll("h1, h2, h3, h4")];
    const level = (heading) => Number(heading.tagName[1]);
    return headings.filter((heading, i) => {
      const next = headings[i + 1];
      if (next && level(next) > level(heading)) return false;
      const between = document.createRange();
      between.setStartAfter(heading);
      if (next) between.setEndBefore(next);
      else between.setEndAfter(article.lastChild);
      const content = between.cloneContents();
      content.querySelectorAll(".cell_input, script").forEach((unseen) => unseen.remove());
      return !content.textContent.trim() && !content.querySelector("img, svg, audio");
    }).map((heading) => heading.textContent);
  },

  // Brings one chart after the other near the screen, where it is drawn, until all are.
  drawAll: () => {
    const next = document.querySelector(".aor-chart:not([data-drawn])");
    next?.scrollIntoView();
    return !next;
  },

  withoutMarks: (charts) => charts
    .filter((chart) => !chart.querySelector("svg .role-mark path, svg .role-mark line"))
    .map((chart) => chart.querySelector("figcaption").textContent),

  // Names beside charts and in their legends that reach over the chart's edge.
  cutOff: (charts) => charts.flatMap((chart) => {
    const edge = chart.getBoundingClientRect();
    return [...chart.querySelectorAll(".role-legend-label text, .role-axis-label text")]
      .filter((text) => {
        const { left, right } = text.getBoundingClientRect();
        return left < edge.left - 1 || right > edge.right + 1;
      })
      .map((text) => text.textContent);
  }),

  isPlaying: () => document.querySelector("audio").currentTime > 0.1
    && document.querySelectorAll("[data-playing=true]").length === 1,

  countsAre: (expected) => String(expected)
    === String([...document.querySelectorAll(".aor-wall-legend b")].map((one) => one.textContent)),

  rowLinks: (links) =>
    links.map((link) => {
      const heads = [...link.closest("table").querySelectorAll("thead th")];
      const place = heads.findIndex((head) => head.textContent === "n");
      return [link.href, link.closest("tr").children[place].textContent];
    }),

  // Words of sentences and lists; those of code, tables, charts and clips are not counted.
  words: () => {
    const article = document.querySelector("article.bd-article").cloneNode(true);
    article.querySelectorAll("script, .cell_input, .aor-scroll, .aor-chart, .aor-gallery").forEach((one) => one.remove());
    return [...article.querySelectorAll("p, li")]
      .filter((one) => !one.parentElement.closest("p, li"))
      .flatMap((one) => one.textContent.split(/\s+/).filter(Boolean)).length;
  },

  embed: (page) => {
    document.body.append(Object.assign(document.createElement("iframe"), { src: page }));
  },
})
