const SECTION = /^## \[(?<version>[^\]]*)\](?: - (?<date>.*))?$/gm;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface ChangelogReading {
  readonly problems: readonly string[];
  /** The version's date; undefined where it has none yet. */
  readonly date?: string | undefined;
  /** How many changes it lists. */
  readonly entries: number;
}

/**
 * Reads what the changelog says of a version. Its section is the first one, lists changes, and has a day for its date, or `unreleased`
 * while the version is in the making; every section behind it has a day.
 */
export function readChangelog(text: string, version: string): ChangelogReading {
  const sections = [...text.matchAll(SECTION)].map((match) => ({
    version: match.groups!["version"]!,
    date: match.groups!["date"],
    start: match.index + match[0].length,
    heading: match.index,
  }));
  const [first, ...older] = sections;
  if (first === undefined) return { problems: ["CHANGELOG.md has no section of a version"], entries: 0 };
  const body = text.slice(first.start, older[0]?.heading);
  const entries = body.split("\n").filter((line) => line.startsWith("- ")).length;
  const problems: string[] = [];
  if (first.version !== version)
    problems.push(`CHANGELOG.md begins with version ${first.version}; package.json has ${version}`);
  if (entries === 0) problems.push(`CHANGELOG.md lists no changes for ${first.version}`);
  if (first.date !== "unreleased" && !isDay(first.date))
    problems.push(
      `CHANGELOG.md gives ${first.version} the date ${first.date}; it must be a day or "unreleased"`,
    );
  for (const section of older.filter(({ date }) => !isDay(date)))
    problems.push(`CHANGELOG.md gives ${section.version} the date ${section.date}; it must be a day`);
  return { problems, entries, ...(isDay(first.date) && { date: first.date }) };
}

function isDay(date: string | undefined): boolean {
  return date !== undefined && DAY.test(date) && !Number.isNaN(Date.parse(date));
}
