/** Whether a value fits a schema. Undefined: this validator can't say, so it says nothing. */
export type Fit = boolean | undefined;

/* Kleene's logic: what is not known stays so, unless what is known decides. */

/** Reads no further than the first misfit. */
export function all(fits: Iterable<Fit>): Fit {
  let whole: Fit = true;
  for (const fit of fits) {
    if (fit === false) return false;
    if (fit === undefined) whole = undefined;
  }
  return whole;
}

/** Reads no further than the first fit. */
export function any(fits: Iterable<Fit>): Fit {
  let one: Fit = false;
  for (const fit of fits) {
    if (fit === true) return true;
    if (fit === undefined) one = undefined;
  }
  return one;
}

export function not(fit: Fit): Fit {
  return fit === undefined ? undefined : !fit;
}

/** Whether the number of fits lies within the bounds, both included. */
export function countWithin(fits: Iterable<Fit>, least: number, most: number): Fit {
  let [sure, open] = [0, 0];
  for (const fit of fits) {
    if (fit === true) sure++;
    if (fit === undefined) open++;
  }
  if (sure > most || sure + open < least) return false;
  return sure >= least && sure + open <= most ? true : undefined;
}
