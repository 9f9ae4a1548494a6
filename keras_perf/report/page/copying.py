"""The exported page's only script: it copies the code of an advice.

The tab has its own, as TensorBoard refuses scripts that stand in a page.
"""

from __future__ import annotations

import base64
import hashlib
from xml.etree.ElementTree import Element

from keras_perf.report.page.html import element

SCRIPT = """
for (const pre of navigator.clipboard ? document.querySelectorAll(".advice pre") : []) {
  const text = pre.textContent;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "copy", textContent: "copy" });
  button.onclick = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  };
  pre.append(button);
}
"""

HASH = "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
"""By which the browser knows that a script is this one; it runs no other."""


def copying() -> Element:
    """To be put behind what it works on."""
    return element("script", SCRIPT)
