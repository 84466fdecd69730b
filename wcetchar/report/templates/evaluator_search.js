"use strict";
/* A service where some parameters have no value: cases of which any can hold, and values that the
   section map says may be off. The dearest of all combinations is looked for, for the total and for
   each kind of blocking by itself (`engine/maximum.py`). */
const evaluatorSearch = (() => {
  const { Outside, compared, unique } = evaluatorNumbers;
  const { KEPT } = evaluatorPrices;
  const { same, wholes, combinations, totalAt } = evaluatorCounts;
  const { Following, ofKind } = evaluatorChains;
  const { heldOffAt } = evaluatorBlocking;
  const { estimateAt } = evaluatorEstimate;

  const MOST_SEARCHED = 5000; // of combinations of cases and values that may be off

  /** Ends of each parameter of a service: one value, or where it is searched for the dearest. */
  function rangesOf(document, service, given) {
    return service.parameters.map((one) => {
      let ends = [BigInt(one.minimum), BigInt(one.maximum)];
      let text = null;
      if (given[one.name] !== undefined) {
        ends = [given[one.name], given[one.name]];
        text = `${one.name} = ${given[one.name]}`;
      } else if (Object.hasOwn(document.off, one.name)) {
        const [low, , high] = document.off[one.name];
        ends = [BigInt(low), BigInt(high)];
        text = `${one.name} = ${low} to ${high}`;
      } else if (!one.case) {
        throw new Outside(`${service.name} needs a value for ${one.name} (${one.meaning})`);
      }
      if (ends[0] < BigInt(one.minimum) || ends[1] > BigInt(one.maximum)) {
        throw new Outside(
          `${text} is out of the range ${one.minimum} to ${one.maximum} that ${service.name} was ` +
          "characterized for");
      }
      return ends;
    });
  }

  function estimateGiven(prices, following, service, given) {
    const { document } = prices;
    const ranges = rangesOf(document, service, given);
    const size = ranges.reduce((all, [from, to]) => all * (to - from + 1n), 1n);
    const searched = service.parameters.filter((one) => given[one.name] === undefined);
    if (!searched.length) return estimateAt(prices, following, service, ranges.map(([from]) => from));
    if (size > MOST_SEARCHED) {
      throw new Outside(
        `${size} combinations of ${searched.map((one) => one.name).join(", ")} are too many for a page`);
    }
    const names = service.parameters.map((one) => one.name);
    const grid = [...combinations(ranges.map(([from, to]) => wholes(from, to)))];
    const largest = (points, of) => {
      let [best, most] = [null, null];
      for (const values of points) {
        const time = of(values);
        if (most === null || compared(time, most) > 0) [best, most] = [values, time];
      }
      return best;
    };
    const total = largest(grid, (values) => {
      const lines = prices.lines(service, values);
      return totalAt(prices, service.counts, names, values, service.name, {
        lines: lines ? () => lines.total : null });
    });
    const [interrupts, preemption] = ["interrupts", "preemption"].map((kind) => {
      if (service.known && !service.stretches.some((one) => ofKind(one, kind))) return total;
      return largest([total, ...grid], (values) => heldOffAt(prices, following, service, values, kind));
    });
    const found = estimateAt(prices, following, service, total);
    const notes = [...found.notes];
    const free = searched.filter((one) => !one.case).map((one) => one.name).join(", ");
    if (free) notes.push(`largest total over the whole range of ${free}`);
    for (const one of searched) {
      const place = names.indexOf(one.name);
      const [from, to] = ranges[place];
      if (one.case && from < to) {
        notes.push(`${one.name} = ${total[place]} is the dearest case of all (${one.meaning})`);
      }
    }
    [[0, interrupts, "interrupts"], [1, preemption, "preemption"]].forEach(([place, values, what]) => {
      if (same(values, total)) return;
      found.blocking[place] = estimateAt(prices, following, service, values).blocking[place];
      const at = searched.map((one) => `${one.name}=${values[names.indexOf(one.name)]}`).join(", ");
      notes.push(`blocks ${what} longest at ${at}`);
    });
    return { ...found, notes: unique(notes) };
  }

  function followingAt(prices, given) {
    const { document } = prices;
    const values = Object.create(null);
    for (const [name, value] of Object.entries(document.given)) values[name] = [BigInt(value), BigInt(value)];
    for (const [name, [low, , high]] of Object.entries(document.off)) values[name] = [BigInt(low), BigInt(high)];
    for (const [name, value] of Object.entries(given)) values[name] = [value, value];
    const key = Object.entries(values).map(([name, ends]) => `${name}=${ends}`).sort().join(";");
    if (!prices.followings.has(key)) {
      if (prices.followings.size >= KEPT) {
        prices.followings.delete(prices.followings.keys().next().value);
      }
      prices.followings.set(key, new Following(prices, values));
    }
    return prices.followings.get(key);
  }

  return { estimateGiven, followingAt, rangesOf };
})();
