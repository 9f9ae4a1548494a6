"""How the page looks: light or dark as the reader's system is, or as `data-theme` says."""

from __future__ import annotations

from keras_perf.showing.colours import PART_COLOURS

_COLOURS = "\n".join(f"  --{part}: {colour};" for part, colour in PART_COLOURS.items())

_DARK = """
    color-scheme: dark;
    --ground: #101318; --card: #181c23; --ink: #e7eaf0; --quiet: #9aa4b2; --line: #2c323c;
    --code: #11151b; --good: #5fd3a0; --good-ground: #12311f;
"""

STYLE = (
    f"""
:root {{
  color-scheme: light;
  --ground: #f6f7f9; --card: #ffffff; --ink: #1b1f27; --quiet: #5b6472; --line: #dfe3e9;
  --code: #f1f3f6; --good: #0b7a4b; --good-ground: #e3f5ec;
{_COLOURS}
}}
@media (prefers-color-scheme: dark) {{
  :root:not([data-theme="light"]) {{{_DARK}  }}
}}
:root[data-theme="dark"] {{{_DARK}}}
"""
    + """
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
a { color: inherit; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 56px; }
header p { color: var(--quiet); }
.product { margin: 0; font-size: 13px; letter-spacing: .02em; }
.where { overflow-wrap: anywhere; font-family: ui-monospace, Menlo, Consolas, monospace; }
h1 { margin: 2px 0 20px; font-size: 22px; line-height: 1.3; }
h2 { margin: 40px 0 14px; font-size: 20px; overflow-wrap: anywhere; }
h3 { margin: 0 0 12px; font-size: 16px; overflow-wrap: anywhere; }
h4 { margin: 0; font-size: 15.5px; }
section.run + section.run { border-top: 1px solid var(--line); margin-top: 48px; }
.card {
  margin: 16px 0; padding: 20px 22px; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px;
}
.verdict { border-left: 6px solid var(--part); }
.verdict .name { margin: 0; font-size: 28px; font-weight: 650; line-height: 1.2; }
.verdict .because { margin: 6px 0 0; font-size: 16px; }
dl.figures { display: flex; flex-wrap: wrap; gap: 14px 40px; margin: 20px 0 0; }
dl.figures dt, dl.facts dt { color: var(--quiet); font-size: 13px; }
dl.figures dd { margin: 0; font-size: 20px; font-weight: 600; }
dl.figures small { font-size: 13px; font-weight: 400; color: var(--quiet); }
.first-advice { margin: 18px 0 0; padding: 12px 0 0 22px; border-top: 1px solid var(--line); }
.first-advice li { padding: 3px 0; }
.first-advice a { font-weight: 500; text-underline-offset: 3px; }
.first-advice .gain { margin-left: 12px; white-space: nowrap; font-size: 14px; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
dd, td { font-variant-numeric: tabular-nums; }
.stack { display: flex; height: 34px; border-radius: 6px; overflow: hidden; }
.stack + .scroll, .scroll + .scroll { margin-top: 16px; }
table .stack { height: 22px; border-radius: 4px; }
.swatches { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 12px 0 16px; }
.stack span { background: var(--part); min-width: 1px; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
caption { padding-bottom: 10px; text-align: left; color: var(--quiet); }
th, td { padding: 6px 9px; text-align: right; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-weight: 500; font-size: 13px; }
tbody th { font-weight: 500; }
th:first-child { text-align: left; padding-left: 0; }
table.breakdown tbody tr:last-child > * { font-weight: 650; border-top: 2px solid var(--line); }
table.runs { font-size: 13.5px; margin-bottom: 18px; }
table.runs td { white-space: nowrap; }
table.runs th, table.runs td { padding-inline: 7px; }
table.runs th:first-child { padding-left: 0; }
table.runs tbody th { overflow-wrap: anywhere; min-width: 110px; }
table.bars td { width: 75%; }
table.words td, table.words th { text-align: left; vertical-align: top; font-size: 13.5px; }
table.events { font-size: 14px; white-space: nowrap; }
table.events :is(th, td):nth-child(4) { white-space: normal; }
table.events :is(th, td):nth-child(n + 2):nth-child(-n + 4) { text-align: left; }
table.events td:nth-child(3) { white-space: normal; overflow-wrap: anywhere; }
.swatch {
  display: inline-block; width: 11px; height: 11px; margin-right: 9px; border-radius: 3px;
  background: var(--part);
}
.bar { display: block; min-width: 160px; text-align: left; }
.bar span {
  display: block; height: 14px; min-width: 2px; border-radius: 3px; background: var(--input_wait);
  opacity: .45;
}
.bar .pace { opacity: 1; }
.tag {
  display: inline-block; margin-left: 8px; padding: 1px 8px; border-radius: 99px;
  border: 1px solid var(--line); color: var(--quiet); font-size: 12.5px; font-weight: 500;
}
.advice { padding: 18px 0; border-top: 1px solid var(--line); }
.advice:first-of-type { border-top: 0; padding-top: 4px; }
.advice p { margin: 6px 0 10px; }
.advice:last-child { padding-bottom: 2px; }
.advice .head {
  display: flex; gap: 4px 16px; justify-content: space-between; align-items: start;
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
figcaption { margin-bottom: 4px; font-weight: 500; }
figcaption small { color: var(--quiet); font-weight: 400; font-size: 13px; }
svg { display: block; width: 100%; height: auto; color: var(--ink); }
ul { margin: 0; padding-left: 20px; }
.quiet { color: var(--quiet); font-size: 13.5px; }
summary { cursor: pointer; font-weight: 600; }
details[open] summary { margin-bottom: 12px; }
@media (max-width: 640px) {
  .card { padding: 16px; }
  .advice .head { flex-wrap: wrap; }
  .bar { min-width: 80px; }
}
@media print {
  body { background: none; }
  .card, figure, .advice { break-inside: avoid; }
}
"""
)
