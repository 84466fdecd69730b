"use strict";
/* What holds over all paths of a service: the dearest flow through its path model, and the longest
   stretches of it that hold something off, as `pipeline/all_paths.py`, `engine/paths.py` and
   `engine/path_blocking.py` find them. Path models and what they are priced by stand in the document
   (`engine/recorded_paths.py`); flows are found in `evaluator_flow.js`. */
const evaluatorPaths = (() => {
  const { Outside, ZERO, compared, ratio, Sum } = evaluatorNumbers;
  const { wholes, combinations, shown } = evaluatorCounts;
  const { OUTSIDE, dearestFlow } = evaluatorFlow;
  const { layered } = evaluatorLayers;

  const MOST_POINTS = 256; // engine/path_order.py
  const KINDS = ["interrupts", "preemption"];

  const modelOf = (document, service) =>
    document.paths && document.paths.models.find((one) => one.service === service);

  /** Prices of path models where numbers of the profile are as in `prices`. */
  class PathPrices {
    constructor(prices) {
      const { paths } = prices.document;
      this.prices = prices;
      this.vectors = paths.vectors;
      this.piece = paths.pieces.find((one) => prices.holds(one));
      if (!this.piece) {
        throw new Outside("no prices of path models were recorded for such numbers");
      }
      if (this.piece.why !== undefined) return;
      this.rate = prices.rateOf(this.piece);
      this.underWay = prices.polynomial(this.piece.underWay);
      this.fetchedBehind = prices.polynomial(this.piece.fetchedBehind);
      this.blocked = new Map(this.piece.blocked);
      this.known = [new Map(), new Map()];
    }

    /** Of a vector, each key by itself. */
    timeOf(number, inStretch) {
      const known = this.known[inStretch ? 1 : 0];
      if (!known.has(number)) {
        const [vector, sum] = [this.vectors[number], new Sum()];
        for (let i = 0; i < vector.length; i += 2) {
          const other = inStretch ? this.blocked.get(vector[i]) : undefined;
          const price = other === undefined ? this.piece.prices[vector[i]] : other;
          sum.add(this.prices.polynomial(price), BigInt(vector[i + 1]));
        }
        known.set(number, sum.value);
      }
      return known.get(number);
    }
  }

  function pricesOf(prices) {
    if (prices.ofPaths === undefined) prices.ofPaths = new PathPrices(prices);
    return prices.ofPaths;
  }

  /** A path model at values of its parameters, and at prices (engine/paths.py, At). */
  class At {
    constructor(ofPaths, model, values, inStretch) {
      this.ofPaths = ofPaths;
      const { formulas } = ofPaths.prices.state;
      const of = (number) => formulas[number].of(values);
      this.edges = [];
      for (let i = 0; i < model.edges.length; i += 2) {
        this.edges.push([model.edges[i], model.edges[i + 1]]);
      }
      this.columns = this.edges.map(() => []);
      this.limits = model.constraints.map(([limit]) => of(limit));
      this.each = model.constraints.map(([, each]) => each);
      model.constraints.forEach(([, , ...rest], number) => {
        for (let i = 0; i < rest.length; i += 2) {
          const coefficient = of(rest[i + 1]);
          if (coefficient) this.columns[rest[i]].push([number, coefficient]);
        }
      });
      const time = (vector) => (vector < 0 ? ZERO : ofPaths.timeOf(vector, inStretch));
      this.times = model.nodes.map(time);
      this.runs = model.runs.map(time);
      this.scale = [ofPaths.underWay, ofPaths.fetchedBehind, ...this.times, ...this.runs].reduce(
        (all, [, d]) => (all % d ? all * d : all), 1n);
    }

    whole([n, d]) { return n * (this.scale / d); }

    cost(node) { return node === OUTSIDE ? 0n : this.whole(this.times[node]); }

    /** Of an edge, with what is under way where it is an entry. */
    edgeCost([source, target]) {
      return this.cost(target) + (source === OUTSIDE ? this.whole(this.ofPaths.underWay) : 0n);
    }

    beginCost(node) {
      const fetched = this.runs.length ? this.whole(this.runs[2 * node]) : 0n;
      return fetched + this.whole(this.ofPaths.underWay);
    }

    endCost(node) {
      const fetched = this.runs.length ? this.whole(this.runs[2 * node + 1]) : 0n;
      return fetched + this.whole(this.ofPaths.fetchedBehind);
    }

    /** Of a window that costs so much. */
    time(cost) { return this.ofPaths.rate.ofPath(ratio(cost, this.scale)); }
  }

  function solved(arcs, limits, values) {
    const found = dearestFlow(arcs, limits);
    if (found === null) {
      throw new Outside(
        `no path fulfils all facts at ${shown(Object.keys(values), Object.values(values))}`);
    }
    return found;
  }

  function boundAt(ofPaths, model, values) {
    const at = new At(ofPaths, model, values, false);
    const arcs = at.edges.map(([source, target], edge) => (
      { source, target, cost: at.edgeCost([source, target]), column: at.columns[edge] }));
    return at.time(solved(arcs, at.limits, values).cost);
  }

  function longestAt(ofPaths, model, values, kind) {
    const held = new Set(model.held[kind]);
    if (!held.size) return ZERO;
    const at = new At(ofPaths, model, values, true);
    const { arcs, limits } = layered(at, held);
    const { cost } = solved(arcs, limits, values);
    // Nothing that costs something is held off; whether anything is at all, other flows may say.
    if (!cost && ofPaths.rate.recurring.length) {
      throw new Outside("what it holds off on all paths costs nothing");
    }
    return at.time(cost);
  }

  /** At all values of `ranges`, pairs of ends of the service's parameters: {word, why, time,
      interrupts, preemption}; a time: null where there is none, or where the model does not say. */
  function overAllPaths(prices, service, ranges) {
    const model = modelOf(prices.document, service.name);
    const ofPaths = pricesOf(prices);
    const none = { time: null, interrupts: null, preemption: null, word: "estimate" };
    const why = ofPaths.piece.why === undefined ? model.why : ofPaths.piece.why;
    if (why) return { ...none, why };
    const used = namesOf(prices, model);
    const each = service.parameters
      .map((one, i) => [one.name, wholes(...(used.has(one.name) ? ranges[i] : [ranges[i][0], ranges[i][0]]))]);
    for (const name of used) {
      if (!each.some(([own]) => own === name)) throw new Outside(`the path model has no value of ${name}`);
    }
    if (each.reduce((size, [, values]) => size * values.length, 1) > MOST_POINTS) {
      throw new Outside("its path model is to be solved at too many values for a page");
    }
    const found = { ...none, why: "", word: model.word };
    const longer = (key, time) => {
      if (found[key] === null || compared(time, found[key]) > 0) found[key] = time;
    };
    for (const point of combinations(each.map(([, values]) => values))) {
      const values = Object.create(null);
      each.forEach(([name], i) => { values[name] = point[i]; });
      longer("time", boundAt(ofPaths, model, values));
      if (!model.masks) continue;
      for (const kind of KINDS) longer(kind, longestAt(ofPaths, model, values, kind));
    }
    return found;
  }

  function namesOf(prices, model) {
    const found = new Set();
    const take = (number) => prices.state.formulas[number].names.forEach((name) => found.add(name));
    for (const [limit, , ...rest] of model.constraints) {
      take(limit);
      rest.forEach((number, i) => { if (i % 2) take(number); });
    }
    return found;
  }

  return { modelOf, overAllPaths };
})();
