"use strict";
/* Times and clocks as a profile's file says them, and as a reader of the page writes them: text in,
   ends of an interval out, as `store/quantity.py` reads it, or what is wrong with the text. */
const evaluatorQuantity = (() => {
  const { ZERO, ONE, plus, minus, times, compared, ratio } = evaluatorNumbers;

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

  return { parseQuantity };
})();
