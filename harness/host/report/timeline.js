/** One row for each group that the sampler saw: its CPUs over time. Overlaps are red, hatched and named. */
function drawTimeline(timeline, colours) {
  const spans = list(timeline.spans);
  const end = Math.max(1, Number(timeline.endMs ?? 0), ...spans.map((span) => Number(span.toMs)));
  const rows = grouped(spans, (span) => text(span.group));
  const short = (name) => (name.length > 34 ? `…${name.slice(-33)}` : name);
  const left = Math.max(0, ...rows.map(([name]) => short(name).length)) * 7 + 14;
  const wide = 760;
  const high = 20;
  const at = (milliseconds) => left + Math.min(end, Math.max(0, Number(milliseconds))) / end * wide;
  const time = (milliseconds) => `${(Number(milliseconds) / 1000).toFixed(end < 10000 ? 2 : 1)} s`;
  const bottom = rows.length * high + 4;
  const picture = svg("g", {}, svg("defs", {},
    svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "hatch-back", width: 6, height: 6 }), svg("rect", { class: "hatch-line", width: 2, height: 6 }))));
  rows.forEach(([name, those], index) => {
    const y = index * high + 2;
    if (!colours.has(name)) colours.set(name, COLOURS[colours.size % COLOURS.length]);
    picture.append(titled(svg("text", { x: left - 10, y: y + 12, "text-anchor": "end" }, short(name)), name));
    for (const span of those) {
      const overlap = text(span.overlap);
      const x = at(span.fromMs);
      const width = Math.max(2, at(span.toMs) - x);
      const rect = svg("rect", { class: overlap === "" ? "span" : "span overlap", x, y, width, height: high - 5, rx: 2 });
      if (overlap === "") rect.style.fill = colours.get(name);
      const label = overlap === "" ? text(span.cpus) : `✗ ${text(span.cpus)}`;
      picture.append(titled(rect, `${name}: CPUs ${text(span.cpus)} from ${time(span.fromMs)} to ${time(span.toMs)}`
        + (overlap === "" ? "" : `, which are CPUs ${overlap}`)));
      if (label.length * 6.5 + 6 <= width) {
        picture.append(svg("text", { x: x + 4, y: y + 11.5, class: overlap === "" ? "on" : "marked", "pointer-events": "none" }, label));
      }
    }
  });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(svg("line", { class: "tick", x1: at(part * end), x2: at(part * end), y1: 0, y2: bottom }),
      svg("text", { class: "dim", x: at(part * end), y: bottom + 13, "text-anchor": "middle" }, time(part * end)));
  }
  const total = left + wide + 30;
  const drawing = svg("svg", { width: total, height: bottom + 18, viewBox: `0 0 ${total} ${bottom + 18}`, role: "img",
    "aria-label": `CPUs of ${rows.length} groups over ${time(end)}` }, picture);
  drawing.style.minWidth = `${Math.min(total, 1000)}px`;
  return drawing;
}

/** The picture, and its overlaps in words. */
function timelineSection(timeline, colours) {
  const seen = new Map();  // one line for each pair, however often it happened
  for (const span of list(timeline.spans)) {
    if (text(span.overlap) === "") continue;
    const what = `${text(span.group)} had CPUs ${text(span.overlap)}`;
    const times = seen.get(what) ?? { from: Number(span.fromMs), took: 0 };
    seen.set(what, { from: times.from, took: times.took + Number(span.toMs) - Number(span.fromMs) });
  }
  const leftOut = Number(timeline.leftOut ?? 0);
  return html("div", {}, html("h4", {}, "cpusets over time, as the sampler saw them"),
    html("div", { class: "picture" }, drawTimeline(timeline, colours)),
    [...seen].slice(0, 20).map(([what, times]) => html("div", { class: "overlap" },
      `✗ ${what}, first at ${seconds(times.from)}, for ${times.took} ms in total`)),
    leftOut > 0 ? html("p", { class: "soft" }, `${leftOut} shorter times without an overlap are not drawn`) : null);
}
