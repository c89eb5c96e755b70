import type { Kind } from "./kind.ts";

/** The text around a positive. */
export interface Decoration {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** Replaces a line end inside. */
  readonly lineEnd?: string;
  /** Default: all but blocks. */
  readonly suits?: readonly Kind["form"][];
}

const around = (name: string, before: string, after = before): Decoration => ({ name, before, after });
const ALL: readonly Kind["form"][] = ["strong", "weak", "block"];
const STRONG: readonly Kind["form"][] = ["strong"];

export const DECORATIONS: readonly Decoration[] = [
  { ...around("alone", ""), suits: ALL },
  { ...around("in a sentence", "Here it is: ", ". Please keep it."), suits: ALL },
  { ...around("on lines of its own", "It is\n", "\nand nothing else."), suits: ALL },
  around("at a clause's end", "You asked for ", ", so here you are."),
  around("emphasis by underscores", "It is _", "_, I think."),
  around("strong emphasis by underscores", "It is __", "__."),
  around("emphasis by a star", "It is *", "*."),
  around("strong emphasis by stars", "It is **", "**."),
  around("struck through", "Not ~~", "~~ any more."),
  around("code span", "Use `", "` for it."),
  { ...around("code block", "```\n", "\n```\n"), suits: ALL },
  { ...around("code block with a language", "Put this down:\n\n```env\nVALUE=", "\n```\n"), suits: ALL },
  { name: "quote", before: "They wrote:\n\n> ", after: "\n> and no more.\n", lineEnd: "\n> " },
  { name: "list item", before: "- first\n- ", after: "\n- last\n", lineEnd: "\n  " },
  { name: "numbered item", before: "1. first\n2. ", after: "\n3. last\n", lineEnd: "\n   " },
  around("table cell", "| name | value |\n|---|---|\n| it | ", " |\n"),
  { ...around("double quotes", 'She said "', '" and left.'), suits: ALL },
  around("single quotes", "value = '", "';"),
  around("curly quotes", "He wrote \u201c", "\u201d."),
  around("guillemets", "Il a dit \u00ab\u00a0", "\u00a0\u00bb."),
  around("parentheses", "the one from before (", ") is"),
  around("brackets", "see [", "] there"),
  around("angle brackets", "Reply to <", ">, please"),
  around("HTML", "<p>It is <b>", "</b>.</p>"),
  around("after an entity", "<td>&nbsp;", "</td>"),
  around("assignment", "export VALUE=", "\necho done"),
  around("after a colon", "value:", " (new)"),
  around("YAML", "config:\n  value: ", " # changed\n"),
  { name: "JSON", before: '{"id":7,"value":"', after: '","ok":true}', lineEnd: String.raw`\n` },
  {
    name: "JSON with escaped line ends",
    before: String.raw`{"text":"It is\n`,
    after: String.raw`\nand no more"}`,
    lineEnd: String.raw`\n`,
  },
  {
    name: "JSON in JSON",
    before: String.raw`{\"text\":\"It is\\n`,
    after: String.raw`\\n\"}`,
    lineEnd: String.raw`\\n`,
  },
  {
    ...around("after an escaped tab", String.raw`print("value\t`, String.raw`\t")`),
    lineEnd: String.raw`\n`,
  },
  around("query of an address", "https://example.org/find?value=", "&page=2"),
  around("log line", "2026-11-22T09:15:00.123Z INFO saved value=", " took=12ms"),
  around("comment of C", "x = 1; // ", "\ny = 2;"),
  around("comment of HTML", "<!-- ", " -->"),
  around("after a numero sign", "\u2116", ""),
  around("before a superscript", "It is ", "\u00b9 as noted."),
  around("before a trade mark sign", "It is ", "\u2122 here."),
  around("after a circled digit", "\u2460", " and so on"),
  around("between ordinal signs", "n\u00ba", "\u00aa"),
  around("in Chinese", "号码是", "，谢谢。"),
  around("in Arabic", "الرقم ", "، شكرا"),
  around("between dashes", "the value \u2014 ", " \u2014 is new"),
  around("between dashes without blanks", "call it\u2014", "\u2014and no more"),
  around("between ellipses", "\u2026", "\u2026"),
  around("zero-width blanks", "It is \u200b", "\u200b."),
  around("byte order mark", "\ufeff", "\n"),
  { name: "after an identifier", before: "MY_", after: " is set", suits: STRONG },
  { name: "inside an identifier", before: "prod_", after: "_old = 1", suits: STRONG },
  { name: "in a file's name", before: "open scan_", after: "_v2.pdf", suits: STRONG },
];
