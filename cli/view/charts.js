/* The pictures of a run: rows of timesteps, inputs, widths, what pruned what, stages. */
"use strict";
(function () {
  const V = rillView;

  function plural(n, word) { return V.short(n) + " " + word + (n === 1 ? "" : "s"); }

  V.drawSummary = function (parent, model, worker) {
    const steps = worker.steps.length, items = [...model.items.values()].filter(i => i.worker === worker.number);
    const failed = items.filter(i => i.finished >= 0 && i.status !== "ok" && i.status !== "RILL_OK").length;
    const facts = [
      [V.short(items.length), (items.length === 1 ? "input" : "inputs") + (failed ? ", " + failed + " failed" : "")],
      [V.short(steps), steps === 1 ? "timestep" : "timesteps"],
      [V.short(worker.rows), worker.rows === 1 ? "hypothesis expanded" : "hypotheses expanded"],
      [steps ? V.short(worker.rows / steps) : "0", "per timestep on average"],
      [V.short(worker.refills.size), worker.refills.size === 1 ? "refill" : "refills"],
      [V.seconds(worker.total), "in the engine"]
    ];
    const list = V.make(parent, "dl", { class: "facts" });
    for (const [value, name] of facts) V.make(list, "div", {}, V.make(null, "dd", {}, value), V.make(null, "dt", {}, name));
  };

  V.drawRows = function (parent, model, worker) {
    const box = V.figure(parent, "rows", "How full the timesteps are",
      "Each timestep expands hypotheses of many inputs in one call of the model. A triangle marks a timestep that began with new inputs.");
    const limit = (model.run.options || {}).max_batch_hypotheses, budget = typeof limit === "number" && limit > 0 ? limit : 0;
    const most = worker.steps.reduce((m, s) => Math.max(m, s.rows), budget), n = worker.steps.length;
    const entries = [["fill-a", "hypotheses expanded"], ["refill", "refill"]];
    if (budget) entries.push(["line-limit", "budget"]);
    V.legend(box, entries);
    const plot = V.axes(box, { label: "Hypotheses expanded in each of " + n + " timesteps", xMost: n, yMost: most, yWhole: true, under: 12,
      xTitle: "timestep", yTitle: "hypotheses" });
    let d = "M" + plot.left + " " + plot.bottom;
    worker.steps.forEach((step, i) => { d += "V" + plot.y(step.rows).toFixed(1) + "H" + plot.x(i + 1).toFixed(1); });
    V.make(plot.svg, "path", { d: d + "V" + plot.bottom + "Z", class: "fill-a" });
    if (budget) V.make(plot.svg, "path", { d: "M" + plot.left + " " + plot.y(budget).toFixed(1) + "H" + plot.right, class: "line-limit" });
    let marks = "";
    for (const at of worker.refills.keys())
      if (at < n || n === 0) marks += "M" + plot.x(at).toFixed(1) + " " + (plot.bottom + 3) + "l4 7h-8z";
    V.make(plot.svg, "path", { d: marks, class: "refill", "data-refills": worker.refills.size });
    V.tip(box, plot.svg, x => {
      const step = worker.steps[plot.column(x, n)];
      if (!step) return "";
      const fresh = worker.refills.get(step.number) || 0;
      return "timestep " + step.number + ": " + plural(step.rows, "hypothesis").replace("hypothesiss", "hypotheses") + " of " +
        plural(step.selected, "input") + ", " + step.inFlight + " in flight" + (fresh ? ", " + fresh + " new" : "");
    });
  };

  V.drawItems = function (parent, model, worker, choose, chosen) {
    const items = [...model.items.values()].filter(i => i.worker === worker.number && i.admitted >= 0).sort((a, b) => a.id - b.id);
    const box = V.figure(parent, "items", "Inputs from admitted to finished",
      "One bar for each input, the first at the bottom. Choose one for its widths and its hypotheses below.");
    const n = worker.steps.length, each = Math.min(16, 420 / Math.max(items.length, 1));
    const failed = items.some(i => i.finished >= 0 && i.outputs === 0), back = items.some(i => i.sentBack.length);
    const entries = [["fill-b", "in flight"]];
    if (failed) entries.push(["fill-bad", "ended without an output"]);
    if (back) entries.push(["refill", "sent back for want of memory, to begin anew"]);
    entries.push(["chosen", "chosen"]);
    V.legend(box, entries);
    const plot = V.axes(box, { label: items.length + " inputs, each from the timestep that admitted it to the one that finished it",
      height: 52 + Math.max(60, each * items.length), xMost: n, yMost: Math.max(items.length, 1), yWhole: true, air: 1, xTitle: "timestep",
      yTitle: "inputs" });
    const gap = each > 4 ? 1 : 0, bars = { good: "", bad: "" };
    const end = item => (item.finished < 0 ? n : item.finished + 1);
    const bar = (item, i, more) => "M" + plot.x(item.admitted).toFixed(1) + " " + (plot.y(i + 1) + gap / 2 - more).toFixed(2) + "H" +
      plot.x(end(item)).toFixed(1) + "V" + (plot.y(i) - gap / 2 + more).toFixed(2) + "H" + plot.x(item.admitted).toFixed(1) + "Z";
    items.forEach((item, i) => { bars[item.finished >= 0 && item.outputs === 0 ? "bad" : "good"] += bar(item, i, 0); });
    V.make(plot.svg, "path", { d: bars.good, class: "fill-b", "data-items": items.length });
    V.make(plot.svg, "path", { d: bars.bad, class: "fill-bad" });
    items.forEach((item, i) => item.sentBack.forEach(at => V.make(plot.svg, "path", {
      d: "M" + plot.x(at + 1).toFixed(1) + " " + (plot.y(i + 0.5) - 4).toFixed(1) + "l4 7h-8z", class: "refill" })));
    const place = items.findIndex(item => item.id === chosen);
    if (place >= 0) V.make(plot.svg, "path", { d: bar(items[place], place, each < 4 ? 2 : 0), class: "chosen" });
    const at = y => items[Math.floor((plot.bottom - y) / (plot.bottom - plot.top) * items.length)];
    plot.svg.addEventListener("click", event => {
      const item = at(event.clientY - plot.svg.getBoundingClientRect().top);
      if (item) choose(item.id);
    });
    V.tip(box, plot.svg, (x, y) => {
      const item = at(y);
      if (!item) return "";
      return "input " + item.id + ": timesteps " + item.admitted + " to " + (item.finished < 0 ? "?" : item.finished) +
        (item.outputs === undefined ? "" : ", " + plural(item.outputs, "output")) +
        (item.sentBack.length ? ", sent back " + item.sentBack.length + " times" : "") + (item.text ? ": " + item.text : "");
    });
  };

  V.drawWidths = function (parent, model, worker) {
    const table = model.byDepth(worker.number);
    if (!table.length) return;
    const box = V.figure(parent, "widths", "How wide the beams are",
      "Means over all inputs that came so far, by the input's own timesteps.");
    const lines = [["merged", "line-2", "candidates, before pruning"], ["after", "line-3", "kept for the next timestep"],
      ["before", "line-1", "expanded"]];
    V.legend(box, lines.map(line => [line[1], line[2]]));
    const last = table[table.length - 1].depth;
    const plot = V.axes(box, { label: "Mean width of beams by timestep of the input", xMost: last + 1, shift: 0.5, yTitle: "hypotheses per input",
      yMost: table.reduce((m, row) => Math.max(m, row.merged, row.before), 0), xTitle: "timesteps that the input had before" });
    for (const [key, kind] of lines)
      V.make(plot.svg, "path", { class: kind, d: table.map((row, i) => (i ? "L" : "M") + plot.x(row.depth + 0.5).toFixed(1) + " " +
        plot.y(row[key]).toFixed(1)).join("") });
    V.tip(box, plot.svg, x => {
      const depth = plot.column(x, last + 1), row = table.find(r => r.depth === depth);
      return row ? "timestep " + depth + " of " + plural(row.n, "input") + ": " + V.short(row.before) + " expanded, " + V.short(row.merged) +
        " candidates, " + V.short(row.after) + " kept" : "";
    });
  };

  V.drawPruning = function (parent, model, worker) {
    const table = model.byDepth(worker.number);
    if (!table.length) return;
    const box = V.figure(parent, "pruning", "What pruned what",
      "What became of the candidates of an input, on average, by the input's own timesteps.");
    const parts = [["fill-a", "kept", row => row.after]];
    const links = Math.max(model.links.length, ...table.map(row => row.dropped.length));
    for (let link = 0; link < links; link++)
      parts.push(["fill-link" + link % 4, "dropped by " + (model.links[link] || "heuristic " + (link + 1)), row => row.dropped[link] || 0]);
    parts.push(["fill-rest", "no room in the beam, or its input ended", row => row.rest]);
    V.legend(box, parts);
    const last = table[table.length - 1].depth;
    const plot = V.axes(box, { label: "Candidates per input: kept, and dropped by each heuristic", xMost: last + 1, shift: 0.5,
      yMost: table.reduce((m, row) => Math.max(m, parts.reduce((sum, part) => sum + part[2](row), 0)), 0), yTitle: "candidates per input",
      xTitle: "timesteps that the input had before" });
    for (const row of table) {
      let sum = 0;
      for (const [kind, , of] of parts) {
        const value = of(row);
        if (value > 0) plot.bar(row.depth, 1, sum, value, kind);
        sum += value;
      }
    }
    V.tip(box, plot.svg, x => {
      const row = table.find(r => r.depth === plot.column(x, last + 1));
      return row ? "timestep " + row.depth + ": " + parts.map(([, name, of]) => V.short(of(row)) + " " + name).join(", ") : "";
    });
    if (!links) V.make(box, "p", { class: "note" }, "The run had no heuristics: the beam's width alone decided.");
  };

  V.drawStages = function (parent, model, worker) {
    const model3 = ["encode", "step", "score"], sum = V.STAGES.reduce((s, stage) => s + (worker.seconds[stage] || 0), 0);
    const total = Math.max(worker.total, sum, 1e-12);
    const box = V.figure(parent, "stages", "Where the time goes",
      V.seconds(total) + " inside the engine: the model's stages are encode, step and score; the others are the engine's own.");
    V.legend(box, [["fill-a", "the model"], ["fill-link0", "the engine"]]);
    const rows = V.STAGES.map(stage => [stage, worker.seconds[stage] || 0]);
    rows.push(["other", Math.max(0, total - sum)]);
    const table = V.make(box, "table", { class: "stages" });
    V.make(table, "thead", {}, V.make(null, "tr", {}, ...["stage", "time", "share", ""].map(name => V.make(null, "th", {}, name))));
    const body = V.make(table, "tbody", {}), most = Math.max(...rows.map(row => row[1]), 1e-12);
    for (const [stage, spent] of rows) {
      const row = V.make(body, "tr", { "data-stage": stage });
      V.make(row, "th", { scope: "row" }, stage);
      V.make(row, "td", {}, V.seconds(spent));
      V.make(row, "td", {}, (100 * spent / total).toFixed(1) + " %");
      const svg = V.make(V.make(row, "td", { class: "bar" }), "svg", { width: "100%", height: 14, "aria-hidden": "true" });
      V.make(svg, "rect", { width: (100 * spent / most).toFixed(2) + "%", height: 14, class: model3.includes(stage) ? "fill-a" : "fill-link0" });
    }
  };
})();
