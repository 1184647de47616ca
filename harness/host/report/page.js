// Builds the page from the results. Text is inserted as text nodes only, never as markup.

function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== ""));
  return element;
}

const seconds = (milliseconds) => `${(Number(milliseconds ?? 0) / 1000).toFixed(1)} s`;

/** The lanes of a step: the observed cpusets, and for `verify` the desired ones. */
function lanesOf(step, colours) {
  const rows = new Map(list(step.containers).map((row) => [text(row.container), row]));
  return list(step.groups).map((group) => {
    const name = text(group.name);
    if (!colours.has(name)) colours.set(name, COLOURS[colours.size % COLOURS.length]);
    const row = rows.get(name);
    const wrong = row !== undefined && row.ok === false;
    const mems = text(row?.desired?.mems);
    return { name, wrong, colour: colours.get(name),
      cpus: parseList(group.cpus), mems: parseList(group.mems),
      cpuText: text(group.cpus), memText: text(group.mems),
      desiredCpus: wrong ? parseList(row.desired?.cpus) : null,
      desiredMems: wrong && mems !== "" ? parseList(mems) : null };
  });
}

function checksTable(checks) {
  return html("table", { class: "checks" },
    html("tr", {}, ["", "what", "expected", "observed"].map((name) => html("th", {}, name))),
    checks.map((check) => html("tr", { class: check.ok === true ? "" : "bad" },
      html("td", { class: check.ok === true ? "mark" : "mark bad" }, check.ok === true ? "✓" : "✗"),
      html("td", {}, text(check.what)), html("td", {}, text(check.expected)),
      html("td", {}, text(check.observed)))));
}

function renderStep(step, number, machine, colours) {
  const lanes = lanesOf(step, colours);
  const checks = list(step.checks);
  const good = step.ok === true;
  const line = [html("span", { class: "mark" }, good ? "✓" : "✗"),
    html("span", { class: "title" }, `${number}${text(step.title)}`),
    html("span", { class: "soft time" }, seconds(step.elapsedMs))];
  const inside = [];
  if (step.machine) {
    inside.push(html("div", { class: "picture" }, drawMachine(step.machine, [], null)));
  }
  if (text(step.message) !== "") inside.push(html("div", { class: "message" }, text(step.message)));
  if (lanes.length > 0 && machine) {
    const online = text(step.online) === "" ? null : parseList(step.online);
    inside.push(html("div", { class: "picture" }, drawMachine(machine, lanes, online)));
  }
  if (step.timeline) inside.push(timelineSection(step.timeline, colours));
  if (checks.length > 0 && (checks.length <= 6 || checks.some((check) => check.ok !== true))) {
    inside.push(checksTable(checks));
  } else if (checks.length > 0) {
    inside.push(html("details", { class: "checks-closed" },
      html("summary", {}, `${checks.length} expectations, all met`), checksTable(checks)));
  }
  const state = good ? "step" : "step bad";
  if (inside.length === 0) return html("div", { class: state }, html("div", { class: "plain" }, line));
  return html("details", { class: state, open: good && lanes.length === 0 && !step.machine && !step.timeline ? null : "" },
    html("summary", {}, line), html("div", { class: "inside" }, inside));
}

function distancesTable(machine) {
  const nodes = list(machine.nodes);
  if (nodes.length < 2) return null;
  const rows = nodes.map((node) => text(node.distances).split(" ").map(Number));
  const far = Math.max(11, ...rows.flat().filter(Number.isFinite));
  return html("div", {}, html("h4", {}, "distances"), html("table", { class: "distances" },
    html("tr", {}, html("th", {}, "node"), nodes.map((node) => html("th", {}, text(node.id)))),
    rows.map((row, index) => html("tr", {}, html("th", {}, text(nodes[index].id)), row.map((value) => {
      const cell = html("td", {}, text(value));
      cell.style.background = `rgb(91 143 208 / ${Math.max(0, (value - 10) / (far - 10)) * 60}%)`;
      return cell;
    })))));
}

/** The machine as reported by the guest, or as requested; both where they differ. */
function machineSection(scenario) {
  const requested = scenario.machine?.requested;
  const guest = scenario.machine?.guest;
  const section = html("div", { class: "pictures" });
  const draw = (title, machine, state) => section.append(html("div", { class: state },
    html("h4", {}, title), html("div", { class: "picture" }, drawMachine(machine, [], null))));
  if (requested && (!guest || scenario.verdict === "wrong-machine")) {
    draw(guest ? "requested" : "requested; the guest reported none", requested,
      guest ? "" : "absent");
  }
  if (guest) draw("machine, as the guest's kernel reports it", guest, "");
  const distances = guest || requested ? distancesTable(guest ?? requested) : null;
  if (distances) section.append(distances);
  return section;
}

function timeBar(scenario) {
  const total = Math.max(1, Number(scenario.elapsedMs ?? 0));
  const part = (milliseconds, state, title) => {
    const span = html("span", { class: state, title });
    span.style.width = `${Number(milliseconds ?? 0) / total * 100}%`;
    return span;
  };
  return html("div", { class: "bar" },
    part(scenario.readyMs, "ready", `until the machine was ready: ${seconds(scenario.readyMs)}`),
    list(scenario.steps).map((step) => part(step.elapsedMs, step.ok === true ? "" : "bad",
      `${text(step.title)}: ${seconds(step.elapsedMs)}`)));
}

function renderBody(scenario) {
  const body = html("div", { class: "body" });
  const boots = Number(scenario.boots ?? 0);
  const from = scenario.reset ? ", the guest of the previous scenario" : scenario.restored ? ", from a snapshot" : "";
  const fact = (name, value) => html("div", {}, html("dt", {}, name), html("dd", {}, value));
  body.append(html("dl", { class: "facts" }, fact("file", text(scenario.file)),
    fact("kernel", text(scenario.kernel)), fact("accelerator", text(scenario.accelerator)),
    fact("ready after", seconds(scenario.readyMs) + from),
    fact("total", seconds(scenario.elapsedMs)),
    fact("boots", boots > 1 ? `${boots} (tried again)` : String(boots))));
  body.append(timeBar(scenario));
  if (text(scenario.message) !== "") {
    const must = scenario.verdict === "skipped" ? "Skipped: " : scenario.ok === true ? "As expected: " : "";
    body.append(html("div", { class: scenario.ok === true ? "message good" : "message" },
      must + text(scenario.message)));
  }
  if (scenario.ok !== true && scenario.expectedVerdict !== "passed") {
    const because = text(scenario.expectedBecause);
    body.append(html("p", {}, `Expected verdict: ${text(scenario.expectedVerdict)}` +
      (because === "" ? "." : `, because: ${because}`)));
  }
  for (const note of list(scenario.notes)) body.append(html("p", { class: "soft" }, `note: ${text(note)}`));
  body.append(machineSection(scenario));
  let machine = scenario.machine?.guest ?? scenario.machine?.requested;
  const colours = new Map();
  const steps = list(scenario.steps);
  if (steps.length > 0) {
    let number = 0;
    body.append(html("h4", {}, "steps"), ...steps.map((step) => {
      machine = step.machine ?? machine;  // after plugging the machine is larger
      if (!step.test) ++number;  // a test of a program belongs to the step before it
      return renderStep(step, step.test ? "" : `${number}. `, machine, colours);
    }));
  }
  if (steps.some((step) => list(step.groups).length > 0)) {
    body.append(html("p", { class: "legend" }, "A lane shows the effective cpuset of a "
      + "group: squares are CPUs, M is the memory of a node. A CPU in the machine has the colour of its "
      + "group if no other group may use it. Red: differs from the desired cpuset (dashed: missing)."));
  }
  if (text(scenario.console) !== "") {
    body.append(html("h4", {}, "end of the guest's console"), html("pre", {}, text(scenario.console)));
  }
  return body;
}

/** The name of a scenario with its platform. */
const fullName = (scenario) => `${text(scenario.name)} on ${text(scenario.on)}`;

function renderScenario(scenario) {
  const good = scenario.ok === true;
  const card = html("details", { class: good ? "scenario" : "scenario bad", id: `s-${fullName(scenario)}` },
    html("summary", {},
      html("span", { class: good ? "badge good" : "badge bad" },
        `${good ? "✓" : "✗"} ${text(scenario.verdict)}` +
        (good && !["passed", "skipped"].includes(scenario.verdict) ? ", as expected" : "")),
      html("span", { class: "name" }, fullName(scenario)),
      html("span", { class: "soft" }, text(scenario.description)),
      html("span", { class: "soft time" }, seconds(scenario.elapsedMs))));
  card.addEventListener("toggle", () => {
    if (!card.open || card.childElementCount > 1) return;
    try {
      card.append(renderBody(scenario));
    } catch (error) {
      card.append(html("div", { class: "message" }, `these results cannot be shown: ${error.message}`));
    }
  });
  return card;
}

/** Where the time of all scenarios went. */
function costsSection(costs) {
  const cell = (value) => html("td", {}, value);
  const sums = [["boots", costs.boots], ["restores", costs.restores], ["resets", costs.resets], ["steps", costs.steps]];
  const row = (...cells) => html("tr", {}, cells.map(cell));
  return html("details", { class: "checks-closed" }, html("summary", {}, "what took the time"),
    html("table", { class: "checks" },
      sums.map(([name, sum]) => row(name, text(sum?.count), seconds(sum?.elapsedMs))),
      row("the rest", "", seconds(costs.otherMs))),
    html("h4", {}, "longest"), html("table", { class: "checks" },
      list(costs.longest).map((cost) => row(text(cost.scenario), text(cost.what), seconds(cost.elapsedMs)))));
}

function main() {
  const results = JSON.parse(document.getElementById("results").textContent);
  const scenarios = list(results.scenarios);
  const cards = scenarios.map(renderScenario);
  const failed = scenarios.filter((scenario) => scenario.ok !== true).length;
  const spent = scenarios.reduce((sum, scenario) => sum + Number(scenario.elapsedMs ?? 0), 0);
  document.getElementById("totals").append(
    html("span", { class: failed > 0 ? "badge bad" : "badge good" }, failed > 0 ? `${failed} failed` : "all ok"),
    ` ${scenarios.length - failed} of ${scenarios.length} scenarios ended as expected, `
    + `${seconds(spent)} of machine time`);
  if (results.costs) document.getElementById("costs").append(costsSection(results.costs));
  document.getElementById("scenarios").replaceChildren(...cards);
  const form = document.getElementById("filter");
  const filter = () => {
    const part = form.elements.name.value.toLowerCase();
    const show = form.elements.show.value;
    cards.forEach((card, index) => {
      const good = scenarios[index].ok === true;
      card.hidden = (show === "failed" && good) || (show === "passed" && !good)
        || !fullName(scenarios[index]).toLowerCase().includes(part);
    });
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  const openAll = (open) => { for (const card of cards) if (!card.hidden) card.open = open; };
  document.getElementById("open-all").addEventListener("click", () => openAll(true));
  document.getElementById("close-all").addEventListener("click", () => openAll(false));
  cards.forEach((card, index) => {
    card.open = cards.length <= 3 || scenarios[index].ok !== true
      || decodeURIComponent(location.hash.slice(1)) === card.id;
  });
}

main();
