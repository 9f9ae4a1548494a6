// The timelines of the tab: the server is asked for each stretch of steps.

import { addTimelinesOf } from "./timeline.js";

export function addTimelines(content, { at, runs }) {
  addTimelinesOf(content, (place) => [runs[place - 1], asking(at, runs[place - 1])]);
}

const asking = (at, run) => async (range, columns, signal) => {
  const url = at("./steps", [run]);
  url.searchParams.set("columns", columns);
  if (range) ["from", "to"].forEach((name, place) => url.searchParams.set(name, range[place]));
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};
