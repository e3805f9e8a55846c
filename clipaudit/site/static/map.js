// The map of vectors: points on a canvas, their colours, and the list of those in a rectangle.
// A page opened from disk may not fetch: each map comes as a script that adds itself to MAPS.
"use strict";

const MAPS = {};
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f3fbf"];
// a scale from low to high; each theme omits the tones too close to its background
const SCALE = {
  light: [[13, 8, 135], [126, 3, 168], [204, 71, 120], [240, 130, 50]],
  dark: [[110, 95, 225], [190, 85, 200], [235, 105, 100], [252, 166, 54], [240, 249, 33]],
};
const GREY = { light: "#b4bcc4", dark: "#59626b" };
const LISTED = 200; // selected samples listed per click
const STEP = 0.02; // share of the map's width that an arrow key moves
const PLAIN_NAME = /^[\w.:-]+$/; // needs no quoting in a shell

document.addEventListener("DOMContentLoaded", () => {
  const view = new MapView();
  const choice = document.getElementById("map-of");
  const show = () => {
    document.getElementById("map-summary").textContent = choice.selectedOptions[0].dataset.summary;
    load(choice.selectedOptions[0]).then((map) => view.show(map));
  };
  choice.addEventListener("change", show);
  show();
});

function load(option) {
  if (MAPS[option.value]) return Promise.resolve(MAPS[option.value]);
  return new Promise((done) => {
    const script = make("script", { src: option.dataset.script });
    script.addEventListener("load", () => done(MAPS[option.value]));
    script.addEventListener("error", () => {
      document.getElementById("map-said").textContent = `${option.dataset.script} cannot be read`;
    });
    document.head.append(script);
  });
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Return the colour of a name: a few that everyone can distinguish, then hues a golden angle apart. */
function hue(place) {
  if (place < PALETTE.length) return PALETTE[place];
  return `hsl(${Math.round(place * 137.5) % 360} 65% ${isDark() ? 65 : 42}%)`;
}

/** Return the colour of a number, given as its share of the range: lowest 0, highest 1. */
function scaled(share) {
  const tones = SCALE[isDark() ? "dark" : "light"];
  const at = share * (tones.length - 1);
  const low = Math.min(Math.floor(at), tones.length - 2);
  const parts = tones[low].map((part, i) => Math.round(part + (at - low) * (tones[low + 1][i] - part)));
  return `rgb(${parts.join(" ")})`;
}

class MapView {
  constructor() {
    for (const name of ["colour", "legend", "list", "meaning", "said"]) {
      this[name] = document.getElementById(`map-${name}`);
    }
    this.canvas = document.getElementById("map");
    this.only = null; // the number of the only name shown
    this.brush = null; // [left, top, right, bottom] in the map's coordinates
    this.colour.addEventListener("change", () => this.recolour());
    document.getElementById("map-clear").addEventListener("click", () => this.clear());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    new MutationObserver(() => this.redress()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redress());
    this.dragging();
    this.canvas.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(map) {
    this.map = map;
    const groups = new Map();
    map.colours.forEach((colour, place) => {
      if (!groups.has(colour.group)) groups.set(colour.group, []);
      groups.get(colour.group).push(make("option", { value: place }, colour.title));
    });
    this.colour.replaceChildren(
      ...[...groups].flatMap(([label, options]) => (label ? [make("optgroup", { label }, ...options)] : options)),
    );
    this.brush = null;
    this.recolour();
  }

  clear() {
    this.brush = this.only = null;
    this.redress();
    this.chosen();
  }

  recolour() {
    this.only = null;
    this.coloured = this.map.colours[this.colour.value];
    this.meaning.textContent = this.coloured.meaning;
    this.redress();
    this.chosen();
  }

  /** Redraw colours and legend after a change of theme or selection. */
  redress() {
    if (!this.map) return;
    this.tones = this.coloured.names ? this.named() : this.scaled();
    this.draw();
  }

  named() {
    const { names, codes, quiet } = this.coloured;
    const grey = GREY[isDark() ? "dark" : "light"];
    const tones = names.map((name, place) => (name === "" || place < quiet ? grey : hue(place - quiet)));
    const counts = names.map(() => 0);
    for (const code of codes) counts[code]++;
    this.legend.replaceChildren(...names.map((name, place) => {
      const mark = make("span", { class: "mark" });
      mark.style.background = tones[place];
      const label = `${name || "unknown"} (${counts[place]})`;
      const button = make("button", { type: "button", "aria-pressed": this.only === place }, mark, label);
      button.addEventListener("click", () => {
        this.only = this.only === place ? null : place;
        this.redress();
        this.legend.children[place].firstChild.focus();
        this.chosen();
      });
      return make("li", {}, button);
    }));
    return codes.map((code) => ({ tone: tones[code], quiet: tones[code] === grey }));
  }

  scaled() {
    const values = this.coloured.values;
    const known = values.filter((value) => typeof value === "number");
    const low = Math.min(...known), high = Math.max(...known);
    const grey = GREY[isDark() ? "dark" : "light"];
    const entries = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const mark = make("span", { class: "mark" });
      mark.style.background = scaled(share);
      return make("li", {}, mark, (low + share * (high - low)).toPrecision(3));
    });
    if (known.length < values.length) {
      const mark = make("span", { class: "mark" });
      mark.style.background = grey;
      entries.push(make("li", {}, mark, `unknown (${values.length - known.length})`));
    }
    this.legend.replaceChildren(...entries);
    return values.map((value) => {
      const quiet = typeof value !== "number";
      return { quiet, tone: quiet ? grey : scaled(high > low ? (value - low) / (high - low) : 0) };
    });
  }

  // --- drawing -----------------------------------------------------------------------------------

  draw() {
    const { width, height } = this.canvas.getBoundingClientRect();
    if (!width || !this.map) return;
    const dots = window.devicePixelRatio || 1;
    this.canvas.width = width * dots;
    this.canvas.height = height * dots;
    const pen = this.canvas.getContext("2d");
    pen.scale(dots, dots);
    this.scale = Math.min(width, height) - 16;
    this.left = (width - this.scale) / 2;
    this.top = (height - this.scale) / 2;
    for (const quiet of [true, false]) { // grey points are drawn first
      this.map.places.forEach(([x, y], number) => {
        if (this.tones[number].quiet !== quiet || !this.isShown(number)) return;
        pen.fillStyle = this.tones[number].tone;
        pen.beginPath();
        pen.arc(this.left + x * this.scale, this.top + y * this.scale, quiet ? 2 : 3, 0, 7);
        pen.fill();
      });
    }
    if (!this.brush) return;
    const [left, top, right, bottom] = this.brush;
    pen.strokeStyle = getComputedStyle(this.canvas).color;
    pen.lineWidth = 1.5;
    pen.strokeRect(
      this.left + left * this.scale, this.top + top * this.scale,
      (right - left) * this.scale, (bottom - top) * this.scale,
    );
  }

  isShown(number) {
    return this.only === null || this.coloured.codes[number] === this.only;
  }

  // --- choosing ----------------------------------------------------------------------------------

  place(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return [(event.clientX - left - this.left) / this.scale, (event.clientY - top - this.top) / this.scale];
  }

  dragging() {
    let start = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      start = this.place(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!start) return;
      const [x, y] = this.place(event);
      this.brush = [Math.min(start[0], x), Math.min(start[1], y), Math.max(start[0], x), Math.max(start[1], y)];
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const [x, y] = this.place(event);
      if (start && x === start[0] && y === start[1]) this.brush = null; // a click without a drag
      start = null;
      this.draw();
      this.chosen();
    });
    this.canvas.addEventListener("pointercancel", () => (start = null));
  }

  pressed(event) {
    const moves = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      this.brush = null;
    } else if (moves[event.key]) {
      const [x, y] = moves[event.key];
      const [left, top, right, bottom] = this.brush || [0.4, 0.4, 0.6, 0.6];
      this.brush = event.shiftKey
        ? [left, top, Math.max(left + STEP, right + x), Math.max(top + STEP, bottom + y)]
        : [left + x, top + y, right + x, bottom + y];
    } else return;
    event.preventDefault();
    this.draw();
    this.chosen();
  }

  chosen() {
    const numbers = this.brush || this.only !== null ? this.inside() : [];
    const nothing = this.brush || this.only !== null ? "No image here" : "No image selected";
    this.said.textContent = numbers.length ? `Images selected: ${numbers.length}` : nothing;
    // images with a page come first
    numbers.sort((a, b) => !this.map.samples[a][5] - !this.map.samples[b][5] || a - b);
    this.list.replaceChildren();
    this.more(numbers, 0);
  }

  inside() {
    const [left, top, right, bottom] = this.brush || [0, 0, 1, 1];
    return this.map.places.flatMap(([x, y], number) =>
      x >= left && x <= right && y >= top && y <= bottom && this.isShown(number) ? [number] : []);
  }

  more(numbers, start) {
    for (const number of numbers.slice(start, start + LISTED)) this.list.append(this.entry(number));
    const left = numbers.length - start - LISTED;
    if (left <= 0) return;
    const button = make("button", { type: "button" }, `${left} more`);
    button.addEventListener("click", () => {
      button.parentNode.remove();
      this.more(numbers, start + LISTED);
    });
    this.list.append(make("li", {}, button));
  }

  entry(number) {
    const [place, shard, row, uid, caption, page] = this.map.samples[number];
    const corpus = this.map.corpora[place];
    const where = `${corpus}, shard ${shard}, row ${row}`;
    const { names, codes, values, title } = this.coloured;
    const value = names ? names[codes[number]] : values[number];
    const said = value === null || value === "" ? "unknown" : value;
    const asked = PLAIN_NAME.test(corpus) ? `clipaudit sample ${corpus} ${shard}:${row}${folders}` : uid;
    return make(
      "li", {},
      page ? make("a", { href: page }, where) : where,
      ` \u00b7 ${title}: ${said}`,
      make("div", { class: "what" }, caption),
      page ? "" : make("div", { class: "what mono" }, asked),
    );
  }
}
