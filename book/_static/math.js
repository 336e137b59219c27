// Loads MathJax on pages that have formulas, and only there: it is the largest script of the book.
(() => {
  "use strict";
  const here = document.currentScript.src;

  document.addEventListener("DOMContentLoaded", () => {
    if (window.aorMath || !document.querySelector(".math")) return;
    window.aorMath = document.createElement("script");
    window.aorMath.src = new URL("vendor/mathjax/tex-svg.js", here).href;
    document.head.append(window.aorMath);
  });
})();
