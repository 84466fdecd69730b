"use strict";
/* Estimates of services at other numbers of a profile and other values of parameters, from a
   document of `engine/recorded_document.py`: what `wcetchar estimate` finds there, exactly, or why
   this document cannot say. Each part of it is a file of its own, put before this one where the page
   is written (`report/evaluator.py`): numbers, quantities, formulas, prices, counts, chains, blocking,
   estimates, the search for the dearest values, and flows, stretches and bounds of path models. Names
   are those of `engine/`. */
const wcetcharEvaluator = (() => {
  const { Outside, ZERO, plus, times, over, compared, grouped } = evaluatorNumbers;
  const { parseQuantity } = evaluatorQuantity;
  const { pricesAt } = evaluatorPrices;
  const { estimateGiven, followingAt, rangesOf } = evaluatorSearch;
  const { modelOf, overAllPaths } = evaluatorPaths;

  /** What is asked for: prices where `numbers` are changed, the service, and values of parameters:
      `set` by the reader, `given` of the service's own, those of the section map among them. */
  function asked(document, service, parameters, numbers) {
    const prices = pricesAt(document, numbers);
    const found = prices.state.services.get(service);
    if (!found || !found.chosen) throw new Outside(`there is no service ${service} in this file`);
    const set = Object.create(null);
    for (const [name, value] of Object.entries(parameters)) {
      if (!/^-?[0-9]+$/.test(String(value))) throw new Outside(`${name} is no whole number`);
      if (!prices.state.parameters.has(name)) throw new Outside(`no service has a parameter ${name}`);
      set[name] = BigInt(value);
    }
    const given = Object.create(null);
    for (const one of found.parameters) {
      if (set[one.name] !== undefined) given[one.name] = set[one.name];
      else if (one.value !== null) given[one.name] = BigInt(one.value);
    }
    return { prices, service: found, set, given };
  }

  function orOutside(work) {
    try {
      return work();
    } catch (error) {
      if (error instanceof Outside) return { outside: error.message };
      throw error;
    }
  }

  /** See the head of the file. `parameters`: whole numbers by name, before those of the section
      map; `numbers`: those of the profile that are changed, by their way, as text of a profile. */
  function evaluate(document, service, parameters, numbers) {
    return orOutside(() => {
      const { prices, service: found, set, given } = asked(document, service, parameters, numbers);
      const made = estimateGiven(prices, followingAt(prices, set), found, given);
      return { outside: null, ...printed(prices, made) };
    });
  }

  /** The same of what holds over all paths, by itself, for it takes longer; null: there is no path
      model of the service. `why`: there is no bound. */
  function evaluatePaths(document, service, parameters, numbers) {
    if (!modelOf(document, service)) return null;
    return orOutside(() => {
      const { prices, service: found, given } = asked(document, service, parameters, numbers);
      const { word, why, time, interrupts, preemption } = overAllPaths(
        prices, found, rangesOf(document, found, given));
      const shown = (value) => (value === null ? null : timeOf(prices, value));
      return {
        outside: null, word, why, time: shown(time), interrupts: shown(interrupts),
        preemption: shown(preemption),
      };
    });
  }

  function timeOf(prices, value) {
    return {
      num: String(value[0]), den: String(value[1]), ns: grouped(value),
      cycles: grouped(over(times(value, prices.clock), [1000000000n, 1n])),
    };
  }

  function printed(prices, made) {
    const time = (value) => timeOf(prices, value);
    const by = (what) => {
      const sums = new Map();
      for (const one of made.columns) {
        sums.set(one[what], plus(sums.get(one[what]) || ZERO, one.time));
      }
      return [...sums].sort((a, b) => compared(b[1], a[1])).map(([name, sum]) => [name, time(sum)]);
    };
    return {
      total: time(made.total),
      word: made.word,
      reasons: made.reasons,
      parameters: made.parameters,
      sections: made.sections.map((one) => ({ ...one, time: time(one.time) })),
      regions: by("region").map(([region, sum]) => ({ region, time: sum })),
      logical: by("section").map(([section, sum]) => ({ section, time: sum })),
      columns: made.columns.map((one) => ({ ...one, price: time(one.price), time: time(one.time) })),
      blocking: made.blocking.map((one) => ({
        ...one, time: time(one.time), own: time(one.own),
        links: one.links.map((link) => ({ ...link, time: time(link.time) })),
      })),
      notes: made.notes,
    };
  }

  return { evaluate, evaluatePaths, parseQuantity, grouped };

  return { evaluate, evaluatePaths, parseQuantity, grouped };
})();
