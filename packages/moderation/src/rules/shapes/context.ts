import type { ShapeSource } from "./shape-source.ts";

/** Words that say what number comes: none that people have. */
const NAMES = [
  "sku|part|item|art(?:icle|ikel)?|model|serial|lot|batch|[ps]\\/n|isbn|issn|ean|upc|gtin",
  "version|firmware|build|release|rev(?:ision)?",
  "order|invoice|booking|tracking|shipment|customer|ticket|case|ref(?:erence)?",
  "bestell|rechnungs?|auftrags?|buchungs?|kunden|commande|facture|pedido|factura",
];
const NUMBER = String.raw`(?:n[or°]|num(?:ber)?|numm?er|nummer|numéro|número)`;
const NAMED = new RegExp(
  String.raw`(?<![A-Za-z])(?:${NAMES.join("|")})[ .:#=-]{0,3}(?:${NUMBER}[ .:#=-]{0,3})?$`,
  "i",
);

/** True if the text right before a number makes it a reference: `SKU 415-…`, or a part of a longer one: `AB-415-…`, `2024/0171-…`. */
function isReference(before: string): boolean {
  return /[A-Za-z0-9][-_./#+]$/.test(before) || NAMED.test(before);
}

/** Text after a number that makes it a part of a longer one: `415-555-2671-B`, `415.555.2671.3`. */
const GOES_ON = String.raw`(?:[-/][0-9A-Za-z]|\.\d)?`;
const GOES_ON_LENGTH = 2;

/**
 * Returns a shape for a number whose form tells little, so that it counts only by itself: no reference, nor a part of one.
 * @param form of the number, in RE2 syntax and JavaScript's
 * @param maxLength of the number
 * @param counts checks the number
 */
export function standingAlone(
  name: string,
  form: string,
  maxLength: number,
  counts: (number: string, before: string) => boolean,
): ShapeSource {
  const atBegin = new RegExp(`^(?:${form})`);
  return {
    name,
    pattern: String.raw`(?:${form})\b${GOES_ON}`,
    maxLength: maxLength + GOES_ON_LENGTH,
    check(text, before) {
      const [number = text] = atBegin.exec(text) ?? [];
      // A dash of a sentence is no hyphen.
      const alone = number.length === text.length || text.charAt(number.length) === "\u2014";
      return alone && !isReference(before) && counts(number, before) ? number.length : 0;
    },
  };
}
