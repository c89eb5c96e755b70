import { ALPHANUMERIC, DIGITS, type Draw, LOWER, UPPER } from "../draw.ts";
import { type InnocentSort, padded } from "./innocent.ts";

const PARTS = ["SKU", "Part no.", "Item", "Article", "Model", "P/N", "Ref.", "Art.-Nr."];
const CALLED = [
  "Order",
  "Invoice",
  "Ticket",
  "Case",
  "Rechnung",
  "Commande",
  "Booking",
  "Shipment",
  "Order no.",
];

const hyphened = (draw: Draw, sizes: readonly number[]): string =>
  sizes.map((size) => draw.text(DIGITS, size)).join("-");

/** Digits with EAN's check digit. */
function ean(draw: Draw, prefix: string): string {
  const body = prefix + draw.text(DIGITS, 12 - prefix.length);
  const sum = Array.from(body).reduce(
    (total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 1 : 3),
    0,
  );
  return body + ((10 - (sum % 10)) % 10);
}

export const REFERENCE_TEXTS: readonly InnocentSort[] = [
  {
    name: "article numbers with letters",
    make: (draw) =>
      `${draw.one(PARTS)} ${draw.text(UPPER, draw.number(2, 4))}-${hyphened(draw, draw.one([[4], [3, 4], [3, 3, 4], [4, 2, 3], [5]]))}${draw.one(["", "-B", "-XL", "/2"])} is back in stock.`,
  },
  {
    name: "article numbers without letters",
    make: (draw) =>
      `${draw.one(PARTS)} ${hyphened(
        draw,
        draw.one([
          [3, 3, 4],
          [4, 4],
          [3, 4],
          [4, 3, 4],
          [2, 4, 3],
          [3, 2, 4],
          [5, 5],
          [4, 7],
        ]),
      )} fits as well.`,
  },
  {
    name: "article numbers in a list",
    make: (draw) =>
      draw
        .many(
          draw.number(2, 5),
          () =>
            `* ${draw.number(1, 40)} × ${draw.text(UPPER, 3)}${draw.text(DIGITS, 6)}-${draw.text(DIGITS, 3)}${draw.one(UPPER)}`,
        )
        .join("\n"),
  },
  {
    name: "slugs",
    make: (draw) =>
      `see /shop/${draw.text(LOWER, 6)}-${hyphened(draw, draw.one([[3, 3, 4], [4, 4, 4], [6], [3, 4]]))}/${draw.text(LOWER, 4)}.html`,
  },
  {
    name: "order numbers",
    make: (draw) =>
      `${draw.one(CALLED)} ${draw.one(["", "#", "no. ", "number "])}${draw.one([
        draw.text(DIGITS, draw.number(8, 16)),
        `0${draw.text(DIGITS, draw.number(7, 11))}`,
        hyphened(draw, [3, 7, 7]),
        hyphened(draw, [4, 4, 4]),
        `${draw.number(2_019, 2_026)}-${padded(draw.number(1, 99_999), 6)}`,
        `${draw.text(UPPER, 2)}${draw.text(DIGITS, 9)}${draw.text(UPPER, 2)}`,
      ])} was sent on Monday.`,
  },
  {
    name: "tracking numbers",
    make: (draw) =>
      `Follow it as ${draw.one([
        `1Z${draw.text(UPPER + DIGITS, 6)}${draw.text(DIGITS, 10)}`,
        `94${draw.text(DIGITS, 20)}`,
        `94${draw.text(DIGITS, 2)} ${draw.many(4, () => draw.text(DIGITS, 4)).join(" ")} ${draw.text(DIGITS, 2)}`,
        `JJD${draw.text(DIGITS, 18)}`,
        `0034${draw.text(DIGITS, 16)}`,
        draw.text(DIGITS, 12),
        `R${draw.one(UPPER)}${draw.text(DIGITS, 9)}DE`,
      ])}, please.`,
  },
  {
    name: "books and papers",
    make: (draw) =>
      draw.one([
        `ISBN 978-${hyphened(draw, [1, 3, 5, 1])}`,
        `ISBN ${hyphened(draw, [1, 4, 4])}-X`,
        `ISBN ${ean(draw, "978")}`,
        `ISSN ${hyphened(draw, [4, 4])}, vol. ${draw.number(1, 90)}(${draw.number(1, 12)}), pp. ${draw.number(100, 400)}-${draw.number(401, 999)}`,
        `doi:10.${draw.number(1_000, 9_999)}/${draw.text(LOWER, 5)}.${draw.number(2_000, 2_026)}.${draw.text(DIGITS, 6)}`,
        `arXiv:${draw.number(10, 26)}${padded(draw.number(1, 12), 2)}.${draw.text(DIGITS, 5)}v${draw.number(1, 4)}`,
        `RFC ${draw.number(100, 9_800)}, section ${draw.number(1, 12)}.${draw.number(1, 9)}.${draw.number(1, 9)}`,
      ]),
  },
  {
    name: "bar codes",
    make: (draw) =>
      `${draw.one(["EAN", "GTIN", "Barcode", "UPC"])}: ${draw.one([ean(draw, draw.one(["40", "42", "43", "50", "54", "76", "87", "30", "69"])), `0 ${draw.text(DIGITS, 5)} ${draw.text(DIGITS, 5)} ${draw.one(DIGITS)}`, draw.text(DIGITS, 8)])}`,
  },
  {
    name: "serial numbers of devices",
    make: (draw) =>
      draw.one([
        `IMEI 35${draw.text(DIGITS, 13)}`,
        `S/N ${draw.text(UPPER + DIGITS, 12)}`,
        `serial ${draw.text(UPPER, 3)}${draw.text(DIGITS, 9)}`,
        `VIN W${draw.text("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", 16)}`,
        `MAC ${draw.many(6, () => draw.text("0123456789abcdef", 2)).join(draw.one([":", "-"]))}`,
        `product key ${draw.many(5, () => draw.text(UPPER + DIGITS, 5)).join("-")}`,
      ]),
  },
  {
    name: "laws and files of courts",
    make: (draw) =>
      draw.one([
        `Case C-${draw.number(1, 900)}/${draw.number(10, 26)}, paragraphs ${draw.number(10, 50)} to ${draw.number(51, 120)}`,
        `BGH, Urteil vom ${padded(draw.number(1, 28), 2)}.${padded(draw.number(1, 12), 2)}.${draw.number(1_990, 2_025)} - ${draw.one("IVX")} ZR ${draw.number(1, 400)}/${draw.number(10, 25)}`,
        `Regulation (EU) ${draw.number(2_000, 2_025)}/${draw.number(100, 2_999)}, art. ${draw.number(1, 90)}(${draw.number(1, 9)})`,
        `${draw.number(10, 50)} U.S.C. § ${draw.number(100, 9_999)}(a)(${draw.number(1, 9)})`,
        `Patent US ${draw.number(5, 12)},${draw.text(DIGITS, 3)},${draw.text(DIGITS, 3)} B2`,
        `CAS ${hyphened(draw, [draw.number(2, 6), 2, 1])}, EC ${hyphened(draw, [3, 3, 1])}`,
      ]),
  },
  {
    name: "names of images and files",
    make: (draw) => {
      const day = `${draw.number(2_010, 2_026)}${padded(draw.number(1, 12), 2)}${padded(draw.number(1, 28), 2)}`;
      return draw.one([
        `IMG_${day}_${draw.text(DIGITS, 6)}.jpg`,
        `backup-${day}-${draw.text(DIGITS, 6)}.tar.gz`,
        `scan_${draw.text(DIGITS, 8)}${draw.one(UPPER)}.pdf`,
        `DSC0${draw.text(DIGITS, 4)}.ARW, DSC0${draw.text(DIGITS, 4)}.ARW`,
        `icon@${draw.number(2, 4)}x.png and logo@2x.webp`,
        `report_${draw.text(DIGITS, 11)}_final(2).docx`,
        `part-${draw.text(DIGITS, 5)}-${draw.text(ALPHANUMERIC, 8)}.parquet`,
      ]);
    },
  },
];
