// The machine's lanes show the steps that the timeline above them shows.

import { ticks } from "./timeline_ticks.js";

const WIDTH = 1000, HEIGHT = 100; // What a lane is drawn in.
const LABELS = 6;
const NEAR_THE_EDGE = 5; // Percent: a label that is nearer stays inside.

// Those of the run that a timeline is of, each with the steps that it was drawn for.
export const lanesOf = (timeline) => [...timeline.closest("section.run, main").querySelectorAll(".plot[data-steps]")];

export function showSteps(lanes, [from, to]) {
  for (const lane of lanes) {
    const [first, last] = lane.dataset.steps.split(" ").map(Number);
    const begin = (from - first) / (last - first), share = (to - from) / (last - first);
    for (const drawn of lane.querySelectorAll("svg > svg[preserveAspectRatio]")) {
      drawn.setAttribute("viewBox", `${begin * WIDTH} 0 ${share * WIDTH} ${HEIGHT}`);
      drawn.style.overflow = share < 1 ? "hidden" : "visible";
    }
    lane.querySelectorAll(".mark").forEach((mark) => {
      mark.dataset.at ??= parseFloat(mark.getAttribute("x")) / 100;
      const at = (mark.dataset.at - begin) / share;
      mark.setAttribute("x", `${100 * at}%`);
      mark.style.display = at < 0 || at > 1 ? "none" : "";
    });
    lane.querySelector(".steps")?.replaceChildren(...labels(from, to));
  }
}

function labels(from, to) {
  return ticks(from, to, LABELS).filter(Number.isInteger).map((step) => {
    const percent = 100 * (step - from) / (to - from);
    const label = document.createElement("span");
    label.textContent = step.toLocaleString("en");
    label.style.left = `${percent}%`;
    label.className = percent < NEAR_THE_EDGE ? "first" : percent > 100 - NEAR_THE_EDGE ? "last" : "";
    return label;
  });
}
