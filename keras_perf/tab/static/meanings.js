// What a number means stays open while the page is made anew.

let open = null;

export function addMeanings(content) {
  content.querySelectorAll("div.meaning").forEach((told) => {
    told.addEventListener("toggle", (event) => {
      if (event.newState === "open") open = told.id;
      else if (open === told.id) open = null;
    });
    if (told.id === open) {
      told.showPopover({ source: content.querySelector(`[popovertarget="${told.id}"]`) });
    }
  });
}
