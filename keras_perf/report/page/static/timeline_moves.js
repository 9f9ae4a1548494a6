// How a timeline answers to the mouse and to keys.

import { markAt } from "./timeline_marks.js";
import { follow, hide, markOf, tellAt } from "./timeline_telling.js";

const DRAGGED_PX = 4; // Less is a click.

export function followMouse(timeline) {
  const { canvas } = timeline;
  let drag = null;
  const place = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  canvas.onpointerdown = (event) => {
    if (event.button || !timeline.scale) return;
    drag = { ...place(event), shown: timeline.shown, moves: event.shiftKey, begun: false };
  };
  canvas.onpointermove = (event) => {
    if (!timeline.scale) return;
    const { x, y } = place(event);
    if (!drag) return hover(timeline, x, y);
    if (!drag.begun && Math.abs(x - drag.x) < DRAGGED_PX) return;
    if (!drag.begun) canvas.setPointerCapture(event.pointerId);
    drag.begun = true;
    if (drag.moves) moveBy(timeline, drag, x);
    else select(timeline, drag.x, x);
  };
  canvas.onpointerup = (event) => {
    if (!drag) return;
    const { x, y } = place(event);
    const { begun, moves, x: from } = drag;
    drag = null;
    if (begun && !moves) zoomTo(timeline, from, x);
    const mark = begun ? null : markAt(timeline.scale, x, y);
    if (mark) follow(timeline, mark);
  };
  canvas.onpointercancel = () => { drag = null; timeline.draw(); };
  canvas.onpointerleave = () => { if (!drag && !timeline.cursor?.pinned) hide(timeline); };
  canvas.ondblclick = () => timeline.reset();
  // The wheel alone scrolls the page, as everywhere in TensorBoard.
  canvas.addEventListener("wheel", (event) => wheel(timeline, event, place(event).x), { passive: false });
}

function wheel(timeline, event, x) {
  if (!timeline.scale) return;
  if (event.altKey || event.ctrlKey || event.metaKey) {
    event.preventDefault();
    timeline.zoom(1.002 ** event.deltaY, timeline.scale.step(x));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    timeline.move((event.deltaX || event.deltaY) / timeline.canvas.clientWidth);
  }
}

function hover(timeline, x, y) {
  const mark = markAt(timeline.scale, x, y);
  timeline.canvas.classList.toggle("clickable", Boolean(mark));
  if (mark) return tellAt(timeline, mark);
  const place = columnAt(timeline.data.columns, timeline.scale.step(x));
  if (place === null || x < timeline.scale.left || x > timeline.scale.right) hide(timeline);
  else tellAt(timeline, { kind: "column", place });
}

// The column that holds a step, or the next one where none does.
export function columnAt({ end }, step) {
  let low = 0, high = end.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (end[half] < step) low = half + 1; else high = half;
  }
  return end.length ? Math.min(low, end.length - 1) : null;
}

function select({ scale: { selected, left, right } }, from, to) {
  const [begin, end] = [Math.min(from, to), Math.max(from, to)].map((x) => Math.min(Math.max(x, left), right));
  selected.setAttribute("x", begin);
  selected.setAttribute("width", end - begin);
  selected.setAttribute("visibility", "visible");
}

function zoomTo(timeline, from, to) {
  const { step, left, right } = timeline.scale;
  const [begin, end] = [Math.min(from, to), Math.max(from, to)].map((x) => step(Math.min(Math.max(x, left), right)));
  timeline.show(begin, end);
}

function moveBy(timeline, { x, shown: [from, to] }, now) {
  const { left, right } = timeline.scale;
  const by = (x - now) / (right - left) * (to - from);
  timeline.show(from + by, to + by);
}

export function followKeys(timeline) {
  timeline.canvas.onkeydown = (event) => {
    if (!timeline.scale || event.ctrlKey || event.altKey || event.metaKey) return;
    const aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const does = {
      "+": () => timeline.zoom(0.5, under(timeline)), "=": () => timeline.zoom(0.5, under(timeline)),
      "-": () => timeline.zoom(2, under(timeline)), "0": () => timeline.reset(), Escape: () => timeline.reset(),
      Enter: () => enter(timeline),
    }[event.key] ?? (aside && (() => (event.shiftKey ? timeline.move(aside / 4) : stepAside(timeline, aside))));
    if (!does) return;
    event.preventDefault();
    does();
  };
  timeline.canvas.onblur = () => hide(timeline);
}

function under({ cursor, data }) {
  return cursor?.kind === "column" ? (data.columns.begin[cursor.place] + data.columns.end[cursor.place]) / 2 : undefined;
}

function stepAside(timeline, by) {
  const { cursor, data } = timeline;
  const last = data.columns.begin.length - 1;
  if (last < 0) return;
  const place = cursor?.kind === "column" ? cursor.place + by : by > 0 ? 0 : last;
  tellAt(timeline, { kind: "column", place: Math.min(Math.max(place, 0), last) });
}

function enter(timeline) {
  if (timeline.cursor?.kind !== "column") return;
  const mark = markOf(timeline, timeline.cursor.place);
  if (mark) follow(timeline, mark);
}
