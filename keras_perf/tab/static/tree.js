// What the server tells of the page, made into elements. Text stays text; of tags and attributes
// only those below are made, and none of them runs or loads anything.

const TAGS = new Set(`a b button caption code dd details div dl dt em figcaption figure h1 h2 h3 h4 header i li
  main ol p pre section small span strong summary table tbody td th thead tr ul`.split(/\s+/));
const DRAWN = new Set("svg circle g line path polygon polyline rect text title tspan".split(" "));
const ATTRIBUTES = new Set(`class colspan d height href id lang open popover popovertarget preserveAspectRatio
  role rowspan rx scope style tabindex title transform type viewBox width x x1 x2 y y1 y2`.split(/\s+/));
const NAMED = /^(aria|data)-[a-z-]+$/;

// `[tag, attributes, children]`, of which each child is text or another of these.
export function elementOf([tag, attributes, children], inDrawing = false) {
  const isDrawn = inDrawing || tag === "svg";
  if (!(isDrawn ? DRAWN : TAGS).has(tag)) throw new Error(`the page cannot hold <${tag}>`);
  const element = isDrawn ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (!isAllowed(name, value)) throw new Error(`the page cannot hold ${name}="${value}"`);
    element.setAttribute(name, value);
  }
  for (const child of children) element.append(typeof child === "string" ? child : elementOf(child, isDrawn));
  return element;
}

// A link leads to another place of the page, and nowhere else; a style fetches nothing; a button sends nothing.
const LIMITS = {
  href: (value) => value.startsWith("#"),
  style: (value) => !/url|image|["'\\@]/i.test(value),
  type: (value) => value === "button",
};
const isAllowed = (name, value) =>
  (ATTRIBUTES.has(name) || NAMED.test(name)) && (!Object.hasOwn(LIMITS, name) || LIMITS[name](value));
