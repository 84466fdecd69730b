"use strict";
// Pictures that follow what is shown: where the time goes, times over a parameter, what hangs on which number, services ranked. Each
// has a sentence that says what it shows; its numbers are those of the tables and of the evaluator.
const plots = (() => {
  const {data, state, rows, hooks, make, by} = sheet;
  const FIGURES = [["total", "total"], ["interrupts", "blocks interrupts"], ["preemption", "blocks preemption"]];
  const COLOURS = 8, POINTS = 40, DEAREST = 12, RANKED = 25, SHARE = 110;

  const draw = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    for (const child of children) element.append(child);
    return element;
  };
  const text = (x, y, content, attributes = {}) => draw("text", {x, y, ...attributes}, content);
  const picture = (width, height, label, ...children) =>
    draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "plot"}, ...children);
  // Lines of a grid lie at round numbers: 1, 2 or 5 times a power of ten, five of them at most.
  const stepOf = (most) => {
    const power = 10 ** Math.floor(Math.log10(most / 5));
    return power * [1, 2, 5, 10].find((one) => one * power >= most / 5);
  };
  const nanoseconds = (value) => `${value.toLocaleString("en-US")} ns`;
  const name = (scenario) => {
    const {side, hardware, published} = live.places[scenario];
    const of = data.sides.length > 1 ? `${data.sides[side]} on ` : "";
    return `${of}${data.hardware[hardware]}${published ? ", as in the file" : ""}`;
  };
  const shown = (row) => [state.first, state.second].filter((one, place, all) => one && all.indexOf(one) === place && row.figures[live.places[one]?.base]);
  const short = (label, most) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);

  // Work is done in slices, so that the page answers meanwhile; what is begun anew ends what was before.
  const turns = {};
  const sliced = (key, jobs, done) => {
    const turn = (turns[key] = (turns[key] ?? 0) + 1), results = [];
    const some = () => {
      if (turn !== turns[key]) return;
      const until = performance.now() + 16;
      while (results.length < jobs.length && performance.now() < until) results.push(jobs[results.length]());
      if (results.length < jobs.length) setTimeout(some);
      else done(results);
    };
    setTimeout(some);
  };

  // ---- where the time goes

  const stacked = (place, row) => {
    const bars = [];
    for (const scenario of shown(row)) {
      const result = live.resultOf(row, scenario);
      if (result.outside !== null) continue;
      const of = shown(row).length > 1 ? `, ${name(scenario)}` : "";
      bars.push({title: `by memory${of}`, parts: result.regions.map((one) => [one.region, live.number(one.time), one.time.ns])});
      bars.push({title: `by trace section${of}`, parts: result.sections.map((one) => [`${one.section} (× ${one.repetition}; ${one.blocking})`, live.number(one.time), one.time.ns])});
      bars.push({title: `by linker section${of}`, parts: result.logical.map((one) => [one.section || "core", live.number(one.time), one.time.ns])});
    }
    place.replaceChildren();
    const most = Math.max(...bars.map((bar) => bar.parts.reduce((sum, [, value]) => sum + value, 0)), 0);
    if (!most) return;
    const names = new Map();
    const colour = (title, label) => {
      const kind = title.split(",")[0];
      if (!names.has(kind)) names.set(kind, new Map());
      const own = names.get(kind);
      if (!own.has(label)) own.set(label, own.size % COLOURS);
      return own.get(label);
    };
    for (const bar of bars) {
      let x = 0;
      const parts = bar.parts.filter(([, value]) => value > 0);
      const rects = parts.map(([label, value, ns]) => {
        const width = value / most * 600;
        const rect = draw("rect", {x, y: 0, width: Math.max(width - 0.7, 0.3), height: 22, class: `c${colour(bar.title, label)}`}, draw("title", {}, `${label}: ${ns} ns`));
        x += width;
        return rect;
      });
      const legend = make("ul", {class: "legend"}, ...parts.slice(0, 10).map(([label, , ns]) =>
        make("li", {}, draw("svg", {width: 12, height: 12, "aria-hidden": "true"}, draw("rect", {width: 12, height: 12, class: `c${colour(bar.title, label)}`})), ` ${label}: ${ns} ns`)));
      if (parts.length > 10) legend.append(make("li", {}, `and ${parts.length - 10} more`));
      place.append(make("figure", {}, make("figcaption", {}, bar.title),
        picture(600, 22, `${bar.title}: ${parts.map(([label, , ns]) => `${label} ${ns} ns`).join(", ")}`, ...rects), legend));
    }
  };

  // ---- times over a parameter

  const chosen = {};
  const over = (place, row) => {
    const parameters = (live.serviceIn(row, live.places[shown(row)[0]]?.base)?.parameters ?? []).filter((one) => !one.case && Number(one.minimum) < Number(one.maximum));
    place.replaceChildren();
    if (!parameters.length) return;
    const parameter = parameters.find((one) => one.name === chosen.parameter) ?? parameters[0], figure = chosen.figure ?? "total";
    const pick = (label, key, options, value) => {
      const select = make("select", {onchange: () => { chosen[key] = select.value; over(place, row); }},
        ...options.map(([option, title]) => make("option", {value: option, selected: option === value}, title)));
      return make("label", {}, `${label} `, select);
    };
    const least = Number(parameter.minimum), most = Number(parameter.maximum);
    const scenarios = shown(row), current = scenarios.map((one) => Number(live.valuesOf(row, one)[parameter.name]));
    const stride = Math.max(1, Math.ceil((most - least) / POINTS));
    const at = new Set([most, ...current]);
    for (let value = least; value < most; value += stride) at.add(value);
    const values = [...at].sort((a, b) => a - b);
    const box = make("div", {class: "drawn"}, make("p", {class: "hint"}, "…"));
    place.append(make("figure", {}, make("figcaption", {}, pick("", "figure", FIGURES, figure), pick(" over", "parameter", parameters.map((one) => [one.name, one.name]), parameter.name)), box));
    const jobs = scenarios.flatMap((scenario) => values.map((value) => () => {
      const numbers = Object.fromEntries(live.numbersOf(scenario));
      const result = wcetcharEvaluator.evaluate(live.documentOf(live.places[scenario].base), row.name, {...live.valuesOf(row, scenario), [parameter.name]: value}, numbers);
      if (result.outside !== null) return null;
      const part = figure === "total" ? {time: result.total, word: result.word} : result.blocking.find((one) => one.kind === figure);
      return {value, y: live.number(part.time), ns: part.time.ns, word: part.word};
    }));
    sliced("over", jobs, (results) => {
      const lines = scenarios.map((scenario, number) => ({scenario, points: results.slice(number * values.length, (number + 1) * values.length).filter(Boolean)}));
      const known = lines.flatMap((line) => line.points);
      if (!known.length) return box.replaceChildren(make("p", {class: "hint"}, "This page cannot say: see the figures above."));
      const most_ = Math.max(...known.map((one) => one.y)) || 1, step = stepOf(most_), top = Math.ceil(most_ / step) * step, x = (value) => 70 + (value - least) / (most - least) * 520, y = (value) => 190 - value / top * 170;
      const parts = [];
      for (let tick = 0; tick <= Math.round(top / step); tick++)
        parts.push(draw("line", {x1: 70, x2: 590, y1: y(tick * step), y2: y(tick * step), class: "grid"}), text(64, y(tick * step) + 4, nanoseconds(tick * step), {"text-anchor": "end"}));
      for (const value of new Set([least, Math.round((least + most) / 2), most])) parts.push(text(x(value), 208, String(value), {"text-anchor": "middle"}));
      parts.push(text(330, 226, parameter.name, {"text-anchor": "middle"}));
      lines.forEach(({points, scenario}, number) => {
        parts.push(draw("path", {d: points.map((one, place) => `${place ? "L" : "M"}${x(one.value).toFixed(2)} ${y(one.y).toFixed(2)}`).join(" "), class: `line s${number}`}));
        for (const one of points) {
          const here = one.value === current[number] ? " here" : "";
          parts.push(draw("circle", {cx: x(one.value).toFixed(2), cy: y(one.y).toFixed(2), r: here ? 6 : 3.2, class: `dot s${number}${one.word === "estimate" ? " open" : ""}${here}`},
            draw("title", {}, `${name(scenario)}, ${parameter.name}=${one.value}: ${one.ns} ns (${one.word})`)));
        }
      });
      const told = lines.filter((line) => line.points.length).map(({points, scenario}) =>
        `${name(scenario)}: ${points[0].ns} ns at ${parameter.name}=${points[0].value} to ${points.at(-1).ns} ns at ${parameter.name}=${points.at(-1).value}`).join("; ");
      const legend = make("ul", {class: "legend"}, ...lines.map(({scenario}, number) =>
        make("li", {}, draw("svg", {width: 22, height: 10, "aria-hidden": "true"}, draw("path", {d: "M0 5 L22 5", class: `line s${number}`})), ` ${name(scenario)}`)),
        make("li", {}, "full dots: bound or high-water mark; open dots: estimate; the large one: what is shown"));
      box.replaceChildren(picture(600, 232, told, ...parts), legend);
    });
  };

  // ---- what hangs on which number

  const sensitivity = (place, row) => {
    place.replaceChildren();
    const [scenario] = shown(row);
    if (scenario === undefined) return;
    const found = live.documentOf(live.places[scenario].base), before = live.resultOf(row, scenario);
    if (before.outside !== null) return;
    const box = make("div", {class: "drawn"}, make("p", {class: "hint"}, "…"));
    place.append(make("figure", {}, make("figcaption", {}, `total with one number ${SHARE - 100} % larger, on ${name(scenario)}`), box));
    const edits = live.numbersOf(scenario);
    const jobs = found.numbers.map((one) => () => {
      const numbers = {...Object.fromEntries(edits), [one.way]: live.scaled(edits.get(one.way) ?? one.text, SHARE)};
      const result = wcetcharEvaluator.evaluate(found, row.name, live.valuesOf(row, scenario), numbers);
      return result.outside === null ? {way: one.way, by: live.number(result.total) - live.number(before.total), ns: result.total.ns} : {way: one.way, by: null};
    });
    sliced("sensitivity", jobs, (results) => {
      const unknown = results.filter((one) => one.by === null).length;
      const all = results.filter((one) => one.by), bars = all.sort((a, b) => Math.abs(b.by) - Math.abs(a.by)).slice(0, DEAREST);
      const most = Math.max(...bars.map((one) => Math.abs(one.by)), 0), left = Math.max(0, ...bars.map((one) => -one.by)), right = Math.max(0, ...bars.map((one) => one.by));
      const notes = [all.length > bars.length ? `${all.length - bars.length} further numbers change it by less` : "", unknown ? `of ${unknown} numbers this page cannot say: wcetchar sweep --each ${SHARE - 100}%` : ""].filter(Boolean).join("; ");
      if (!most) return box.replaceChildren(make("p", {class: "hint"}, notes || "No number of the profile changes it."));
      const scale = 305 / (left + right), zero = 225 + left * scale, total = live.number(before.total);
      const parts = bars.flatMap((one, number) => {
        const y = number * 20, width = Math.abs(one.by) * scale, sign = one.by > 0 ? "+" : "-";
        const share = `${sign}${(Math.abs(one.by) / total * 100).toFixed(1)} %`;
        return [text(218, y + 14, short(one.way, 32), {"text-anchor": "end"}),
          draw("rect", {x: one.by > 0 ? zero : zero - width, y: y + 3, width: Math.max(width, 0.5), height: 14, class: one.by > 0 ? "more" : "less"}, draw("title", {}, `${one.way}: ${one.ns} ns, ${share}`)),
          text(596, y + 14, share, {"text-anchor": "end"})];
      });
      const told = bars.map((one) => `${one.way}: ${one.ns} ns`).join(", ");
      box.replaceChildren(picture(600, bars.length * 20 + 4, `total with one number ${SHARE - 100} % larger: ${told}`,
        draw("line", {x1: zero, x2: zero, y1: 0, y2: bars.length * 20, class: "axis"}), ...parts), make("p", {class: "hint"}, notes));
    });
  };

  // ---- services ranked

  const ranking = by("ranking");
  let all = false;
  const rank = () => {
    if (!ranking?.open) return;
    const select = ranking.querySelector("select"), key = select.value, box = ranking.querySelector(".drawn");
    const found = rows.map((row) => ({row, bars: shown(row).map((scenario) => ({scenario, figure: sheet.figures(row, scenario)?.[key]})).filter((one) => one.figure?.[0] != null)}))
      .filter((one) => one.bars.length).sort((a, b) => b.bars[0].figure[0] - a.bars[0].figure[0]);
    const most = Math.max(...found.flatMap((one) => one.bars.map((bar) => bar.figure[0])), 0) || 1;
    const some = all ? found : found.slice(0, RANKED);
    box.replaceChildren(make("ol", {class: "ranked"}, ...some.map(({row, bars}) => make("li", {}, make("a", {href: `#service-${row.number}`}, row.name),
      make("div", {}, ...bars.map(({scenario, figure}, number) => make("div", {class: "ranked-bar", title: name(scenario)},
        draw("svg", {viewBox: "0 0 300 12", preserveAspectRatio: "none", "aria-hidden": "true"}, draw("rect", {width: Math.max(figure[0] / most * 300, 0.5), height: 12, class: `b${number}`})),
        make("span", {}, `${figure[1]} ns (${figure[2]})${figure[3] ? `, at ${figure[3]}` : ""}`))))))));
    if (found.length > some.length) box.append(make("button", {type: "button", onclick: () => { all = true; rank(); }}, `all ${found.length}`));
  };

  const draws = (settled) => {
    const row = state.chosen, place = row?.article.querySelector(".plots");
    rank();
    if (!place || settled) return;
    if (!place.childElementCount) place.append(...["stacked", "over", "sensitivity"].map((kind) => make("div", {class: kind})));
    const [one, two, three] = place.children;
    stacked(one, row);
    over(two, row);
    sensitivity(three, row);
  };
  if (live.ready) {
    live.listeners.push(draws);
    hooks.chosen.push(() => draws());
    ranking.hidden = false;
    ranking.addEventListener("toggle", rank);
    ranking.querySelector("select").addEventListener("change", rank);
  }
  return {draws};
})();
