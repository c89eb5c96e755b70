import { DIGITS, type Draw } from "../draw.ts";
import { type InnocentSort, padded, withCommas } from "./innocent.ts";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "October",
  "December",
];
const THINGS = [
  "bolts",
  "visitors",
  "votes",
  "tonnes of wheat",
  "downloads",
  "trees",
  "seats",
  "kilowatt hours",
];
const UNITS = ["mm", "kg", "ms", "km/h", "°C", "kWh", "MB/s", "hPa"];

const list = (draw: Draw, [least, most]: readonly [number, number], make: () => string, separator: string) =>
  draw.many(draw.number(least, most), make).join(separator);

export const NUMBER_TEXTS: readonly InnocentSort[] = [
  {
    name: "lists of four-digit numbers",
    make: (draw) =>
      `Free ports: ${list(draw, [3, 9], () => String(draw.number(1_024, 9_999)), draw.one([" ", ", ", "\n", "  ", "\t"]))}.`,
  },
  {
    name: "lists of numbers of any size",
    make: (draw) =>
      `${draw.one(["Samples", "values =", "Counts:"])} ${list(draw, [6, 20], () => String(draw.number(0, 10 ** draw.number(1, 7))), draw.one([" ", ", ", "\n", "; ", "  "]))}`,
  },
  {
    name: "lists of two-digit numbers",
    make: (draw) =>
      `${draw.one(["Rooms", "Pages", "Scores:", "Ages:"])} ${list(draw, [5, 14], () => padded(draw.number(1, 99), 2), draw.one([" ", ", ", "-", ".", "/"]))}`,
  },
  {
    name: "draws of a lottery",
    make: (draw) => {
      const numbers = [...new Set(draw.many(6, () => draw.number(1, 49)))].toSorted((a, b) => a - b);
      return `${draw.one(["Lotto", "Tirage du loto", "Lottozahlen"])}: ${numbers.map((one) => padded(one, 2)).join(draw.one([" ", " - ", ", "]))}`;
    },
  },
  {
    name: "single digits",
    make: (draw) => `Sequence: ${list(draw, [12, 40], () => draw.one(DIGITS), draw.one([" ", ", ", "-"]))}`,
  },
  {
    name: "signed numbers",
    make: (draw) =>
      `${draw.one(["Changes:", "Offsets", "deltas ="])} ${list(draw, [4, 12], () => `${draw.one("+-")}${draw.number(1, 10 ** draw.number(1, 5))}`, draw.one([" ", ", ", "\n"]))}`,
  },
  {
    name: "long numbers",
    make: (draw) =>
      `${draw.one(["The seed was", "id", "It counted", "nonce:", "offset="])} ${draw.one(DIGITS.slice(1))}${draw.text(DIGITS, draw.number(8, 21))}${draw.one([".", ",", "\n", " of them"])}`,
  },
  {
    name: "decimals",
    make: (draw) =>
      list(
        draw,
        [3, 8],
        () => `${draw.number(0, 999)}.${draw.text(DIGITS, draw.number(1, 12))}`,
        draw.one([" ", ", ", "\n"]),
      ),
  },
  {
    name: "dates and times",
    make: (draw) => {
      const [year, month, day] = [draw.number(1_950, 2_030), draw.number(1, 12), draw.number(1, 28)];
      const [hour, minute, second] = [draw.number(0, 23), draw.number(0, 59), draw.number(0, 59)];
      const [m, d, h, n, s] = [month, day, hour, minute, second].map((part) => padded(part, 2));
      return `It began ${draw.one([
        `${year}-${m}-${d}T${h}:${n}:${s}.${draw.text(DIGITS, 6)}Z`,
        `${d}.${m}.${year} ${h}:${n}`,
        `${m}/${d}/${year}`,
        `on ${draw.one(MONTHS)} ${day}, ${year} at ${h}${n} hours`,
        `${year}${m}${d}${h}${n}${s}`,
        `${year}${m}${d}-${h}${n}${s}`,
        `${d}-${m}-${year} to ${d}-${m}-${year + 1}`,
        `at ${draw.number(1_500_000_000, 1_800_000_000)}${draw.one(["", "000", "123", "123456", "123456789"])}`,
      ])}.`;
    },
  },
  {
    name: "prices",
    make: (draw) => {
      const [least, most] = [draw.number(1, 999_999), draw.number(1, 99)];
      return `${draw.one(["Total", "Das kostet", "Prix :", "It sold for"])} ${draw.one([
        `$${withCommas(least)}.${padded(most, 2)}`,
        `${String(least).replaceAll(/\B(?=(?:\d{3})+$)/g, ".")},${padded(most, 2)} €`,
        `${String(least).replaceAll(/\B(?=(?:\d{3})+$)/g, " ")},${padded(most, 2)} EUR`,
        `EUR ${least}.${padded(most, 2)}; before that EUR ${least + most}.00`,
        `£${withCommas(least)} to £${withCommas(least + 10_000)}`,
        `¥${withCommas(least * 100)}`,
        `CHF ${String(least).replaceAll(/\B(?=(?:\d{3})+$)/g, "'")}.${padded(most, 2)}`,
      ])}.`;
    },
  },
  {
    name: "counts in sentences",
    make: (draw) =>
      `There were ${withCommas(draw.number(10, 9_999_999))} ${draw.one(THINGS)} in ${draw.number(1_990, 2_026)}, ${draw.number(1, 99)}.${draw.number(0, 9)} % more than the ${withCommas(draw.number(10, 9_999_999))} of ${draw.number(1_900, 1_989)}.`,
  },
  {
    name: "measurements in a table",
    make: (draw) => {
      const unit = draw.one(UNITS);
      const row = () =>
        `| ${draw.number(1, 99)} | ${draw.number(1_000, 99_999)} | ${draw.number(0, 999)}.${draw.text(DIGITS, 3)} |`;
      return `| run | n | ${unit} |\n|---|---|---|\n${list(draw, [3, 8], row, "\n")}`;
    },
  },
  {
    name: "rows of a file of values",
    make: (draw) =>
      list(
        draw,
        [3, 7],
        () =>
          [
            draw.number(1, 9_999),
            draw.text(DIGITS, 4),
            draw.number(0, 1),
            `${draw.number(0, 99)}.${draw.text(DIGITS, 2)}`,
          ].join(draw.one([",", ";", "\t"])),
        "\n",
      ),
  },
  {
    name: "places on a map",
    make: (draw) =>
      draw.one([
        `${draw.number(-89, 89)}.${draw.text(DIGITS, 6)}, ${draw.number(-179, 179)}.${draw.text(DIGITS, 6)}`,
        `${draw.number(0, 89)}° ${draw.number(0, 59)}' ${draw.number(0, 59)}" N, ${draw.number(0, 179)}° ${draw.number(0, 59)}' ${draw.number(0, 59)}" E`,
        `+${draw.number(0, 89)}.${draw.text(DIGITS, 4)} +${padded(draw.number(0, 179), 3)}.${draw.text(DIGITS, 4)}/`,
        `EPSG:${draw.number(2_000, 32_760)} ${draw.number(100_000, 899_999)} ${draw.number(1_000_000, 9_999_999)}`,
      ]),
  },
  {
    name: "sums and formulas",
    make: (draw) => {
      const [a, b, c] = draw.many(3, () => draw.number(2, 9_999_999));
      return draw.one([
        `${a} + ${b} = ${(a as number) + (b as number)}`,
        `x = a+${a}${b}; y = ${b}-${c}`,
        `${a} × ${c} ≈ ${((a as number) * (c as number)).toExponential(6)}`,
        `x² + ${a}x - ${b} = 0, so x¹ = ${c}.${draw.text(DIGITS, 9)}`,
        `C₆H₁₂O₆ + 6 O₂ → 6 CO₂ + 6 H₂O; ${a} g make ${b} mol`,
        `π ≈ 3.14159265358979323846 and e ≈ 2.71828182845904523536, times ${a}`,
        `${a}/${b} = 0.${draw.text(DIGITS, 16)}`,
      ]);
    },
  },
];
