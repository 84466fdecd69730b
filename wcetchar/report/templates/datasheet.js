"use strict";
// Searching, sorting, choosing a service and a hardware, and the colours. All text comes from the page's data and is set as
// text, never as markup. The page is complete without: what an article says stands in a <noscript>, which a browser with
// scripts does not take apart until the article is opened, so that a page of hundreds of services opens at once.
const sheet = (() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const list = by("list"), body = list.tBodies[0], search = by("search"), found = by("found");
  const rows = [...body.rows].map((element) => {
    const number = Number(element.dataset.row);
    return {number, element, link: element.querySelector("a"), article: by(`service-${number}`), ...data.rows[number]};
  });
  const state = {first: data.scenarios[0] ?? "", second: "", chosen: null, sort: null, down: false};
  const hooks = {figures: [], opened: [], chosen: [], scenarios: [], changed: []};

  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  // Figures of a row: those of the page, or what a module says instead (edited numbers).
  const figures = (row, scenario) => {
    for (const hook of hooks.figures) {
      const other = hook(row, scenario);
      if (other) return other;
    }
    return row.figures[scenario] ?? null;
  };

  const percent = (one, other) => {
    if (!one || !other) return {value: null, text: "not there"};
    if (one.at !== other.at) return {value: null, text: "other values"};
    const [here] = one.total, [there] = other.total;
    if (here === there) return {value: 0, text: "equal"};
    if (!here) return {value: Infinity, text: "new"};
    const value = (there - here) / here * 100;
    return {value, text: `${value > 0 ? "+" : "-"}${Math.abs(value).toFixed(1)} %`};
  };

  const columns = () => {
    if (!data.scenarios.length) return data.columns.map(([key, heading, number]) => ({key, heading, number}));
    const figure = (key, heading, scenario) => ({key: key + scenario, heading, number: true,
      value: (row) => figures(row, scenario)?.[key][0] ?? null, text: (row) => figures(row, scenario)?.[key][1] ?? "",
      below: (row) => below(row, figures(row, scenario), key)});
    const service = {key: "service", heading: "service"};
    if (!state.second)
      return [service, figure("total", "total", state.first),
        figure("interrupts", "blocks interrupts", state.first), figure("preemption", "blocks preemption", state.first)];
    const change = (row) => percent(figures(row, state.first), figures(row, state.second));
    return [service, figure("total", "total", state.first), figure("total", "beside: total", state.second),
      {key: "change", heading: "beside: difference", number: true, value: (row) => change(row).value, text: (row) => change(row).text}];
  };
  const atOf = (row) => (figures(row, state.first) ?? figures(row, state.second))?.at ?? "";
  // What a figure is, and at which values where these are not what stands below the service's name.
  const below = (row, found, key) => {
    if (!found) return "";
    if (found.why) return found.why;
    const [, , word, at] = found[key];
    return [key === "total" || word !== found.word ? word : "", at !== atOf(row) ? `at ${at}` : ""].filter(Boolean).join(", ");
  };

  const drawList = () => {
    const shown = columns();
    const head = make("tr");
    for (const column of shown) {
      const button = make("button", {type: "button", onclick: () => sortBy(column.key, column.number)}, column.heading);
      const chosen = state.sort === column.key;
      head.append(make("th", {scope: "col", class: column.number ? "number" : null,
        "aria-sort": chosen ? (state.down ? "descending" : "ascending") : null}, button));
    }
    const focused = document.activeElement?.closest?.("#list thead th")?.cellIndex;
    list.tHead.replaceChildren(head);
    if (focused !== undefined) head.cells[focused]?.firstChild.focus();
    if (data.scenarios.length)
      for (const row of rows) {
        const cells = shown.slice(1).map((column) => {
          const more = column.below?.(row);
          return make("td", {class: column.number ? "number" : null}, column.text(row), ...(more ? [make("small", {}, more)] : []));
        });
        row.element.cells[0].querySelector("small")?.remove();
        if (atOf(row)) row.element.cells[0].append(make("small", {}, atOf(row)));
        row.element.replaceChildren(row.element.cells[0], ...cells);
      }
    const at = shown.find((column) => column.key === state.sort);
    const value = at?.value ?? ((row) => row.name.toLowerCase());
    const order = [...rows];
    if (at) order.sort((a, b) => compare(value(a), value(b)) * (state.down ? -1 : 1) || a.number - b.number);
    body.append(...order.map((row) => row.element));
    drawTiles();
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null ? -1 : 0) - (b === null ? -1 : 0);
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const sortBy = (key, number) => {
    if (state.sort === key) {
      if (state.down === Boolean(number)) state.down = !state.down;
      else state.sort = null;  // A third time: the order of the characterization.
    } else {
      state.sort = key;
      state.down = Boolean(number);
    }
    drawList();
    found.textContent = state.sort ? `sorted by ${columns().find((c) => c.key === key).heading}` : "in the order of the characterization";
  };

  const visible = () => [...body.rows].filter((element) => !element.hidden);
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.element.hidden = !words.every((word) => row.text.includes(word));
    const count = visible().length;
    found.textContent = words.length ? `${count} of ${rows.length} services` : "";
  };

  // The content of an article, as its author wrote it: names in it are escaped already.
  const open = (row) => {
    const closed = row.article.querySelector(":scope > noscript");
    if (!closed) return;
    const template = document.createElement("template");
    template.innerHTML = closed.textContent;
    closed.replaceWith(template.content);
    for (const details of row.article.querySelectorAll("details.graph")) details.addEventListener("toggle", () => details.open && graph(details));
    showPanels(row);
    for (const hook of hooks.opened) hook(row);
  };
  const opened = () => rows.filter((row) => !row.article.querySelector(":scope > noscript"));
  const openAll = () => rows.forEach(open);

  const choose = (row, focus) => {
    open(row);
    if (state.chosen !== row) {
      for (const one of [state.chosen, row])
        if (one) for (const element of [one.element, one.article]) element.classList.toggle("chosen", one === row);
      state.chosen?.link.removeAttribute("aria-current");
      row.link.setAttribute("aria-current", "true");
      state.chosen = row;
      for (const hook of hooks.chosen) hook(row);
    }
    // Below the bar with the search, which stays at the top and would hide the heading.
    row.article.style.scrollMarginTop = `${by("choose").offsetHeight + 8}px`;
    if (focus) row.article.focus({preventScroll: false});
  };
  const followHash = (focus) => {
    const match = /^#service-(\d+)$/.exec(location.hash);
    if (match && rows[Number(match[1])]) choose(rows[Number(match[1])], focus);
    return Boolean(match);
  };

  // The longest of each figure, on what is shown.
  const tiles = [...document.querySelectorAll(".tile")];
  const drawTiles = () => {
    ["total", "interrupts", "preemption"].forEach((key, place) => {
      if (!tiles[place]) return;
      const found = rows.map((row) => [row, figures(row, state.first)]).filter(([, one]) => one);
      const unknown = found.some(([, one]) => one[key][0] === null), more = found.some(([, one]) => one[key][1].startsWith("at least"));
      const [row, top] = found.reduce((best, one) => (one[1][key][0] > (best?.[1][key][0] ?? -1) ? one : best), null) ?? [];
      const [big, of] = [tiles[place].querySelector(".big"), tiles[place].querySelector(".of")];
      const [, text, word, at] = top?.[key] ?? [];
      big.textContent = unknown || !top ? "…" : `${more && !text.startsWith("at least") ? "at least " : ""}${text} ns`;
      const changed = hooks.changed.map((hook) => hook(state.first)).find(Boolean) ?? "";
      const name = by("first").querySelector(`option[value="${state.first}"]`).textContent;
      of.textContent = unknown || !top ? "not known of all services" : `${row.name} (${word})${at ? `, at ${at}` : ""}, on ${name}${changed}`;
    });
  };

  const showPanels = (row) => {
    for (const panel of row.article.querySelectorAll(".panel")) {
      panel.dataset.scenario = `${panel.dataset.side}-${panel.dataset.hardware}`;
      panel.hidden = panel.dataset.scenario !== state.first && panel.dataset.scenario !== state.second;
    }
    for (const graph of row.article.querySelectorAll(".graph[data-scenario], .line[data-scenario]"))
      graph.hidden = ![state.first, state.second].some((one) => one?.replace("-as-published", "") === graph.dataset.scenario);
  };
  const showScenarios = () => {
    for (const row of opened()) showPanels(row);
    root.classList.toggle("both", Boolean(state.second) && state.second !== state.first);
    for (const hook of hooks.scenarios) hook();
    drawList();
  };

  const keys = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = event.target.closest("#list tbody tr"), there = visible();
    const go = (place) => {
      const element = there[Math.max(0, Math.min(there.length - 1, place))];
      if (!element) return;
      element.querySelector("a").focus();
      choose(rows[Number(element.dataset.row)]);
    };
    if (at) {
      const place = there.indexOf(at);
      const to = {ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: there.length - 1}[event.key];
      if (to !== undefined) go(to);
      else if (event.key !== "/") return;
      else search.focus();
      event.preventDefault();
    } else if (event.target === search && (event.key === "ArrowDown" || event.key === "Enter")) {
      go(0);
      event.preventDefault();
    } else if (event.target === search && event.key === "Escape") {
      search.value = "";
      filter();
    } else if (event.key === "/" && !event.target.closest("input, select, textarea")) {
      search.focus();
      event.preventDefault();
    }
  };

  const graph = (details) => {
    const place = details.querySelector(".figures"), say = details.querySelector(".say");
    if (place.childElementCount) return;
    const figures = JSON.parse(by(`graph-${details.dataset.graph}`).textContent);
    figures.forEach((figure, number) => {
      const svg = new DOMParser().parseFromString(figure.svg, "text/html").querySelector("svg");
      const scroll = make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": figure.heading || "flow graph"}, document.adoptNode(svg));
      if (number) place.append(make("details", {class: "folded", id: figure.anchor, open: figure.open}, make("summary", {}, `${figure.heading} ${figure.figures}`), scroll));
      else place.append(scroll);
      const entry = svg.querySelector(".end");
      if (entry) scroll.scrollLeft = entry.getBBox().x - scroll.clientWidth / 2;
    });
    const tell = (box) => { say.textContent = box?.querySelector("title")?.textContent ?? ""; };
    place.addEventListener("focusin", (event) => tell(event.target.closest("a.box")));
    place.addEventListener("click", (event) => {
      const box = event.target.closest("a.box");
      if (!box) return;
      event.preventDefault();
      tell(box);
      const part = place.querySelector(`#${CSS.escape(box.getAttribute("href").slice(1))}`);
      if (part?.tagName === "DETAILS") {
        part.open = true;
        part.scrollIntoView({block: "nearest"});
      }
    });
  };

  const theme = (value) => {
    if (value === "auto") delete root.dataset.theme;
    else root.dataset.theme = value;
    try { localStorage.setItem("wcetchar-theme", value); } catch { /* Files may have no storage. */ }
  };
  const keptTheme = () => {
    try { return localStorage.getItem("wcetchar-theme"); } catch { return null; }
  };

  root.classList.add("js");
  for (const input of document.querySelectorAll("input[name=theme]")) {
    input.addEventListener("change", () => theme(input.value));
    if (input.value === keptTheme()) {
      input.checked = true;
      theme(input.value);
    }
  }
  search.addEventListener("input", filter);
  document.addEventListener("keydown", keys);
  for (const name of ["first", "second"])
    by(name)?.addEventListener("change", (event) => {
      state[name] = event.target.value;
      showScenarios();
    });
  addEventListener("beforeprint", openAll);
  matchMedia("print").addEventListener("change", (event) => event.matches && openAll());
  addEventListener("hashchange", () => followHash(true));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("#list tbody a");
    if (link && link.hash === location.hash) followHash(true);
  });
  const start = () => {
    showScenarios();
    if (!followHash(false) && rows.length) choose(rows[0]);
  };
  return {data, state, rows, hooks, make, figures, drawList, start, choose, opened, by};
})();
