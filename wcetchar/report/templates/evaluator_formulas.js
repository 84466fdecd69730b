"use strict";
/* Formulas of parameters: trees of `engine/recorded_document.py` in, functions out that take whole
   numbers by name and give what `formula/evaluate.py` gives: whole, or a fraction inside of one. */
const evaluatorFormulas = (() => {
  const { Outside, ZERO, ONE, plus, minus, times, over, compared, floor, ceil } = evaluatorNumbers;

  const bitLength = (n) => BigInt(n === 0n ? 0 : n.toString(2).length);

  /** A formula, or a part of it that may be no whole number: at => fraction. */
  function compiledRatio(tree) {
    if (Array.isArray(tree)) {
      const [head, ...rest] = tree;
      if (head === "/") {
        const [of, by] = rest.map(compiledRatio);
        return (at) => over(of(at), by(at));
      }
      if (head === "+" || head === "-" || head === "*") {
        const operation = { "+": plus, "-": minus, "*": times }[head];
        const [left, right] = rest.map(compiledRatio);
        return (at) => operation(left(at), right(at));
      }
      if (head === "negate") {
        const of = compiledRatio(rest[0]);
        return (at) => minus(ZERO, of(at));
      }
      if (head === "min" || head === "max") {
        const sign = head === "max" ? 1 : -1;
        const each = rest.map(compiledRatio);
        return (at) => each.map((one) => one(at))
          .reduce((a, b) => (compared(b, a) * sign > 0 ? b : a));
      }
      if (COMPARISONS[head]) {
        const holds = COMPARISONS[head];
        const [left, right] = rest.map(compiledRatio);
        return (at) => (holds(compared(left(at), right(at))) ? ONE : ZERO);
      }
    }
    const whole = compiled(tree);
    return (at) => [whole(at), 1n];
  }

  const COMPARISONS = {
    "<": (c) => c < 0, "<=": (c) => c <= 0, "==": (c) => c === 0, "!=": (c) => c !== 0,
    ">=": (c) => c >= 0, ">": (c) => c > 0,
  };

  /** A formula whose value is whole: at => whole number; `at`: whole numbers by name. */
  function compiled(tree) {
    if (typeof tree === "number") {
      const value = BigInt(tree);
      return () => value;
    }
    if (typeof tree === "string") return (at) => at[tree];
    const [head, ...rest] = tree;
    if (head === "number") {
      const value = BigInt(rest[0]);
      return () => value;
    }
    if (head === "ceil" || head === "floor") {
      const up = head === "ceil";
      if (Array.isArray(rest[0]) && rest[0][0] === "log2") {
        const of = compiledRatio(rest[0][1]);
        return (at) => {
          let value = up ? ceil(of(at)) : floor(of(at));
          if (value < 1n) value = 1n;
          return up ? bitLength(value - 1n) : bitLength(value) - 1n;
        };
      }
      const of = compiledRatio(rest[0]);
      return up ? (at) => ceil(of(at)) : (at) => floor(of(at));
    }
    const each = rest.map(compiled);
    const [left, right] = each;
    switch (head) {
      case "+": return (at) => left(at) + right(at);
      case "-": return (at) => left(at) - right(at);
      case "*": return (at) => left(at) * right(at);
      case "negate": return (at) => -left(at);
      case "min": return (at) => each.map((one) => one(at)).reduce((a, b) => (b < a ? b : a));
      case "max": return (at) => each.map((one) => one(at)).reduce((a, b) => (b > a ? b : a));
      default: {
        const holds = COMPARISONS[head];
        if (!holds) throw new Outside(`there is no operation ${head} in formulas`);
        return (at) => {
          const [a, b] = [left(at), right(at)];
          return holds(a < b ? -1 : a > b ? 1 : 0) ? 1n : 0n;
        };
      }
    }
  }

  function namesIn(tree, found = new Set()) {
    if (typeof tree === "string") found.add(tree);
    else if (Array.isArray(tree) && tree[0] !== "number") {
      for (const inner of tree.slice(1)) namesIn(inner, found);
    }
    return found;
  }

  return { compiled, namesIn };
})();
