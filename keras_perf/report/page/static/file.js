// The page as a file: what its cards can do without a server.

import { addCopying } from "./copying.js";
import { held } from "./held_steps.js";
import { addTimelinesOf } from "./timeline.js";

const stepsAt = (place) => JSON.parse(document.querySelector(`script[data-place="${place}"]`).textContent);

addCopying(document);
addTimelinesOf(document, (place) => [String(place), held(stepsAt(place))]);
