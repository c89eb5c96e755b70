/** A file of package sources: one per line (`deb [signed-by=…] uri suite component…`), or stanzas of fields (deb822). */
export interface AptSourceFile {
  readonly format: "lines" | "deb822";
  readonly text: string;
}

interface Source {
  readonly uris: readonly string[];
  readonly components: readonly string[];
  readonly signedBy: string | undefined;
  readonly trusted: string | undefined;
}

/**
 * The machine's Debian archives, for another suite, as deb822. Deriving them keeps the mirror, proxy and key that the
 * machine's owner chose. Empty when there is none: entries of other vendors and of the security archive don't count.
 */
export function deriveDebianSources(files: readonly AptSourceFile[], suite: string): string {
  const stanzas = files
    .flatMap(({ format, text }) => (format === "lines" ? parseLines(text) : parseStanzas(text)))
    .filter((source) => source.components.includes("main"))
    .map((source) => toStanza(source, suite))
    .filter((stanza) => stanza !== undefined);
  return [...new Set(stanzas)].join("\n");
}

function toStanza({ uris, signedBy, trusted }: Source, suite: string): string | undefined {
  const archives = uris.filter((uri) => isDebianArchive(uri, signedBy));
  if (archives.length === 0) return undefined;
  const fields = [`Types: deb`, `URIs: ${archives.join(" ")}`, `Suites: ${suite}`, `Components: main`];
  if (signedBy !== undefined) fields.push(`Signed-By: ${signedBy}`);
  if (trusted !== undefined) fields.push(`Trusted: ${trusted}`);
  return `${fields.join("\n")}\n`;
}

/** By its path, as mirrors keep `/debian`, or by the key it is signed with, as a caching proxy may call it anything. */
function isDebianArchive(uri: string, signedBy: string | undefined): boolean {
  if (!/^(https?|file|mirror\+.*):/.test(uri) || /security/.test(uri)) return false;
  return /\/debian(\/|$)/.test(uri) || /debian-archive/.test(signedBy ?? "");
}

function parseLines(text: string): Source[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]+)/.exec(line);
    if (match === null) return [];
    const [, options = "", uri = "", , components = ""] = match;
    const option = (name: string) => new RegExp(`(?:^|\\s)${name}=(\\S+)`).exec(options)?.[1];
    return [
      {
        uris: [uri],
        components: words(components),
        signedBy: option("signed-by"),
        trusted: option("trusted"),
      },
    ];
  });
}

function parseStanzas(text: string): Source[] {
  const withoutComments = text.replaceAll(/^#.*\n?/gm, "");
  return withoutComments.split(/\n[ \t]*\n/).flatMap((stanza) => {
    const field = (name: string) =>
      new RegExp(`^${name}:[ \\t]*(.*(?:\\n[ \\t]+.*)*)`, "im").exec(stanza)?.[1]?.trimEnd();
    if (!words(field("Types")).includes("deb") || /^(no|false|off|0)$/i.test(field("Enabled") ?? ""))
      return [];
    const uris = words(field("URIs"));
    return [
      {
        uris,
        components: words(field("Components")),
        signedBy: field("Signed-By"),
        trusted: field("Trusted"),
      },
    ];
  });
}

function words(text = ""): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
