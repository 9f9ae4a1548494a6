// Whoever goes through the page by keyboard stays where they were while it is made anew.

const CAN_HAVE_IT = "a[href], button, summary, [tabindex]";

const nameOf = (element) =>
  [element.tagName, element.getAttribute("aria-label") ?? element.getAttribute("href") ?? element.textContent].join(" ");

const alike = (content, name) => [...content.querySelectorAll(CAN_HAVE_IT)].filter((each) => nameOf(each) === name);

// What has the focus, as its name and which of that name it is; null where it lies elsewhere.
export function focusedIn(content) {
  const focused = document.activeElement;
  if (focused === content || !content.contains(focused)) return null;
  const name = nameOf(focused);
  return { name, place: alike(content, name).indexOf(focused) };
}

export function focusAgain(content, focused) {
  if (focused) alike(content, focused.name)[focused.place]?.focus({ preventScroll: true });
}
