"use strict";
// The machine as nested boxes, and below it one lane for each group of processes: the CPUs and the
// memory that the kernel gives it. Results come from a file, so any field may be missing.

const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (value === null || value === undefined ? "" : String(value));

/** "0-3,8" -> a set of numbers. */
function parseList(value) {
  const numbers = new Set();
  for (const part of text(value).split(",")) {
    const range = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(part);
    if (!range) continue;
    const last = Math.min(Number(range[2] ?? range[1]), Number(range[1]) + 4095);
    for (let number = Number(range[1]); number <= last; ++number) numbers.add(number);
  }
  return numbers;
}

function mebibytes(bytes) {
  const value = Number(bytes) / 1048576;
  if (!(value > 0)) return "no memory";
  return value >= 10240 ? `${Math.round(value / 1024)} GiB` : `${Math.round(value)} MiB`;
}

/** Groups by a key, in order of first appearance. */
function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups.entries()];
}

const PADDING = 4;
const HEADER = { socket: 17, node: 31, cache: 14, core: 0 };

/** The boxes of a machine as a tree: socket > node > cache > core, or node > socket > ... */
function machineTree(machine) {
  const cpus = list(machine.cpus);
  const nodes = list(machine.nodes);
  const withCaches = cpus.some((cpu) => text(cpu.cache) !== "");
  const cores = (members) =>
    grouped(members, (cpu) => text(cpu.siblings) || text(cpu.id)).map(([siblings, threads]) => ({
      kind: "core", title: `core with CPUs ${siblings}`,
      children: threads.map((cpu) => ({ cpu: Number(cpu.id) })) }));
  const caches = (members) => !withCaches ? cores(members) :
    grouped(members, (cpu) => text(cpu.cache)).map(([shared, those]) => ({
      kind: "cache", label: "L3", title: `last-level cache of CPUs ${shared}`,
      children: cores(those) }));
  const sockets = (members, inside) =>
    grouped(members, (cpu) => text(cpu.package)).map(([name, those]) => ({
      kind: "socket", label: name === "" ? "no socket" : `socket ${name}`, title: `socket ${name}`, children: inside(those) }));
  const node = (id, members, inside) => {
    const known = nodes.find((one) => Number(one.id) === id) ?? {};
    return { kind: "node", label: id < 0 ? "no node" : `node ${id}`, second: mebibytes(known.memory),
      title: `NUMA node ${id}: CPUs ${text(known.cpus)}, ${mebibytes(known.memory)}`,
      children: [...(id < 0 ? [] : [{ memory: id }]), ...inside(members)] };
  };
  const byNode = (members, inside) =>
    grouped(members, (cpu) => Number(cpu.node)).map(([id, those]) => node(id, those, inside));
  const spread = grouped(cpus, (cpu) => Number(cpu.node))
    .some(([, those]) => new Set(those.map((cpu) => text(cpu.package))).size > 1);
  const tree = spread ? byNode(cpus, (those) => sockets(those, caches))
    : sockets(cpus, (those) => byNode(those, caches));
  const seen = new Set(cpus.map((cpu) => Number(cpu.node)));
  for (const one of nodes) {
    if (!seen.has(Number(one.id))) tree.push(node(Number(one.id), [], () => []));
  }
  return tree;
}

/** Positions every box. Returns the width. */
function place(boxes, left, top, size, columns) {
  let x = left;
  for (const box of boxes) {
    box.x = x;
    box.y = top;
    if (box.kind === undefined) {  // a CPU or a node's memory
      box.width = size;
      columns.push(box);
      x += size + 1;
      continue;
    }
    const pad = box.kind === "core" ? 2 : PADDING;
    const inner = place(box.children, x + pad, top + HEADER[box.kind] + pad, size, columns);
    const label = Math.max(text(box.label).length, text(box.second).length) * 6.7 + 9;
    box.width = Math.max(inner + 2 * pad, label);
    x += box.width + (box.kind === "core" ? 2 : PADDING);
  }
  return x - left - (boxes.length === 0 ? 0 : boxes.at(-1).kind === undefined ? 1
    : boxes.at(-1).kind === "core" ? 2 : PADDING);
}

/** Aligns the cells of a machine in one row, regardless of the boxes around them. */
function level(boxes, columns, size) {
  const row = Math.max(...columns.map((column) => column.y));
  for (const column of columns) column.y = row;
  const stretch = (box) => {
    if (box.kind === undefined) return row + size;
    box.bottom = Math.max(row + size, ...box.children.map(stretch)) + (box.kind === "core" ? 2 : PADDING);
    return box.bottom;
  };
  for (const box of boxes) stretch(box);
  // All boxes of one kind end at the same height, also those with fewer boxes inside.
  const deepest = {};
  const each = (all, visit) => {
    for (const box of all) {
      if (box.kind === undefined) continue;
      visit(box);
      each(box.children, visit);
    }
  };
  each(boxes, (box) => { deepest[box.kind] = Math.max(deepest[box.kind] ?? 0, box.bottom); });
  each(boxes, (box) => {
    box.bottom = deepest[box.kind];
    if (box.kind === "core") box.y = row - 2;
  });
  return Math.max(...boxes.map((box) => box.bottom));
}

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, text(value));
  element.append(...children);
  return element;
}

const titled = (element, title) => { element.append(svg("title", {}, title)); return element; };

const COLOURS = ["#6ba3dd", "#f2a03d", "#5fbf7a", "#c38bd6", "#4fc0bd", "#e0c341", "#b98b6a", "#f293b4"];

function drawBox(into, box) {
  if (box.kind === undefined) return;
  into.append(titled(svg("rect", { class: box.kind, x: box.x, y: box.y, width: box.width,
    height: box.bottom - box.y, rx: box.kind === "core" ? 2 : 4 }), box.title));
  if (box.label) into.append(svg("text", { x: box.x + 5, y: box.y + 12 }, box.label));
  if (box.second) into.append(svg("text", { class: "dim", x: box.x + 5, y: box.y + 26 }, box.second));
  for (const child of box.children) drawBox(into, child);
}

/** A cell of a lane: whether the group has this CPU, or the memory of this NUMA node. */
function laneCell(lane, column) {
  const memory = column.memory !== undefined;
  const number = memory ? column.memory : column.cpu;
  const has = (memory ? lane.mems : lane.cpus).has(number);
  const desired = memory ? lane.desiredMems : lane.desiredCpus;
  return { memory, number, has, wrong: desired !== null && desired.has(number) !== has };
}

function drawLane(into, lane, columns, size, y, left, right) {
  const height = 14;
  into.append(titled(svg("text", { x: left - 10, y: y + 11, "text-anchor": "end",
    class: lane.wrong ? "wrong" : "" },
    lane.name.length > 30 ? `${lane.name.slice(0, 29)}…` : lane.name), lane.name));
  for (const column of columns) {
    const cell = laneCell(lane, column);
    const rect = svg("rect", { x: column.x + (cell.memory ? 2 : 0), y: y + (cell.memory ? 2 : 0),
      width: size - (cell.memory ? 4 : 0), height: height - (cell.memory ? 4 : 0),
      rx: cell.memory ? 5 : 2,
      class: cell.wrong ? (cell.has ? "extra" : "missing") : "cell" });
    if (cell.has) rect.style.fill = lane.colour;
    const what = cell.memory ? "memory of node" : "CPU";
    const state = cell.has ? (cell.wrong ? "has, and should not" : "has") : (cell.wrong ? "lacks" : "");
    if (state) titled(rect, `${lane.name} ${state} ${what} ${cell.number}`);
    into.append(rect);
  }
  into.append(svg("text", { x: right, y: y + 11, class: "dim" },
    `cpus ${lane.cpuText || "none"}, mems ${lane.memText || "none"}`));
}

/** Draws a machine and the groups on it. `lanes`: see lanesOf in the page. */
function drawMachine(machine, lanes, online) {
  const count = list(machine.cpus).length;
  if (count === 0) return svg("svg");
  const size = count <= 16 ? 24 : count <= 40 ? 19 : 15;
  const boxes = machineTree(machine);
  const columns = [];
  const names = Math.max(0, ...lanes.map((lane) => Math.min(lane.name.length, 30)));
  const left = lanes.length === 0 ? 1 : names * 7 + 14;
  const width = place(boxes, left, 1, size, columns);
  const bottom = level(boxes, columns, size);
  const picture = svg("g");
  for (const box of boxes) drawBox(picture, box);
  for (const column of columns) {
    const memory = column.memory !== undefined;
    const owners = lanes.filter((lane) => laneCell(lane, column).has);
    const offline = !memory && online !== null && !online.has(column.cpu);
    const rect = svg("rect", { class: offline ? "offline" : memory ? "cell memory" : "cell",
      x: column.x, y: column.y, width: size, height: size, rx: memory ? size / 2 : 2 });
    if (owners.length === 1 && !offline) rect.style.fill = owners[0].colour;
    const users = owners.map((lane) => lane.name).join(", ") || "nobody's alone";
    picture.append(titled(rect, `${memory ? "memory of node" : "CPU"} ${memory ? column.memory
      : column.cpu}${offline ? ", offline" : ""}: ${users}`));
    picture.append(svg("text", { x: column.x + size / 2, y: column.y + size / 2 + 4,
      "text-anchor": "middle", "font-size": size < 19 ? 9 : 11, "pointer-events": "none",
      class: owners.length === 1 && !offline ? "on" : "dim" }, memory ? "M" : text(column.cpu)));
  }
  const right = left + width + 12;
  lanes.forEach((lane, index) =>
    drawLane(picture, lane, columns, size, bottom + 8 + index * 19, left, right));
  const ends = lanes.map((lane) => right + 100 + (lane.cpuText.length + lane.memText.length) * 6.4);
  const total = Math.max(left + width + 2, ...ends);
  const height = bottom + (lanes.length === 0 ? 2 : 8 + lanes.length * 19);
  const drawing = svg("svg", { width: total, height, viewBox: `0 0 ${total} ${height}`, role: "img",
    "aria-label": `${count} CPUs, ${list(machine.nodes).length} NUMA nodes` }, picture);
  drawing.style.minWidth = `${Math.min(total, 1000)}px`;  // scrolls if narrower
  return drawing;
}
