/** Luhn's check over a string of digits (ISO/IEC 7812-1). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits.charAt(digits.length - 1 - at));
    const doubled = digit * 2;
    if (at % 2 === 0) sum += digit;
    else sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 13616: the number with its first four characters last and letters as 10 to 35 is 1 modulo 97. */
export function hasIbanCheck(iban: string): boolean {
  let remainder = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

/** The German tax number for people: ISO 7064 Mod 11,10; of its first ten digits one comes two or three times, the others once at most. */
export function hasTaxIdCheck(digits: string): boolean {
  const counts = Array.from(
    { length: 10 },
    (_, digit) => digits.slice(0, 10).split(String(digit)).length - 1,
  );
  const repeated = counts.filter((count) => count > 1);
  if (repeated.length !== 1 || (repeated[0] as number) > 3) return false;
  let product = 10;
  for (const character of digits.slice(0, 10)) {
    const sum = (Number(character) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === Number(digits.charAt(10));
}

/** Returns the letter of a Spanish DNI or NIE. X, Y and Z of an NIE count as 0, 1 and 2. */
export function dniLetter(number: string): string {
  const digits = number.replace("X", "0").replace("Y", "1").replace("Z", "2");
  return "TRWAGMYFPDXBNJZSQVHLCKE".charAt(Number(digits) % 23);
}

/** The Italian fiscal code's last letter, from values by place: even places as they are, odd ones from a table. */
export function hasFiscalCodeCheck(code: string): boolean {
  const odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
  let sum = 0;
  for (let at = 0; at < 15; at++) {
    const value = Number.parseInt(code.charAt(at), 36);
    const place = value > 9 ? value - 10 : value;
    sum += at % 2 === 0 ? (odd[place] as number) : place;
  }
  return String.fromCharCode(65 + (sum % 26)) === code.charAt(15);
}

/** The Polish PESEL: a date of birth of this century or the one before, its month counted on by 20 for this one, and a weighted check digit. */
export function hasPeselCheck(digits: string): boolean {
  const month = Number(digits.slice(2, 4));
  const day = Number(digits.slice(4, 6));
  if (month > 40 || month % 20 < 1 || month % 20 > 12 || day < 1 || day > 31) return false;
  return weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;
}

/** The Brazilian CPF: two digits modulo 11; not the same digit throughout. */
export function hasCpfChecks(digits: string): boolean {
  if (/^(\d)\1*$/.test(digits)) return false;
  const check = (count: number): number => {
    const weights = Array.from({ length: count }, (_, at) => count + 1 - at);
    return ((weighted(digits, weights) * 10) % 11) % 10;
  };
  return check(9) === Number(digits.charAt(9)) && check(10) === Number(digits.charAt(10));
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * Number(digits.charAt(at)), 0);
}

/** True for a number of goods (GTIN-13): digits count once and three times by turns. */
export function hasEanCheck(digits: string): boolean {
  return digits.length === 13 && weighted(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0;
}
