"use strict";
/* What goes on with a stretch behind which something stays held off: handlers and threads, one after
   the other, the longest of all (`engine/chains.py`, `model/chain.py`). */
const evaluatorChains = (() => {
  const { Outside, ZERO, plus, scaled, compared, unique } = evaluatorNumbers;
  const {
    somethingIn, count, supervisorCalls, usedIn, wholes, combinations, totalAt,
  } = evaluatorCounts;

  const WORDS = ["bound", "high-water mark", "estimate"];
  const ESTIMATE = "estimate";
  const FOLLOWED = ["handler", "thread"];
  const LARGEST_GRID = 10000; // engine/counts.py

  const ofKind = (stretch, kind) => kind === "preemption" || stretch.kind === kind;
  const followed = (joints) => FOLLOWED.filter((joint) => (joints || []).includes(joint));
  const canFollow = (stretch) => followed(stretch.from).length > 0;
  const weakest = (words) => words.reduce((a, b) => (WORDS.indexOf(b) > WORDS.indexOf(a) ? b : a));
  const NOTHING = { time: ZERO, links: [], words: [], gaps: [] };

  class Following {
    /** `values`: by name, a pair of ends. */
    constructor(prices, values) {
      this.prices = prices;
      this.values = values;
      this.gaps = prices.document.gaps;
      this.calls = {};
      this.chains = {};
      this.afters = new Map();
    }

    after(kind, joints) {
      const kept = followed(joints);
      if (!kept.length) return NOTHING;
      const key = `${kind} ${kept}`;
      if (!this.afters.has(key)) {
        this.chains[kind] = this.chains[kind] || this.makeChains(kind);
        const { candidates, problems, known } = this.chains[kind];
        const rest = this.rest(candidates, known, kept, []);
        this.afters.set(key, {
          time: rest.items.reduce((sum, one) => plus(sum, one.link.time), ZERO),
          links: rest.items.map((one) => one.link),
          words: rest.items.map((one) => one.word),
          gaps: [...Object.keys(this.gaps).filter((gap) => rest.gaps.has(gap))
            .map((gap) => this.gaps[gap]), ...problems],
        });
      }
      return this.afters.get(key);
    }

    /** The dearest handler of a supervisor call that goes back to what called it. */
    called(kind) {
      if (!this.calls[kind]) {
        const found = [];
        for (const service of this.prices.document.services) {
          const handles = service.stretches.some(
            (one) => ofKind(one, kind) && (one.from || []).includes("handler"));
          if (!handles) continue;
          const loaded = this.loaded(service, service.stretches.length);
          found.push(this.longest(service, service.counts, "its handler, inside", loaded, NOTHING, 0));
        }
        if (!found.length) {
          this.calls[kind] = { ...NOTHING, gaps: [this.gaps.NO_HANDLER] };
        } else {
          const dearest = found.reduce(
            (a, b) => (compared(b.link.time, a.link.time) > 0 ? b : a));
          this.calls[kind] = {
            time: dearest.link.time, links: [dearest.link], words: [dearest.word],
            gaps: unique(found.flatMap((one) => one.problems)),
          };
        }
      }
      return this.calls[kind];
    }

    makeChains(kind) {
      const candidates = [];
      const problems = new Set();
      for (const service of this.prices.document.services) {
        service.stretches.forEach((stretch, place) => {
          if (!canFollow(stretch) || !ofKind(stretch, kind)) return;
          let inside = NOTHING;
          if (stretch.inside) {
            if ((stretch.from || []).includes("handler")) problems.add(this.gaps.ENDLESS);
            inside = this.called(kind);
            inside.gaps.forEach((one) => problems.add(one));
          }
          const loaded = this.loaded(service, place);
          const found = this.longest(
            service, stretch.counts, stretch.where, loaded, inside, stretch.last);
          found.problems.forEach((one) => problems.add(one));
          candidates.push({ item: found, from: stretch.from || [], in: stretch.in || [] });
        });
      }
      return { candidates, problems: [...problems], known: new Map() };
    }

    rest(candidates, known, joints, passed) {
      const key = `${joints} ${[...passed].sort()}`;
      if (!known.has(key)) known.set(key, this.longestRest(candidates, known, joints, passed));
      return known.get(key);
    }

    longestRest(candidates, known, joints, passed) {
      let best = { length: ZERO, items: [] };
      const gaps = new Set();
      for (const joint of joints) {
        if (passed.includes(joint)) {
          gaps.add("ENDLESS");
          continue;
        }
        const following = candidates.filter((one) => one.from.includes(joint));
        if (!following.length) {
          gaps.add(joint === "handler" ? "NO_HANDLER" : "NO_THREAD");
          if (joint === "handler" && candidates.some((one) => one.from.includes("thread"))) {
            const rest = this.rest(candidates, known, ["thread"], [...passed, joint]);
            rest.gaps.forEach((gap) => gaps.add(gap));
            if (compared(rest.length, best.length) > 0) best = rest;
          }
        }
        for (const candidate of following) {
          const rest = this.rest(candidates, known, followed(candidate.in), [...passed, joint]);
          rest.gaps.forEach((gap) => gaps.add(gap));
          if (candidate.in.includes("caller")) gaps.add("CALLER");
          const length = plus(candidate.item.link.time, rest.length);
          if (compared(length, best.length) > 0) {
            best = { length, items: [candidate.item, ...rest.items] };
          }
        }
      }
      return { length: best.length, items: best.items, gaps };
    }

    /** What lines of a stretch take, or of the service behind its last one; null: no cache. */
    loaded(service, place) {
      if (!this.prices.hasCaches) return null;
      const [used, table] = this.prices.piece.followers[service.place][place];
      const parameters = service.parameters.filter((one) => used.includes(one.name));
      return {
        used,
        at: (values) => {
          const own = service.parameters
            .map((one, i) => [one.name, values[i]])
            .filter(([name]) => used.includes(name)).map(([, value]) => value);
          return this.prices.polynomial(this.prices.loaded(table, parameters, own));
        },
      };
    }

    longest(service, counts, where, loaded, inside, last) {
      const { prices } = this;
      const names = service.parameters.map((one) => one.name);
      const what = `${service.name}, blocking from ${where}`;
      const used = usedIn(prices, counts, names);
      if (loaded) loaded.used.forEach((name) => used.add(name));
      const problems = [];
      const ranges = [];
      for (const one of service.parameters) {
        const whole = [BigInt(one.minimum), BigInt(one.maximum)];
        const given = this.values[one.name];
        if (!used.has(one.name) || given === undefined) {
          ranges.push(used.has(one.name) ? whole : [whole[0], whole[0]]);
        } else if (given[0] >= whole[0] && given[1] <= whole[1]) {
          ranges.push(given);
        } else {
          ranges.push(whole);
          const text = given[0] === given[1] ? `${given[0]}` : `${given[0]}..${given[1]}`;
          problems.push(
            `${service.name}, which can follow, is not characterized for ${one.name}=${text}`);
        }
      }
      let each = ranges.map(([from, to]) => () => wholes(from, to));
      if (ranges.reduce((size, [from, to]) => size * (to - from + 1n), 1n) > LARGEST_GRID) {
        each = ranges.map(([from, to]) => () => (from === to ? [from] : [from, to]));
        problems.push(
          `${service.name}, which can follow, has too many combinations of ` +
          `${[...used].sort().join(", ")} to try`);
      }
      const observed = observedAt(service, used, names);
      const project = (values) => values.filter((_, i) => used.has(names[i])).join(",");
      let best = null;
      for (const values of combinations(each.map((one) => one()))) {
        let time;
        try {
          time = totalAt(prices, counts, names, values, what, {
            inStretch: true, perCall: inside.time, last,
            lines: loaded ? () => loaded.at(values) : null,
          });
        } catch (error) {
          if (!(error instanceof Outside) || !isOfCounts(error, what)) throw error;
          problems.push(error.message);
          continue;
        }
        const seen = observed.has(project(values));
        const order = best === null ? 1 : compared(time, best.time) || Number(seen) - Number(best.seen);
        if (order > 0) best = { time, seen, values };
      }
      if (best === null) {
        const link = { service: service.name, where, parameters: {}, time: ZERO };
        return { link, word: service.word, problems };
      }
      const { values } = best;
      const counted = count(prices, counts, names, values, what);
      const lines = loaded && somethingIn(counted) ? loaded.at(values) : ZERO;
      let time = prices.timeOfWindow(counted.rows, lines);
      const calls = supervisorCalls(prices, counted) - BigInt(last);
      let { word } = service;
      if (inside.links.length && calls > 0n) {
        time = plus(time, scaled(inside.time, calls));
        word = weakest([word, ...inside.words]);
        where += `, with ${inside.links[0].service} inside`;
      }
      const seen = service.word !== "high-water mark" || best.seen;
      if (!counted.exact || !seen) word = ESTIMATE;
      const parameters = Object.create(null);  // one may be called __proto__
      names.forEach((name, i) => { if (used.has(name)) parameters[name] = Number(values[i]); });
      return { link: { service: service.name, where, parameters, time }, word, problems: unique(problems) };
    }
  }

  const isOfCounts = (error, what) => error.message.startsWith(`${what}: `);

  function observedAt(service, used, names) {
    const found = new Set(
      service.seen.map((values) => values.filter((_, i) => used.has(names[i])).join(",")));
    if (!used.size) found.add("");
    return found;
  }

  return { ESTIMATE, NOTHING, Following, ofKind, weakest };
})();
