// Links to other places of the page. TensorBoard's frame has another base address, to which `#…` would lead.

export function addLeading(content) {
  content.querySelectorAll('a[href^="#"]').forEach((link) => {
    link.onclick = (event) => {
      event.preventDefault();
      document.getElementById(link.getAttribute("href").slice(1))?.scrollIntoView({ behavior: "smooth" });
    };
  });
}
