"""The report's style sheet: one column, light and dark by the reader's setting, and fit for paper."""

STYLE = """
:root {
  --paper: #ffffff; --card: #ffffff; --ground: #f3f4f7; --ink: #1b2230; --soft: #5b6577; --line: #dfe3ea;
  --bad: #c2413b; --bad-soft: #f6d5d2; --good: #1f7a4d; --good-soft: #d8efe3; --mark: #3559c7; --floor:
  #98a2b3;
  --block: #2b3345; --block-same: #c2413b; --warn: #8a5a00; --warn-soft: #fbeccb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161f; --card: #1a202c; --ground: #12161f; --ink: #e6e9f0; --soft: #9aa5b8; --line: #2c3444;
    --bad: #ef7b74; --bad-soft: #4a2423; --good: #5fc694; --good-soft: #1d3b2d; --mark: #8aa5ff; --floor:
    #6b768a;
    --block: #55607a; --block-same: #d9605a; --warn: #f0c35e; --warn-soft: #43371a;
  }
}
* { box-sizing: border-box; }
html { background: var(--ground); }
body {
  margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; color: var(--ink); background: var(--ground);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
header .kicker { color: var(--soft); font-size: .85rem; letter-spacing: .06em; text-transform: uppercase;
margin: 0; } h1 { font-size: 1.9rem; line-height: 1.25; margin: .4rem 0 .8rem; font-weight: 650;
letter-spacing: -.01em; } .lead { font-size: 1.12rem; margin: -.2rem 0 .9rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .8rem; font-weight: 650; }
h3 { font-size: 1.02rem; margin: 0 0 .15rem; font-weight: 650; }
p { margin: .4rem 0; }
a { color: var(--mark); }
small, .soft { color: var(--soft); }
.where { color: var(--soft); font-size: .95rem; overflow-wrap: anywhere; }
.badge {
  display: inline-block; border-radius: 99px; padding: .12rem .7rem; font-size: .82rem; font-weight: 600;
  margin-right: .4rem;
}
.badge.bad { color: var(--bad); background: var(--bad-soft); }
.badge.good { color: var(--good); background: var(--good-soft); }
.badge.warn { color: var(--warn); background: var(--warn-soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; margin:
1.4rem 0 0; } .tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
.tile { padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.45rem; line-height: 1.2; font-weight: 650; overflow-wrap: anywhere; }
.tile span { color: var(--soft); font-size: .84rem; }
.card { padding: 1.1rem 1.25rem; margin: .8rem 0; break-inside: avoid; }
.card > p { margin: 0 0 .5rem; }
.skipped { border-style: dashed; background: transparent; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink); }
svg .faint { fill: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; color: var(--soft); font-size: .84rem; margin:
.2rem 0 0; } .legend i { display: inline-block; vertical-align: -.1em; margin-right: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .42rem .7rem .42rem 0; border-bottom: 1px solid var(--line);
vertical-align: top; } th { color: var(--soft); font-weight: 600; font-size: .84rem; }
td.n, th.n { text-align: right; }
.scroll { overflow-x: auto; }
.scroll + p { margin-top: .8rem; }
.hot { color: var(--bad); font-weight: 600; }
.example { margin: 1rem 0 0; break-inside: avoid; display: grid; grid-template-columns: 6.2rem 1fr; gap:
.25rem .8rem; font-size: .96rem; } .example dt { color: var(--soft); font-size: .84rem; padding-top: .15rem; }
.example dd { margin: 0; overflow-wrap: anywhere; }
.block { border-radius: .18rem; background: var(--block); color: transparent; user-select: none; }
.block.same { background: var(--block-same); }
.same { color: var(--block-same); font-weight: 600; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
li { margin: .25rem 0; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--soft); }
pre { font-size: .82rem; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--soft); }
footer { margin-top: 3rem; color: var(--soft); font-size: .86rem; border-top: 1px solid var(--line);
padding-top: .8rem; } @media print {
  :root { --ground: #fff; }
  body { padding: 0; max-width: none; font-size: 11pt; }
  h2 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
