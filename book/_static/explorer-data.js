// A study's data, as the build writes them beside the pages: `index.js` says what stimuli can be
// chosen by; the cards come in parts, loaded when they are shown. All hand themselves over, as
// scripts load from a file where data would not.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const received = new Map();

  /** Loads data by name, from a file; a failure is not kept, so that the next wish tries again. */
  function loader(source) {
    const wanted = new Map();
    return (name, file) => {
      if (!wanted.has(name)) {
        const arrival = new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = `${source}${file}`;
          const failed = () => {
            wanted.delete(name);
            reject(new Error(`${source}${file} could not be loaded.`));
          };
          script.onload = () => (received.has(name) ? resolve(received.get(name)) : failed());
          script.onerror = failed;
          document.head.append(script);
        });
        wanted.set(name, arrival);
      }
      return wanted.get(name);
    };
  }

  /** The index of the study that an element names as its source, and its cards by their rows. */
  async function openStudy(root) {
    const load = loader(new URL(root.dataset.source, document.baseURI).href);
    // A browser may keep the index of an earlier build, whose parts had other borders.
    const index = await load("index", `index.js?${Date.now()}`);

    async function cardOf(row) {
      let part = index.parts.length - 1;
      while (index.parts[part] > row) part--;
      return (await load(`part-${part}`, `part-${part}-${index.version}.js`))[row - index.parts[part]];
    }

    return { index, cardOf };
  }

  // Scripts load in no particular order. Before the theme's own deferred ones, which take their time:
  document.addEventListener("readystatechange", () => {
    if (document.readyState !== "interactive") return;
    const { setUpExplorer, setUpWall } = window.aorExplorer;
    for (const [name, setUp] of [["explorer", setUpExplorer], ["wall", setUpWall]]) {
      const root = document.querySelector(`.aor-${name}`);
      root && setUp(root).catch((error) => {
        root.setAttribute("role", "alert");
        root.textContent = error.message;
      });
    }
  });

  return { openStudy, receive: (name, content) => received.set(name, content) };
})());
