// The marks of a timeline that can be clicked: outliers by how much longer they were, and captures.

import { svg } from "./elements.js";

// Each cause has a shape of its own; the letters are those of the server.
const SHAPES = {
  s: "M-4-4H4V4H-4Z", D: "M0-5L5 0L0 5L-5 0Z", o: "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
  "^": "M0-5L5 4H-5Z", v: "M0 5L5-4H-5Z", "<": "M-5 0L4-5V5Z", ">": "M5 0L-4-5V5Z",
  "*": "M0 -6L1.5 -2L5.7 -1.9L2.4 0.8L3.5 4.9L0 2.5L-3.5 4.9L-2.4 0.8L-5.7 -1.9L-1.5 -2Z",
  P: "M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
  X: "M-5-2.6L-2.6-5L0-2.4L2.6-5L5-2.6L2.4 0L5 2.6L2.6 5L0 2.4L-2.6 5L-5 2.6L-2.4 0Z",
};
const LEAST_CAPTURE_PX = 6;

// The shape of a cause, by itself, for a legend or a sentence.
export const shape = (mark) => svg("path", { d: SHAPES[mark.shape] ?? SHAPES.o, fill: mark.colour });

export function marked(data, scale) {
  const { x, left, right } = scale;
  scale.marks = [];
  const isSeen = (px) => px >= left - 1 && px <= right + 1;
  const [high, low] = scale.lanes.outliers;
  const longest = Math.max(...data.outliers.map((each) => each.excess_ms), 1);
  const shortest = Math.min(...data.outliers.map((each) => each.excess_ms), longest);
  const height = (ms) => (longest > shortest ? Math.log(ms / shortest) / Math.log(longest / shortest) : 1);
  const outliers = data.outliers.filter((each) => isSeen(x(each.step))).map((each) => {
    const y = low - 8 - height(Math.max(each.excess_ms, shortest)) * (low - high - 14);
    scale.marks.push({ kind: "outlier", of: each, x: x(each.step), y });
    return svg("g", { class: "outlier", "data-step": each.step },
      svg("line", { x1: x(each.step), x2: x(each.step), y1: low, y2: y, stroke: each.mark.colour }),
      svg("g", { transform: `translate(${x(each.step)} ${y})` }, shape(each.mark)));
  });
  const [above, below] = scale.lanes.captures;
  const captures = data.captures.map((each) => {
    const begin = x(each.first), width = Math.max(x(each.last) - begin, LEAST_CAPTURE_PX);
    scale.marks.push({ kind: "capture", of: each, x: begin + width / 2, y: (above + below) / 2, width });
    return svg("rect", { class: "capture", "data-step": each.first, x: begin, y: above, width, height: below - above, rx: 2 });
  });
  return { outliers, captures };
}

// The mark under the mouse, or so near that it is meant.
export function markAt({ marks }, x, y, reach = 9) {
  const distance = (mark) => Math.hypot(Math.max(Math.abs(mark.x - x) - (mark.width ?? 0) / 2, 0), mark.y - y);
  const near = marks.filter((mark) => distance(mark) <= reach);
  return near.sort((one, other) => distance(one) - distance(other))[0] ?? null;
}

// TensorBoard's Profile tab reads from the page's address which trace it shows.
export function profileAddress(trace) {
  const address = new URL("../../../", import.meta.url);
  address.searchParams.set("run", trace);
  address.searchParams.set("tag", "trace_viewer");
  address.hash = "profile";
  return address.href;
}
