"use strict";
/* The dearest flow of one unit through a network under linear limits, as `engine/network.py` proves
   it: in whole numbers of any size, without rounding, and with its own proof.

       maximise    sum of cost_a * x_a         x_a >= 0, what enters a node leaves it, one unit from
       subject to  sum of column_a,i * x_a <= limit_i                         OUTSIDE to OUTSIDE

   Each such flow is a mixture of paths and of cycles, so the program is solved over these (G. B.
   Dantzig and P. Wolfe, "Decomposition principle for linear programs", Operations Research 8(1),
   1960): a simplex over the few limits, and for each of its prices y of the limits the dearest path,
   or a cycle that earns something, by R. Bellman's method. When neither is worth more, y proves that
   no flow is dearer. Pivots are chosen by the lexicographic rule, so it ends.

   The flow found may go in parts. Then no whole one has been shown to be as dear, and it is outside:
   what `wcetchar estimate` proves of whole numbers is less perhaps. */
const evaluatorFlow = (() => {
  const { Outside, ZERO, ONE, plus, minus, times, scaled, over, compared } = evaluatorNumbers;

  const OUTSIDE = -1;
  const MOST_PIVOTS = 2000; // no network of a service has needed a tenth

  /** Numbers of arcs that some path from outside to outside takes (engine/network.py, _on_paths). */
  function onPaths(arcs) {
    const [out, into] = [new Map(), new Map()];
    const note = (map, from, to) => (map.has(from) ? map.get(from).push(to) : map.set(from, [to]));
    for (const arc of arcs) {
      note(out, arc.source, arc.target);
      note(into, arc.target, arc.source);
    }
    const [behind, before] = [out, into].map((next) => reached(next, next.get(OUTSIDE) || []));
    return arcs.filter((arc) => (arc.source === OUTSIDE || behind.has(arc.source)) &&
      (arc.target === OUTSIDE || before.has(arc.target)));
  }

  /** Nodes that are reached from `start`, these among them, without passing OUTSIDE. */
  function reached(next, start) {
    const found = new Set();
    const waiting = start.filter((node) => node !== OUTSIDE);
    while (waiting.length) {
      const node = waiting.pop();
      if (found.has(node)) continue;
      found.add(node);
      for (const one of next.get(node) || []) if (one !== OUTSIDE) waiting.push(one);
    }
    return found;
  }

  /** Paths and cycles of a network by their worth; `arcs` with places of ends: 0 where a path begins,
      1 where it ends. */
  class Network {
    constructor(arcs) {
      this.size = 2;
      const places = new Map();
      const kept = onPaths(arcs).map((arc) => ({ ...arc, from: arc.source, to: arc.target }));
      const order = this.ordered(kept);
      for (const node of order) places.set(node, this.size++);
      this.arcs = kept
        .map((arc) => ({
          ...arc,
          from: arc.source === OUTSIDE ? 0 : places.get(arc.source),
          to: arc.target === OUTSIDE ? 1 : places.get(arc.target),
        }))
        .sort((a, b) => a.from - b.from);
    }

    /** Nodes, each behind those that lead to it, but for loops: so few rounds are needed. */
    ordered(arcs) {
      const next = new Map();
      for (const arc of arcs) {
        if (!next.has(arc.source)) next.set(arc.source, []);
        if (arc.target !== OUTSIDE) next.get(arc.source).push(arc.target);
      }
      const [seen, found] = [new Set(), []];
      for (const start of next.get(OUTSIDE) || []) {
        const waiting = [[start, 0]];
        if (seen.has(start)) continue;
        seen.add(start);
        while (waiting.length) {
          const last = waiting[waiting.length - 1];
          const each = next.get(last[0]) || [];
          if (last[1] === each.length) {
            found.push(last[0]);
            waiting.pop();
          } else {
            const node = each[last[1]++];
            if (!seen.has(node)) {
              seen.add(node);
              waiting.push([node, 0]);
            }
          }
        }
      }
      return found.reverse();
    }

    /** The dearest path where arcs are worth so much, or a cycle that is worth something:
        {arcs, isCycle, worth}; null: there is no path at all. */
    dearest(worths) {
      const far = new Array(this.size).fill(null);
      const by = new Array(this.size).fill(null);
      far[0] = 0n;
      for (;;) {
        let changed = false;
        this.arcs.forEach((arc, i) => {
          const start = far[arc.from];
          if (start === null) return;
          const there = start + worths[i];
          if (far[arc.to] === null || there > far[arc.to]) {
            far[arc.to] = there;
            by[arc.to] = i;
            changed = true;
          }
        });
        const cycle = changed ? this.cycle(by) : null;
        if (cycle) return { arcs: cycle, isCycle: true };
        if (!changed) break;
      }
      if (far[1] === null) return null;
      const path = [];
      for (let node = 1; node !== 0; node = this.arcs[by[node]].from) path.push(by[node]);
      return { arcs: path.reverse(), isCycle: false, worth: far[1] };
    }

    /** One among the last steps to each node; what made it earns something each time round. */
    cycle(by) {
      const state = new Uint32Array(this.size);
      for (let start = 1; start < this.size; start++) {
        let node = start;
        while (by[node] !== null && !state[node]) {
          state[node] = start;
          node = this.arcs[by[node]].from;
        }
        if (by[node] === null || state[node] !== start) continue;
        const found = [];
        let at = node;
        do {
          found.push(by[at]);
          at = this.arcs[by[at]].from;
        } while (at !== node);
        return found.reverse();
      }
      return null;
    }
  }

  /** The simplex over paths and cycles: row 0 says that there is one path, row i + 1 is limit i. */
  class Mixture {
    constructor(network, limits) {
      this.network = network;
      this.limits = limits;
      this.rows = limits.length + 1;
      // A row whose right side is below zero is turned round, and begins with what must go again.
      this.signs = [1n, ...limits.map((limit) => (limit < 0n ? -1n : 1n))];
      this.basis = this.signs.map((sign, i) => (
        i === 0 || sign < 0n ? { wrong: true } : { slack: i }));
      this.right = [ONE, ...limits.map((limit) => [limit < 0n ? -limit : limit, 1n])];
      this.inverse = this.unit();
      this.order = this.unit();
      this.pivots = 0;
    }

    unit() {
      return Array.from({ length: this.rows }, (_, i) =>
        Array.from({ length: this.rows }, (_, j) => (i === j ? ONE : ZERO)));
    }

    /** A column of paths or cycles: what it does to each row. */
    columnOf({ arcs, isCycle }) {
      const sums = new Array(this.rows).fill(0n);
      let cost = 0n;
      sums[0] = isCycle ? 0n : 1n;
      for (const place of arcs) {
        const arc = this.network.arcs[place];
        cost += arc.cost;
        for (const [row, coefficient] of arc.column) sums[row + 1] += coefficient;
      }
      return { arcs, cost, entries: sums.map((sum, i) => [sum * this.signs[i], 1n]) };
    }

    slack(row) {
      const entries = new Array(this.rows).fill(ZERO);
      entries[row] = [this.signs[row], 1n];
      return { slack: row, entries };
    }

    /** What a unit of each row is worth; `costOf`: of a column. */
    prices(costOf) {
      const found = new Array(this.rows).fill(ZERO);
      this.basis.forEach((one, i) => {
        const cost = costOf(one);
        if (cost) {
          this.inverse[i].forEach((entry, j) => { found[j] = plus(found[j], scaled(entry, cost)); });
        }
      });
      return found;
    }

    /** Until nothing is worth more. False: there is no path at all. */
    run(costOf, ofArcs) {
      for (;;) {
        if (this.pivots++ > MOST_PIVOTS) throw new Outside("the dearest path takes too long to find");
        const prices = this.prices(costOf).map((one, i) => scaled(one, this.signs[i]));
        const negative = prices.findIndex((one, i) => i > 0 && one[0] < 0n);
        if (negative > 0) {
          this.enter(this.slack(negative));
          continue;
        }
        const denominator = prices.reduce((all, one) => (all % one[1] ? all * one[1] : all), 1n);
        const whole = prices.map((one) => one[0] * (denominator / one[1]));
        const worths = this.network.arcs.map((arc) => arc.column.reduce(
          (sum, [row, coefficient]) => sum - whole[row + 1] * coefficient,
          ofArcs ? arc.cost * denominator : 0n));
        const best = this.network.dearest(worths);
        if (best === null) return false;
        if (!best.isCycle && best.worth <= whole[0]) return true;
        this.enter(this.columnOf(best));
      }
    }

    enter(column) {
      const steps = this.inverse.map((row) => row.reduce(
        (sum, entry, j) => (entry[0] && column.entries[j][0] ? plus(sum, times(entry, column.entries[j])) : sum),
        ZERO));
      let leaving = -1;
      steps.forEach((step, i) => {
        if (step[0] > 0n && (leaving < 0 || this.isBefore(i, step, leaving, steps[leaving]))) leaving = i;
      });
      if (leaving < 0) throw new Outside("nothing bounds a loop of its path model");
      this.pivot(leaving, steps, column);
    }

    /** Whether row i leaves before row j: by its ratio, and by the order of rows where these are alike. */
    isBefore(i, step, j, other) {
      const first = compared(over(this.right[i], step), over(this.right[j], other));
      if (first) return first < 0;
      for (let k = 0; k < this.rows; k++) {
        const next = compared(over(this.order[i][k], step), over(this.order[j][k], other));
        if (next) return next < 0;
      }
      return false;
    }

    pivot(leaving, steps, column) {
      const step = steps[leaving];
      const divided = (row) => row.map((entry) => (entry[0] ? over(entry, step) : entry));
      this.right[leaving] = over(this.right[leaving], step);
      this.inverse[leaving] = divided(this.inverse[leaving]);
      this.order[leaving] = divided(this.order[leaving]);
      steps.forEach((other, i) => {
        if (i === leaving || !other[0]) return;
        const less = (row, by) => row.map(
          (entry, k) => (by[k][0] ? minus(entry, times(other, by[k])) : entry));
        this.right[i] = minus(this.right[i], times(other, this.right[leaving]));
        this.inverse[i] = less(this.inverse[i], this.inverse[leaving]);
        this.order[i] = less(this.order[i], this.order[leaving]);
      });
      this.basis[leaving] = column;
    }

    /** What must go is gone. False: no flow fulfils all limits. */
    begin() {
      if (!this.run((one) => (one.wrong ? -1n : 0n), false)) return false;
      for (let i = 0; i < this.rows; i++) {
        if (!this.basis[i].wrong) continue;
        if (this.right[i][0]) return false;
        // It is zero: some slack takes its place, and nothing changes.
        const row = this.inverse[i].findIndex((entry, j) => j > 0 && entry[0]);
        const column = this.slack(row);
        const steps = this.inverse.map((its) => times(its[row], column.entries[row]));
        this.pivot(i, steps, column);
      }
      this.order = this.unit();
      return true;
    }
  }

  /** `arcs`: {source, target, cost, column: [[limit, coefficient], ...]}; all whole. The largest cost,
      which some flow has in whole numbers: {cost}; null: no flow fulfils the limits. */
  function dearestFlow(arcs, limits) {
    const network = new Network(arcs);
    const mixture = new Mixture(network, limits);
    if (!mixture.begin()) return null;
    mixture.run((one) => one.cost || 0n, true);
    const sums = new Map();
    mixture.basis.forEach((one, i) => {
      for (const place of one.arcs || []) {
        sums.set(place, plus(sums.get(place) || ZERO, mixture.right[i]));
      }
    });
    let cost = 0n;
    for (const [place, sum] of sums) {
      if (sum[1] !== 1n) throw new Outside("the dearest flow through its path model goes in parts");
      cost += network.arcs[place].cost * sum[0];
    }
    const proved = mixture.prices((one) => one.cost || 0n).reduce((sum, price, i) => plus(
      sum, scaled(price, i ? limits[i - 1] * mixture.signs[i] : 1n)), ZERO);
    if (compared(proved, [cost, 1n])) throw new Outside("its dearest flow is not proved, which is a defect");
    return { cost };
  }

  return { OUTSIDE, dearestFlow, reached };
})();
