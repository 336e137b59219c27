// The picture of the wall, on a canvas: where each square stands, and what it looks like.
window.aorExplorer = Object.assign(window.aorExplorer || {}, (() => {
  "use strict";

  const LARGEST = 22;
  const SMALLEST = 5;
  const TOUCHED = 16; // the smallest on a phone, where the wall scrolls sideways
  const NARROW = 480;
  const TALLEST = 4000; // pixels, but on a phone
  const AREA = 16e6; // pixels of a canvas: iOS draws none of more than 2 ** 24
  const LABELLED = 12; // squares from this size on have the names of their conditions above them
  const LINE = 16;
  const BAND = 24; // room for the name of a scenario
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

  /** Words in lines no longer than a width, or null where a word is longer. */
  function inLines(words, pen, width) {
    const lines = [];
    for (const word of words.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (pen.measureText(word).width > width) return null;
      if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  /** Places of rows and columns within a width; sizes are whole pixels, so that edges are sharp. */
  function layOut({ rows, columns, width }, room, pen, titles) {
    const models = columns.length / width;
    const space = models > 8 ? 4 : 10;
    const fitting = Math.floor((room - (models - 1) * space) / columns.length);
    const smallest = room < NARROW ? TOUCHED : SMALLEST;
    const size = Math.max(smallest, Math.min(LARGEST, fitting, Math.floor(TALLEST / rows.length)));
    pen.font = FONT;
    const longest = (words) => Math.ceil(Math.max(...words.map((word) => pen.measureText(word).width)));
    const labels = size >= LABELLED ? longest(titles.conditions) + 8 : 0;
    const wrapped = titles.models.map((title) => inLines(title, pen, width * size));
    const heads = wrapped.every(Boolean) ? wrapped : null; // else they stand upright
    const top = labels + (heads ? LINE * Math.max(...heads.map((lines) => lines.length)) : longest(titles.models)) + 8;
    let below = top;
    const bands = [];
    const tops = rows.map(({ request: { scenario } }) => {
      if (bands.at(-1)?.scenario !== scenario) {
        below += BAND;
        bands.push({ scenario, y: below - 7 });
      }
      below += size;
      return below - size;
    });
    const lefts = columns.map((_, i) => i * size + Math.floor(i / width) * space);
    return { size, labels, heads, top, bands, tops, lefts, wide: lefts.at(-1) + size, high: below };
  }

  /** The row and the column at a place, or nothing. */
  function squareAt({ tops, lefts, size }, x, y) {
    const among = (starts, place) => starts.findIndex((start) => place >= start && place < start + size);
    const [row, column] = [among(tops, y), among(lefts, x)];
    return row < 0 || column < 0 ? null : { row, column };
  }

  function drawNames(pen, { columns, width }, { size, labels, heads, top, bands, lefts }, titles) {
    pen.font = FONT;
    const upright = (words, x, y) => {
      pen.save();
      pen.translate(x + 4, y);
      pen.rotate(-Math.PI / 2);
      pen.fillText(words, 0, 0);
      pen.restore();
    };
    columns.forEach(({ c }, i) => {
      if (labels) upright(titles.conditions[c], lefts[i] + size / 2, top);
      if (i % width) return;
      const lines = heads?.[i / width];
      if (!lines) upright(titles.models[i / width], lefts[i] + (width * size) / 2, top - labels);
      lines?.forEach((words, n) => pen.fillText(words, lefts[i], top - labels - 8 - LINE * (lines.length - 1 - n)));
    });
    for (const { scenario, y } of bands) pen.fillText(titles.scenarios[scenario], 0, y);
  }

  /** Compliance is a small square, a refusal a large one and a partial refusal half of that. */
  function drawSquare(pen, kind, size) {
    const side = size - 1;
    const inset = Math.max(1, Math.round(side / 4));
    const small = side - 2 * inset;
    if (kind === 0) pen.fillRect(inset, inset, small, small);
    else if (kind === 1) {
      pen.moveTo(0, side);
      pen.lineTo(side, side);
      pen.lineTo(side, 0);
      pen.fill();
    } else if (kind === 2) pen.fillRect(0, 0, side, side);
    else pen.strokeRect(inset + 0.5, inset + 0.5, small - 1, small - 1);
  }

  /** The pixels of what is drawn into a square: to copy them is faster than to draw each square. */
  function stampOf(draw, size, scale) {
    const canvas = document.createElement("canvas");
    const side = Math.floor(size * scale);
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    draw(pen);
    return { side, pixels: new Uint32Array(pen.getImageData(0, 0, side, side).data.buffer) };
  }

  function stamps(chosen, colours, size, scale) {
    const dot = size > 9 ? 2 : 1;
    return colours.answers.map((colour, kind) =>
      stampOf((pen) => {
        const standsOut = chosen.answer < 0 || kind === chosen.answer;
        pen.fillStyle = standsOut ? colour : colours.faint;
        pen.strokeStyle = colour;
        if (standsOut) drawSquare(pen, kind, size);
        else pen.fillRect((size - dot) / 2, (size - dot) / 2, dot, dot);
      }, size, scale),
    );
  }

  /** Draws what is chosen; `colours` are those of the answers, of faint squares and of words. */
  function drawWall(canvas, chosen, titles, colours) {
    const pen = canvas.getContext("2d");
    const places = layOut(chosen, canvas.parentElement.clientWidth, pen, titles);
    const { size, tops, lefts } = places;
    const scale = Math.min(window.devicePixelRatio, Math.sqrt(AREA / (places.wide * places.high)));
    const wide = (canvas.width = Math.ceil(places.wide * scale));
    canvas.height = Math.ceil(places.high * scale);
    canvas.style.width = `${places.wide}px`;
    const picture = pen.createImageData(wide, canvas.height);
    const pixels = new Uint32Array(picture.data.buffer);
    const stamp = stamps(chosen, colours, size, scale);
    for (let row = 0; row < tops.length; row++) {
      const { answers } = chosen.rows[row];
      const top = Math.round(tops[row] * scale);
      for (let column = 0; column < lefts.length; column++) {
        const copied = stamp[answers[column]];
        if (!copied) continue; // not asked
        const left = Math.round(lefts[column] * scale);
        for (let y = 0, from = 0; y < copied.side; y++) {
          const to = (top + y) * wide + left;
          for (let x = 0; x < copied.side; x++) pixels[to + x] = copied.pixels[from++];
        }
      }
    }
    pen.putImageData(picture, 0, 0);
    pen.scale(scale, scale);
    pen.fillStyle = colours.words;
    drawNames(pen, chosen, places, titles);
    return places;
  }

  return { drawWall, squareAt };
})());
