/* The content of a trace, built from its events one by one, or the one event of `rill bench` or `rill tune`. ASCII without libraries,
 * because the command carries this file as data.
 *
 *   const model = rillView.model();
 *   model.add(event);                        // an object of the trace
 *   rillView.show(element, model);           // draws; again after more events */
"use strict";
var rillView = window.rillView || {};
window.rillView = rillView;

(function () {
  const STAGES = ["encode", "step", "score", "scorers", "choose", "select", "prune", "commit", "finalize"];
  const FATES = { "-1": "kept", "-2": "has ended and waits", "-3": "output", "-4": "no room in the beam", "-5": "left when its input ended" };

  function Model() {
    this.title = "A run of rill";
    this.compared = null; /* what bench or tune tells, instead of a run's events */
    this.run = {};
    this.links = [];
    this.workers = new Map(); /* by number: those that events name */
    this.items = new Map();
    this.names = {};
    this.leftOut = null;
  }

  Model.prototype.worker = function (number) {
    if (!this.workers.has(number))
      this.workers.set(number, { number: number, steps: [], refills: new Map(), seconds: {}, total: 0, rows: 0 });
    return this.workers.get(number);
  };

  Model.prototype.item = function (id) {
    if (!this.items.has(id)) this.items.set(id, { id: id, worker: 0, admitted: -1, finished: -1, sentBack: [], path: [] });
    return this.items.get(id);
  };

  Model.prototype.timestep = function (e) {
    const worker = this.worker(e.worker || 0);
    worker.steps.push({ number: e.timestep, inFlight: e.in_flight, rows: e.rows, selected: e.selected });
    worker.rows += e.rows;
    for (const stage of STAGES) worker.seconds[stage] = (worker.seconds[stage] || 0) + (e.seconds[stage] || 0);
    worker.total += e.seconds.total || 0;
    const dropped = e.dropped || [];
    const entries = e.items.map((id, i) => {
      const entry = {
        timestep: e.timestep, depth: e.depths[i], before: e.widths_before[i], merged: e.widths_merged[i], after: e.widths_after[i],
        dropped: dropped.map(counts => counts[i]), candidates: null
      };
      this.item(id).path.push(entry);
      return entry;
    });
    const h = e.hypotheses;
    for (let j = 0; h && j < h.item.length; j++) {
      const entry = entries[h.item[j]];
      if (!entry.candidates) entry.candidates = [];
      entry.candidates.push({ phase: h.phase ? h.phase[j] : 0, parent: h.parent[j], rank: h.rank[j], action: h.action[j], fate: h.fate[j],
        score: h.score[j] });
    }
  };

  /* Events of other kinds, of a later rill, are passed over. */
  Model.prototype.add = function (e) {
    const item = e.item === undefined ? null : this.item(e.item);
    switch (e.event) {
    case "page": this.title = e.title; break;
    case "bench":
    case "tune": this.compared = e; break;
    case "run":
      this.run = e;
      this.links = (e.options && e.options.heuristics) || [];
      break;
    case "timestep": this.timestep(e); break;
    case "admitted": {
      const refills = this.worker(e.worker || 0).refills;
      refills.set(e.timestep, (refills.get(e.timestep) || 0) + 1);
      item.worker = e.worker || 0;
      if (item.admitted < 0) item.admitted = e.timestep;
      break;
    }
    case "sent_back": /* it begins anew: what it had is not on the way to its outputs */
      item.sentBack.push(e.timestep);
      item.path = [];
      break;
    case "finished":
      item.finished = e.timestep;
      item.outputs = e.outputs;
      item.status = e.status;
      break;
    case "input": item.text = e.text; break;
    case "result":
      item.output = e.output;
      item.actions = e.actions;
      item.message = e.message;
      break;
    case "actions": Object.assign(this.names, e.names); break;
    case "left_out": this.leftOut = e; break;
    }
  };

  Model.prototype.actionName = function (action) {
    const name = this.names[action];
    return name === undefined ? "#" + action : name;
  };

  Model.prototype.fateName = function (fate) {
    return fate < 0 ? FATES[fate] : "dropped by " + (this.links[fate] || "heuristic " + (fate + 1));
  };

  /* Means over inputs at each depth (number of earlier timesteps): [{depth, n, before, merged, after, dropped: [links], rest}] */
  Model.prototype.byDepth = function (worker) {
    const table = new Map();
    for (const item of this.items.values()) {
      if (item.worker !== worker) continue;
      for (const p of item.path) {
        if (!table.has(p.depth)) table.set(p.depth, { depth: p.depth, n: 0, before: 0, merged: 0, after: 0, dropped: [], rest: 0 });
        const row = table.get(p.depth);
        let rest = p.merged - p.after;
        row.n++;
        row.before += p.before;
        row.merged += p.merged;
        row.after += p.after;
        p.dropped.forEach((count, link) => {
          row.dropped[link] = (row.dropped[link] || 0) + count;
          rest -= count;
        });
        row.rest += rest;
      }
    }
    return [...table.values()].sort((a, b) => a.depth - b.depth).map(row => ({
      depth: row.depth, n: row.n, before: row.before / row.n, merged: row.merged / row.n, after: row.after / row.n,
      dropped: row.dropped.map(count => count / row.n), rest: Math.max(0, row.rest / row.n)
    }));
  };

  rillView.STAGES = STAGES;
  rillView.model = function () { return new Model(); };
})();
