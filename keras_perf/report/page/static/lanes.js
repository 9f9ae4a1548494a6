// The machine's lanes show the steps that their timeline shows.

import { made } from "./elements.js";
import { ticks } from "./timeline_ticks.js";

const WIDTH = 1000, HEIGHT = 100; // What a lane is drawn in.
const LABELS = 6;
const NEAR_THE_EDGE = 5; // Percent: a label that is nearer stays inside.

const LANES = ".plot[data-steps]";
const stepsOf = (lane) => lane.dataset.steps.split(" ").map(Number);

export class Lanes {
  // Of the run that a timeline is of. `ask(range, signal)` has them drawn for fewer steps, with all
  // of the points there; without it they keep the points that the page has.
  constructor(timeline, ask) {
    this.lanes = [...timeline.closest("section.run, main").querySelectorAll(LANES)];
    this.whole = this.lanes.length ? stepsOf(this.lanes[0]) : [0, 0];
    this.ask = ask;
  }

  show([from, to]) {
    const fewer = from > this.whole[0] || to < this.whole[1];
    for (const lane of this.lanes) showIn(lane, from, to, fewer);
  }

  async drawAnew(range, signal) {
    const [from, to] = range ?? this.whole;
    if (!this.ask || !this.lanes.length || String(stepsOf(this.lanes[0])) === String([from, to])) return;
    const drawn = [...(await this.ask([from, to], signal)).querySelectorAll(LANES)];
    if (drawn.length !== this.lanes.length) return;
    this.lanes.forEach((lane, place) => lane.replaceWith(drawn[place]));
    this.lanes = drawn;
    this.show([from, to]);
  }
}

function showIn(lane, from, to, fewer) {
  const [first, last] = stepsOf(lane);
  const begin = (from - first) / (last - first), share = (to - from) / (last - first);
  for (const drawn of lane.querySelectorAll("svg > svg[preserveAspectRatio]")) {
    drawn.setAttribute("viewBox", `${begin * WIDTH} 0 ${share * WIDTH} ${HEIGHT}`);
    drawn.style.overflow = fewer ? "hidden" : "visible";
  }
  lane.querySelectorAll(".mark").forEach((mark) => {
    mark.dataset.at ??= parseFloat(mark.getAttribute("x")) / 100;
    const at = (mark.dataset.at - begin) / share;
    mark.setAttribute("x", `${100 * at}%`);
    mark.style.display = at < 0 || at > 1 ? "none" : "";
  });
  lane.querySelector(".steps")?.replaceChildren(...labels(from, to));
}

function labels(from, to) {
  return ticks(from, to, LABELS).filter(Number.isInteger).map((step) => {
    const percent = 100 * (step - from) / (to - from);
    const className = percent < NEAR_THE_EDGE ? "first" : percent > 100 - NEAR_THE_EDGE ? "last" : "";
    const label = made("span", { className, textContent: step.toLocaleString("en") });
    label.style.left = `${percent}%`;
    return label;
  });
}
