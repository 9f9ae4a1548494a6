// The timeline of a run: outliers, captures and the parts of a step over the steps. Drag to zoom,
// Shift and drag to move, double click for all of it. Each stretch of steps is asked for anew, so
// that the closer one looks the more exact it is.

import { made } from "./elements.js";
import { Lanes } from "./lanes.js";
import { drawn } from "./timeline_drawing.js";
import { columnAt, followKeys, followMouse } from "./timeline_moves.js";
import { hide, legendOf, tellAt } from "./timeline_telling.js";

const PIXELS_A_COLUMN = 2;
const ASK_AFTER_MS = 60;
const FEWEST_STEPS = 4;

// What each run was last shown of: the page is made anew whenever the run has grown.
const lastShown = new Map();

// `sourcesOf(number)` is the run's name, who answers for its steps, and who for the machine's lanes.
export function addTimelinesOf(content, sourcesOf) {
  content.querySelectorAll(".timeline").forEach((place) => new Timeline(place, ...sourcesOf(Number(place.dataset.place))));
}

class Timeline {
  constructor(place, run, steps, lanes) {
    this.run = run;
    this.steps = steps;
    this.lanes = new Lanes(place, lanes);
    const { data = null, range = null } = this.inPlaceOf(lastShown.get(this.run));
    this.data = data; // The last answer; older than what is shown while a new one is on its way.
    this.range = range; // null is the whole run, also as it grows.
    this.cursor = null; // The column or the mark that is told of.
    this.said = made("span", { className: "quiet" });
    this.canvas = made("div", { className: "timeline-canvas", tabIndex: 0 });
    this.canvas.setAttribute("role", "group");
    this.canvas.setAttribute("aria-label", "Parts of a step over the steps. Left and right: step by step. Plus and minus: zoom. "
      + "Shift with left and right: move. Enter: the trace of an outlier. Escape: all steps.");
    this.told = made("div", { className: "timeline-told", role: "status", hidden: true });
    this.legend = made("div", { className: "timeline-legend" });
    place.replaceChildren(this.tools(), this.legend, made("div", { className: "timeline-frame" }, this.canvas, this.told), this.said);
    followMouse(this);
    followKeys(this);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.ask();
  }

  inPlaceOf(earlier) {
    earlier?.asking?.abort();
    clearTimeout(earlier?.soon);
    lastShown.set(this.run, this);
    return earlier ?? {};
  }

  tools() {
    const button = (text, label, onclick) => {
      const made_ = made("button", { type: "button", textContent: text, title: label, onclick });
      made_.setAttribute("aria-label", label);
      return made_;
    };
    this.whole = button("all", "show all steps", () => this.reset());
    return made("div", { className: "timeline-tools" },
      button("−", "zoom out", () => this.zoom(2)), button("+", "zoom in", () => this.zoom(0.5)),
      button("‹", "earlier", () => this.move(-0.5)), button("›", "later", () => this.move(0.5)),
      this.whole, made("span", { className: "quiet", textContent: "drag to zoom · shift-drag to move · double click for all" }));
  }

  get shown() {
    return this.range ?? (this.data ? [this.data.first, this.data.last] : [0, 1]);
  }

  show(from, to) {
    const { first, last } = this.data;
    const steps = Math.min(Math.max(Math.round(to - from), FEWEST_STEPS), last - first);
    const begin = Math.round(Math.min(Math.max(from, first), last - steps));
    this.range = steps >= last - first ? null : [begin, begin + steps];
    this.cursor = null;
    hide(this);
    this.draw();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.ask(), ASK_AFTER_MS);
  }

  reset() {
    if (this.data) this.show(this.data.first, this.data.last);
  }

  // By a factor, around a step or around the middle.
  zoom(factor, around) {
    if (!this.data) return;
    const [from, to] = this.shown;
    const kept = around ?? (from + to) / 2;
    this.show(kept - (kept - from) * factor, kept + (to - kept) * factor);
  }

  // By a share of what is shown.
  move(share) {
    if (!this.data) return;
    const [from, to] = this.shown;
    const by = (to - from) * share;
    this.show(from + by, to + by);
  }

  async ask() {
    this.asking?.abort();
    this.asking = new AbortController();
    const columns = Math.ceil((this.canvas.clientWidth || 800) / PIXELS_A_COLUMN);
    try {
      const { signal } = this.asking;
      this.take(await this.steps(this.range, columns, signal));
      this.draw();
      await this.lanes.drawAnew(this.range, signal);
    } catch (error) {
      if (error.name !== "AbortError") this.said.textContent = `The steps cannot be shown: ${error.message}`;
    }
  }

  // The columns are others; the mouse stays where it is.
  take(data) {
    if (this.cursor?.kind === "column") {
      const place = columnAt(data.columns, this.data.columns.end[this.cursor.place]);
      if (place === null) hide(this);
      else this.cursor.place = place;
    }
    this.data = data;
  }

  draw() {
    if (!this.data || !this.canvas.clientWidth) return;
    this.scale = drawn(this);
    this.lanes.show(this.shown);
    this.legend.replaceChildren(...legendOf(this.data));
    this.whole.disabled = !this.range;
    this.said.textContent = sayWhatIsShown(this.data, this.shown, this.scale.clipped);
    if (this.cursor) tellAt(this, this.cursor);
  }
}

function sayWhatIsShown(data, [from, to], clipped) {
  const number = (value) => value.toLocaleString("en");
  const said = [`Steps ${number(from)} to ${number(to)}.`];
  const columns = data.columns.begin.length;
  if (!columns) said.push("No interval of measured steps lies here.");
  else if (data.exact) said.push(`Each of the ${number(columns)} intervals as it was logged.`);
  else said.push(`${number(data.intervals)} intervals in ${number(columns)} columns: means, and the line above them the longest of each.`);
  if (hasGaps(data.columns, from)) said.push("Gaps: warm-up, traced and tried steps, which the figures leave out.");
  if (clipped) said.push("▲ longer than the axis reaches.");
  const marked = data.outliers.length, outliers = data.outliers_in_range;
  if (!marked && outliers) said.push(`Outliers here: ${number(outliers)}; this file holds longer ones only.`);
  else if (outliers > marked) said.push(`The longest ${number(marked)} of ${number(outliers)} outliers are marked.`);
  return said.join(" ");
}

function hasGaps({ begin, end }, from) {
  return begin.some((step, place) => step > (place ? end[place - 1] : from));
}
