// What the cards of the server's page can do in the browser, beyond being read. To add to a card, write
// a module and name its function here.

import { addCopying } from "./copying.js";
import { addLeading } from "./leading.js";
import { addMeanings } from "./meanings.js";
import { addSorting } from "./sorting.js";
import { addTimelines } from "./asked_steps.js";

// Each gets the element that holds the cards, whenever they are new, and what it may ask the server:
// `at(route, runs)` is the address of an answer, `runs` are the names of those that are shown.
export const ADDITIONS = [addCopying, addLeading, addMeanings, addSorting, addTimelines];

export const SHEETS = ["page.css", "tab.css", "timeline.css"];
