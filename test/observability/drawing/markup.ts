/** Series are told apart on a light ground, by those who see colours differently too (Okabe and Ito). */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#666666", "#7b3294"];

export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "#000000";
}

export function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content = "",
): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => `${key}="${typeof value === "number" ? Math.round(value * 10) / 10 : escape(value)}"`,
  );
  return `<${name} ${list.join(" ")}>${content}</${name}>`;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}
