// What the pages do beyond htmx: they keep what is typed, say what changes, and draw the evidence.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

// ---- News: pieces of the page listen to `fresh`, those that take long to `settled`.

const SETTLED = 10_000; // milliseconds between two looks at what takes long
let lastSettled = performance.now();
let pause = 0, due = null, shownAt = 0, took = 0;

function news() {
  if (document.hidden || due !== null) return;
  // What takes the server long it is asked for less often.
  const wait = Math.max(0, shownAt + Math.max(pause, 3 * took) - performance.now());
  due = setTimeout(() => {
    due = null;
    shownAt = performance.now();
    htmx.trigger(document.body, "fresh");
    if (shownAt - lastSettled > SETTLED || ended()) {
      lastSettled = shownAt;
      htmx.trigger(document.body, "settled");
    }
  }, wait);
}

const claim = () => $("#verdict .claim");
const ended = () => claim() !== null && claim().dataset.state !== "running";

document.addEventListener("sse:change", (event) => {
  const seen = JSON.parse(event.detail.data || "{}");
  if (claim() && String(seen.seq) === claim().dataset.seq) return; // shown already
  news();
});
document.addEventListener("sse:gone", () => notice("This study has been deleted. Its page stays as it was."));
document.addEventListener("sse:trouble", (event) => notice(JSON.parse(event.detail.data).detail));
document.addEventListener("htmx:sseError", () => { $("#lost").hidden = false; });
document.addEventListener("htmx:sseOpen", () => {
  if (!$("#lost").hidden) news();
  $("#lost").hidden = true;
});

// A browser has few connections to one server: pages in the background give theirs back.
document.addEventListener("visibilitychange", () => {
  const live = $("#live");
  if (!live) return;
  const again = live.cloneNode(true);
  if (document.hidden) {
    again.dataset.connect = live.getAttribute("sse-connect") || live.dataset.connect;
    again.removeAttribute("sse-connect");
  } else if (live.dataset.connect) {
    again.setAttribute("sse-connect", live.dataset.connect);
  } else return;
  htmx.swap(live, again.outerHTML, { swapStyle: "outerHTML" });
  if (!document.hidden) news();
});

// ---- Words for everybody, also for those who do not see the page.

function notice(words) {
  const line = document.createElement("p");
  line.className = "banner";
  line.textContent = words;
  const close = document.createElement("button");
  close.className = "quiet";
  close.textContent = "Close";
  close.addEventListener("click", () => line.remove());
  line.append(" ", close);
  $("#notices").append(line);
}

function say(words, id = "said") {
  const place = document.getElementById(id);
  if (words && place.textContent !== words) place.textContent = words;
}

// ---- A piece that is replaced keeps what was typed and opened in it, and where one was.

const typed = (field) =>
  field.type === "checkbox" || field.type === "radio"
    ? field.checked !== field.defaultChecked
    : field.value !== field.defaultValue;

function kept(piece) {
  const fields = $$("input[id], textarea[id]", piece).filter((each) => each.type !== "hidden" && typed(each));
  const focus = piece.contains(document.activeElement) ? document.activeElement : null;
  return {
    fields: fields.map((each) => ({ id: each.id, value: each.value, label: nameOf(each) })),
    open: $$("details[id]", piece).map((each) => [each.id, each.open]),
    replies: $$("form[id] > .reply", piece).filter((each) => each.firstElementChild)
      .map((each) => [each.closest("form").id, each.innerHTML]),
    scroll: $$(".scroll[aria-label]", piece).map((each) => [each.getAttribute("aria-label"), each.scrollLeft]),
    focus: focus && (focus.id || placeOf(focus)),
    // So that the page does not jump while there is less in it.
    height: piece.offsetHeight,
  };
}

const nameOf = (field) => (field.closest("li") ? $(".what strong", field.closest("li")).textContent : "");
const placeOf = (element) => element.getAttribute("aria-label");

function restore(piece, before) {
  for (const { id, value, label } of before.fields) {
    const field = document.getElementById(id);
    if (field) field.value = value;
    else if (value) notice(`${label || "A trial"} has its result already, from somebody else. You had typed: ${value}`);
  }
  for (const [id, open] of before.open) {
    const details = document.getElementById(id);
    if (details) details.open = open;
  }
  for (const [id, html] of before.replies) {
    const form = document.getElementById(id);
    if (form) $(":scope > .reply", form).innerHTML = html;
  }
  for (const [label, left] of before.scroll) {
    const table = $(`.scroll[aria-label="${CSS.escape(label)}"]`, piece);
    if (table) table.scrollLeft = left;
  }
  const focus = before.focus &&
    (document.getElementById(before.focus) || $$("[aria-label]", piece).find((each) => placeOf(each) === before.focus));
  if (focus && document.activeElement !== focus) focus.focus({ preventScroll: true });
}

const before = new WeakMap();

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target } = event.detail;
  const kind = xhr.getResponseHeader("content-type") || "";
  if (xhr.status === 401) return location.reload();
  if (kind.includes("json")) {
    event.detail.shouldSwap = false;
    return notice(JSON.parse(xhr.responseText).detail || `The server says ${xhr.status}.`);
  }
  if (!target.classList.contains("piece")) return;
  if (target.id === "verdict" && xhr.status >= 400) document.body.dataset.state = "broken";
  if (target.dataset.shown === xhr.responseText) { // nothing has changed
    event.detail.shouldSwap = false;
    target.removeAttribute("aria-busy");
    return;
  }
  target.dataset.shown = xhr.responseText;
  before.set(target, kept(target));
  target.style.minHeight = `${target.offsetHeight}px`;
});

document.addEventListener("htmx:afterSwap", (event) => {
  const piece = event.detail.target;
  if (!piece) return;
  const was = before.get(piece);
  if (was) restore(piece, was);
  before.delete(piece);
  if (piece.classList.contains("piece")) {
    piece.removeAttribute("aria-busy");
    piece.style.minHeight = "";
  }
  say($$("[data-say]", piece).map((each) => each.textContent.trim()).join(" "), "known");
  if (claim()) document.body.dataset.state = claim().dataset.state;
  if (piece.id === "outlook") evidence.crossing($("[data-crossing]", piece));
  $$("[data-keep]", piece).forEach(lastGlance);
  if (piece.dataset.keep) glances.set(piece.dataset.keep, { at: piece.dataset.at, html: piece.innerHTML });
  marked();
});

// A bar in the list stays until there is a new one.
const glances = new Map();
function lastGlance(place) {
  const known = glances.get(place.dataset.keep);
  if (known && !place.innerHTML.trim()) place.innerHTML = known.html;
}
document.addEventListener("htmx:beforeRequest", (event) => {
  // What takes longest comes after the evidence.
  if (event.detail.elt.matches("[data-late]") && !evidence.whole) event.preventDefault();
  const place = event.detail.elt;
  if (place.dataset.keep && glances.get(place.dataset.keep)?.at === place.dataset.at) event.preventDefault();
});

// A table that was turned to another part stays there.
document.addEventListener("htmx:configRequest", (event) => {
  const piece = event.detail.elt;
  if (piece.classList.contains("piece") && piece.dataset.part) event.detail.path = piece.dataset.part;
  // Pictures are drawn as wide as there is room for them, so that their letters have one size.
  const room = event.detail.target.closest(".piece[data-drawn]");
  if (room) event.detail.parameters.width = Math.max(room.id === "verdict" ? 240 : 480, Math.min(1000, room.clientWidth - Number(room.dataset.drawn)));
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, target, xhr, pathInfo } = event.detail;
  if (elt.classList.contains("piece") && shownAt) took = performance.now() - shownAt;
  if (elt.closest(".turn") && xhr.status === 200) target.dataset.part = pathInfo.requestPath;
  const done = elt.matches("form") && $(".reply [data-done]", elt);
  if (done) {
    say(done.dataset.done);
    const reply = $(".reply", elt);
    elt.reset();
    setTimeout(() => reply.replaceChildren(), 6000);
  }
});
document.addEventListener("htmx:sendError", () => notice("The server does not answer. What you typed is still here: try again."));

function marked() {
  for (const place of $$("p.error[id^=error-]")) {
    const field = document.getElementById(place.id.slice(6));
    if (field) field.toggleAttribute("aria-invalid", place.textContent.trim() !== "");
  }
}

let drawnFor = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (Math.abs(document.documentElement.clientWidth - drawnFor) < 40) return;
  drawnFor = document.documentElement.clientWidth;
  news();
});

// Until scripts are at work a form would leave the page: its buttons wait for them.
document.addEventListener("DOMContentLoaded", () => $$("[data-awake]").forEach((each) => { each.disabled = false; }));

// ---- How long ago, as time goes by.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];
setInterval(() => {
  for (const each of $$("time[data-ago]")) {
    const past = (Date.now() - Date.parse(each.dateTime)) / 1000;
    const unit = UNITS.find(([size]) => past >= size);
    if (past < 180 * 86400) each.textContent = unit ? `${Math.floor(past / unit[0])} ${unit[1]} ago` : "just now";
  }
}, 20_000);

// ---- A new study: a file becomes text, in whatever alphabet it was written; fields that belong to a choice.

function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

async function taken(file) {
  const most = Number($("#new").dataset.most);
  if (file.size > most * 4) {
    $("#error-table").textContent = `This file has ${file.size.toLocaleString("en")} bytes, more than can be taken here: ${most.toLocaleString("en")} characters.`;
    return marked();
  }
  const text = decoded(await file.arrayBuffer());
  $("#table").value = text;
  if (!$("#name").value) $("#name").value = file.name.replace(/\.\w+$/, "");
  htmx.trigger("#new", "tabled");
}

function needed() {
  const noise = $("input[name=noise]:checked", $("#new"));
  for (const each of $$("[data-when]")) {
    each.hidden = !noise || !each.dataset.when.split(" ").includes(noise.value);
  }
}

if ($("#new")) {
  $("#file").addEventListener("change", (event) => event.target.files[0] && taken(event.target.files[0]));
  $("#new").addEventListener("change", needed);
  $("#new").addEventListener("submit", (event) => event.preventDefault()); // by Enter in a field
  needed();
  // What was chosen before this ran, or is still there after a look at another page.
  if ($("#file").files[0]) taken($("#file").files[0]);
  else if ($("#table").value) addEventListener("load", () => htmx.trigger("#new", "tabled"));
}

// ---- Evidence against threshold over measurements, with the predicted crossing.

const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const whole = (value) => Math.round(value).toLocaleString("en");
const brief = (value) =>
  (Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(4)))).replace("-", "−");

const evidence = {
  place: $("#evidence"), chart: null, found: null, future: null, busy: false, again: false, whole: false,

  async load() {
    if (this.busy) { this.again = true; return; }
    this.busy = true;
    try {
      do {
        this.again = false;
        const response = await fetch(this.place.dataset.src);
        if (!response.ok) break;
        this.found = await response.json();
        this.future = this.found.crossing || this.future;
        this.show();
        if (!this.found.complete) await new Promise((resolve) => setTimeout(resolve, 200));
      } while (this.again || !this.found.complete);
      this.whole = true;
      htmx.trigger(document.body, "replayed");
    } catch { // the server does not answer: the next news will ask it again
    } finally { this.busy = false; }
  },

  crossing(place) {
    if (!this.place || !place) return;
    this.future = JSON.parse(place.dataset.crossing);
    if (this.found) this.show();
  },

  show() {
    const { points, label, complete, meaning } = this.found;
    const words = $("#evidence-words");
    const last = points[points.length - 1];
    if (!last) {
      words.textContent = complete ? "There is no evidence yet: the first measurements are still to come." : "The log is being replayed …";
      return;
    }
    words.textContent = `After ${brief(last.measurements)} measurements the evidence is ${brief(last.statistic)}; ${brief(last.threshold)} ${ended() ? "was" : "is"} needed${label === "threshold" ? "" : ` (${label})`}.` +
 (complete ? "" : " The log is still being replayed …");
    $("#evidence-meaning").textContent = meaning ? `Evidence is ${meaning}.` : "";
    $("#evidence-chart").hidden = $("#evidence-numbers").hidden = false;
    this.draw(points);
    this.list(points);
  },

  series(points) { // the threshold goes on to where it will probably be reached
    const last = points[points.length - 1];
    const shown = [...points, { measurements: this.end, statistic: null, threshold: last.threshold }];
    return ["measurements", "statistic", "threshold"].map((key) => shown.map((each) => each[key]));
  },

  limit(points) {
    const end = points[points.length - 1].measurements;
    const future = !ended() && this.future;
    return Math.max(end, future ? Math.min(1.15 * future.median, 8 * end) : 0, 1) * 1.02;
  },

  draw(points) {
    const place = $("#evidence-chart");
    this.end = this.limit(points);
    if (this.chart) {
      this.chart.setData(this.series(points));
      return;
    }
    const axis = { stroke: shade("--soft"), grid: { stroke: shade("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    this.chart = new uPlot({
      width: place.clientWidth, height: 260, legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { setScale: false } },
      scales: {
        x: { time: false, range: () => [0, this.end] },
        y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, 1e-9) * 1.12] },
      },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(brief), label: "measurements", labelSize: 18, size: 30, gap: 4, labelFont: "12px system-ui, sans-serif", space: 70 },
        { ...axis, values: (_, ticks) => ticks.map(brief), size: 52 },
      ],
      series: [
        {},
        { stroke: shade("--accent"), width: 2, points: { show: points.length < 3 } },
        { stroke: shade("--ink"), width: 1.25, dash: [5, 4], points: { show: false } },
      ],
      hooks: { drawClear: [(chart) => this.band(chart)], draw: [(chart) => this.label(chart)], setCursor: [(chart) => this.read(chart)] },
    }, this.series(points), place);
    new ResizeObserver(() => this.chart.setSize({ width: place.clientWidth, height: 260 })).observe(place);
  },

  band(chart) { // where it probably stops
    const future = !ended() && this.future;
    if (!future) return;
    const { ctx, bbox } = chart;
    const at = (value) => Math.min(chart.valToPos(value, "x", true), bbox.left + bbox.width);
    ctx.save();
    ctx.fillStyle = shade("--forecast");
    ctx.fillRect(at(future.low), bbox.top, Math.max(1, at(future.beyond_high ? this.end : future.high) - at(future.low)), bbox.height);
    ctx.restore();
  },

  label(chart) {
    const { ctx, bbox } = chart, scale = devicePixelRatio || 1;
    const last = this.found.points[this.found.points.length - 1];
    ctx.save();
    ctx.font = `${12 * scale}px system-ui, sans-serif`;
    ctx.fillStyle = shade("--ink");
    ctx.textAlign = "left";
    ctx.fillText(this.found.label, bbox.left + 6 * scale, chart.valToPos(this.found.points[0].threshold, "y", true) - 6 * scale);
    const future = !ended() && this.future;
    if (future && future.median <= this.end) {
      const x = chart.valToPos(future.median, "x", true), y = chart.valToPos(last.threshold, "y", true);
      if (!future.beyond) {
        ctx.strokeStyle = shade("--accent");
        ctx.fillStyle = shade("--paper");
        ctx.lineWidth = 2 * scale;
        ctx.beginPath();
        ctx.arc(x, y, 4.5 * scale, 0, 7);
        ctx.fill();
        ctx.stroke();
      }
      const words = `probably ${future.beyond ? "after" : "at"} ${whole(future.median)}`;
      const wide = ctx.measureText(words).width, right = bbox.left + bbox.width - wide - 4 * scale;
      ctx.fillStyle = shade("--soft");
      ctx.fillText(words, Math.max(bbox.left + 90 * scale, Math.min(x - wide / 2, right)), y + 20 * scale);
    }
    ctx.restore();
  },

  read(chart) {
    const at = chart.cursor.idx;
    const point = at == null ? null : this.found.points[at];
    let tip = $(".tip", chart.over);
    if (!tip) { tip = document.createElement("div"); tip.className = "tip"; chart.over.append(tip); }
    tip.hidden = !point || chart.cursor.left < 0;
    if (tip.hidden) return;
    tip.textContent = `${brief(point.measurements)}: ${brief(point.statistic)} of ${brief(point.threshold)}`;
    const left = chart.valToPos(point.measurements, "x");
    tip.style.left = `${Math.max(0, Math.min(left + 10, chart.over.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = "6px";
  },

  list(points) {
    const every = Math.max(1, Math.ceil(points.length / 24));
    const shown = points.filter((_, place) => (points.length - 1 - place) % every === 0);
    $("#evidence-numbers tbody").replaceChildren(...shown.map((each) => {
      const row = document.createElement("tr");
      for (const text of [brief(each.measurements), brief(each.statistic), brief(each.threshold)]) {
        const cell = row.insertCell();
        cell.className = "number";
        cell.textContent = text;
      }
      row.insertCell().textContent = each.name;
      return row;
    }));
  },
};

if (evidence.place) {
  document.body.addEventListener("fresh", () => evidence.begun && evidence.load());
  // The rest of the page first: to replay a long log keeps the server from all else.
  const begin = () => {
    if (evidence.begun || $(".piece[aria-busy]")) return;
    evidence.begun = true;
    evidence.load();
  };
  document.addEventListener("htmx:afterSettle", begin);
  addEventListener("load", () => setTimeout(begin, 0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (evidence.chart) { evidence.chart.destroy(); evidence.chart = null; evidence.show(); }
  });
}

pause = Number($("#live")?.dataset.pause || 0);
