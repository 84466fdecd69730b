"use strict";
/* How long a service holds off interrupts, or preemption, with what goes on after it
   (`engine/blocking.py`). */
const evaluatorBlocking = (() => {
  const { ZERO, plus, scaled, compared, larger } = evaluatorNumbers;
  const { somethingIn, count, supervisorCalls, totalAt } = evaluatorCounts;
  const { NOTHING, ofKind } = evaluatorChains;

  function blocks(document, kind, blocking) {
    return document.blockings[blocking][kind === "interrupts" ? 1 : 2];
  }

  function blockingAt(prices, following, service, counted, values, kind, lines) {
    const names = service.parameters.map((one) => one.name);
    if (!service.known) {
      const rows = counted.rows.filter((row) => blocks(prices.document, kind, row.blocking));
      let loaded = rows.length && lines ? lines.unhidden : ZERO;
      if (rows.some((row) => row.repetitions > 0n)) loaded = plus(loaded, prices.once);
      return {
        own: prices.timeOfWindow(rows, loaded),
        where: rows.length ? "all blocking trace sections together" : "",
        exact: true, chain: null, rest: [],
        notes: rows.length ? ["blocking time is the sum of all blocking trace sections"] : [],
      };
    }
    let [own, where, exact, whole, best] = [ZERO, "", true, ZERO, null];
    const gaps = new Set();
    const notes = new Set();
    service.stretches.forEach((stretch, place) => {
      if (!ofKind(stretch, kind)) return;
      const what = `${service.name}, blocking from ${stretch.where}`;
      const part = count(prices, stretch.counts, names, values, what);
      const happens = somethingIn(part);
      const time = prices.timeOfWindow(
        part.rows, lines && happens ? lines.stretches[place] : ZERO);
      exact = exact && part.exact;
      if (compared(time, own) > 0) [own, where] = [time, stretch.where];
      if (!happens) return;
      stretch.notes.forEach((one) => notes.add(one));
      const calls = supervisorCalls(prices, part) - BigInt(stretch.last);
      const inside = insideOf(following, kind, stretch, calls);
      const after = following.after(kind, stretch.in || []);
      const rest = {
        time: plus(inside.time, after.time),
        links: [...inside.links, ...after.links],
        words: [...inside.words, ...after.words],
      };
      [...inside.gaps, ...after.gaps].forEach((one) => gaps.add(one));
      const all = plus(time, rest.time);
      if (best === null || compared(all, whole) > 0) {
        const parameters = Object.create(null);  // one may be called __proto__
        names.forEach((name, i) => { parameters[name] = Number(values[i]); });
        best = { link: { service: service.name, where: stretch.where, parameters, time }, rest };
      }
      whole = larger(whole, all);
    });
    let chain = null;
    if (best !== null && (best.rest.links.length || gaps.size)) {
      chain = { time: whole, links: [best.link, ...best.rest.links], gaps: [...gaps] };
    }
    return { own, where, exact, chain, rest: best === null ? [] : best.rest.words, notes: [...notes] };
  }

  function insideOf(following, kind, stretch, calls) {
    if (calls <= 0n || stretch.in === null) return NOTHING;
    const called = following.called(kind);
    return {
      time: scaled(called.time, calls),
      links: called.links.map((one) => ({
        service: one.service, where: `inside, called ${calls} times`,
        parameters: one.parameters, time: scaled(one.time, calls),
      })),
      words: called.words,
      gaps: called.gaps,
    };
  }

  /** How long a kind is held off at most, with what goes on after it. */
  function heldOffAt(prices, following, service, values, kind) {
    const names = service.parameters.map((one) => one.name);
    const lines = prices.lines(service, values);
    if (!service.known) {
      const filtered = (rows) => rows.filter((row) => blocks(prices.document, kind, row[1]));
      const { counts } = service;
      const its = counts.rows
        ? { rows: filtered(counts.rows) }
        : { points: counts.points.map(([point, rows]) => [point, filtered(rows)]) };
      const beside = lines || prices.once[0]
        ? () => plus(prices.once, lines ? lines.unhidden : ZERO) : null;
      return totalAt(prices, its, names, values, service.name, { inStretch: true, lines: beside });
    }
    let longest = null;
    service.stretches.forEach((stretch, place) => {
      if (!ofKind(stretch, kind)) return;
      const time = totalAt(prices, stretch.counts, names, values, service.name, {
        inStretch: true,
        rest: following.after(kind, stretch.in || []).time,
        perCall: stretch.inside ? following.called(kind).time : ZERO,
        last: stretch.last,
        lines: lines ? () => lines.stretches[place] : null,
      });
      longest = longest === null ? time : larger(longest, time);
    });
    return longest;
  }

  return { blockingAt, heldOffAt };
})();
