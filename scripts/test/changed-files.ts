import { execFileSync } from "node:child_process";

/** Sessions are shorter than this, so a submission's commits are younger. */
const SUBMISSION_SECONDS = 4 * 3_600;

/**
 * Lists the files that the change at hand adds or edits: its commits, which are at most four hours older than the last one, and
 * what is not committed. A renamed file with the same content is not among them. Empty outside a git repository.
 */
export function changedFiles(): Set<string> {
  try {
    const head = Number(git("log", "-1", "--format=%ct"));
    const base = git("rev-list", "-1", `--before=${head - SUBMISSION_SECONDS}`, "HEAD");
    return new Set(filesChangedSince(base || "HEAD"));
  } catch {
    return new Set();
  }
}

/** Lists the files that were added or edited since a commit, uncommitted ones included. */
export function filesChangedSince(commit: string): string[] {
  const edited = git("diff", "--name-only", "-M100%", "--diff-filter=AM", commit);
  return [edited, git("ls-files", "--others", "--exclude-standard")].flatMap((list) => list.split("\n"));
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
