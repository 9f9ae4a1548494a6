// The names of the parts, each in its own area, so that no colour has to be looked up.

import { svg } from "./elements.js";

const LETTER_PX = 7.6, BESIDE_PX = 6, HEIGHT_PX = 16; // Of a wide font.

// Where a name fits nowhere, its part is named by the legend and where one points only.
export function namesIn({ columns, names }, layers, scale) {
  return layers.flatMap((layer) => {
    const name = names[layer.part];
    const place = roomiest(columns, layer, scale, name.length * LETTER_PX + BESIDE_PX);
    return place ? [svg("text", { x: place.x, y: place.y + 4, class: "part-name" }, name)] : [];
  });
}

// The middle of the highest stretch of an area that is so wide; null where none is high enough.
function roomiest({ begin, end }, { below, above }, { x, y, left, right }, width) {
  let best = null, height = HEIGHT_PX;
  begin.forEach((step, first) => {
    const from = Math.max(x(step), left);
    let low = y(below[first]), high = y(above[first]), place = first;
    for (; place < begin.length && x(end[place]) > left; place += 1) {
      if (place > first && begin[place] > end[place - 1]) return;
      low = Math.min(low, y(below[place]));
      high = Math.max(high, y(above[place]));
      if (low - high < height) return;
      if (x(end[place]) >= from + width) break;
    }
    if (place === begin.length || x(end[place]) < from + width || from + width > right) return;
    height = low - high + 0.5;
    best = { x: from + width / 2, y: (low + high) / 2 };
  });
  return best;
}
