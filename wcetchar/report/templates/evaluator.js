"use strict";
/* Estimates of services at other numbers of a profile and other values of parameters, from a
   document of `engine/recorded_document.py`: what `wcetchar estimate` finds there, exactly, or why
   this document cannot say. Numbers are fractions of whole numbers of any size; only printing
   rounds, and it rounds up. Counts times prices is done as in `engine/estimate.py`, blocking as in
   `engine/blocking.py` and `engine/chains.py`; names are theirs. */
const wcetcharEvaluator = (() => {
  const WORDS = ["bound", "high-water mark", "estimate"];
  const ESTIMATE = "estimate";
  const FOLLOWED = ["handler", "thread"];
  const LARGEST_GRID = 10000; // engine/counts.py
  const MOST_SEARCHED = 5000; // of combinations of cases and values that may be off
  const DIGITS = 3; // report/numbers.py
  const KEPT = 8; // sets of numbers that are kept evaluated

  /** What this document cannot say, and why. */
  class Outside extends Error {}

  // ---- exact numbers: [numerator, denominator], reduced, the denominator above zero

  const ZERO = [0n, 1n];
  const ONE = [1n, 1n];

  function divisor(a, b) {
    if (a < 0n) a = -a;
    while (b) [a, b] = [b, a % b];
    return a;
  }

  function ratio(n, d) {
    if (d === 1n) return [n, 1n];
    if (d < 0n) { n = -n; d = -d; }
    const common = divisor(n, d);
    return common === 1n ? [n, d] : [n / common, d / common];
  }

  const plus = (a, b) =>
    a[1] === b[1] ? ratio(a[0] + b[0], a[1]) : ratio(a[0] * b[1] + b[0] * a[1], a[1] * b[1]);
  const minus = (a, b) => plus(a, [-b[0], b[1]]);
  const times = (a, b) => ratio(a[0] * b[0], a[1] * b[1]);
  const scaled = (a, n) => ratio(a[0] * n, a[1]);

  function over(a, b) {
    if (!b[0]) throw new Outside("a number is zero that something is divided by");
    return ratio(a[0] * b[1], a[1] * b[0]);
  }

  /** Below, equal or above zero as a - b is. */
  function compared(a, b) {
    const difference = a[0] * b[1] - b[0] * a[1];
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  const larger = (a, b) => (compared(b, a) > 0 ? b : a);

  function floored(n, d) {
    const whole = n / d;
    return n % d !== 0n && n < 0n ? whole - 1n : whole;
  }

  const floor = (a) => floored(a[0], a[1]);
  const ceil = (a) => -floored(-a[0], a[1]);

  function read(value) {
    if (typeof value === "number") return [BigInt(value), 1n];
    const [n, d] = value.split("/");
    return ratio(BigInt(n), d === undefined ? 1n : BigInt(d));
  }

  /** Sums by denominators, which few prices have. */
  class Sum {
    constructor() { this.parts = new Map(); }
    add(value, count) {
      const known = this.parts.get(value[1]);
      this.parts.set(value[1], (known === undefined ? 0n : known) + value[0] * count);
    }
    get value() {
      let total = ZERO;
      for (const [d, n] of this.parts) total = plus(total, ratio(n, d));
      return total;
    }
  }

  // ---- text

  /** Rounded up to DIGITS decimals, with commas between thousands: report/numbers.py, grouped. */
  function grouped(value) {
    let parts = ceil(scaled(value, 10n ** BigInt(DIGITS)));
    const sign = parts < 0n ? "-" : "";
    if (parts < 0n) parts = -parts;
    const whole = String(parts / 10n ** BigInt(DIGITS)).replace(/\B(?=(\d{3})+$)/g, ",");
    const rest = String(parts % 10n ** BigInt(DIGITS)).padStart(DIGITS, "0").replace(/0+$/, "");
    return sign + whole + (rest ? `.${rest}` : "");
  }

  const UNITS = {
    ps: ["ns", [1n, 1000n]], ns: ["ns", ONE], us: ["ns", [1000n, 1n]],
    "\u00b5s": ["ns", [1000n, 1n]], "\u03bcs": ["ns", [1000n, 1n]],
    ms: ["ns", [1000000n, 1n]], s: ["ns", [1000000000n, 1n]],
    cycle: ["cycles", ONE], cycles: ["cycles", ONE],
    Hz: ["Hz", ONE], kHz: ["Hz", [1000n, 1n]], MHz: ["Hz", [1000000n, 1n]],
    GHz: ["Hz", [1000000000n, 1n]],
  };
  const NUMBER = "(?:0|[1-9][0-9]{0,29})(?:\\.[0-9]{1,30})?";
  const UNIT = "[\\p{L}]+(?:/s)?|%";
  const ERROR =
    `(?:\\s*(?:\\+-|\\+/-|\u00b1)\\s*(${NUMBER})` +
    `(?:\\s*((?!(?:systematic|stochastic)\\b)(?:${UNIT})))?(?:\\s+(systematic|stochastic))?)?`;
  const QUANTITY = new RegExp(
    `^(${NUMBER})(?:\\s*\\.\\.\\s*(${NUMBER}))?\\s*(${UNIT})?${ERROR}${ERROR}$`, "u");

  function decimal(text) {
    const [whole, decimals = ""] = text.split(".");
    return ratio(BigInt(whole + decimals), 10n ** BigInt(decimals.length));
  }

  /** A time or a clock as a profile says it (store/quantity.py): {low, nominal, high, stochastic,
      unit}, or {error}. */
  function parseQuantity(text) {
    const given = String(text).trim();
    const match = given.length <= 100 ? QUANTITY.exec(given) : null;
    const example = "such as 14 ns, 2 cycles, 1..3 cycles, 72 MHz or 14 ns +- 5 %";
    if (!match) return { error: `"${given}" is no time and no clock ${example}` };
    const [, one, to, unit, by0, unit0, kind0, by1, unit1, kind1] = match;
    if (!unit || !Object.hasOwn(UNITS, unit)) return { error: `"${given}" has no unit of a time or a clock` };
    const [measure, factor] = UNITS[unit];
    const first = times(decimal(one), factor);
    const last = to === undefined ? first : times(decimal(to), factor);
    if (compared(last, first) < 0) return { error: `"${given}" has its larger end first` };
    const nominal = times(plus(first, last), [1n, 2n]);
    const errors = { systematic: times(minus(last, first), [1n, 2n]), stochastic: ZERO };
    const seen = new Set();
    for (const [by, its, kind] of [[by0, unit0, kind0], [by1, unit1, kind1]]) {
      if (by === undefined) continue;
      const which = kind || "systematic";
      if (seen.has(which)) return { error: `"${given}" has two errors of a kind` };
      seen.add(which);
      if (which === "systematic" && to !== undefined) {
        return { error: `"${given}" has an interval and a tolerance` };
      }
      if (its === "%") {
        errors[which] = times(nominal, times(decimal(by), [1n, 100n]));
      } else if (its && Object.hasOwn(UNITS, its) && UNITS[its][0] === measure) {
        errors[which] = times(decimal(by), UNITS[its][1]);
      } else {
        return { error: `"${given}" has a tolerance in another unit, or in none` };
      }
    }
    const off = plus(errors.systematic, errors.stochastic);
    const low = minus(nominal, off);
    if (low[0] < 0n) return { error: `the lower end of "${given}" is negative` };
    return { low, nominal, high: plus(nominal, off), stochastic: errors.stochastic, unit: measure };
  }

  // ---- formulas

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

  // ---- the document at some numbers

  const opened = new WeakMap();

  function open(document) {
    if (!opened.has(document)) {
      opened.set(document, {
        at: new Map(),
        formulas: document.formulas.map(([text, tree]) => (
          { text, of: compiled(tree), names: namesIn(tree) })),
        services: new Map(
          document.services.map((one, place) => [one.name, Object.assign(one, { place })])),
        parameters: new Set(
          document.services.flatMap((one) => one.parameters.map((its) => its.name))),
        numbers: new Map(document.numbers.map((one, place) => [one.way, place])),
        terms: document.polynomials.map((terms) => terms.map(([c, ...rest]) => [read(c), rest])),
      });
    }
    return opened.get(document);
  }

  /** Ends of every number, where some are changed. */
  function endsAt(document, state, numbers) {
    const ends = document.numbers.map((one) => one.ends.map(read));
    for (const [way, text] of Object.entries(numbers)) {
      const found = parseQuantity(text);
      if (found.error) throw new Outside(`${way}: ${found.error}`);
      const ways = Object.hasOwn(document.aliases, way) ? document.aliases[way] : [way];
      for (const one of ways) {
        const place = state.numbers.get(one);
        if (place === undefined) {
          throw new Outside(`${way} is not among the numbers that this file can change`);
        }
        const number = document.numbers[place];
        if (found.unit !== number.unit) {
          throw new Outside(`${way} is in ${number.unit} in this file, and "${text}" is not`);
        }
        const exact = compared(found.low, found.high) === 0;
        if (number.exact && !exact) {
          throw new Outside(`${way} has no tolerance in this file, and "${text}" has one`);
        }
        if (number.positive && found.low[0] <= 0n) throw new Outside(`${way} can be zero`);
        if (found.stochastic[0] && (number.unit === "Hz" || /\.(takes|every)$/.test(one))) {
          throw new Outside(`${way} has no stochastic error`);
        }
        ends[place] = [found.low, found.nominal, found.high];
      }
    }
    return ends;
  }

  const GUARDS = {
    ">0": (v) => v[0] > 0n, ">=0": (v) => v[0] >= 0n, "=0": (v) => v[0] === 0n,
    "!=0": (v) => v[0] !== 0n, "whole": (v) => v[1] === 1n, "not whole": (v) => v[1] !== 1n,
  };

  /** Prices where numbers are as given: the first piece whose guards all hold. */
  class Prices {
    constructor(document, state, numbers) {
      this.document = document;
      this.state = state;
      this.ends = endsAt(document, state, numbers);
      this.atoms = new Array(document.atoms.length);
      this.known = new Array(document.polynomials.length);
      const piece = document.pieces.find((one) => this.holds(one));
      if (!piece) {
        throw new Outside("no prices were recorded for such numbers: something is priced another way there");
      }
      this.piece = piece;
      this.clock = this.polynomial(document.clock);
      this.recurring = piece.recurring.map((pair) => pair.map((one) => this.polynomial(one)));
      this.once = this.recurring.reduce((sum, [takes]) => plus(sum, takes), ZERO);
      const busy = this.recurring.reduce((sum, [takes, every]) => plus(sum, over(takes, every)), ZERO);
      this.factor = over(ONE, minus(ONE, busy));
      this.blocked = new Map(piece.blocked);
      this.left = new Set(piece.left);
      this.rows = [new Map(), new Map()];
      this.followings = new Map();
    }

    holds(piece) {
      try {
        return piece.guards.every(
          ([polynomial, relation]) => GUARDS[relation](this.polynomial(polynomial)));
      } catch (error) {
        if (error instanceof Outside) return false;
        throw error;
      }
    }

    polynomial(number) {
      if (this.known[number] === undefined) {
        const sum = new Sum();
        for (const [coefficient, rest] of this.state.terms[number]) {
          let product = coefficient;
          for (let i = 0; i < rest.length; i += 2) {
            const atom = this.atom(rest[i]);
            for (let n = rest[i + 1]; n > 0; n--) product = times(product, atom);
            for (let n = rest[i + 1]; n < 0; n++) product = over(product, atom);
          }
          sum.add(product, 1n);
        }
        this.known[number] = sum.value;
      }
      return this.known[number];
    }

    atom(number) {
      if (this.atoms[number] === undefined) {
        const [kind, ...of] = this.document.atoms[number];
        let value;
        if (kind === "most") value = of.map((one) => this.polynomial(one)).reduce(larger);
        else if (kind === "longest") value = this.longest(of);
        else if (kind === "floor") value = [floor(this.polynomial(of[0])), 1n];
        else if (kind === "inverse") value = over(ONE, this.polynomial(of[0]));
        else {
          const [low, nominal, high] = this.ends[of[0]];
          value = kind === "low" ? low : kind === "nominal" ? minus(nominal, low) : minus(high, nominal);
        }
        this.atoms[number] = value;
      }
      return this.atoms[number];
    }

    /** The sum of the largest so many, each of which is there so often. */
    longest(of) {
      const [most, ...each] = of[of.length - 1];
      const values = each.map((number, i) => [this.polynomial(of[i]), BigInt(number)]);
      values.sort((a, b) => compared(b[0], a[0]));
      let [left, sum] = [BigInt(most), ZERO];
      for (const [value, number] of values) {
        const taken = number < left ? number : left;
        sum = plus(sum, scaled(value, taken));
        left -= taken;
      }
      return sum;
    }

    price(key, inStretch) {
      const other = inStretch ? this.blocked.get(key) : undefined;
      return this.polynomial(other === undefined ? this.piece.prices[key] : other);
    }

    /** Counts of one repetition times prices. */
    timeOf(vector, inStretch) {
      const kept = this.rows[inStretch ? 1 : 0];
      if (!kept.has(vector)) {
        const sum = new Sum();
        for (let i = 0; i < vector.length; i += 2) {
          sum.add(this.price(vector[i], inStretch), BigInt(vector[i + 1]));
        }
        kept.set(vector, sum.value);
      }
      return kept.get(vector);
    }

    timeOfRows(rows, inStretch) {
      return rows.reduce(
        (sum, row) => plus(sum, scaled(this.timeOf(row.vector, inStretch), row.repetitions)), ZERO);
    }

    shared(time) { return times(time, this.factor); }

    /** A window's time from the sum of its prices (engine/interference.py). */
    settled(high) {
      if (!this.recurring.length) return high;
      const begun = over(high, this.factor);
      let time = begun;
      for (;;) {
        let longer = begun;
        for (const [takes, every] of this.recurring) {
          longer = plus(longer, scaled(takes, floor(over(time, every))));
        }
        if (compared(longer, time) === 0) return time;
        time = longer;
      }
    }

    timeOfWindow(rows, lines) {
      return this.settled(plus(this.timeOfRows(rows, true), this.shared(lines)));
    }

    /** Whether a table leaves a class out (engine/prices.py). */
    isLeftOut(key) {
      if (this.left.has(key)) return true;
      return this.document.keys[key][2] === 3 && !this.price(key, false)[0];
    }

    get hasCaches() { return this.piece.caches.length > 0; }

    /** What a service and its stretches load; null: nothing is loaded line by line. */
    lines(service, values) {
      if (!this.hasCaches) return null;
      const found = this.loaded(this.piece.lines[service.place], service.parameters, values);
      const [caches, unhidden, stretches] = found;
      const of = caches.map((ways) => {
        const taken = ways.reduce((a, b) =>
          (compared(this.polynomial(b[3]), this.polynomial(a[3])) > 0 ? a : b));
        const each = Object.entries(taken[1]).map(([name, one]) => [name, this.polynomial(one)]);
        return {
          misses: taken[0], exact: taken[2], time: new Map(each),
          total: each.reduce((sum, [, one]) => plus(sum, one), ZERO),
        };
      });
      return {
        of,
        exact: of.every((one) => one.exact),
        unhidden: this.polynomial(unhidden),
        total: of.reduce((sum, one) => plus(sum, one.total), ZERO),
        stretches: stretches.map((one) => this.polynomial(one)),
      };
    }

    loaded(table, parameters, values) {
      let entry = table;
      if (Array.isArray(table)) {
        let place = 0n;
        parameters.forEach((one, i) => {
          place = place * BigInt(one.maximum - one.minimum + 1) + values[i] - BigInt(one.minimum);
        });
        entry = table[Number(place)];
      } else if (typeof table !== "number") {
        entry = table[values.join(",")];
      }
      if (entry === undefined) {
        throw new Outside("what lines of caches take at these values of parameters is not in this file");
      }
      const found = this.document.loaded[entry];
      if (typeof found === "string") throw new Outside(found);
      return found;
    }
  }

  function pricesAt(document, numbers) {
    const state = open(document);
    const key = JSON.stringify(Object.entries(numbers).sort());
    if (!state.at.has(key)) {
      const made = new Prices(document, state, numbers);
      if (state.at.size >= KEPT) state.at.delete(state.at.keys().next().value);
      state.at.set(key, made);
    }
    return state.at.get(key);
  }

  // ---- counts (engine/counts.py)

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

  // ---- what goes on with a stretch (engine/chains.py, model/chain.py)

  const ofKind = (stretch, kind) => kind === "preemption" || stretch.kind === kind;
  const followed = (joints) => FOLLOWED.filter((joint) => (joints || []).includes(joint));
  const canFollow = (stretch) => followed(stretch.from).length > 0;
  const weakest = (words) => words.reduce((a, b) => (WORDS.indexOf(b) > WORDS.indexOf(a) ? b : a));
  const unique = (each) => [...new Set(each)];
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
      const parameters = {};
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

  // ---- blocking (engine/blocking.py)

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
        const parameters = {};
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

  // ---- estimates (engine/estimate.py)

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
    const parameters = {};
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

  /** See the head of the file. `parameters`: whole numbers by name, before those of the section
      map; `numbers`: those of the profile that are changed, by their way, as text of a profile. */
  function evaluate(document, service, parameters, numbers) {
    try {
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
      const made = estimateGiven(prices, followingAt(prices, set), found, given);
      return { outside: null, ...printed(prices, made) };
    } catch (error) {
      if (error instanceof Outside) return { outside: error.message };
      throw error;
    }
  }

  function printed(prices, made) {
    const time = (value) => ({
      num: String(value[0]), den: String(value[1]), ns: grouped(value),
      cycles: grouped(over(times(value, prices.clock), [1000000000n, 1n])),
    });
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

  return { evaluate, parseQuantity, grouped };
})();
if (typeof module !== "undefined") module.exports = wcetcharEvaluator;
