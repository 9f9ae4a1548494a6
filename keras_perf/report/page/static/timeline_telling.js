// What a timeline says of a column, an outlier or a capture.

import { made, svg } from "./elements.js";
import { profileAddress, shape } from "./timeline_marks.js";

const number = (value) => value.toLocaleString("en");
const ms = (value) => (value === null ? "–" : `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 3 : 1, minimumFractionDigits: value < 10 ? 3 : 1 })} ms`);
const MOST_OUTLIERS = 3;
const AWAY_PX = 14;
// The trace itself is drawn without one.
const IN_PROFILE_TAB = "in the Profile tab. Its other charts need a network.";

// `cursor` is { kind: "column", place } or a mark; it is told beside it.
export function tellAt(timeline, cursor) {
  const { data, scale, told } = timeline;
  timeline.cursor = cursor;
  const x = cursor.kind === "column" ? middle(data.columns, scale, cursor.place) : cursor.x;
  const telling = { column: tellColumn, outlier: tellOutlier, capture: tellCapture }[cursor.kind];
  told.replaceChildren(...telling(timeline, cursor));
  told.hidden = false;
  told.classList.toggle("pinned", Boolean(cursor.pinned));
  const width = told.offsetWidth, room = timeline.canvas.clientWidth;
  const beside = x + AWAY_PX + width <= room ? x + AWAY_PX : x - AWAY_PX - width;
  told.style.left = `${Math.min(Math.max(beside, 0), Math.max(room - width, 0))}px`;
  scale.crosshair.setAttribute("x1", x);
  scale.crosshair.setAttribute("x2", x);
  scale.crosshair.setAttribute("visibility", "visible");
}

export function hide(timeline) {
  timeline.cursor = null;
  timeline.told.hidden = true;
  timeline.scale?.crosshair.setAttribute("visibility", "hidden");
}

// Opens the trace of an outlier or a capture; where there is none, that is said and stays.
export function follow(timeline, mark) {
  if (mark.of.trace) window.open(profileAddress(mark.of.trace), "_blank", "noopener");
  else tellAt(timeline, { ...mark, pinned: true });
}

// The worst outlier of a column, or else its capture; null where it has neither.
export function markOf({ data, scale }, place) {
  const { begin, end } = data.columns;
  const inside = scale.marks.filter(({ kind, of }) => (kind === "outlier"
    ? of.step >= begin[place] && of.step < end[place] : of.first < end[place] && of.last > begin[place]));
  const worth = (mark) => (mark.kind === "outlier" ? mark.of.excess_ms : -1);
  return inside.sort((one, other) => worth(other) - worth(one))[0] ?? null;
}

const middle = ({ begin, end }, { x, left, right }, place) => Math.min(Math.max(x((begin[place] + end[place]) / 2), left), right);

function tellColumn({ data }, { place }) {
  const { begin, end, mean, least, most, longest_at, parts } = data.columns;
  const rows = Object.entries(parts).map(([part, values]) => row(swatch(part), data.names[part], values[place] === null ? "in compute" : ms(values[place])));
  const inside = data.outliers.filter((each) => each.step >= begin[place] && each.step < end[place]);
  const worst = [...inside].sort((one, other) => other.excess_ms - one.excess_ms).slice(0, MOST_OUTLIERS);
  const captures = data.captures.filter((each) => each.first < end[place] && each.last > begin[place]);
  const spread = most[place] > least[place]
    ? [made("p", { textContent: `Intervals from ${ms(least[place])} to ${ms(most[place])}, the longest up to step ${number(longest_at[place])}.` })] : [];
  return [
    made("p", { className: "where-it-is", textContent: `steps ${number(begin[place] + 1)}–${number(end[place])}` }),
    made("table", {}, ...rows, row("", "step", ms(mean[place]))), ...spread,
    ...worst.map((each) => made("p", {}, icon(each.mark), ` ${named(each)}: ${ms(each.excess_ms)} longer`)),
    ...captures.map((each) => made("p", { textContent: `captured: ${each.reason}` })),
  ];
}

function tellOutlier({ data }, { of }) {
  const usual = of.usual_ms === null ? "longer than usual" : `longer than the usual ${ms(of.usual_ms)}`;
  return [
    made("p", { className: "where-it-is" }, icon(of.mark), ` step ${number(of.step)} · ${of.cause}`),
    made("p", { textContent: `${ms(of.excess_ms)} ${usual}` }),
    made("p", { textContent: of.meaning }),
    ...(of.owner ? [made("p", {}, "owner: ", made("code", { textContent: of.owner }))] : []),
    made("p", { className: "quiet", textContent: of.trace ? `Click for its trace ${IN_PROFILE_TAB}` : noTrace(data, of.step) }),
  ];
}

function noTrace({ captures, profile }, step) {
  if (!captures.some((each) => each.first <= step && step < each.last)) return "No trace holds this step.";
  return profile ? "Step was captured, but its trace is not there any more." : "Step was captured.";
}

function tellCapture({ data }, { of }) {
  const gone = data.profile ? "Its trace is not there any more." : "TensorBoard's Profile tab shows its trace.";
  return [
    made("p", { className: "where-it-is", textContent: `capture of steps ${number(of.first)}–${number(of.last - 1)}` }),
    made("p", { textContent: `started by: ${of.reason}` }),
    made("p", { className: "quiet", textContent: of.trace ? `Click for it ${IN_PROFILE_TAB}` : gone }),
  ];
}

// The parts in the order in which they lie, then the causes, that are to be seen.
export function legendOf({ columns, names, outliers }) {
  const marks = new Map(outliers.map((each) => [each.cause, each.mark]));
  const parts = Object.keys(columns.parts).map((part) => made("span", {}, swatch(part), names[part]));
  const causes = [...marks].map(([cause, mark]) => made("span", {}, icon(mark), cause));
  return [...titled("from below:", parts), ...titled("outliers:", causes)];
}

const titled = (title, shown) => (shown.length ? [made("span", { className: "quiet", textContent: title }), ...shown] : []);

const named = (each) => `step ${number(each.step)}, ${each.cause}${each.owner ? `, ${each.owner}` : ""}`;
const row = (first, name, value) => made("tr", {}, made("td", {}, first, name), made("td", { textContent: value }));
const icon = (mark) => svg("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12, class: "icon", "aria-hidden": "true" }, shape(mark));

function swatch(part) {
  const element = made("span", { className: "swatch" });
  element.style.setProperty("--part", `var(--${part})`);
  return element;
}
