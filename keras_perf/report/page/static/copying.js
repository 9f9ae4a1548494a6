// A button beside each piece of advice, which copies its code.

import { made } from "./elements.js";

const TOLD_MS = 1500;

export function addCopying(content) {
  content.querySelectorAll(".advice pre").forEach(addCopy);
}

function addCopy(pre) {
  const code = pre.firstElementChild;
  const button = made("button", { className: "copy", textContent: "copy", type: "button" });
  button.onclick = async () => {
    button.textContent = await copied(code) ? "copied" : "selected: press Ctrl+C";
    setTimeout(() => { button.textContent = "copy"; }, TOLD_MS);
  };
  pre.append(button);
}

async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    return copiedAsSelected(code);
  }
}

// A page that came unencrypted from another machine has no clipboard.
function copiedAsSelected(code) {
  const selection = document.getSelection();
  selection.selectAllChildren(code);
  const done = document.execCommand("copy");
  if (done) selection.removeAllRanges();
  return done;
}
