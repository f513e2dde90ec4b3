/* What was compared: the methods of `rill bench`, the configurations of `rill tune`. */
"use strict";
(function () {
  const V = rillView;

  V.drawCompared = function (parent, title, all) {
    const run = (all.methods || all.configurations).map(one => one.run).find(Boolean) || {};
    V.make(parent, "h1", {}, title);
    const facts = [run.model, all.inputs + " inputs", all.repeat ? all.repeat + " timed run" + (all.repeat === 1 ? "" : "s") : "", all.hardware,
      run.version ? "rill " + run.version : ""];
    V.make(parent, "p", { class: "run" }, facts.filter(Boolean).join(" \u00b7 "));
    if (all.event === "tune") drawFront(parent, all);
    else {
      drawSpeeds(parent, all);
      drawRows(parent, all.methods);
    }
  };

  /* --- methods ---------------------------------------------------------------------------------------------------- */

  function drawSpeeds(parent, all) {
    const high = 36, box = V.figure(parent, "speeds", "How fast the methods were",
      "Inputs per second: the bar is the median of the timed runs, the line across its end reaches from the slowest to the fastest.");
    const speed = seconds => (seconds > 0 ? all.inputs / seconds : 0);
    const rows = all.methods.map(m => ({ name: m.method, median: speed(m.seconds_median), slowest: speed(Math.max(...m.seconds)),
      fastest: speed(Math.min(...m.seconds)) }));
    const plot = V.axes(box, { label: "Inputs per second of each method", height: 52 + high * rows.length, bare: true, air: 1, yMost: rows.length,
      xMost: 1.04 * Math.max(...rows.map(row => row.fastest)), xPart: true, xTitle: "inputs per second" });
    rows.forEach((row, i) => {
      const top = plot.top + high * i, middle = top + 25, text = (row.median < 100 ? row.median.toFixed(1) : row.median.toFixed(0)) + " inputs/s";
      V.make(plot.svg, "text", { x: plot.left + 5, y: top + 13, class: "title" }, V.cut(row.name, Math.floor((plot.right - plot.left - 120) / 7.5)));
      V.make(plot.svg, "text", { x: plot.right, y: top + 13, "text-anchor": "end" }, text);
      V.make(plot.svg, "rect", { x: plot.left, y: top + 18, width: (plot.x(row.median) - plot.left).toFixed(1), height: 14, class: "fill-a" });
      V.make(plot.svg, "path", { d: "M" + plot.x(row.slowest).toFixed(1) + " " + middle + "H" + plot.x(row.fastest).toFixed(1) +
        [row.slowest, row.fastest].map(at => "M" + plot.x(at).toFixed(1) + " " + (middle - 4) + "v8").join(""), class: "line-range" });
    });
  }

  /* All panels have the same bins: a full batch is one bar at the right, one that empties a row of them. */
  function drawRows(parent, methods) {
    const box = V.figure(parent, "rows", "How full the timesteps were",
      "The share of a method's timesteps that had so many rows (hypotheses); dashed: their mean.");
    const counts = methods.map(m => Object.entries(m.timesteps_by_rows).map(([rows, n]) => [+rows, n]));
    const each = Math.floor(Math.max(...counts.flat().map(([rows]) => rows), 0) / 56) + 1;
    const panels = counts.map(list => {
      const panel = { bins: [], n: 0, rows: 0 };
      for (const [rows, n] of list) {
        const bin = Math.floor(rows / each);
        panel.bins[bin] = (panel.bins[bin] || 0) + n;
        panel.n += n;
        panel.rows += n * rows;
      }
      return panel;
    });
    const bins = Math.max(...panels.map(panel => panel.bins.length)), share = (panel, n) => 100 * n / panel.n;
    const most = Math.max(...panels.flatMap(panel => Object.values(panel.bins).map(n => share(panel, n))), 0);
    panels.forEach((panel, i) => {
      const mean = panel.n ? panel.rows / panel.n : 0;
      V.make(box, "h3", {}, methods[i].method + ": " + panel.n + " timesteps, " + mean.toFixed(1) + " rows on average");
      const plot = V.axes(box, { label: "Timesteps of " + methods[i].method + " by rows", height: 140, xMost: bins * each, yMost: most,
        xTitle: "rows of a timestep", yTitle: "%" });
      panel.bins.forEach((n, bin) => {
        const x = plot.x(bin * each), y = plot.y(share(panel, n));
        V.make(plot.svg, "rect", { x: x.toFixed(1), width: Math.max(plot.x((bin + 1) * each) - x - 1, 0.5).toFixed(1), y: y.toFixed(1),
          height: (plot.bottom - y).toFixed(1), class: "fill-a", "data-timesteps": n });
      });
      /* a bin begins at its number of rows */
      V.make(plot.svg, "path", { d: "M" + plot.x(mean + 0.5).toFixed(1) + " " + plot.bottom + "V" + plot.top, class: "line-limit" });
      V.tip(box, plot.svg, x => {
        const bin = plot.column(x, bins), n = panel.bins[bin];
        return n ? bin * each + (each > 1 ? " to " + ((bin + 1) * each - 1) : "") + " rows in " + n + " timesteps: " +
          share(panel, n).toFixed(1) + " %" : "";
      });
    });
  }

  /* --- points ----------------------------------------------------------------------------------------------------- */

  /* 6 * 0.2 is 1.2000000000000002, which is 1.2. */
  function shown(value) {
    return typeof value === "number" && !Number.isInteger(value) ? String(+value.toPrecision(10)) : String(value);
  }

  /* Returns a range from the least value to the most, with a margin of `air` times their distance. A single value has a distance, too. */
  function fit(values, air, log) {
    const at = values.map(value => (log ? Math.log10(value) : value)), least = Math.min(...at), most = Math.max(...at);
    const more = air * (most > least ? most - least : log ? 0.3 : Math.abs(most) > 1 ? 0.1 * Math.abs(most) : 1);
    return [least - more, most + more].map(value => (log ? Math.pow(10, value) : value));
  }

  /* Put a label near (x, y), in the nearest free place off the front's line. Without room there is no label. */
  function putLabel(plot, content, x, y, taken) {
    const text = V.make(plot.svg, "text", { "text-anchor": "middle", class: "front-label" }, content), size = 12;
    const width = text.getComputedTextLength() + 4;
    for (let far = 8; far <= 72; far += 8)
      for (const [right, down] of [[1, 1], [-1, -1], [1, 0], [-1, 0], [0, 1], [0, -1], [1, -1], [-1, 1]]) {
        const middle = { x: x + right * (far + width / 2), y: y + down * (far + size / 2) };
        const box = { left: middle.x - width / 2, right: middle.x + width / 2, top: middle.y - 0.7 * size, bottom: middle.y + 0.7 * size };
        if (box.left < plot.left + 2 || box.right > plot.right - 2 || box.top < plot.top || box.bottom > plot.bottom - 2 ||
            taken.some(b => box.left < b.right && b.left < box.right && box.top < b.bottom && b.top < box.bottom)) continue;
        taken.push(box);
        text.setAttribute("x", middle.x.toFixed(1));
        text.setAttribute("y", (box.bottom - 4).toFixed(1));
        const to = { x: Math.min(Math.max(x, box.left), box.right), y: Math.min(Math.max(y, box.top), box.bottom) };
        if (Math.hypot(to.x - x, to.y - y) > 14)
          V.make(plot.svg, "path", { d: "M" + x.toFixed(1) + " " + y.toFixed(1) + "L" + to.x.toFixed(1) + " " + to.y.toFixed(1), class: "axis" });
        return;
      }
    text.remove();
  }

  function drawFront(parent, all) {
    const box = V.figure(parent, "front", "Quality against expansions",
      "Each point is a configuration. The line is the best quality for at most so many expansions of hypotheses over all inputs.");
    const points = all.configurations.filter(p => !p.refused).map(p => ({
      name: Object.entries(p.configuration).map(([key, value]) => key + "=" + shown(value)).join(" "), quality: p[all.metric + "_percent"], cost: Math.max(p.expansions, 1), front: p.front, alike: 0 }));
    if (!points.length) {
      V.make(box, "p", { class: "note" }, "There is nothing to draw: no configuration was decoded.");
      return;
    }
    V.legend(box, [["dot front", "best for its expansions (the front)"], ["dot", "beaten by another"]]);
    const costs = points.map(p => p.cost), log = Math.max(...costs) > 8 * Math.min(...costs);
    const [xLeast, xMost] = fit(costs, 0.08, log), [yLeast, yMost] = fit(points.map(p => p.quality), 0.1, false).map(y => Math.max(y, 0));
    const plot = V.axes(box, { label: "Quality of " + points.length + " configurations by their expansions", height: 480, log: log, air: 1,
      xLeast: Math.max(xLeast, 0), xMost: xMost, yLeast: yLeast, yMost: Math.min(yMost, 100 + 0.02 * (100 - yLeast)),
      xTitle: "expansions" + (log ? " (logarithmic)" : ""), yTitle: all.metric + " %" });
    const front = [];
    for (const p of points.filter(point => point.front).sort((a, b) => a.cost - b.cost)) {
      const last = front[front.length - 1]; /* what costs the same on a front is as good, too */
      if (last && last.cost === p.cost) last.alike++;
      else front.push(p);
    }
    for (const p of points) Object.assign(p, { x: plot.x(p.cost), y: plot.y(p.quality) });
    V.make(plot.svg, "path", { class: "line-front", d: front.map((p, i) => (i ? "H" + p.x.toFixed(1) + "V" : "M" + p.x.toFixed(1) + " ") +
      p.y.toFixed(1)).join("") + "H" + plot.right });
    for (const p of [...points].sort((a, b) => a.front - b.front))
      V.make(plot.svg, "circle", { cx: p.x.toFixed(1), cy: p.y.toFixed(1), r: p.front ? 5 : 4, class: p.front ? "dot front" : "dot" });
    const taken = points.map(p => ({ left: p.x - 5, right: p.x + 5, top: p.y - 5, bottom: p.y + 5 })), told = p => p.name +
      (p.alike ? " and " + p.alike + " alike" : "");
    for (const p of front) putLabel(plot, told(p), p.x, p.y, taken);
    V.tip(box, plot.svg, (x, y) => {
      const far = p => Math.hypot(p.x - x, p.y - y), nearest = points.reduce((a, b) => (far(b) < far(a) ? b : a));
      return far(nearest) < 24 ? told(nearest) + ": " + nearest.quality.toFixed(2) + " %, " + nearest.cost + " expansions" : "";
    });
  }
})();
