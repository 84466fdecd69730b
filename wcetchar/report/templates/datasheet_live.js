"use strict";
// Figures at other values of parameters and other numbers of a hardware profile, by the evaluator: what `wcetchar estimate` prints
// there. A panel that shows such figures says which numbers and values they are of; what of it belongs to others says that, too.
const live = (() => {
  const {data, state, rows, hooks, make, by} = sheet;
  const documents = new Map();
  const changed = data.hardware.map(() => new Map());  // of each hardware: way of a number -> text
  const values = new Map();                            // of a row: name of a parameter -> text
  const kept = new Map();                              // results, until something changes
  const places = {};                                   // of scenarios: side, hardware, whether its numbers may be changed
  for (const value of data.scenarios)
    for (const kind of ["", "-as-published"]) {
      const [side, hardware] = value.split("-").map(Number);
      places[value + kind] = {side, hardware, published: Boolean(kind), base: value};
    }

  const documentOf = (base) => {
    if (!documents.has(base)) {
      const element = by(`evaluator-${base}`);
      documents.set(base, element ? JSON.parse(element.textContent) : null);
    }
    return documents.get(base);
  };
  const serviceIn = (row, base) => documentOf(base)?.services.find((one) => one.chosen && one.name === row.name);
  const numbersOf = (scenario) => (places[scenario].published ? new Map() : changed[places[scenario].hardware]);
  const isLive = (row, scenario) => Boolean(documentOf(places[scenario].base)) && row.figures[places[scenario].base] !== undefined &&
    (numbersOf(scenario).size > 0 || (values.get(row)?.size ?? 0) > 0);

  // Values that are asked for: those of the reader, before those at which the page's own figures hold. Of cases that the reader
  // leaves open the dearest is taken.
  const valuesOf = (row, scenario) => {
    const service = serviceIn(row, places[scenario].base), own = values.get(row) ?? new Map();
    // Without a prototype: a parameter may be called __proto__.
    const found = Object.assign(Object.create(null), row.figures[places[scenario].base].given);
    for (const one of service?.parameters ?? []) {
      if (own.has(one.name)) found[one.name] = own.get(one.name);
      else if (!one.case) found[one.name] = row.figures[places[scenario].base].values[one.name];
    }
    return found;
  };
  // Parameters that neither the reader nor the map gives a value.
  const openOf = (row, scenario) => {
    const asked = valuesOf(row, scenario), service = serviceIn(row, places[scenario].base);
    return service.parameters.filter((one) => asked[one.name] === undefined && one.value === null).map((one) => one.name);
  };
  const worked = (key, evaluate, row, scenario) => {
    if (!kept.has(key)) {
      const numbers = Object.fromEntries(numbersOf(scenario));
      kept.set(key, evaluate(documentOf(places[scenario].base), row.name, valuesOf(row, scenario), numbers));
    }
    return kept.get(key);
  };
  const resultOf = (row, scenario) => worked(`${row.number} ${scenario}`, wcetcharEvaluator.evaluate, row, scenario);
  // Over all paths, of what is shown alone: it takes longer. Null: there is no path model.
  const pathsOf = (row, scenario) => worked(`${row.number} ${scenario} paths`, wcetcharEvaluator.evaluatePaths, row, scenario);
  const isKept = (row, scenario) => kept.has(`${row.number} ${scenario}`);

  const number = (time) => Number(time.num) / Number(time.den);
  const at = (parameters) => Object.entries(parameters).map(([name, value]) => `${name}=${value}`).join(", ");
  const elsewhere = (part, result) => (part.parameters && at(part.parameters) !== at(result.parameters) ? `, at ${at(part.parameters)}` : "");
  const atLeast = (part) => (part.gaps.length ? "at least " : "");

  hooks.figures.push((row, scenario) => {
    if (!places[scenario] || !row.figures[places[scenario].base]) return null;
    if (!isLive(row, scenario)) return row.figures[places[scenario].base];
    const unknown = (text, why) => {
      const figure = [null, text, "", ""];
      return {total: figure, interrupts: figure, preemption: figure, word: "", at: "", why};
    };
    if (!isKept(row, scenario)) return unknown("…", "is being worked out");
    const result = resultOf(row, scenario);
    if (result.outside !== null) return unknown("–", result.outside);
    const values_ = at(result.parameters);
    const found = {total: [number(result.total), result.total.ns, result.word, values_], word: result.word, at: values_};
    for (const part of result.blocking)
      found[part.kind] = [number(part.time), atLeast(part) + part.time.ns, part.word, part.parameters ? at(part.parameters) : values_];
    return found;
  });
  hooks.changed.push((scenario) => {
    if (!places[scenario]) return "";
    const own = rows.some((row) => (values.get(row)?.size ?? 0) > 0);
    return numbersOf(scenario).size || own ? ", with what is changed on this page" : "";
  });

  // ---- the command line that prints the same figures. Numbers that are changed are axes of a sweep; but it prints nothing of path
  // models, so their command is on a file that says these numbers

  const quoted = (word) => (/^[\w@%+=:,.\/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
  const filesAndValues = (row, scenario) => {
    const files = documentOf(places[scenario].base).files;
    const words = [files.characterization, "--profile", files.profile];
    if (files.map) words.push("--map", files.map);
    words.push("--service", row.name);
    for (const [name, value] of Object.entries(valuesOf(row, scenario))) words.push("--set", `${name}=${value}`);
    return words;
  };
  const onFile = (row, scenario, ...words) => {
    const numbers = [...numbersOf(scenario)].map(([way, text]) => `${way} is ${text}`).join(", ");
    return `${words.map(quoted).join(" ")}${numbers ? `, with a profile in which ${numbers}` : ""}`;
  };
  const estimateOf = (row, scenario) => onFile(row, scenario, "wcetchar", "estimate", ...filesAndValues(row, scenario));
  const commandOf = (row, scenario) => {
    const numbers = [...numbersOf(scenario)];
    if (!numbers.length || numbers.some(([, text]) => !/^[0-9.]+\s*[a-zA-Zµμ]+$/.test(text))) return estimateOf(row, scenario);
    const axes = numbers.flatMap(([way, text]) => ["--vary", `${way}=${text}`]);
    return ["wcetchar", "sweep", ...filesAndValues(row, scenario), ...axes].map(quoted).join(" ");
  };
  const graphCommandOf = (row, scenario) => {
    const maximum = openOf(row, scenario).length ? ["--maximum"] : [];
    return onFile(row, scenario, "wcetchar", "paths", ...filesAndValues(row, scenario), ...maximum, "--format", "html", "-o", "worst-path.html");
  };

  // ---- panels

  const published = new Map();  // panel -> its content as published
  const cell = (text, tag = "td", numeric = false) => make(tag, tag === "th" ? {scope: "row"} : {class: numeric ? "number" : null}, text);
  const fill = (panel, key, lines) => {
    const table = panel.querySelector(`table[data-key="${key}"]`);
    if (!table) return;
    table.tBodies[0].replaceChildren(...lines.map((line) => make("tr", {}, ...line.map(([text, numeric], place) => cell(text, place ? "td" : "th", numeric)))));
  };
  const percent = (part, whole) => {
    // To the nearest tenth of a percent, halves up, as in Python: of exact numbers.
    if (whole.num === "0") return "0.0 %";
    const tenths = (2000n * BigInt(part.num) * BigInt(whole.den) + BigInt(part.den) * BigInt(whole.num)) / (2n * BigInt(part.den) * BigInt(whole.num));
    return `${tenths / 10n}.${tenths % 10n} %`;
  };
  const grouped = (value) => BigInt(value).toLocaleString("en-US");
  const items = (panel, key, texts) => {
    const block = panel.querySelector(`.lines[data-key="${key}"] ul`);
    if (block) block.replaceChildren(...texts.map((text) => make("li", {}, text)));
  };
  const blockingLines = (part, result) => {
    const behind = part.links.length ? ", with what goes on after it" : "";
    const where = part.where && !part.links.length ? `: ${part.where}` : "";
    const lines = [`${part.kind} for ${atLeast(part)}${part.time.ns} ns (${part.word})${elsewhere(part, result)}${behind}${where}`];
    for (const link of part.links) {
      const values = at(link.parameters);
      lines.push(`${link.time.ns} ns of it ${link.service}${values ? ` at ${values}` : ""}: ${link.where}`);
    }
    for (const gap of part.gaps) lines.push(`not bounded: ${gap}`);
    if (part.links.length) lines.push(`its own longest stretch: ${part.own.ns} ns: ${part.where}`);
    return lines;
  };
  const told = (row, scenario) => {
    const parts = [...numbersOf(scenario)].map(([way, text]) => `${way} ${text} (${documentOf(places[scenario].base).numbers.find((one) => one.way === way)?.text ?? "both"} in the file)`);
    for (const [name, value] of values.get(row) ?? []) parts.push(`${name}=${value}`);
    return `changed on this page: ${parts.join(", ")}`;
  };

  // What holds over all paths; `stale` marks the file's figure where this page cannot say.
  const drawPaths = (panel, row, scenario, stale) => {
    const line = panel.querySelector('.line[data-key="paths"] .text'), over = pathsOf(row, scenario);
    if (!line || over === null) return;
    if (over.outside !== null) stale(over.outside);
    else if (over.time === null) line.textContent = `no bound: ${over.why}`;
    else {
      const searched = openOf(row, scenario);
      const held = ["interrupts", "preemption"].filter((kind) => over[kind] !== null).map((kind) => `, ${kind} blocked ${over[kind].ns} ns at most`);
      line.textContent = `${over.time.ns} ns (${over.word})${held.join("")}${searched.length ? `, at all values of ${searched.join(", ")}` : ""}`;
    }
    if (!numbersOf(scenario).size) return;
    panel.querySelector(".command").after(make("p", {class: "line command", "data-key": "paths command"},
      make("span", {class: "label"}, "the same over all paths: "), make("code", {}, estimateOf(row, scenario))));
  };

  const draw = (panel) => {
    const row = rows[Number(panel.closest("article").dataset.row)], scenario = panel.dataset.scenario;
    if (!isLive(row, scenario) && !published.has(panel) && !places[scenario].published) return;
    if (!published.has(panel)) published.set(panel, [...panel.childNodes].map((node) => node.cloneNode(true)));
    const open = [...panel.querySelectorAll("details")].map((one) => one.open);
    panel.replaceChildren(...published.get(panel).map((node) => node.cloneNode(true)));
    panel.querySelectorAll("details").forEach((one, place) => { one.open = open[place] ?? false; });
    panel.classList.toggle("live", isLive(row, scenario));
    if (places[scenario].published && changed[places[scenario].hardware].size) panel.querySelector("h4").append(", as in the file");
    if (!isLive(row, scenario)) return;
    const result = resultOf(row, scenario);
    const total = panel.querySelector(".total");
    panel.querySelector("h4").after(make("p", {class: "changed"}, told(row, scenario)));
    const command = panel.querySelector(".command code");
    if (result.outside !== null) {
      for (const element of panel.querySelectorAll(".line:not(.command), .lines, .wide, details")) element.remove();
      command.before("instead, run ");
      panel.querySelector(".changed").after(make("p", {class: "outside", role: "alert"}, `This page cannot say: ${result.outside}.`));
      command.textContent = commandOf(row, scenario);
      return;
    }
    const values_ = at(result.parameters);
    total.querySelector("strong").textContent = `${result.total.ns} ns`;
    total.lastChild.textContent = ` (${result.word}), ${result.total.cycles} core cycles${values_ ? `, at ${values_}` : ""}`;
    panel.querySelector("[data-key=tolerances]")?.remove();
    // What is not worked out here belongs to other numbers and values than those that are shown.
    const own = row.figures[places[scenario].base], files = numbersOf(scenario).size > 0;
    const stale = (key, of) => {
      const line = panel.querySelector(`.line[data-key="${key}"]`);
      if (!line) return;
      line.classList.add("stale");
      line.append(` (${of}, not of what is shown above)`);
    };
    drawPaths(panel, row, scenario, (why) => stale("paths", `this page cannot say: ${why}; of the numbers in the file${own.at ? ` at ${own.at}` : ""}`));
    if (files && own.formula) stale("formula", "of the numbers in the file");
    fill(panel, "sections", result.sections.map((one) => [[one.section], [one.repetition], [grouped(one.repetitions), true], [one.blocking], [one.time.ns, true]]));
    fill(panel, "memories", result.regions.map((one) => [[one.region], [one.time.ns, true], [percent(one.time, result.total), true]]));
    fill(panel, "classes", result.columns.map((one) => [[one.key], [one.region], [grouped(one.count), true], [one.price.ns, true], [one.time.ns, true], [percent(one.time, result.total), true]]));
    items(panel, "blocking", result.blocking.flatMap((part) => blockingLines(part, result)));
    items(panel, "notes", [...result.notes]);
    command.textContent = commandOf(row, scenario);
  };

  // ---- what is shown: panels of both scenarios, the list, and all other drawings

  const listeners = [];
  let waiting = 0;
  const refresh = (only) => {
    for (const key of [...kept.keys()]) if (!only || key.startsWith(`${only.number} `)) kept.delete(key);
    if (state.chosen) drawAll(state.chosen);
    for (const listener of listeners) listener();
    const turn = ++waiting;
    const work = rows.flatMap((row) => [state.first, state.second].filter((one) => one && row.figures[places[one]?.base]).map((one) => [row, one]))
      .filter(([row, scenario]) => isLive(row, scenario) && !isKept(row, scenario));
    sheet.drawList();
    const some = () => {
      if (turn !== waiting) return;
      const until = performance.now() + 20;
      while (work.length && performance.now() < until) resultOf(...work.pop());
      if (work.length) return void setTimeout(some);
      sheet.drawList();
      for (const listener of listeners) listener(true);
    };
    if (work.length) setTimeout(some);
  };

  // ---- controls: parameters of a service

  const controls = (row) => {
    const place = row.article.querySelector(".what-if");
    const base = Object.keys(row.figures)[0];
    const parameters = base === undefined ? [] : serviceIn(row, base)?.parameters ?? [];
    const free = parameters.filter((one) => Number(one.minimum) < Number(one.maximum));
    if (!free.length || place.childElementCount) return;
    const group = make("fieldset", {}, make("legend", {}, "values of the parameters"));
    const own = () => {
      if (!values.has(row)) values.set(row, new Map());
      return values.get(row);
    };
    for (const one of free) {
      const id = `value-${row.number}-${one.name}`, start = String(row.figures[base].values[one.name]);
      const change = (text, is) => {
        if (is === null) own().delete(one.name);
        else own().set(one.name, text);
        refresh(row);
      };
      if (one.case) {
        const select = make("select", {id, onchange: () => change(select.value, select.value || null)}, make("option", {value: ""}, "the dearest"));
        for (let value = Number(one.minimum); value <= Number(one.maximum); value++) select.append(make("option", {value}, String(value)));
        group.append(make("div", {class: "value"}, make("label", {for: id}, one.name), select));
        continue;
      }
      const ends = {min: one.minimum, max: one.maximum, step: 1, value: start};
      const exact = make("input", {type: "number", id, ...ends}), slider = make("input", {type: "range", ...ends, "aria-label": `${one.name}, slider`});
      const set = (from, to) => {
        const text = from.value, valid = /^-?\d+$/.test(text) && from.checkValidity();
        exact.setAttribute("aria-invalid", String(!valid));
        if (!valid) return;
        to.value = text;
        change(text, true);
      };
      exact.addEventListener("input", () => set(exact, slider));
      slider.addEventListener("input", () => set(slider, exact));
      group.append(make("div", {class: "value"}, make("label", {for: id}, one.name), slider, exact,
        make("span", {class: "hint"}, `${one.minimum} to ${one.maximum}`)));
    }
    group.append(make("button", {type: "button", onclick: () => {
      values.delete(row);
      place.replaceChildren();
      controls(row);
      refresh(row);
      place.querySelector("input, select")?.focus();
    }}, "as published"));
    place.append(group);
  };

  // ---- controls: numbers of a profile

  const scaled = (text, percents) => text.replace(/\d+(?:\.\d+)?(?!\d*\s*%)/g, (digits) => {
    const [whole, decimals = ""] = digits.split(".");
    const value = (BigInt(whole + decimals) * BigInt(percents)).toString().padStart(decimals.length + 3, "0");
    const cut = value.length - decimals.length - 2;
    return `${value.slice(0, cut)}.${value.slice(cut)}`.replace(/\.?0+$/, "");
  });
  const editor = by("edit");
  const numbers = () => {
    if (!editor) return;
    const {hardware, base} = places[state.first], found = documentOf(base);
    editor.hidden = !found;
    if (!found) return;
    editor.querySelector("summary").textContent = `change the hardware: ${data.hardware[hardware]}`;
    const place = editor.querySelector(".numbers"), edits = changed[hardware];
    place.replaceChildren();
    // The clock and the memories first: they are what is asked for most.
    const groups = new Map(), group = (one) => (one.way === "core.clock" ? "clock" : one.group);
    const order = (one) => (one.way === "core.clock" ? 0 : one.group === "core" ? 2 : 1);
    for (const one of [...found.numbers].sort((a, b) => order(a) - order(b))) {
      if (!groups.has(group(one))) groups.set(group(one), make("fieldset", {}, make("legend", {}, group(one).replace(/^regions\./, "memory "))));
      const id = `number-${hardware}-${one.way}`;
      const text = make("input", {type: "text", id, size: 14, spellcheck: "false", autocomplete: "off"});
      const slider = make("input", {type: "range", min: one.positive ? 5 : 0, max: 400, step: 5, value: 100, "aria-label": `${one.way}, slider, percent of the file's number`});
      const wrong = make("span", {class: "wrong", id: `${id}-wrong`, role: "alert"});
      text.value = edits.get(one.way) ?? one.text;
      const change = () => {
        const parsed = wcetcharEvaluator.parseQuantity(text.value.trim(), one.unit);
        wrong.textContent = parsed.error ?? "";
        text.setAttribute("aria-invalid", String(Boolean(parsed.error)));
        text.classList.toggle("edited", text.value.trim() !== one.text);
        if (parsed.error) return;
        if (text.value.trim() === one.text) edits.delete(one.way);
        else edits.set(one.way, text.value.trim());
        refresh();
      };
      text.classList.toggle("edited", edits.has(one.way));
      text.addEventListener("input", change);
      slider.addEventListener("input", () => {
        text.value = slider.value === "100" ? one.text : scaled(one.text, slider.value);
        change();
      });
      const name = one.way.slice(one.group.length + 1);
      groups.get(group(one)).append(make("div", {class: "value"}, make("label", {for: id}, name), slider, text, wrong));
    }
    place.append(...groups.values());
    editor.querySelector("button").onclick = () => {
      edits.clear();
      numbers();
      refresh();
    };
  };

  // ---- scenarios: a hardware as in the file stands beside the same one with changed numbers

  const addCopies = (row) => {
    for (const copy of row.article.querySelectorAll(".panel.copy")) copy.remove();
    for (const panel of row.article.querySelectorAll(".panel")) {
      if (state.second !== `${panel.dataset.scenario}-as-published`) continue;
      const copy = panel.cloneNode(true);
      if (published.has(panel)) copy.replaceChildren(...published.get(panel).map((node) => node.cloneNode(true)));
      copy.classList.add("copy");
      copy.dataset.scenario = state.second;
      copy.hidden = false;
      panel.after(copy);
    }
  };
  // A flow graph is of the file's numbers, whatever is shown above it.
  const drawGraphs = (row) => {
    for (const graph of row.article.querySelectorAll("details.graph:not([hidden])")) {
      const hint = graph.querySelector(".hint"), {scenario} = graph.dataset;
      hint.querySelector(".stale")?.remove();
      if (isLive(row, scenario)) hint.append(make("span", {class: "stale"}, " That is of the numbers and values in the file, not of what is shown above. This draws that: ",
        make("code", {}, graphCommandOf(row, scenario))));
    }
  };
  const drawAll = (row) => {
    for (const panel of row.article.querySelectorAll(".panel:not([hidden])")) draw(panel);
    drawGraphs(row);
  };

  const ready = data.scenarios.some((base) => by(`evaluator-${base}`));
  if (ready) {
    document.documentElement.classList.add("live");
    const second = by("second");
    for (const value of data.scenarios) {
      const option = [...second.options].find((one) => one.value === value);
      second.append(make("option", {value: `${value}-as-published`}, `${option.textContent}, as in the file`));
    }
    hooks.scenarios.push(() => {
      sheet.opened().forEach(addCopies);
      numbers();
      refresh();
    });
    hooks.opened.push(addCopies);
    hooks.chosen.push((row) => {
      controls(row);
      drawAll(row);
    });
    // What is printed beside the service that is shown; the page's own listener has opened all.
    addEventListener("beforeprint", () => rows.forEach(drawAll));
    matchMedia("print").addEventListener("change", (event) => event.matches && rows.forEach(drawAll));
  }
  return {ready, listeners, places, documentOf, serviceIn, numbersOf, valuesOf, values, resultOf, isLive, number, at, scaled};
})();
