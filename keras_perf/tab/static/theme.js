// TensorBoard tells a tab's frame nothing of its theme (tensorflow/tensorboard#5040).
export function followTheme() {
  let body;
  try {
    body = window.parent.document.body;
  } catch {
    return;
  }
  const follow = () => {
    document.documentElement.dataset.theme = body.classList.contains("dark-mode") ? "dark" : "light";
  };
  if (window.parent === window) return;
  new MutationObserver(follow).observe(body, { attributes: true, attributeFilter: ["class"] });
  follow();
}
