type Value = string | { readonly [key: string]: Value | undefined } | readonly Value[];

/** YAML of maps, lists and strings, which is all that rules are made of. */
export function toYaml(value: { readonly [key: string]: Value | undefined }): string {
  return `${lines(value).join("\n")}\n`;
}

function lines(value: Value): string[] {
  if (typeof value === "string") return [quote(value)];
  if (isList(value)) return value.flatMap((item) => indent(lines(item), "- "));
  return Object.entries(value).flatMap(([key, field]) => {
    if (field === undefined) return [];
    return typeof field === "object" ? [`${key}:`, ...indent(lines(field))] : [`${key}: ${lines(field)[0]}`];
  });
}

function indent(block: readonly string[], first = "  "): string[] {
  return block.map((line, index) => (index === 0 ? first : "  ") + line);
}

/** `Array.isArray` does not tell a read-only list from the rest. */
function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** PromQL is full of double quotes, which need no escapes between single ones. */
function quote(text: string): string {
  return text.includes('"') ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
}
