/* One input: its widths over time, and the tree of its hypotheses if the trace has them.
 *
 * A column is a phase of a timestep, and a node is a candidate. */
"use strict";
(function () {
  const V = rillView, MOST = 24, WIDE = 118, HIGH = 22, HEAD = 30;

  /* Columns of nodes: [{timestep, phase, nodes: [{candidate, parent: node or null}]}] */
  V.treeOf = function (item) {
    const columns = [];
    let beam = new Map(); /* rank -> node, of the column before */
    for (const entry of item.path) {
      const phases = new Map();
      for (const c of entry.candidates || []) {
        if (!phases.has(c.phase)) phases.set(c.phase, []);
        phases.get(c.phase).push(c);
      }
      for (const phase of [...phases.keys()].sort((a, b) => a - b)) {
        const next = new Map();
        const nodes = phases.get(phase).map(c => {
          const node = { candidate: c, parent: beam.get(c.parent) || null, best: false };
          if (c.rank >= 0) next.set(c.rank, node);
          return node;
        });
        nodes.sort((a, b) => order(a.candidate) - order(b.candidate) || b.candidate.score - a.candidate.score);
        columns.push({ timestep: entry.timestep, phase: phase, nodes: nodes });
        beam = next;
      }
    }
    markBest(columns, item.actions);
    return columns;
  };

  /* What stays in the beam first, by rank; then outputs, then what went. */
  function order(c) {
    return c.rank >= 0 ? c.rank : c.fate === -3 ? 1e6 : 2e6;
  }

  function actionsOf(node) {
    const actions = [];
    for (let at = node; at; at = at.parent)
      if (!(at.parent && at.parent.candidate.fate === -2)) actions.unshift(at.candidate.action);
    return actions;
  }

  function markBest(columns, actions) {
    if (!actions) return;
    const wanted = actions.join(" ");
    for (const column of columns)
      for (const node of column.nodes)
        if (node.candidate.fate === -3 && actionsOf(node).join(" ") === wanted)
          for (let at = node; at; at = at.parent) at.best = true;
  }

  function kind(c) {
    if (c.fate === -3) return "output";
    return c.rank >= 0 ? "kept" : "gone";
  }

  /* The first of a column, and the one on the way to the best output whatever its rank. */
  function shown(nodes) {
    const first = nodes.slice(0, MOST), best = nodes.slice(MOST).find(node => node.best);
    if (best) first[MOST - 1] = best;
    return first;
  }

  function drawTree(box, model, item) {
    const columns = V.treeOf(item), tallest = Math.max(...columns.map(c => Math.min(c.nodes.length, MOST)));
    const width = columns.length * WIDE + 16, height = HEAD + (tallest + 1) * HIGH;
    const scroll = V.make(box, "div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "tree of hypotheses" });
    const svg = V.make(scroll, "svg", { width: width, height: height, class: "tree", role: "img",
      "aria-label": "hypotheses of input " + item.id + " by timestep" });
    const edges = V.make(svg, "g", {}), boxes = V.make(svg, "g", {});
    columns.forEach((column, x) => {
      const label = column.phase ? "phase " + column.phase : "timestep " + column.timestep;
      V.make(svg, "text", { x: x * WIDE + 8, y: 14, class: "title" }, label);
      shown(column.nodes).forEach((node, y) => {
        node.x = x * WIDE + 8;
        node.y = HEAD + y * HIGH + HIGH / 2;
        drawNode(boxes, model, node);
        const p = node.parent;
        if (p && p.x !== undefined) V.make(edges, "path", { class: "edge " + (node.best ? "best" : kind(node.candidate)),
          d: "M" + (p.x + WIDE - 24) + " " + p.y + "C" + (node.x - 10) + " " + p.y + " " + (node.x - 14) + " " + node.y + " " + node.x + " " + node.y });
      });
      if (column.nodes.length > MOST)
        V.make(svg, "text", { x: x * WIDE + 8, y: HEAD + MOST * HIGH + 14 }, "and " + (column.nodes.length - MOST) + " more");
    });
  }

  function drawNode(parent, model, node) {
    const c = node.candidate, group = V.make(parent, "g", { class: "node " + kind(c) + (node.best ? " best" : "") });
    const name = model.actionName(c.action);
    V.make(group, "rect", { x: node.x, y: node.y - 9, width: WIDE - 24, height: 18, rx: 3 });
    if (c.fate >= 0) V.make(group, "rect", { x: node.x, y: node.y - 9, width: 6, height: 18, class: "fill-link" + c.fate % 4 });
    V.make(group, "text", { x: node.x + 9, y: node.y + 4 }, V.cut(name, 7));
    V.make(group, "text", { x: node.x + WIDE - 27, y: node.y + 4, "text-anchor": "end", class: "score" }, c.score.toFixed(1));
    V.make(group, "title", {}, name + ": " + c.score.toFixed(3) + ", " + model.fateName(c.fate));
  }

  function treeLegend(box, model) {
    const entries = [["node-best", "the best output"], ["node-output", "an output"], ["node-kept", "kept"], ["node-gone", "gone, by what the left edge shows:"]];
    model.links.forEach((link, i) => entries.push(["fill-link" + i % 4, link]));
    V.legend(box, entries);
  }

  function drawPath(box, item) {
    const path = item.path, last = path.length ? path[path.length - 1].depth : 0;
    const most = path.reduce((m, p) => Math.max(m, p.merged, p.before), 0);
    V.legend(box, [["fill-rest", "candidates"], ["fill-a", "of these kept"]]);
    const plot = V.axes(box, { label: "Candidates of the input in each of its timesteps", height: 170, xMost: last + 1, yMost: most, yWhole: true,
      shift: 0.5, xTitle: "timesteps that the input had before", yTitle: "hypotheses" });
    for (const p of path)
      for (const [kind, value] of [["fill-rest", p.merged], ["fill-a", p.after]])
        if (value > 0) plot.bar(p.depth, 1, 0, value, kind);
  }

  V.drawItem = function (parent, model, id, choose) {
    const item = model.items.get(id), box = V.figure(parent, "item", "Input " + (id + (model.run.first || 0)), "");
    const ids = [...model.items.keys()].sort((a, b) => a - b), at = ids.indexOf(id);
    const form = V.make(box, "form", {}), step = (label, to) => {
      const button = V.make(form, "button", { type: "button" }, label);
      button.disabled = to === undefined;
      button.addEventListener("click", () => choose(to));
    };
    step("previous", ids[at - 1]);
    const field = V.make(V.make(form, "label", {}, "input "), "input", { type: "number", min: ids[0], max: ids[ids.length - 1], value: id });
    step("next", ids[at + 1]);
    form.addEventListener("submit", event => { event.preventDefault(); });
    field.addEventListener("change", () => { if (model.items.has(+field.value)) choose(+field.value); });
    if (item.text !== undefined) V.make(box, "p", { class: "text" }, V.make(null, "b", {}, "in "), item.text);
    if (item.output !== undefined) V.make(box, "p", { class: "text" }, V.make(null, "b", {}, "out "), item.output);
    if (item.message) V.make(box, "p", { class: "text" }, V.make(null, "b", {}, "failed "), item.message);
    if (item.path.length) drawPath(box, item);
    if (item.path.some(p => p.candidates)) {
      treeLegend(box, model);
      drawTree(box, model, item);
    } else {
      V.make(box, "p", { class: "note" }, model.run.trees ? "This page has no tree of this input: it was left out for its size." :
        "The trace has no trees: rill decode --trace FILE --trace-trees writes them.");
    }
  };
})();
