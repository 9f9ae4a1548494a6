// Links to other places of the page. TensorBoard's frame has another base address, to which `#…` would lead.

export function addLeading(content) {
  content.querySelectorAll('a[href^="#"]').forEach((link) => {
    link.onclick = (event) => {
      event.preventDefault();
      const target = document.getElementById(link.getAttribute("href").slice(1));
      target?.scrollIntoView();
      // Whoever goes on by keyboard goes on there.
      target?.setAttribute("tabindex", "-1");
      target?.focus({ preventScroll: true });
    };
  });
}
