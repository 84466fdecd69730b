"use strict";
/* Prices where numbers of the profile are as a reader has changed them: polynomials of a document of
   `engine/recorded_document.py`, of the first piece whose guards all hold there (`engine/recorded.py`
   says what these are); and what is made of prices alone: sums, windows with interference, lines of
   caches. Where no piece holds, it is outside. */
const evaluatorPrices = (() => {
  const {
    Outside, ZERO, ONE, plus, minus, times, scaled, over, compared, larger, floor, read, Sum,
  } = evaluatorNumbers;
  const { parseQuantity } = evaluatorQuantity;
  const { compiled, namesIn } = evaluatorFormulas;

  const KEPT = 8; // sets of numbers that are kept evaluated

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

  /** What refresh and other masters add to a window (engine/interference.py): pairs of how long one
      takes, and the least time from one to the next; `before`: so long before a window it counts. */
  class Rate {
    constructor(recurring, before) {
      this.recurring = recurring;
      this.before = before;
      this.once = recurring.reduce((sum, [takes]) => plus(sum, takes), ZERO);
      const busy = recurring.reduce((sum, [takes, every]) => plus(sum, over(takes, every)), ZERO);
      this.factor = over(ONE, minus(ONE, busy));
    }

    /** A window's time from the sum of its prices. */
    settled(high) {
      if (!this.recurring.length || compared(high, ZERO) === 0) return high;
      const begun = over(high, this.factor);
      let time = begun;
      for (;;) {
        let longer = begun;
        for (const [takes, every] of this.recurring) {
          longer = plus(longer, scaled(takes, floor(over(plus(time, this.before), every))));
        }
        if (compared(longer, time) === 0) return time;
        time = longer;
      }
    }

    /** The same of the prices of a path, in which what comes once for each window is not. */
    ofPath(high) { return this.settled(plus(high, times(this.once, this.factor))); }
  }

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
      this.rate = this.rateOf(piece);
      this.once = this.rate.once;
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

    rateOf(piece) {
      const recurring = piece.recurring.map((pair) => pair.map((one) => this.polynomial(one)));
      return new Rate(recurring, this.polynomial(piece.before));
    }

    shared(time) { return times(time, this.rate.factor); }

    settled(high) { return this.rate.settled(high); }

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

  return { pricesAt, KEPT };
})();
