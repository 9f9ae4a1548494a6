// Draws a timeline as SVG, in the page's own colours.

import { marked } from "./timeline_marks.js";
import { svg } from "./elements.js";
import { namesIn } from "./timeline_names.js";
import { ticks } from "./timeline_ticks.js";

const LANES = { outliers: [16, 56], captures: [73, 81], steps: [102, 266] };
const HEIGHT = 290;
const OUTLIER_TIMES = 2.2; // As high as the axis reaches, in usual columns.
const USUAL = 0.95;
const JOINED_PX = 1.5; // Nearer columns touch.

// Fills the timeline's canvas; returns how to go from steps to pixels and back.
export function drawn(timeline) {
  const { data, canvas, shown: [from, to] } = timeline;
  const width = canvas.clientWidth;
  // As wide as the scales of the plots below, so that steps lie below each other.
  const left = window.innerWidth > 640 ? 52 : 42;
  const x = (step) => left + (step - from) / (to - from) * (width - left);
  const step = (px) => from + (px - left) / (width - left) * (to - from);
  const top = highest(data.columns);
  const [high, low] = LANES.steps;
  const y = (ms) => low - Math.min(ms, top) / top * (low - high);
  const scale = { x, step, y, top, left, right: width, low, high, lanes: LANES, height: HEIGHT, clipped: 0 };

  const clip = `clip-${timeline.run.length}-${Math.random().toString(36).slice(2)}`;
  const inside = svg("g", { "clip-path": `url(#${clip})` });
  const layers = stacked(data.columns);
  inside.append(...areas(data.columns, layers, scale), ...lines(data, scale), ...clippedAt(data.columns, scale), ...namesIn(data, layers, scale));
  const { captures, outliers } = marked(data, scale);
  inside.append(...captures);
  scale.crosshair = svg("line", { class: "crosshair", y1: LANES.outliers[0], y2: low, visibility: "hidden" });
  scale.selected = svg("rect", { class: "selected", y: LANES.outliers[0], height: low - LANES.outliers[0], visibility: "hidden" });
  inside.append(scale.selected, scale.crosshair);
  const drawing = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { x: left - 1, width: width - left + 2, height: HEIGHT }))),
    ...axes(scale, [from, to], outliersName(data, outliers.length)), inside, ...outliers);
  canvas.replaceChildren(drawing);
  return scale;
}

// One long interval among many does not flatten all others: it is cut off, and marked.
function highest({ mean, most }) {
  if (!mean.length) return 1;
  const sorted = [...mean].sort((a, b) => a - b);
  const usual = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * USUAL))];
  return Math.min(Math.max(...most), usual * OUTLIER_TIMES) * 1.05 || 1;
}

// Stretches of columns without a gap between them, as first and last place.
function stretches({ begin, end }, { x }) {
  const found = [];
  begin.forEach((step, place) => {
    const near = place && x(step) - x(end[place - 1]) < JOINED_PX;
    if (near) found.at(-1)[1] = place;
    else found.push([place, place]);
  });
  return found;
}

// The parts, each from where the one below it ends.
function stacked({ mean, parts }) {
  let below = mean.map(() => 0);
  return Object.entries(parts).map(([part, values]) => {
    const above = below.map((ms, place) => ms + (values[place] ?? 0));
    const layer = { part, below, above };
    below = above;
    return layer;
  });
}

function areas(columns, layers, scale) {
  const joined = stretches(columns, scale);
  return layers.map(({ part, below, above }) => {
    const path = joined.map(([first, last]) => `M${edge(columns, above, scale, first, last, 1)}L${edge(columns, below, scale, last, first, -1)}Z`);
    return svg("path", { d: path.join(""), fill: `var(--${part})`, "data-part": part });
  });
}

// Along the tops of columns, forth or back.
function edge({ begin, end }, heights, { x, y }, from, to, by) {
  const points = [];
  for (let place = from; place !== to + by; place += by) {
    const [one, other] = by > 0 ? [begin, end] : [end, begin];
    points.push(`${x(one[place]).toFixed(1)} ${y(heights[place]).toFixed(1)}`, `${x(other[place]).toFixed(1)} ${y(heights[place]).toFixed(1)}`);
  }
  return points.join("L");
}

// The longest interval of each column; where each column is one interval there is none.
function lines({ columns, exact }, scale) {
  if (exact) return [];
  const path = stretches(columns, scale).map(([first, last]) => `M${edge(columns, columns.most, scale, first, last, 1)}`);
  return [svg("path", { d: path.join(""), class: "most" })];
}

function clippedAt({ begin, end, most }, scale) {
  const { x, high, top } = scale;
  const places = most.flatMap((ms, place) => (ms > top ? [place] : []));
  scale.clipped = places.length;
  return places.map((place) => {
    const middle = x((begin[place] + end[place]) / 2);
    return svg("path", { class: "clipped", d: `M${middle - 4} ${high - 2}L${middle + 4} ${high - 2}L${middle} ${high - 9}Z` });
  });
}

function outliersName(data, marked) {
  if (marked) return "outliers, by how much longer";
  return data.outliers_in_range > data.outliers.length ? "outliers, none marked" : "no outliers";
}

function axes({ x, y, left, right, low, top, lanes }, [from, to], outliers) {
  const drawing = [];
  for (const ms of ticks(0, top, 4)) {
    drawing.push(svg("line", { class: "grid", x1: left, x2: right, y1: y(ms), y2: y(ms) }),
      svg("text", { x: left - 7, y: y(ms) + 4, "text-anchor": "end" }, ms.toLocaleString("en", { maximumSignificantDigits: 12 })));
  }
  for (const step of ticks(from, to, Math.max(2, Math.floor((right - left) / 110)))) {
    if (!Number.isInteger(step)) continue;
    const near = x(step) > right - 24 ? "end" : "middle";
    drawing.push(svg("line", { class: "grid", x1: x(step), x2: x(step), y1: low, y2: low + 5 }),
      svg("text", { x: Math.min(x(step), right), y: low + 19, "text-anchor": near }, step.toLocaleString("en")));
  }
  const name = (text, y) => svg("text", { x: left, y, class: "lane" }, text);
  drawing.push(svg("line", { class: "axis", x1: left, x2: right, y1: low, y2: low }),
    svg("line", { class: "grid", x1: left, x2: right, y1: lanes.outliers[1], y2: lanes.outliers[1] }),
    name("ms per step", lanes.steps[0] - 8),
    name(outliers, lanes.outliers[0] - 5), name("captures", lanes.captures[0] - 5));
  return drawing;
}
