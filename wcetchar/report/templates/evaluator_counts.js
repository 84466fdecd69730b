"use strict";
/* Counts at values of the parameters, by formulas or from a table of observed values
   (`engine/counts.py`), and the safe end of counts times prices (`engine/totals.py`). */
const evaluatorCounts = (() => {
  const { Outside, ZERO, plus, scaled } = evaluatorNumbers;

  const shown = (names, values) =>
    names.map((name, i) => `${name}=${values[i]}`).join(", ") || "no parameters";
  const covers = (above, below) => above.every((one, i) => BigInt(one) >= BigInt(below[i]));
  const same = (one, other) => one.every((value, i) => BigInt(value) === BigInt(other[i]));
  const somethingIn = (counted) =>
    counted.rows.some((row) => row.repetitions > 0n && row.vector.length > 0);

  function rowsAt(prices, sections, names, values, what) {
    const at = Object.create(null);
    names.forEach((name, i) => { at[name] = BigInt(values[i]); });
    return sections.map(([number, blocking, vector], i) => {
      const formula = prices.state.formulas[number];
      const repetitions = formula.of(at);
      if (repetitions < 0n) {
        throw new Outside(
          `${what}: the repetition ${formula.text} of trace section ${i + 1} is ${repetitions} at ` +
          shown(names, values));
      }
      return { repetition: formula.text, names: formula.names, repetitions, blocking, vector };
    });
  }

  function count(prices, counts, names, values, what) {
    if (counts.rows) return { rows: rowsAt(prices, counts.rows, names, values, what), exact: true };
    for (const [point, rows] of counts.points) {
      if (same(point, values)) return { rows: rowsAt(prices, rows, names, values, what), exact: true };
    }
    return { rows: envelope(prices, counts.points, names, values, what), exact: false };
  }

  function envelope(prices, points, names, values, what) {
    const above = points.map(([point]) => point).filter((point) => covers(point, values));
    if (!above.length) {
      throw new Outside(`${what}: ${shown(names, values)} lies beyond the observed values`);
    }
    const smallest = above.filter(
      (point) => !above.some((other) => !same(other, point) && covers(point, other)));
    const largest = new Map();
    for (const [point, rows] of points) {
      if (!smallest.some((bound) => covers(bound, point))) continue;
      const sums = new Map();
      for (const row of rowsAt(prices, rows, names, point, what)) {
        if (!sums.has(row.blocking)) sums.set(row.blocking, new Map());
        const sum = sums.get(row.blocking);
        for (let i = 0; i < row.vector.length; i += 2) {
          const more = BigInt(row.vector[i + 1]) * row.repetitions;
          sum.set(row.vector[i], (sum.get(row.vector[i]) || 0n) + more);
        }
      }
      for (const [blocking, sum] of sums) {
        if (!largest.has(blocking)) largest.set(blocking, new Map());
        const best = largest.get(blocking);
        for (const [key, number] of sum) if (number > (best.get(key) || 0n)) best.set(key, number);
      }
    }
    return [...largest].map(([blocking, best]) => ({
      repetition: "1", names: new Set(), repetitions: 1n, blocking,
      vector: [...best].sort((a, b) => a[0] - b[0]).flat(),
    }));
  }

  function supervisorCalls(prices, counted) {
    let calls = 0n;
    for (const row of counted.rows) {
      for (let i = 0; i < row.vector.length; i += 2) {
        if (prices.document.keys[row.vector[i]][2] === 2) {
          calls += BigInt(row.vector[i + 1]) * row.repetitions;
        }
      }
    }
    return calls;
  }

  /** Names that counts depend on: all, where there is a table. */
  function usedIn(prices, counts, names) {
    if (!counts.rows) return new Set(names);
    const used = new Set();
    for (const [number] of counts.rows) {
      for (const name of prices.state.formulas[number].names) used.add(name);
    }
    return used;
  }

  function wholes(from, to) {
    const found = [];
    for (let value = from; value <= to; value++) found.push(value);
    return found;
  }

  /** All combinations, the last place the fastest. */
  function* combinations(each, place = 0) {
    if (place === each.length) {
      yield [];
      return;
    }
    for (const value of each[place]) {
      for (const rest of combinations(each, place + 1)) yield [value, ...rest];
    }
  }

  /** The safe end of counts at values (engine/totals.py); `lines`: what is loaded there. */
  function totalAt(prices, counts, names, values, what, how) {
    const { inStretch = false, rest = ZERO, perCall = ZERO, last = 0, lines = null } = how;
    const counted = count(prices, counts, names, values, what);
    let own = prices.timeOfRows(counted.rows, inStretch);
    if ((rest[0] || lines) && !own[0] && !somethingIn(counted)) return own;
    if (lines) own = plus(own, prices.shared(lines()));
    own = prices.settled(own);
    if (perCall[0]) {
      const calls = supervisorCalls(prices, counted) - BigInt(last);
      if (calls > 0n) own = plus(own, scaled(perCall, calls));
    }
    return plus(own, rest);
  }

  return {
    shown, same, somethingIn, count, supervisorCalls, usedIn, wholes, combinations, totalAt,
  };
})();
