// Charts and clips of the book. Vega is served by the book itself, loaded once a chart comes near
// the screen, and shared between pages. Without scripts the tables and the players remain.
(() => {
  "use strict";

  const vendor = new URL("vendor/", document.currentScript.src).href;
  const bundles = ["vega/vega.min.js", "vega-lite/vega-lite.min.js", "vega-embed/vega-embed.min.js"];
  const drawn = new Map(); // figure → vega view
  const NARROW = 480;
  let loading;

  function loadScript(path) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = vendor + path;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${path} could not be loaded`));
      document.head.append(script);
    });
  }

  async function loadVega() {
    // Where the page has widgets, an AMD loader is there and would catch the bundles' exports.
    const amd = window.define;
    window.define = undefined;
    for (const path of bundles) await loadScript(path);
    window.define = amd;
  }

  /** Colours of the page's current theme and room for its width, as Vega-Lite configuration. */
  function pageConfig(width) {
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--pst-color-text-base").trim();
    const muted = style.getPropertyValue("--pst-color-text-muted").trim();
    const narrow = width < NARROW;
    return {
      axis: { labelColor: text, titleColor: muted, gridColor: muted, ...(narrow && { labelLimit: 120 }) },
      header: { labelColor: text },
      legend: {
        labelColor: text,
        symbolBaseFillColor: text,
        symbolBaseStrokeColor: text,
        ...(narrow && { columns: 1 }),
      },
      style: { reference: { stroke: muted, color: muted } },
    };
  }

  // A phone has no room for long names beside a chart: they stand in lines of up to 26 characters.
  const inLines =
    "split(trim(replace(datum.label, regexp('(.{1,26})(\\\\s+|$)', 'g'), '$1\\n')), '\\n')";

  function wrapNames(part) {
    const y = part.encoding?.y;
    if (y?.type === "nominal") y.axis = { labelExpr: inLines, ...y.axis, labelLimit: 170 };
    for (const inner of part.layer || []) wrapNames(inner);
  }

  /** Panels share the width of their chart; on a phone, rows of panels become rows of two. */
  function fitPanels(chart, width) {
    const { row, column } = chart.facet;
    const rows = Object.values(chart.datasets).flat();
    const valuesOf = ({ field }) => [...new Set(rows.map((one) => one[field]).filter(Boolean))];
    let columns = valuesOf(column).length;
    if (width < NARROW) {
      columns = chart.columns = 2;
      const panel = `datum.${row.field} + '\\n' + datum.${column.field}`;
      chart.transform = [...(chart.transform || []), { calculate: panel, as: "panel" }];
      const sort = valuesOf(row).flatMap((model) => valuesOf(column).map((one) => `${model}\n${one}`));
      const header = { labelExpr: "split(datum.label, '\\n')" };
      chart.facet = { field: "panel", type: "nominal", title: null, sort, header };
    }
    chart.spec.width = Math.max(80, Math.floor((width - 80) / columns) - 10);
  }

  function merge(base, over) {
    const result = { ...base };
    for (const [key, value] of Object.entries(over)) {
      const nested = value && typeof value === "object" && !Array.isArray(value);
      result[key] = nested ? merge(base[key] || {}, value) : value;
    }
    return result;
  }

  /** A chart's specification, in the colours of the page's theme. */
  function specification(figure, dark) {
    const text = figure.querySelector("script").textContent;
    const colours = dark ? JSON.parse(text).usermeta.dark : {};
    return JSON.parse(text.replace(/#[0-9A-F]{6}/g, (colour) => colours[colour] || colour));
  }

  async function draw(figure) {
    const view = figure.querySelector(".aor-chart-view");
    try {
      loading ||= loadVega();
      await loading;
      const dark = document.documentElement.dataset.theme === "dark";
      const spec = specification(figure, dark);
      spec.config = merge(spec.config, pageConfig(view.clientWidth));
      if (view.clientWidth < NARROW) wrapNames(spec);
      if (spec.facet) fitPanels(spec, view.clientWidth);
      drawn.get(figure)?.finalize();
      const options = { actions: false, renderer: "svg", tooltip: { theme: dark ? "dark" : "light" } };
      drawn.set(figure, (await window.vegaEmbed(view, spec, options)).view);
      if (!figure.querySelector(".aor-chart-tools")) {
        figure.querySelector("details").before(tools(figure, spec));
      }
      figure.dataset.drawn = document.documentElement.dataset.theme || "light";
    } catch (error) {
      figure.dataset.drawn = "failed"; // the table stays
      figure.querySelector("details").open = true;
      console.error(error);
    }
  }

  /** Buttons that save the chart and its data as files. */
  function tools(figure, spec) {
    const title = figure.querySelector("figcaption").textContent;
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    const bar = document.createElement("div");
    bar.className = "aor-chart-tools";
    const rows = Object.values(spec.datasets).flat();
    if (rows.some((row) => row.clips)) bar.append("Click a point or a bar to hear its clips.");
    const add = (format, address) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format;
      button.setAttribute("aria-label", `Save “${title}” as ${format}`);
      button.addEventListener("click", async () => {
        const link = document.createElement("a");
        link.href = await address();
        link.download = `${name}.${format.toLowerCase()}`;
        link.click();
      });
      bar.append(button);
    };
    add("SVG", () => drawn.get(figure).toImageURL("svg"));
    add("PNG", () => drawn.get(figure).toImageURL("png", 2));
    add("CSV", () => `data:text/csv;charset=utf-8,${encodeURIComponent(csv(spec))}`);
    return bar;
  }

  function csv(spec) {
    const rows = Object.values(spec.datasets).reduce((a, b) => (b.length > a.length ? b : a));
    const columns = Object.keys(rows[0]);
    const cell = (value) => `"${String(value ?? "").replace(/"/g, '""')}"`;
    return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
      .map((line) => line.map(cell).join(","))
      .join("\r\n");
  }

  function drawCharts() {
    const figures = document.querySelectorAll(".aor-chart");
    if (!figures.length) return;
    const near = new IntersectionObserver(
      (entries) => {
        for (const entry of entries.filter((e) => e.isIntersecting)) {
          near.unobserve(entry.target);
          draw(entry.target);
        }
      },
      { rootMargin: "800px" },
    );
    figures.forEach((figure) => near.observe(figure));
    new MutationObserver(() => [...drawn.keys()].forEach(draw)).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
  }

  /** Choices of scenario and condition above a gallery that has more than one of them. */
  function addFilters(gallery) {
    const cards = [...gallery.querySelectorAll(".aor-clip")];
    const first = 6; // shown until a choice is made or all are asked for
    if (cards.length <= first) return;
    const bar = document.createElement("form");
    bar.className = "aor-filters";
    const selects = ["scenario", "condition"].map((key) => {
      const values = [...new Set(cards.map((card) => card.dataset[key]))];
      const label = document.createElement("label");
      const select = document.createElement("select");
      select.name = key;
      select.append(new Option(`Any ${key}`, ""));
      for (const value of values) select.append(new Option(value, value));
      label.append(key[0].toUpperCase() + key.slice(1), " ", select);
      if (values.length > 1) bar.append(label);
      return select;
    });
    const count = document.createElement("output");
    const all = document.createElement("button");
    all.type = "button";
    bar.append(count);
    let everything = false;
    const update = () => {
      const chosen = selects.some((select) => select.value);
      const fits = cards.filter((card) =>
        selects.every((select) => !select.value || card.dataset[select.name] === select.value),
      );
      const shown = new Set(chosen || everything ? fits : fits.slice(0, first));
      for (const card of cards) {
        card.hidden = !shown.has(card);
        if (card.hidden) card.querySelectorAll("audio").forEach((audio) => audio.pause());
      }
      count.textContent = `${shown.size} of ${cards.length} clips`;
      all.textContent = `Show all ${cards.length}`;
      all.hidden = chosen || everything;
    };
    all.addEventListener("click", () => {
      everything = true;
      update();
    });
    bar.addEventListener("change", update);
    bar.addEventListener("submit", (event) => event.preventDefault());
    gallery.before(bar);
    gallery.after(all);
    all.className = "aor-more";
    update();
  }

  /** One clip at a time: starting one pauses the others. */
  function playOne(event) {
    for (const other of document.querySelectorAll("audio")) {
      if (other !== event.target) other.pause();
    }
  }

  /** Labels and roles of the theme's own elements that screen readers would stumble over. */
  function repairTheme() {
    for (const named of document.querySelectorAll(".search-button-field, details.hide > summary")) {
      named.removeAttribute("aria-label"); // the visible text names it
    }
    for (const icon of document.querySelectorAll("i.theme-switch")) icon.removeAttribute("title");
    for (const list of document.querySelectorAll(".citation-list")) list.removeAttribute("role");
    for (const entry of document.querySelectorAll(".citation")) entry.removeAttribute("role");
  }

  // Before the theme's own deferred scripts turn its icons into drawings.
  document.addEventListener("readystatechange", () => {
    if (document.readyState === "interactive") repairTheme();
  });

  document.addEventListener("DOMContentLoaded", () => {
    drawCharts();
    document.querySelectorAll(".aor-gallery").forEach(addFilters);
    document.addEventListener("play", playOne, true);
  });
})();
