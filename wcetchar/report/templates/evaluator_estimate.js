"use strict";
/* A service at values of all its parameters: total, rows, columns, blocking, and the word for it
   (`engine/estimate.py`). Times are exact; nothing is made for print here. */
const evaluatorEstimate = (() => {
  const { ZERO, ONE, plus, times, scaled, over, unique } = evaluatorNumbers;
  const { same, count } = evaluatorCounts;
  const { ESTIMATE, weakest } = evaluatorChains;
  const { blockingAt } = evaluatorBlocking;

  function wordAt(service, values, exact, stretchesExact) {
    if (!exact) return [ESTIMATE, ["not observed at these values: taken from larger observed ones"]];
    if (!stretchesExact) return [ESTIMATE, ["blocking was not observed at these values"]];
    if (service.word !== "high-water mark" || !service.parameters.length) return [service.word, []];
    if (service.seen.some((one) => same(one, values))) return [service.word, []];
    const reasons = ["not observed at these values: taken from the fitted formulas"];
    service.parameters.forEach((one, i) => {
      if (!service.seen.length) return;
      const seen = service.seen.map((point) => point[i]);
      const [least, most] = [Math.min(...seen), Math.max(...seen)];
      if (values[i] < BigInt(least) || values[i] > BigInt(most)) {
        reasons.push(
          `${one.name} = ${values[i]} lies beyond what was observed, ${least} to ${most}: there ` +
          "the formulas may be too low");
      }
    });
    return [ESTIMATE, reasons];
  }

  function estimateAt(prices, following, service, values) {
    const { document, piece } = prices;
    const names = service.parameters.map((one) => one.name);
    const counted = count(prices, service.counts, names, values, service.name);
    const cases = service.parameters.filter((one) => one.case).map((one) => one.name);
    counted.rows = counted.rows.filter(
      (row) => row.repetitions > 0n || !cases.some((name) => row.names.has(name)));
    const lines = prices.lines(service, values);
    const loaded = lines ? lines.of : [];
    const own = counted.rows.map((row) => scaled(prices.timeOf(row.vector, false), row.repetitions));
    const sum = own.reduce(plus, lines ? prices.shared(lines.total) : ZERO);
    const share = sum[0] ? over(prices.settled(sum), sum) : ONE;
    const spread = (time) => times(time, share);
    const sections = counted.rows.map((row, i) => ({
      section: String(i + 1), repetition: row.repetition, repetitions: String(row.repetitions),
      blocking: document.blockings[row.blocking][0], time: spread(own[i]),
    }));
    const totals = new Map();
    for (const row of counted.rows) {
      for (let i = 0; i < row.vector.length; i += 2) {
        if (prices.isLeftOut(row.vector[i])) continue;
        const more = BigInt(row.vector[i + 1]) * row.repetitions;
        totals.set(row.vector[i], (totals.get(row.vector[i]) || 0n) + more);
      }
    }
    const columns = [...totals].sort((a, b) => a[0] - b[0]).map(([key, number]) => {
      const price = spread(prices.price(key, false));
      const [text, section] = document.keys[key];
      return {
        key: text, section, region: piece.regions[key], count: String(number), price,
        time: scaled(price, number),
      };
    });
    loaded.forEach(({ misses, time, total }, place) => {
      sections.push({
        section: String(sections.length + 1), repetition: "1", repetitions: "1", blocking: "none",
        time: spread(prices.shared(total)),
      });
      const order = [...misses].sort((a, b) => (a[0] < b[0] ? -1 : 1));
      for (const [section, number] of order) {
        if (!number) continue;
        const [text, shownSection, region, price] = piece.caches[place][section];
        columns.push({
          key: text, section: shownSection, region, count: String(number),
          price: spread(prices.shared(prices.polynomial(price))),
          time: spread(prices.shared(time.get(section))),
        });
      }
    });
    const blocking = ["interrupts", "preemption"].map(
      (kind) => blockingAt(prices, following, service, counted, values, kind, lines));
    let [word, reasons] = wordAt(
      service, values, counted.exact, blocking.every((one) => one.exact));
    if (lines && !lines.exact && word !== ESTIMATE) {
      word = ESTIMATE;
      reasons = [...reasons, "which lines of code are fetched was not observed at these values"];
    }
    const parameters = Object.create(null);  // one may be called __proto__
    names.forEach((name, i) => { parameters[name] = Number(values[i]); });
    return {
      parameters, word, reasons, sections, columns,
      total: sections.reduce((all, one) => plus(all, one.time), ZERO),
      blocking: blocking.map((one, i) => heldOff(one, ["interrupts", "preemption"][i], word, parameters)),
      notes: unique([
        ...service.notes, ...reasons, ...blocking[0].notes, ...blocking[1].notes, ...piece.notes]),
    };
  }

  function heldOff(found, kind, word, parameters) {
    const { own, where, chain, rest } = found;
    if (chain === null) {
      return { kind, time: own, word, own, ownWhere: where, where, links: [], gaps: [], parameters };
    }
    const whole = weakest([word, ...rest, ...(chain.gaps.length ? [ESTIMATE] : [])]);
    return {
      kind, time: chain.time, word: whole, own, ownWhere: where, where: chain.links[0].where,
      links: chain.links, gaps: chain.gaps, parameters,
    };
  }

  return { estimateAt };
})();
