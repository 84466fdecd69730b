"use strict";
/* Exact numbers: [numerator, denominator] of whole numbers of any size, reduced, the denominator
   above zero. Nothing rounds but `grouped`, which is for print, and rounds up. */
const evaluatorNumbers = (() => {
  const DIGITS = 3; // report/numbers.py

  /** What this document cannot say, and why. */
  class Outside extends Error {}

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

  /** Rounded up to DIGITS decimals, with commas between thousands: report/numbers.py, grouped. */
  function grouped(value) {
    let parts = ceil(scaled(value, 10n ** BigInt(DIGITS)));
    const sign = parts < 0n ? "-" : "";
    if (parts < 0n) parts = -parts;
    const whole = String(parts / 10n ** BigInt(DIGITS)).replace(/\B(?=(\d{3})+$)/g, ",");
    const rest = String(parts % 10n ** BigInt(DIGITS)).padStart(DIGITS, "0").replace(/0+$/, "");
    return sign + whole + (rest ? `.${rest}` : "");
  }

  const unique = (each) => [...new Set(each)];

  return {
    Outside, ZERO, ONE, plus, minus, times, scaled, over, compared, larger, floor, ceil,
    ratio, read, Sum, grouped, unique,
  };
})();
