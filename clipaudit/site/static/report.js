// Sorting, searching, copying, and tracing cells. Reading the report works without this script.
// A page opened from disk may not fetch: the lineage comes as a script that sets one constant.
"use strict";

const root = document.documentElement;
const home = document.currentScript.getAttribute("src").replace("static/report.js", "");
const folders = root.dataset.folders ?? ""; // options of a command for this run
const THEMES = ["auto", "light", "dark"];
const AT_ONCE = 50; // entries of a list shown per click
const MOST_OPENED = 400; // nodes that one click opens
const PLAIN = /^[\w .,+()%-]*$/; // texts without special meaning to a shell in double quotes

root.classList.add("js");
setTheme(remembered());

function remembered() {
  try {
    return localStorage.getItem("clipaudit-theme") || "auto";
  } catch {
    return "auto"; // browsers may refuse storage to files
  }
}

function setTheme(theme) {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

/** Make an element: make("a", {href: "#"}, "text", child). */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

document.addEventListener("DOMContentLoaded", () => {
  themeSwitch(document.getElementById("theme"));
  const here = document.querySelector("nav [aria-current]");
  here?.scrollIntoView({ block: "nearest", inline: "nearest" }); // narrow: the menu scrolls
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("table.why").forEach(explained);
  document.querySelectorAll("[data-search]").forEach(searching);
  document.querySelectorAll("[data-find]").forEach(finding);
  document.querySelectorAll("[data-copy]").forEach(copying);
  document.querySelectorAll("[data-save]").forEach(saving);
});

function themeSwitch(button) {
  let theme = remembered();
  const show = () => (button.textContent = `Colours: ${theme}`);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    show();
    try {
      localStorage.setItem("clipaudit-theme", theme);
    } catch {
      // not remembered then
    }
  });
  show();
}

// --- tables ------------------------------------------------------------------------------------

/** Sort the printed rows, each a tbody, by true values; a third click restores the order. */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const written = [...table.tBodies];
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const order = { ascending: "descending", descending: "none" };
      const next = order[head.getAttribute("aria-sort")] || "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next !== "none") head.setAttribute("aria-sort", next);
      table.append(...sorted(written, column, next));
    });
  });
}

function sorted(bodies, column, order) {
  if (order === "none") return bodies;
  const sign = order === "ascending" ? 1 : -1;
  const keyed = bodies.map((body) => [sortKey(body.rows[0].cells[column]), body]);
  // missing values come last either way; equal values keep their order
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  return keyed.map(([, body]) => body);
}

function sortKey(cell) {
  const value = cell.dataset.v ?? cell.textContent.trim();
  if (value === "" || value === "\u2013") return null;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}

/** Hide entries that lack a word of the search box; the target is a table or a list. */
function searching(input) {
  const target = document.getElementById(input.dataset.search);
  const entries = [...(target.tBodies || target.children)];
  const said = document.getElementById(`${input.dataset.search}-found`);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const entry of entries) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
      found += !entry.hidden;
    }
    if (said) said.textContent = words.length ? `${found} of ${entries.length} shown` : "";
  });
}

// --- samples -----------------------------------------------------------------------------------

/** Find samples by words and facets, and order them; the address's fragment holds the state. */
function finding(form) {
  const list = document.getElementById(form.dataset.find);
  const said = document.getElementById(`${form.dataset.find}-found`);
  const more = document.getElementById("more");
  const written = [...list.children];
  const controls = [...form.querySelectorAll("[name]")];
  let found = [];
  let shown = 0;
  let index, order;
  const state = () => controls.map((each) => [each.name, each.value]).filter(([, value]) => value);
  const show = () => {
    list.append(...found.slice(shown, shown + AT_ONCE).map((place) => sampleCard(index, place, order)));
    shown = Math.min(shown + AT_ONCE, found.length);
    more.hidden = shown >= found.length;
  };
  const answer = async () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const each of controls) if (each.value !== (asked.get(each.name) ?? "")) each.value = asked.get(each.name) ?? "";
    const chosen = Object.fromEntries(state());
    if (!Object.keys(chosen).length) {
      list.replaceChildren(...written);
      more.hidden = true;
      said.textContent = "";
      return;
    }
    try {
      index ??= await loadSamples();
    } catch (error) {
      said.textContent = `The samples cannot be searched: ${error.message}.`;
      return;
    }
    order = index.orders.find((each) => each.name === chosen.order?.replace(/^-/, ""));
    found = findSamples(index, chosen, order);
    shown = 0;
    list.replaceChildren();
    show();
    said.textContent = `${found.length} found`;
  };
  form.addEventListener("input", () => location.replace(`#${new URLSearchParams(state())}`));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("[data-clear]").addEventListener("click", () => location.replace("#"));
  more.addEventListener("click", show);
  addEventListener("hashchange", answer);
  answer();
}

let samples; // a promise of the index, loaded at the first search

function loadSamples() {
  samples ??= loaded("data/samples.js").then(() => {
    const place = (i) => `${SAMPLES.corpora[SAMPLES.corpus[i]]} ${SAMPLES.shard[i]}:${SAMPLES.row[i]}`;
    const texts = SAMPLES.caption.map((caption, i) => `${caption}\n${SAMPLES.uid[i]}\n${place(i)}`.toLowerCase());
    return { ...SAMPLES, place, texts };
  });
  return samples;
}

/** Return the places of samples that match all words and facets, in the chosen order. */
function findSamples(index, chosen, order) {
  const words = (chosen.words ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const facets = index.facets.filter((facet) => chosen[facet.name]).map((facet) => {
    const value = facet.values.indexOf(chosen[facet.name]);
    return { of: facet.of, fits: facet.sets.map((set) => set.includes(value)) };
  });
  const found = [];
  for (let i = 0; i < index.texts.length; i++) {
    if (facets.every(({ of, fits }) => fits[of[i]]) && words.every((word) => index.texts[i].includes(word))) found.push(i);
  }
  if (!order) return found;
  const numbers = order.values;
  const sign = chosen.order.startsWith("-") ? 1 : -1;
  const told = found.filter((i) => numbers[i] !== null).sort((a, b) => sign * (numbers[a] - numbers[b]));
  return [...told, ...found.filter((i) => numbers[i] === null)];
}

function sampleCard(index, place, order) {
  const [page, picture, width, height] = index.pages[place] ?? [];
  const image = () => make("img", { src: home + picture, alt: "", width, height, loading: "lazy" });
  const corpus = index.corpora[index.corpus[place]];
  const address = `${index.shard[place]}:${index.row[place]}`;
  const content = [
    picture ? make("span", { class: "thumb" }, image()) : make("span", { class: "placeholder" }, index.uid[place] || address),
    make("span", { class: "label" }, `${corpus}, shard ${index.shard[place]}, row ${index.row[place]}`),
    make("span", { class: "what" }, index.caption[place]),
  ];
  const number = order?.values[place] ?? null;
  if (number !== null) content.splice(2, 0, make("span", { class: "number" }, `${order.title}: ${number.toPrecision(6)}`));
  if (page) return make("li", {}, make("a", { href: home + page }, ...content));
  return make("li", {}, ...content, make("code", { class: "what" }, `clipaudit sample ${corpus} ${address}${folders}`));
}

function copying(button) {
  button.addEventListener("click", async () => {
    const text = stored(button.dataset.of)[button.dataset.copy];
    const label = button.textContent;
    button.textContent = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = label), 1500);
  });
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { class: "skip" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy"); // where a file may not use the clipboard
    area.remove();
    return done;
  }
}

/** The stored table behind a printed one: columns, comments, rows, texts. */
function stored(id) {
  return JSON.parse(document.getElementById(`${id}-data`).textContent);
}

// --- tracing cells -----------------------------------------------------------------------------

/** Arrow keys move among cells; Enter or a click traces one. */
function explained(table) {
  table.setAttribute("role", "grid");
  const cells = () =>
    [...table.tBodies].filter((body) => !body.hidden)
      .flatMap((body) => [...body.rows])
      .map((row) => [...row.cells].filter((cell) => cell.dataset.r !== undefined))
      .filter((row) => row.length);
  for (const cell of table.querySelectorAll("td[data-r]")) cell.tabIndex = -1;
  const first = table.querySelector("td[data-r]");
  if (first) first.tabIndex = 0;
  const focus = (cell) => {
    table.querySelectorAll("td[tabindex='0']").forEach((other) => (other.tabIndex = -1));
    cell.tabIndex = 0;
    cell.focus();
  };
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-r]");
    if (cell && !event.target.closest("a")) {
      focus(cell);
      why(table, cell);
    }
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td[data-r]");
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = cells();
    const at = rows.findIndex((row) => row.includes(cell));
    const place = at < 0 ? 0 : rows[at].indexOf(cell);
    const moves = {
      ArrowRight: () => rows[at][place + 1],
      ArrowLeft: () => rows[at][place - 1],
      ArrowDown: () => beside(rows[at + 1], cell),
      ArrowUp: () => beside(rows[at - 1], cell),
      Home: () => rows[at][0],
      End: () => rows[at].at(-1),
    };
    if (event.key === "Enter" || event.key === " ") why(table, cell);
    else if (moves[event.key]) {
      const next = moves[event.key]();
      if (next) focus(next);
    } else return;
    event.preventDefault();
  });
}

function beside(row, cell) {
  return row && (row.find((other) => other.cellIndex >= cell.cellIndex) || row.at(-1));
}

let lineage; // a promise of the graph of actions, loaded when the first panel opens

function loadLineage() {
  lineage ??= loaded("data/lineage.js").then(() => LINEAGE);
  return lineage;
}

/** Load a script beside the pages that sets a constant. */
function loaded(path) {
  return new Promise((done, failed) => {
    const script = make("script", { src: home + path });
    script.addEventListener("load", done);
    script.addEventListener("error", () => failed(new Error(`${path} cannot be read`)));
    document.head.append(script);
  });
}

async function why(table, cell) {
  const id = table.id;
  const data = stored(id);
  const row = Object.fromEntries(data.columns.map((name, i) => [name, data.rows[cell.dataset.r][i]]));
  const columns = cell.dataset.c.split(" ").filter(Boolean).map((i) => data.columns[i]);
  const body = panel(`${data.title}, ${where(table, cell)}`, cell);
  body.append(make("p", { class: "value" }, full(row[columns[0]])));
  body.append(make("h3", {}, "Columns read"), meanings(columns, row, data.comments));
  const rest = data.columns.filter((name) => !columns.includes(name) && row[name] !== null);
  body.append(folded(`The whole row: ${rest.length} more columns`, () => meanings(rest, row, data.comments)));
  const waiting = make("p", { class: "muted" }, "Reading the lineage\u2026");
  body.append(waiting);
  try {
    const graph = await loadLineage();
    const action = graph.tables[data.pointer];
    const sql = graph.sql[action];
    const text = sql && [make("p", { class: "muted" }, `${graph.origins[action]}.`), make("pre", { tabindex: "0" }, sql)];
    waiting.replaceWith(
      ...(sql ? [make("h3", {}, "The SQL of this table"), ...text] : []),
      make("h3", {}, "Source files"),
      make("p", { class: "muted" }, "Files labelled with another model, test set or corpus than this row are omitted. The value may not need all of the rest. This command recomputes it and lists the files it needs:"),
      make("pre", { tabindex: "0" }, whyCommand(id, data, row, columns[0])),
      openAll(body),
      node(graph, action, row),
    );
  } catch (error) {
    waiting.textContent = `The lineage cannot be shown: ${error.message}.`;
  }
}

/** Return the command that lists the rows a cell needs, without texts special to a shell.
 *
 * Texts identify the row, and whole numbers and booleans where they leave several.
 */
function whyCommand(id, data, row, column) {
  const conditions = [];
  let left = data.rows;
  const narrow = (suits, written) => data.columns.forEach((name, i) => {
    const fits = left.filter((each) => each[i] === row[name]);
    if (fits.length === left.length || !suits(row[name])) return;
    conditions.push(`${name} = ${written(row[name])}`);
    left = fits;
  });
  narrow((value) => typeof value === "string" && PLAIN.test(value), (value) => `'${value}'`);
  narrow((value) => Number.isInteger(value) || typeof value === "boolean", String);
  const chosen = conditions.length ? ` --where "${conditions.join(" and ")}"` : "";
  return `clipaudit why ${id}${column ? ` --column ${column}` : ""}${chosen}${folders}`;
}

function where(table, cell) {
  const line = cell.closest("tr");
  const name = cell.closest("tbody").rows[0].cells[0].textContent.trim().replace(/^\u2013 /, "");
  const further = line.classList.contains("further") ? `, ${line.cells[0].textContent.trim()}` : "";
  return `${name}: ${table.tHead.rows[0].cells[cell.cellIndex].textContent.trim()}${further}`;
}

function panel(title, cell) {
  document.getElementById("why")?.remove();
  const close = make("button", { type: "button" }, "Close");
  const body = make("div", { class: "body" });
  const dialog = make(
    "dialog",
    { id: "why", "aria-labelledby": "why-title" },
    make("div", { class: "inside" },
      make("div", { class: "head" }, make("h2", { id: "why-title" }, title), close), body),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    cell.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return body;
}

function full(value) {
  return value === null || value === undefined ? "no value" : String(value);
}

function meanings(columns, row, comments) {
  const table = make("table", {});
  for (const name of columns) {
    const line = make("tr", {}, make("th", { class: "mono" }, name), make("td", { class: "n" }, full(row[name])));
    line.append(make("td", { class: "t muted" }, comments[name] ?? ""));
    table.append(line);
  }
  return make("div", { class: "scroll" }, table);
}

/** Make details whose content is created when they open. */
function folded(summary, content) {
  const details = make("details", {}, make("summary", {}, summary));
  details.addEventListener("toggle", () => details.unfold());
  details.unfold = () => {
    if (details.open && details.children.length === 1) details.append(content());
  };
  return details;
}

// --- the tree of actions -----------------------------------------------------------------------

/** Return whether labels agree with the row; otherwise the table reads the file for other rows. */
function concerns(labels, row) {
  // names of derived recipes, such as one with another seed, begin with the recipe's name and a dot
  const agrees = (name, value, own) => own === value || (name === "recipe" && value.startsWith(`${own}.`));
  return Object.entries(labels).every(([name, value]) => !row[name] || agrees(name, value, text(row[name])));
}

function text(value) {
  return value === true ? "True" : String(value); // as Python writes it
}

function node(graph, key, row) {
  const action = graph.actions[key];
  const list = make("ul", { class: "tree" });
  if (!action) return make("p", { class: "muted" }, `No record of action ${key}.`);
  const facts = [
    `${action.step}, ${action.seconds} s on ${action.host}, ${action.started.slice(0, 19)}Z`,
    `action ${key.slice(0, 12)}, code ${action.code.slice(0, 12)}`,
  ];
  list.append(...facts.map((fact) => make("li", { class: "digest" }, fact)));
  list.append(named("settings", action.settings), named("environment", action.environment));
  for (const [view, files] of Object.entries(action.inputs).filter(([, files]) => files.length)) {
    const used = files.filter((file) => concerns(file.labels, row));
    const item = make("li", {}, folded(`${view}: at most ${used.length} of ${files.length} files`, () => inputs(graph, used)));
    item.firstChild.classList.add("branch");
    list.append(item);
  }
  return list;
}

function named(title, values) {
  const names = Object.entries(values);
  if (!names.length) return "";
  const content = () => make("pre", { tabindex: "0" }, names.map(([name, value]) => `${name} = ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n"));
  return make("li", {}, folded(`${title} (${names.length})`, content));
}

function inputs(graph, files) {
  const list = make("ul", { class: "tree" });
  const more = (start) => {
    for (const file of files.slice(start, start + AT_ONCE)) list.append(make("li", {}, input(graph, file)));
    const left = files.length - start - AT_ONCE;
    if (left <= 0) return;
    const button = make("button", { type: "button" }, `${left} more`);
    button.addEventListener("click", () => {
      button.parentNode.remove();
      more(start + AT_ONCE);
    });
    list.append(make("li", {}, button));
  };
  more(0);
  return list;
}

function input(graph, file) {
  const title = [make("span", { class: "path" }, file.path), " ", make("span", { class: "digest" }, file.digest.slice(0, 12))];
  if (!file.action) return make("span", { class: "shard" }, ...title, make("span", { class: "digest" }, " input of the run"));
  const details = folded("", () => node(graph, file.action, {})); // deeper, all files contributed
  details.classList.add("branch");
  details.dataset.action = file.action;
  details.firstChild.append(...title);
  return details;
}

/** Open every branch; an action behind several files opens only the first time. */
function openAll(body) {
  const button = make("button", { type: "button", id: "open-all" }, "Open all, down to the shards");
  button.addEventListener("click", () => {
    const met = new Set();
    const left = () => body.querySelector("details.branch:not([open]):not(.met)");
    for (let opened = 0, next = left(); next && opened < MOST_OPENED; next = left()) {
      const action = next.dataset.action;
      if (action && met.has(action)) {
        next.classList.add("met");
        continue;
      }
      met.add(action);
      next.open = true;
      next.unfold();
      opened++;
    }
  });
  return button;
}

/** Save the answers about images as a CSV created in the browser; nothing is sent. */
function saving(button) {
  const cards = [...document.querySelectorAll(".look [data-uid]")];
  const answers = () => cards.flatMap((card) => {
    const chosen = card.querySelector("input:checked");
    return chosen ? [`${card.dataset.uid},${chosen.value}`] : [];
  });
  const said = document.getElementById("answered");
  const tell = () => (said.textContent = `${answers().length} of ${cards.length} answered`);
  document.querySelector(".look").addEventListener("change", tell);
  button.addEventListener("click", () => {
    const text = [`uid,${button.dataset.answer}`, ...answers(), ""].join("\n");
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: button.dataset.save });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  tell();
}
