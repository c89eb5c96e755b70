import fc from "fast-check";
import { expect, test } from "vitest";
import { Sketch } from "./sketch.ts";
import { quantileInterval, shareInterval } from "./intervals.ts";

test("a share's interval is Wilson's", () => {
  const [low, high] = shareInterval(8, 10) ?? [];
  expect(low).toBeCloseTo(0.490_16, 4);
  expect(high).toBeCloseTo(0.943_32, 4);
  expect(shareInterval(0, 0)).toBeUndefined();
});

test("a share lies in its interval, from 0 to 1, and more samples make it narrower", () => {
  const samples = fc
    .integer({ min: 1, max: 1_000 })
    .chain((of) => fc.tuple(fc.nat({ max: of }), fc.constant(of)));
  fc.assert(
    fc.property(samples, ([met, of]) => {
      const [low, high] = shareInterval(met, of) ?? [NaN, NaN];
      expect(low).toBeLessThanOrEqual(met / of + 1e-9);
      expect(high).toBeGreaterThanOrEqual(met / of - 1e-9);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      const [l4, h4] = shareInterval(met * 4, of * 4) ?? [NaN, NaN];
      expect(h4 - l4).toBeLessThan(high - low);
    }),
  );
});

test("a quantile's interval holds the true quantile about 95 times in 100, and needs enough values", () => {
  let [held, tried] = [0, 0];
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let i = 0; i < 500; i++) {
    const sketch = new Sketch();
    for (let j = 0; j < 400; j++) sketch.add(Math.round(random() * 1_000_000));
    const found = quantileInterval(sketch, 0.9);
    tried++;
    if (found && found[0] <= 900_000 * 1.008 && found[1] >= 900_000 * 0.992) held++;
  }
  expect(held / tried).toBeGreaterThan(0.92);
  const few = new Sketch();
  for (let j = 0; j < 20; j++) few.add(j);
  expect(quantileInterval(few, 0.95)).toBeUndefined();
});
