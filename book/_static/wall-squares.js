// The squares of the wall: what each model answered to each request in each condition.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const NO_VERDICT = "no_verdict"; // no answer, or an unjudged one
  const ANSWERS = ["full_compliance", "partial_refusal", "full_refusal", NO_VERDICT];
  const NOT_ASKED = 255;

  /** The requests of `test`, each in every condition by every model without a mitigation. */
  function wallOf(index) {
    const facets = Object.fromEntries([...index.facets, ...index.answerFacets].map((one) => [one.name, one]));
    facets.intent = { ...facets.intent, default: "pseudo_harmful" };
    const { condition, intent, scenario, model, mitigation, label } = facets;
    const has = (name, value) => {
      const { values, codes } = facets[name];
      return (row) => codes[row] === values.indexOf(value);
    };
    const wanted = [has("split", "test"), has("block", "core"), has("variant", "0")];
    const requests = new Map();
    index.ids.forEach((_, row) => {
      if (!wanted.every((fits) => fits(row))) return;
      const name = index.utterances[row];
      if (!requests.has(name)) {
        const of = { intent: intent.codes[row], scenario: scenario.codes[row] };
        requests.set(name, { name, text: index.texts[row], ...of, rows: [], answers: [] });
      }
      requests.get(name).rows[condition.codes[row]] = row;
    });
    const place = (facet) => index.answerFacets.indexOf(facet); // an arm's codes, then its digits
    const plain = index.arms.filter(({ codes }) => mitigation.values[codes[place(mitigation)]] === "none");
    const labels = ({ codes, digits }) => [codes[place(model)], digits[place(label) - codes.length]];
    const digits = new Map(plain.map(labels));
    const kinds = label.values.map((value) =>
      value === "missing" ? NOT_ASKED : ANSWERS.indexOf(ANSWERS.includes(value) ? value : NO_VERDICT));
    for (const request of requests.values()) {
      for (let m = 0; m < model.values.length; m++) {
        for (let c = 0; c < condition.values.length; c++) {
          const digit = digits.get(m)?.[request.rows[c]] ?? "-";
          request.answers.push(digit === "-" ? NOT_ASKED : kinds[digit]);
        }
      }
    }
    /** The title of what a model answered: its label, or why there is none. */
    const labelOf = (request, m, c) => label.titles[digits.get(m)[request.rows[c]]];
    return { requests: [...requests.values()], facets, labelOf };
  }

  /** Chosen rows and columns of a wall, the answer that stands out, and the counts. */
  function chooseSquares(wall, chosen) {
    const { wished } = window.aorExplorer;
    const { condition, intent, scenario, model } = wall.facets;
    const fits = (facet) => {
      const values = wished(facet, chosen);
      return (code) => !values || values.includes(facet.values[code]);
    };
    const [fitsIntent, fitsScenario, fitsModel] = [intent, scenario, model].map(fits);
    const answer = ANSWERS.indexOf(chosen.answer);
    const width = condition.values.length;
    const models = model.values.map((_, m) => m).filter(fitsModel);
    const columns = models.flatMap((m) => condition.values.map((_, c) => ({ m, c })));
    const counts = ANSWERS.map(() => 0);
    const rows = [];
    for (const request of wall.requests) {
      if (!fitsIntent(request.intent) || !fitsScenario(request.scenario)) continue;
      const answers = columns.map(({ m, c }) => request.answers[m * width + c]);
      const here = ANSWERS.map(() => 0);
      for (const kind of answers) if (kind !== NOT_ASKED) here[kind]++;
      here.forEach((n, kind) => { counts[kind] += n; });
      if (answer < 0 ? here.some(Boolean) : here[answer]) rows.push({ request, answers, refused: here[1] + here[2] });
    }
    rows.sort((one, two) => one.request.scenario - two.request.scenario || two.refused - one.refused);
    return { rows, columns, counts, answer, width };
  }

  return { wallOf, chooseSquares, ANSWERS, NOT_ASKED };
})());
