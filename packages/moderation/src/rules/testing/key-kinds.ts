import { BASE64, type Draw } from "./draw.ts";
import type { Kind } from "./kind.ts";

/** Lines of one length, and a shorter last one. Drawn at random, so no key at all. */
function body(draw: Draw, lines: number, width: number): string[] {
  return [...draw.many(lines, () => draw.text(BASE64, width)), `${draw.text(BASE64, width / 2 - 1)}=`];
}

function block(label: string, lines: readonly string[]): string {
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join("\n");
}

const each = (text: string, line: (text: string, last: boolean) => string): string =>
  text
    .split("\n")
    .map((one, at, all) => line(one, at === all.length - 1))
    .join("\n");

const LAYOUTS: Kind["layouts"] = {
  "as it is": (bare) => bare,
  "Windows' line ends": (bare) => bare.replaceAll("\n", "\r\n"),
  "quoted in Markdown": (bare) => each(bare, (line) => `> ${line}`),
  "quoted twice in Markdown": (bare) => each(bare, (line) => `> > ${line}`),
  indented: (bare) => each(bare, (line) => `    ${line}`),
  "indented by a tab": (bare) => each(bare, (line) => `\t${line}`),
  escaped: (bare) => bare.replaceAll("\n", String.raw`\n`),
  "escaped twice": (bare) => bare.replaceAll("\n", String.raw`\\n`),
  "escaped, with carriage returns": (bare) => bare.replaceAll("\n", String.raw`\r\n`),
  "strings joined by plus": (bare) =>
    each(bare, (line, last) => (last ? `  "${line}"` : String.raw`  "${line}\n" +`)),
  "strings joined by plus at the line's beginning": (bare) =>
    each(bare, (line) => String.raw`  + '${line}\n'`),
  "adjacent strings": (bare) => each(bare, (line) => String.raw`    "${line}\n"`),
  "strings joined by dots": (bare) => each(bare, (line) => String.raw`    . "${line}\n"`),
  "strings in a list": (bare) => each(bare, (line) => `    "${line}",`),
  "lines that continue after a backslash": (bare) =>
    each(bare, (line, last) => (last ? line : String.raw`${line}\n\ `.trimEnd())),
  "comment of a shell": (bare) => each(bare, (line) => `# ${line}`),
  "comment of C": (bare) => each(bare, (line) => ` * ${line}`),
  "comment of two slashes": (bare) => each(bare, (line) => `// ${line}`),
  "an empty line after each": (bare) => bare.replaceAll("\n", "\n\n"),
  "after numbers of lines": (bare) => {
    let number = 0;
    return each(bare, (line) => `${String(++number).padStart(4)} | ${line}`);
  },
  "added in a diff": (bare) => each(bare, (line) => `+${line}`),
};

const kind = (name: string, make: (draw: Draw) => string): Kind => ({
  name,
  rule: "secrets.private-key",
  form: "block",
  make,
  layouts: LAYOUTS,
});

/** Labels in parts: no file of the repository holds a header of a key. */
const PRIVATE = ["PRIVATE", "KEY"].join(" ");

export const KEY_KINDS: readonly Kind[] = [
  kind("RSA key", (draw) => block(`RSA ${PRIVATE}`, body(draw, 24, 64))),
  kind("PKCS #8 key", (draw) => block(PRIVATE, body(draw, 25, 64))),
  kind("EC key", (draw) => block(`EC ${PRIVATE}`, body(draw, 2, 64))),
  kind("OpenSSH key", (draw) => block(`OPENSSH ${PRIVATE}`, body(draw, 5, 70))),
  kind("encrypted key", (draw) =>
    block(`RSA ${PRIVATE}`, [
      "Proc-Type: 4,ENCRYPTED",
      `DEK-Info: AES-256-CBC,${draw.text("0123456789ABCDEF", 32)}`,
      "",
      ...body(draw, 12, 64),
    ]),
  ),
  kind("key in short lines", (draw) => block(PRIVATE, body(draw, 30, draw.one([4, 8, 10, 12, 14])))),
  kind("PGP key", (draw) =>
    block(`PGP ${PRIVATE} BLOCK`, ["", ...body(draw, 30, 64), `=${draw.text(BASE64, 4)}`]),
  ),
  kind("PGP key with its version", (draw) =>
    block(`PGP ${PRIVATE} BLOCK`, [
      `Version: GnuPG v2.${draw.number(0, 4)}.${draw.number(1, 40)} (GNU/Linux)`,
      "",
      ...body(draw, 30, 64),
      `=${draw.text(BASE64, 4)}`,
    ]),
  ),
  kind("PGP key with comments", (draw) =>
    block(`PGP ${PRIVATE} BLOCK`, [
      "Version: Mailvelope v4.6",
      "Comment: https://keys.example.org, made for tests",
      "Comment: User-ID: Someone <someone@example.org>",
      "",
      ...body(draw, 30, 64),
      `=${draw.text(BASE64, 4)}`,
    ]),
  ),
];
