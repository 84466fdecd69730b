"use strict";
/* The longest stretch of all paths in which something is held off, as a flow through three layers:
   before the stretch, in it, and behind it (`engine/path_blocking.py` says why that is one, and what
   the limits of the stretch alone are). Costs are whole numbers, as of `evaluator_paths.js`. */
const evaluatorLayers = (() => {
  const { OUTSIDE, reached } = evaluatorFlow;

  /** `at`: a path model at values and prices; `held`: nodes in which it is held off. Arcs and limits
      for a flow. */
  function layered(at, held) {
    const arcs = [];
    const [inside, starts] = [new Set(), new Set()];
    const place = (node, layer) => (node === OUTSIDE ? OUTSIDE : node * 3 + layer);
    const add = (edge, source, target, cost) => {
      arcs.push({ edge, source, target, cost, column: at.columns[edge] });
      return arcs.length - 1;
    };
    at.edges.forEach(([source, target], edge) => {
      for (const layer of [0, 2]) {
        if (layer === 2 && source === OUTSIDE) continue;
        add(edge, place(source, layer), place(target, layer), 0n);
      }
      const [sourceIn, targetIn] = [held.has(source), held.has(target)];
      if (sourceIn && targetIn) {
        inside.add(add(edge, place(source, 1), place(target, 1), at.cost(target)));
      } else if (targetIn) {
        const start = add(
          edge, place(source, 0), place(target, 1), at.cost(target) + at.beginCost(target));
        inside.add(start);
        starts.add(start);
      } else if (sourceIn) {
        inside.add(add(edge, place(source, 1), place(target, 2), at.endCost(source)));
      }
    });
    const limits = [...at.limits];
    at.limits.forEach((limit, number) => {
      if (at.each[number] && limit === 0n) holdEach(at, arcs, inside, starts, limits, number);
    });
    return { arcs, limits };
  }

  /** A constraint that holds each time holds of the stretch alone, too. */
  function holdEach(at, arcs, inside, starts, limits, number) {
    const coefficients = at.columns.map((column) => {
      const found = column.find(([row]) => row === number);
      return found === undefined ? 0n : found[1];
    });
    let most = 0n;
    for (const one of coefficients) if (-one > most) most = -one;
    const before = beforePositive(at, coefficients);
    const row = limits.length;
    for (const place of inside) {
      const { edge } = arcs[place];
      let coefficient = coefficients[edge];
      if (starts.has(place) &&
          (coefficient > 0n || (coefficient === 0n && before.has(at.edges[edge][1])))) {
        coefficient -= most;
      }
      if (coefficient) {
        arcs[place] = { ...arcs[place], column: [...arcs[place].column, [row, coefficient]] };
      }
    }
    limits.push(0n);
  }

  /** Nodes from which an edge of positive coefficient is reached without a negative one. */
  function beforePositive(at, coefficients) {
    const into = new Map();
    const first = [];
    at.edges.forEach(([source, target], edge) => {
      if (coefficients[edge] > 0n) {
        first.push(source);
      } else if (coefficients[edge] === 0n) {
        if (!into.has(target)) into.set(target, []);
        into.get(target).push(source);
      }
    });
    return reached(into, first);
  }

  return { layered };
})();
