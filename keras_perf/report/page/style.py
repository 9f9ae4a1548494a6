"""How the page looks."""

from __future__ import annotations

from keras_perf.report.page.theme import THEME

STYLE = (
    THEME
    + """
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
a { color: inherit; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 20px 56px; }
header p { color: var(--quiet); }
.product { margin: 0; font-size: 13px; letter-spacing: .02em; }
.where { overflow-wrap: anywhere; font-family: ui-monospace, Menlo, Consolas, monospace; }
h1 { margin: 2px 0 12px; font-size: 20px; line-height: 1.3; }
h2 { margin: 40px 0 14px; font-size: 20px; overflow-wrap: anywhere; }
h3 { margin: 0 0 12px; font-size: 16px; overflow-wrap: anywhere; }
h4 { margin: 0; font-size: 15.5px; }
section.run + section.run { border-top: 1px solid var(--line); margin-top: 48px; }
.card {
  margin: 12px 0; padding: 16px 20px; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px;
}
.verdict { border-left: 6px solid var(--part); }
.in-a-sentence { display: flex; flex-wrap: wrap; gap: 0 14px; align-items: baseline; }
.verdict .name { margin: 0; font-size: 24px; font-weight: 650; line-height: 1.25; }
.verdict .because { margin: 0; font-size: 16px; }
dl.figures { display: flex; flex-wrap: wrap; gap: 6px 28px; margin: 10px 0 0; }
dl.figures dt, dl.facts dt { color: var(--quiet); font-size: 13px; }
dl.figures dd { margin: 0; font-size: 18px; font-weight: 600; }
dl.figures small { font-size: 13px; font-weight: 400; color: var(--quiet); }
.predicted dd { display: flex; flex-wrap: wrap; gap: 0 18px; }
dl.figures .predicted dd { color: var(--quiet); font-size: 13px; font-weight: 400; }
.predicted b { color: var(--ink); font-size: 18px; font-weight: 600; }
.first-advice { margin: 12px 0 0; padding: 8px 0 0 22px; border-top: 1px solid var(--line); }
.why { margin: 0 0 14px; }
.no-advice { margin: 12px 0 0; padding-top: 8px; border-top: 1px solid var(--line); }
.first-advice li { padding: 2px 0; }
.first-advice a { font-weight: 600; text-underline-offset: 3px; }
.first-advice .gain { display: inline-block; margin-left: 12px; font-size: 13.5px; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
dd, td { font-variant-numeric: tabular-nums; }
.stack { display: flex; height: 24px; border-radius: 6px; overflow: hidden; }
.scroll + .scroll { margin-top: 16px; }
table .stack { height: 22px; border-radius: 4px; }
.swatches { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 12px 0 16px; }
.stack span { background: var(--part); min-width: 1px; }
.scroll {
  --hint: color-mix(in srgb, var(--quiet) 30%, transparent), transparent;
  overflow-x: auto;
  background:
    linear-gradient(90deg, var(--card) 50%, transparent) left / 32px 100% local no-repeat,
    linear-gradient(270deg, var(--card) 50%, transparent) right / 32px 100% local no-repeat,
    linear-gradient(90deg, var(--hint)) left / 12px 100% scroll no-repeat,
    linear-gradient(270deg, var(--hint)) right / 12px 100% scroll no-repeat;
}
table { width: 100%; border-collapse: collapse; }
caption { padding-bottom: 10px; text-align: left; color: var(--quiet); }
caption span {
  display: block; position: sticky; left: 0; max-width: min(100%, calc(100vw - 76px));
}
th, td { padding: 6px 9px; text-align: right; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-weight: 500; font-size: 13px; }
tbody th { font-weight: 500; }
th:first-child { text-align: left; padding-left: 0; }
table.breakdown tbody tr:last-child > * { font-weight: 650; border-top: 2px solid var(--line); }
table.runs { font-size: 13.5px; margin-bottom: 18px; }
table.runs td { white-space: nowrap; }
:is(table.runs, tbody th) .meant { white-space: normal; }
table.runs th, table.runs td { padding-inline: 7px; }
table.runs th:first-child { padding-left: 0; }
table.runs :is(th, td):nth-child(2) { text-align: left; }
table.runs tbody th { overflow-wrap: anywhere; min-width: 110px; }
table.trials :is(td, thead th) { white-space: nowrap; }
table.trials tbody th { min-width: 150px; }
table.bars td { width: 75%; padding-right: 0; }
table.bars tbody th { overflow-wrap: anywhere; }
table.words td, table.words th { text-align: left; vertical-align: top; font-size: 13.5px; }
table.settings :is(th, td) { text-align: left; vertical-align: top; overflow-wrap: anywhere; }
table.settings :is(th, td):nth-child(n + 2) { width: 40%; }
table.events { font-size: 14px; white-space: nowrap; }
table.events :is(th, td):is(:nth-child(2), :nth-child(n + 5)) { text-align: left; }
table.events :is(th, td):nth-child(6) { white-space: normal; }
table.events td:nth-child(5) { white-space: normal; overflow-wrap: break-word; min-width: 190px; }
.swatch {
  display: inline-block; width: 11px; height: 11px; margin-right: 9px; border-radius: 3px;
  background: var(--part);
}
.run, .advice { scroll-margin-top: 56px; }
span.bars { display: block; min-width: 160px; }
span.bars span { display: block; height: 7px; margin: 2px 0; border-radius: 3px; }
span.bars .with { background: var(--compute); }
span.bars .without { background: var(--quiet); opacity: .35; }
.tag {
  display: inline-block; margin-left: 8px; padding: 1px 8px; border-radius: 99px;
  border: 1px solid var(--line); color: var(--quiet); font-size: 12.5px; font-weight: 500;
}
.advice { padding: 18px 0; border-top: 1px solid var(--line); }
.advice:first-of-type { border-top: 0; padding-top: 4px; }
.advice p { margin: 6px 0 10px; }
.advice:last-child { padding-bottom: 2px; }
.advice .head {
  display: flex; flex-wrap: wrap; gap: 4px 16px; justify-content: space-between;
  align-items: start;
}
.gain {
  flex: none; padding: 2px 11px; border-radius: 99px; background: var(--good-ground);
  color: var(--good); font-weight: 600; font-variant-numeric: tabular-nums;
}
pre {
  margin: 0; padding: 12px 14px; overflow-x: auto; background: var(--code);
  border: 1px solid var(--line); border-radius: 7px; font-size: 13px; line-height: 1.5;
}
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; }
figure { margin: 0 0 22px; }
figure:last-child { margin-bottom: 0; }
figcaption { margin-bottom: 4px; font-weight: 500; overflow-wrap: anywhere; }
figcaption small { color: var(--quiet); font-weight: 400; font-size: 13px; }
svg { display: block; overflow: visible; color: var(--ink); }
.plot {
  display: grid; grid-template-columns: 44px minmax(0, 1fr); column-gap: 8px;
  color: var(--quiet); font-size: 12px; line-height: 1; font-variant-numeric: tabular-nums;
}
.plot > svg { width: 100%; border-bottom: 1px solid var(--quiet); }
.plot .scale { position: relative; }
.plot .scale span { position: absolute; right: 0; transform: translateY(50%); }
.plot .steps { grid-column: 2; position: relative; height: 20px; }
.plot .steps span {
  position: absolute; top: 6px; transform: translateX(-50%); white-space: nowrap;
}
.plot .steps .first { transform: none; }
.plot .steps .last { transform: translateX(-100%); }
.plot .grid { stroke: var(--line); }
.plot .band { opacity: .25; }
.plot .line { fill: none; stroke-width: 1.8; vector-effect: non-scaling-stroke; }
.plot .mark { overflow: visible; }
.glyph { width: 12px; height: 12px; flex: none; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 0 0 8px 52px; font-size: 13px; }
.keys span { display: inline-flex; gap: 6px; align-items: center; }
.lane-head {
  display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between;
  margin: 14px 0 6px 52px; font-size: 13px;
}
figure .keys + .plot { margin-top: 12px; }
.two { display: flex; flex-wrap: wrap; gap: 20px 32px; align-items: start; }
.two > * { flex: 1 1 420px; min-width: 0; max-width: 100%; }
.two td { white-space: nowrap; }
.two > :first-child { flex-grow: 0; flex-basis: auto; }
.graph { font-size: 13px; }
.graph text { fill: currentColor; }
.graph .name { font-weight: 600; }
.graph .time { text-anchor: end; font-variant-numeric: tabular-nums; }
.graph .told { fill: var(--quiet); font-size: 11.5px; }
.graph .box { fill: var(--code); stroke: var(--line); }
.graph .track { fill: var(--line); }
.graph .fill { fill: var(--input_wait); opacity: .45; }
.graph .pace .box { stroke: var(--input_wait); stroke-width: 2.5; }
.graph .pace .fill { opacity: 1; }
.graph .pace .told { fill: currentColor; font-weight: 600; }
.graph .training .box { fill: none; stroke: var(--quiet); stroke-dasharray: 5 4; }
.graph .arrow { fill: none; stroke: var(--quiet); }
.graph .head { fill: var(--quiet); }
.stack-labels { display: flex; flex-wrap: wrap; gap: 0 20px; margin-top: 4px; font-size: 13px; }
.stack-labels span::before {
  content: ""; display: inline-block; width: 11px; height: 11px; margin-right: 6px;
  border-radius: 3px; background: var(--part);
}
.verdict .stack { margin-top: 12px; }
.state {
  margin: 0 0 14px; padding: 8px 12px; border: 1px solid var(--line); border-left: 4px solid;
  border-radius: 6px; background: var(--code); overflow-wrap: anywhere;
}
.meant { white-space: nowrap; }
button.meaning {
  width: 17px; height: 17px; padding: 0; border: 1px solid var(--quiet); border-radius: 50%;
  background: none; color: var(--quiet); font: 600 11px/1 system-ui, sans-serif; cursor: pointer;
  vertical-align: 1px; position: relative;
}
button.meaning::after { content: ""; position: absolute; inset: -5px; }
:focus-visible { outline: 2px solid var(--compute); outline-offset: 2px; }
div.meaning {
  max-width: min(420px, calc(100vw - 32px)); padding: 14px 18px; border-radius: 10px;
  border: 1px solid var(--quiet); background: var(--card); color: var(--ink);
  box-shadow: 0 6px 24px rgb(0 0 0 / .25); position-area: bottom; margin: auto;
  position-try-fallbacks: flip-block; overflow-wrap: anywhere;
}
div.meaning p { margin: 0 0 8px; }
div.meaning p:last-child { margin: 0; }
@supports (position-area: bottom) { div.meaning { margin: 6px 0; } }
.copy {
  position: absolute; top: 6px; right: 6px; padding: 3px 12px; font: inherit; font-size: 13px;
  color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: 6px;
  cursor: pointer;
}
.advice pre { position: relative; overflow: visible; }
.advice pre:has(.copy) { padding-right: 92px; }
.advice code { display: block; overflow-x: auto; }
ul { margin: 0; padding-left: 20px; }
.quiet { color: var(--quiet); font-size: 13.5px; }
summary { cursor: pointer; font-weight: 600; }
details + figure, figure + details, .scroll + details { margin-top: 16px; }
details[open] summary { margin-bottom: 12px; }
@media (max-width: 640px) {
  .card { padding: 16px; }
  dl.figures { display: grid; grid-template-columns: 1fr 1fr; gap: 12px 16px; }
  dl.figures .meant { white-space: normal; }
  dl.figures .predicted { grid-column: 1 / -1; }
  .advice pre:has(.copy) { padding: 42px 14px 12px; }
  .gain { flex: 0 1 auto; border-radius: 12px; }
  .first-advice .gain { margin-left: 0; }
  span.bars { min-width: 80px; }
  .keys, .lane-head { margin-left: 0; }
  .plot { grid-template-columns: 34px minmax(0, 1fr); }
  table:not(.words, .settings) :is(td, thead th):not(:first-child) { white-space: nowrap; }
  table.events tbody th { min-width: 0; }
  table.events :is(td, thead th):nth-child(6) { min-width: 230px; white-space: normal; }
  table tbody th { min-width: 136px; overflow-wrap: anywhere; }
  th, td { padding-inline: 5px; }
  .graph.wide { display: none; }
  table.words { min-width: 720px; }
  table.bars td { min-width: 180px; }
  .scroll + details { margin-top: 12px; }
}
@media (min-width: 641px) {
  .graph.narrow { display: none; }
  .first-advice li > span { display: flex; align-items: center; }
  .first-advice a { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
}
@media print {
  body { background: none; }
  .card, figure, .advice { break-inside: avoid; }
}
"""
)
