/** The page, from the root of the repository, that says what to do about an alert: `RepriseArchiveLag` is `docs/runbooks/archive-lag.md`. */
export function runbookOf(alert: string): string {
  const words = alert.replace(/^Reprise/, "").replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "-");
  return `docs/runbooks/${words.toLowerCase()}.md`;
}
