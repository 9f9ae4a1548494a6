// The timelines of the tab: the server is asked for each stretch of steps.

import { addTimelinesOf } from "./timeline.js";
import { elementOf } from "./tree.js";

export function addTimelines(content, { at, runs }) {
  addTimelinesOf(content, (place) => [runs[place - 1], steps(at, runs[place - 1]), lanes(at, runs[place - 1])]);
}

const steps = (at, run) => async (range, columns, signal) => (await asked(at("./steps", [run]), range, signal, { columns })).json();

// Where the machine was not observed, there are none.
const lanes = (at, run) => async (range, signal) => {
  const { content } = await (await asked(at("./lanes", [run]), range, signal)).json();
  return content ? elementOf(content) : document.createDocumentFragment();
};

async function asked(url, range, signal, more = {}) {
  const values = range ? { ...more, from: range[0], to: range[1] } : more;
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}
