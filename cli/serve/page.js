/* The page of a server: sends inputs, shows outputs as they grow, what the server has in flight, and the search, drawn by rillView. */
"use strict";
(function () {
  const V = rillView, at = id => document.getElementById(id);
  const models = new Map();
  let busy = false;

  /* An input in the source language, for models without an example of their own. */
  const SENTENCES = {
    de: "Ein Hund l\u00e4uft \u00fcber die Wiese.", en: "A dog runs across the meadow.", es: "Un perro corre por el prado.",
    fr: "Un chien court dans le pr\u00e9.", it: "Un cane corre nel prato.", nl: "Een hond rent over de weide.",
    pt: "Um cachorro corre pelo prado.", ru: "\u0421\u043e\u0431\u0430\u043a\u0430 \u0431\u0435\u0436\u0438\u0442 \u043f\u043e \u043b\u0443\u0433\u0443.",
    zh: "\u4e00\u53ea\u72d7\u8dd1\u8fc7\u8349\u5730\u3002"
  };

  function headers() {
    const all = { "Content-Type": "application/json" };
    if (at("key").value) all.Authorization = "Bearer " + at("key").value;
    return all;
  }

  async function ask(path, body) {
    const answer = await fetch(path, body ? { method: "POST", headers: headers(), body: JSON.stringify(body) } : { headers: headers() });
    if (answer.ok) return answer;
    let why = answer.status + " " + answer.statusText;
    try {
      why = (await answer.json()).error.message;
    } catch (e) { /* the body is not JSON, as of a proxy: the status is the message */ }
    if (answer.status === 401) {
      at("key-line").hidden = false;
      why = at("key").value ? "This is not the server's API key." : "The server requires its API key.";
    }
    throw Object.assign(new Error(why), { status: answer.status });
  }

  function say(text, isError) {
    at("state").textContent = text;
    at("state").className = isError ? "error" : "";
  }

  function make(parent, tag, name, text) {
    return V.make(parent, tag, name ? { class: name } : {}, text);
  }

  /* --- models and languages --- */

  async function readModels() {
    const list = (await (await ask("v1/models")).json()).models, isFirst = !models.size;
    for (const model of list) {
      if (!models.has(model.name)) make(at("model"), "option", "", model.name);
      models.set(model.name, model);
    }
    if (isFirst) describe();
  }

  /* "German (Latin)" for deu_Latn; the code itself where the browser knows no name. */
  function languageName(code) {
    try {
      return new Intl.DisplayNames(["en"], { type: "language" }).of(code.replace(/_/g, "-"));
    } catch (e) {
      return code;
    }
  }

  function offerLanguages(id, codes, chosen) {
    at(id + "-label").hidden = !codes.length;
    const named = codes.map(code => [languageName(code), code]).sort((a, b) => a[0].localeCompare(b[0]));
    at(id).replaceChildren(...named.map(([name, code]) => V.make(null, "option", { value: code }, name)));
    const first = codes.find(code => isLanguage(code, chosen));
    if (first) at(id).value = first;
  }

  function isLanguage(code, short) {
    return languageName(code).split(" (")[0] === languageName(short);
  }

  function describe() {
    const model = models.get(at("model").value);
    if (!model) return;
    const codes = model.languages || [];
    at("about").textContent = model.description;
    at("beam-size").placeholder = model.options.beam_size;
    offerLanguages("from", codes, "de");
    offerLanguages("to", codes, "en");
    offerExample();
  }

  function offerExample() {
    const model = models.get(at("model").value), source = model.languages ? at("from").value : model.name.split("-")[0];
    const short = Object.keys(SENTENCES).find(code => isLanguage(source, code));
    at("text").placeholder = model.example || (model.domain === "mt" && SENTENCES[short]) || "";
  }

  /* A multilingual model's input names its languages. */
  function withLanguages(text) {
    const model = models.get(at("model").value);
    return model && model.languages ? at("from").value + "\t" + at("to").value + "\t" + text : text;
  }

  /* --- load --- */

  const SECONDS = 120, load = [];
  function drawLoad() {
    const box = at("load"), now = load[load.length - 1];
    box.replaceChildren();
    V.legend(box, [["line-2", "in flight"], ["line-3", "in flight or waiting"]]);
    const plot = V.axes(box, { label: "Inputs in flight and waiting in the last two minutes", height: 150, yWhole: true,
      xMost: SECONDS, yMost: Math.max(5, ...load.map(p => p.flight + p.waiting)), xTitle: "seconds, the last one at the right", yTitle: "inputs" });
    for (const [kind, value] of [["line-3", p => p.flight + p.waiting], ["line-2", p => p.flight]])
      V.make(plot.svg, "polyline", { class: kind, points: load.map((p, i) =>
        plot.x(SECONDS - load.length + 1 + i).toFixed(1) + "," + plot.y(value(p)).toFixed(1)).join(" ") });
    make(box, "p", "note", now.flight + " in flight, " + now.waiting + " waiting, " + now.done + " done.");
  }

  /* Without a valid API key the server is not asked again until another key is given. */
  let timer = 0, isLost = false, isAsking = false;
  async function watchLoad() {
    if (isAsking) return;
    clearTimeout(timer);
    isAsking = true;
    try {
      if (!document.hidden) {
        await readModels();
        const sum = name => [...models.values()].reduce((n, m) => n + m.inputs[name], 0);
        load.push({ flight: sum("under_way"), waiting: sum("waiting"), done: sum("done") });
        if (load.length > SECONDS) load.shift();
        drawLoad();
        if (isLost) say("");
        isLost = false;
      }
    } catch (e) {
      isLost = true;
      say(e.message, true);
      if (e.status === 401) return;
    } finally {
      isAsking = false;
    }
    timer = setTimeout(watchLoad, 1000);
  }

  /* --- outputs --- */

  /* navigator.clipboard exists only at https: and localhost. */
  async function copy(button, text) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch (e) {
      const area = V.make(document.body, "textarea", {});
      area.value = text;
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function showInputs(texts) {
    at("outputs").replaceChildren();
    return texts.map(text => {
      make(at("outputs"), "p", "input", text);
      const place = make(at("outputs"), "div");
      const line = make(place, "p");
      return { place: place, final: make(line, "span"), draft: make(line, "span", "draft"), known: "" };
    });
  }

  function showEvent(rows, name, data) {
    const row = rows[data.input];
    if (name === "final") row.known = data.text;
    if (name === "final" || name === "draft") {
      row.final.textContent = row.known;
      if (name === "draft") row.draft.textContent = data.text.startsWith(row.known) ? data.text.slice(row.known.length) : " \u2026 " + data.text;
      return;
    }
    row.place.replaceChildren();
    if (data.error) make(row.place, "p", "error", data.error.message);
    for (const warning of data.warnings || []) make(row.place, "p", "note", warning);
    const list = make(row.place, "ol");
    for (const output of data.outputs || []) {
      const item = make(list, "li", "", output.text + " ");
      make(item, "span", "score", output.score === null ? "" : output.score.toFixed(3) +
        (output.finish_reason === "stop" ? "" : ", cut short: " + output.finish_reason));
      item.append(" ");
      const button = V.make(item, "button", { type: "button", class: "copy", "aria-label": "Copy the output" }, "Copy");
      button.addEventListener("click", () => copy(button, output.text));
    }
  }

  async function decode(body, rows) {
    const reader = (await ask("v1/decode", { ...body, stream: true })).body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const [name, data] = block.split("\n");
        if (name !== "event: end") showEvent(rows, name.slice(7), JSON.parse(data.slice(6)));
      }
    }
  }

  async function look(body) {
    const lines = (await (await ask("v1/trace", body)).text()).split("\n");
    const model = V.model();
    for (const line of lines) if (line) model.add(JSON.parse(line));
    at("search-note").textContent = "The inputs, decoded once more without others: a search does not depend on the rest of the batch.";
    V.show(at("search"), model);
  }

  async function submit(event) {
    event.preventDefault();
    if (!at("text").value.trim()) at("text").value = at("text").placeholder;
    const texts = at("text").value.split("\n").filter(text => text.trim());
    if (busy || !texts.length) return;
    busy = true;
    const options = {};
    if (at("beam-size").value) options.beam_size = +at("beam-size").value;
    if (at("n-best").value > 1) options.n_best = +at("n-best").value;
    const body = { model: at("model").value, inputs: texts.map(withLanguages), options: options };
    const start = performance.now();
    say("decoding");
    try {
      await decode(body, showInputs(texts));
      say((performance.now() - start).toFixed(0) + " ms");
      await look({ ...body, inputs: body.inputs.slice(0, 20) });
      document.body.dataset.done = String(+(document.body.dataset.done || 0) + 1);
    } catch (e) {
      say(e.message, true);
    }
    busy = false;
  }

  at("ask").addEventListener("submit", submit);
  at("model").addEventListener("change", describe);
  at("from").addEventListener("change", offerExample);
  at("key").addEventListener("change", watchLoad);
  at("use-key").addEventListener("click", watchLoad);
  at("text").addEventListener("keydown", e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) submit(e); });
  watchLoad();
  /* A link may bring its input along: /#input=TEXT */
  const brought = new URLSearchParams(location.hash.slice(1)).get("input");
  if (brought) {
    at("text").value = brought;
    readModels().then(() => at("ask").requestSubmit(), () => {});
  }
})();
