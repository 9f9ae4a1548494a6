// The Performance tab: which run, compared with which, or all of them in a table. What is shown
// comes from the server, element by element as in the HTML report; `cards.js` adds what can be done with it.

import { ADDITIONS, SHEETS } from "./cards.js";
import { made } from "./elements.js";
import { focusAgain, focusedIn } from "./focus.js";
import { followTheme } from "./theme.js";
import { elementOf } from "./tree.js";

const LOOK_AGAIN_MS = 5000;
const PAUSES = 4; // Times as long as the last answer took.
const ALL = "", NOTHING = "";
const at = (path, runs = []) => {
  const url = new URL(path, import.meta.url);
  runs.forEach((run) => url.searchParams.append("run", run));
  return url;
};

const chosen = { run: null, before: NOTHING };
let shown = null, asked = null;
let looking = false, lookAt = 0, next;
const run = made("select", { onchange: () => choose({ run: run.value }) });
const before = made("select", { onchange: () => choose({ before: before.value }) });
const said = made("span", { className: "said", role: "status" });
const content = made("div");

export async function render() {
  for (const sheet of SHEETS) {
    document.head.append(made("link", { rel: "stylesheet", href: at(`./${sheet}`) }));
  }
  document.documentElement.lang = "en";
  const compared = made("label", {}, "compared with", before);
  const tools = made("div", { className: "bar-of-tools" }, made("label", {}, "Run", run), compared, said);
  document.body.replaceChildren(tools, content);
  followTheme();
  document.addEventListener("visibilitychange", keepLooking);
  window.addEventListener("resize", keepLooking);
  await keepLooking();
}

// TensorBoard makes the frames of other tabs 0 pixels high; their document is not hidden.
const isSeen = () => !document.hidden && window.innerHeight > 0 && window.innerWidth > 0;

// A server that takes long is asked more rarely, and never twice at a time; while nobody can see the
// tab, not at all.
async function keepLooking() {
  if (looking) return;
  clearTimeout(next);
  const begin = performance.now();
  if (isSeen() && begin >= lookAt) {
    looking = true;
    await look();
    looking = false;
    lookAt = performance.now() + Math.max(LOOK_AGAIN_MS, PAUSES * (performance.now() - begin));
  }
  next = setTimeout(keepLooking, Math.max(lookAt - performance.now(), isSeen() ? 0 : LOOK_AGAIN_MS));
}

function choose(change) {
  Object.assign(chosen, change);
  if (chosen.before === chosen.run) chosen.before = NOTHING;
  shown = null;
  look();
}

// What was chosen meanwhile is not overwritten by an earlier answer.
async function look() {
  const choice = { ...chosen };
  const isChosen = () => choice.run === chosen.run && choice.before === chosen.before;
  try {
    const { runs } = await (await fetched(at("./runs"))).json();
    if (!isChosen()) return;
    offer(runs);
    Object.assign(choice, chosen);
    if (!runs.length) return tell(NO_RUN);
    const wanted = chosen.run === ALL ? runs : runs.filter((each) => [chosen.run, chosen.before].includes(each.name));
    const state = JSON.stringify([chosen, wanted]);
    if (state === asked) return;
    if (state !== shown) await show(state, isChosen);
    if (isChosen()) said.textContent = "";
  } catch (error) {
    if (!isChosen()) return;
    said.textContent = String(error.message || error);
    // What another choice showed is not what stands above now.
    if (shown === null) content.replaceChildren();
  }
}

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300) || answer.statusText);
  return answer;
}

// A choice looks at once, beside a look that is under way: what is asked for is not asked for again.
async function answerTo(url, state) {
  asked = state;
  try {
    return await (await fetched(url)).json();
  } finally {
    if (asked === state) asked = null;
  }
}

function offer(runs) {
  const names = runs.map((each) => each.name);
  if (!names.includes(chosen.run) && chosen.run !== ALL) chosen.run = names[0] ?? null;
  if (!names.includes(chosen.before)) chosen.before = NOTHING;
  fill(run, [...names.map((name) => [name, name]), ...(names.length > 1 ? [[ALL, "all runs"]] : [])], chosen.run);
  const others = names.filter((name) => name !== chosen.run);
  fill(before, [[NOTHING, "nothing"], ...others.map((name) => [name, name])], chosen.before);
  before.parentElement.hidden = names.length < 2 || chosen.run === ALL;
}

function fill(select, options, value) {
  const now = JSON.stringify(options);
  if (select.dataset.options !== now) {
    select.replaceChildren(...options.map(([value, text]) => made("option", { value, textContent: text })));
    select.dataset.options = now;
  }
  select.value = value;
}

async function show(state, isChosen) {
  said.textContent = "reading …";
  const names = chosen.before === NOTHING ? [chosen.run] : [chosen.before, chosen.run];
  const url = chosen.run === ALL ? at("./table") : at("./page", names);
  const told = await answerTo(url, state);
  if (!isChosen()) return;
  const open = [...content.querySelectorAll("details")].map((each) => each.open);
  const focused = focusedIn(content);
  content.replaceChildren(elementOf(told.content));
  content.querySelectorAll("details").forEach((each, place) => { each.open = open[place] ?? false; });
  const runs = chosen.run === ALL ? [] : names;
  for (const addition of ADDITIONS) addition(content, { at, runs });
  if (chosen.run === ALL) addChoosing();
  focusAgain(content, focused);
  shown = state;
}

// In the table of all runs a name leads to its run.
function addChoosing() {
  const names = [...run.options].map((each) => each.value);
  content.querySelectorAll("table.runs tbody th").forEach((head) => {
    const name = head.textContent;
    if (!names.includes(name)) return;
    const onclick = (event) => { event.preventDefault(); choose({ run: name, before: NOTHING }); };
    head.replaceChildren(made("a", { href: "#", textContent: name, onclick }));
  });
}

function tell(text) {
  content.replaceChildren(made("main", {}, made("section", { className: "card" }, ...text)));
  shown = null;
  said.textContent = "";
}

const NO_RUN = [
  made("h3", { textContent: "No run of keras_perf is here yet" }),
  made("p", { textContent: "Train with its callbacks, and start TensorBoard on the same directory:" }),
  made("pre", { textContent: 'import keras_perf as kp\nmodel.fit(dataset, callbacks=kp.perf_callbacks("logs/run1"))' }),
];
