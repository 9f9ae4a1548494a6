// A button beside each piece of advice, which copies its code.

import { made } from "./elements.js";

export function addCopying(content) {
  if (navigator.clipboard) content.querySelectorAll(".advice pre").forEach(addCopy);
}

function addCopy(pre) {
  const text = pre.textContent;
  const button = made("button", { className: "copy", textContent: "copy", type: "button" });
  button.onclick = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  };
  pre.append(button);
}
